//! Cuts inside a line that is too long: at sentences, at words, and at worst between two graphemes.

use std::cmp::Reverse;

use super::edge::{is_boundary, last_boundary, next_boundary};
use super::part;
use super::seam::{Place, fingerprint};

/// How long a piece may be, in characters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) least: usize,
    pub(super) target: usize,
    pub(super) most: usize,
}

/// How good a place is, the best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    Anywhere,
    Mark,
    Space,
    Sentence,
    Return,
}

/// The end of a piece that begins at `start`, which is a grapheme boundary. Looks at no more than the window.
pub(super) fn split(text: &str, start: Place, window: Window) -> Place {
    let rest = part(text, start.at, text.len());
    let found = best_gap(rest, window);
    let at = match found {
        Some((Gap::Anywhere, at)) => last_boundary(rest, at),
        Some((_, at)) => at,
        None => rest.len(),
    };
    let at = if at == 0 { next_boundary(rest) } else { at };
    let chars = part(rest, 0, at).chars().count();
    Place {
        at: start.at + at,
        chars: start.chars + chars,
    }
}

/// The best gap within the window; `Anywhere` is not yet known to lie between graphemes.
fn best_gap(rest: &str, window: Window) -> Option<(Gap, usize)> {
    let least = window.least.max(1);
    let first = offset(rest, least)?;
    let mut before: [char; 2] = last_two(part(rest, 0, first));
    let mut best = None;
    let window_text = part(rest, first, rest.len());
    for (count, (offset, after)) in window_text
        .char_indices()
        .enumerate()
        .take(window.most - least + 1)
    {
        let at = first + offset;
        let gap = gap(before, after);
        before = [before[1], after];
        if best.is_some_and(|(better, _, _, _)| gap < better) {
            continue;
        }
        let off = (least + count).abs_diff(window.target);
        let key = (gap, Reverse(fingerprint(rest, at, 1)), Reverse(off), at);
        let better = best.is_none_or(|best| key > best);
        if better && (gap == Gap::Anywhere || is_boundary(rest, at)) {
            best = Some(key);
        }
    }
    best.map(|(gap, _, _, at)| (gap, at))
}

/// Where the `count`-th character begins.
fn offset(text: &str, count: usize) -> Option<usize> {
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

/// What kind of gap lies before `after`.
fn gap([earlier, before]: [char; 2], after: char) -> Gap {
    match before {
        '\r' if after != '\n' => Gap::Return,
        '。' | '！' | '？' | '｡' if !closes(after) => Gap::Sentence,
        ' ' | '\t' | '\n' | '\u{a0}' | '\u{3000}' if after.is_whitespace() => Gap::Anywhere,
        ' ' | '\t' | '\n' if matches!(earlier, '.' | '!' | '?' | '…' | '؟' | '।') => Gap::Sentence,
        ' ' | '\t' | '\n' | '\u{3000}' => Gap::Space,
        ',' | ';' | ')' | ']' | '}' | '>' | '、' | '，' => Gap::Mark,
        _ => Gap::Anywhere,
    }
}

/// Whether a character closes what a sentence end stands in.
fn closes(character: char) -> bool {
    matches!(
        character,
        '」' | '』' | '）' | '”' | '’' | '"' | '。' | '！' | '？'
    )
}
