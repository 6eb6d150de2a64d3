//! Cuts a line that is too long: at sentences, at words, or as a last resort between two graphemes.

use std::cmp::Reverse;

use super::edge::{is_boundary, last_boundary, next_boundary};
use super::seam::{TextPlace, hash_text_from};
use super::slice_text;

/// The bounds of a piece's length, in characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct PieceWindow {
    pub(super) least: usize,
    pub(super) target: usize,
    pub(super) most: usize,
}

/// The quality of a place to cut, the best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum InlineGap {
    Anywhere,
    Mark,
    Space,
    Sentence,
    Return,
}

/// Returns the end of a piece that begins at `start`, a grapheme boundary. Reads no further than the window.
pub(super) fn split_long_line(text: &str, start: TextPlace, window: PieceWindow) -> TextPlace {
    let rest = slice_text(text, start.at, text.len());
    let found = best_gap(rest, window);
    let at = match found {
        Some((InlineGap::Anywhere, at)) => last_boundary(rest, at),
        Some((_, at)) => at,
        None => rest.len(),
    };
    // A single grapheme can be longer than the window. It is taken whole, or the packer would never get past
    // it.
    let at = if at == 0 { next_boundary(rest) } else { at };
    let chars = slice_text(rest, 0, at).chars().count();
    TextPlace {
        at: start.at + at,
        chars: start.chars + chars,
    }
}

/// Returns the best gap within the window; `Anywhere` is not yet known to be between graphemes.
fn best_gap(rest: &str, window: PieceWindow) -> Option<(InlineGap, usize)> {
    let least = window.least.max(1);
    let first = nth_char_offset(rest, least)?;
    let mut before: [char; 2] = last_two(slice_text(rest, 0, first));
    let mut best = None;
    let window_text = slice_text(rest, first, rest.len());
    for (count, (offset, after)) in window_text
        .char_indices()
        .enumerate()
        .take(window.most - least + 1)
    {
        let at = first + offset;
        let gap = classify_gap(before, after);
        before = [before[1], after];
        // Checked first, because it skips the hash for nearly every character of a long line.
        if best.is_some_and(|(better, _, _, _)| gap < better) {
            continue;
        }
        let off = (least + count).abs_diff(window.target);
        let key = (gap, Reverse(hash_text_from(rest, at, 1)), Reverse(off), at);
        let better = best.is_none_or(|best| key > best);
        // The boundary test is the expensive one. For `Anywhere` the caller makes it once, for the winner.
        if better && (gap == InlineGap::Anywhere || is_boundary(rest, at)) {
            best = Some(key);
        }
    }
    best.map(|(gap, _, _, at)| (gap, at))
}

/// Returns the byte offset of the `count`-th character.
fn nth_char_offset(text: &str, count: usize) -> Option<usize> {
    match text.as_bytes().get(..count) {
        Some(bytes) if bytes.is_ascii() => (count < text.len()).then_some(count),
        _ => text.char_indices().nth(count).map(|(at, _)| at),
    }
}

fn last_two(text: &str) -> [char; 2] {
    let mut back = text.chars().rev();
    let last = back.next().unwrap_or(' ');
    [back.next().unwrap_or(' '), last]
}

/// Returns the kind of the gap before `after`.
fn classify_gap([earlier, before]: [char; 2], after: char) -> InlineGap {
    match before {
        // A lone carriage return is a line end of old Macs and of progress bars; scanners know only `\n`.
        '\r' if after != '\n' => InlineGap::Return,
        '。' | '！' | '？' | '｡' if !closes_quotation(after) => InlineGap::Sentence,
        ' ' | '\t' | '\n' | '\u{a0}' | '\u{3000}' if after.is_whitespace() => InlineGap::Anywhere,
        ' ' | '\t' | '\n' if matches!(earlier, '.' | '!' | '?' | '…' | '؟' | '।') => InlineGap::Sentence,
        ' ' | '\t' | '\n' | '\u{3000}' => InlineGap::Space,
        ',' | ';' | ')' | ']' | '}' | '>' | '、' | '，' => InlineGap::Mark,
        _ => InlineGap::Anywhere,
    }
}

/// Returns whether a character closes the quotation or bracket that a sentence ends in.
fn closes_quotation(character: char) -> bool {
    matches!(
        character,
        '」' | '』' | '）' | '”' | '’' | '"' | '。' | '！' | '？'
    )
}
