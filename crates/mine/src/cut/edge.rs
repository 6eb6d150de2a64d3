//! Edges: a little of the text before and after a place, and the boundaries of graphemes.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::slice_text;

/// The distance before the start of an edge in which its grapheme may begin, in bytes.
const LOOK_BACK: usize = 1024;

/// Returns at most `most` characters before `at`, beginning with a whole word or line, or else with a whole grapheme.
/// `at` is the start or end of a piece.
pub fn edge_before(text: &str, at: usize, most: usize) -> &str {
    let at = text.floor_char_boundary(at);
    let before = slice_text(text, 0, at);
    let far = match most.checked_sub(1) {
        Some(skip) => before
            .char_indices()
            .rev()
            .nth(skip)
            .map_or(0, |(start, _)| start),
        None => at,
    };
    let from = text.floor_char_boundary(far.saturating_sub(LOOK_BACK));
    let starts = || {
        slice_text(text, far, at)
            .char_indices()
            .map(|(offset, _)| far + offset)
    };
    let between = |start: &usize| is_start(text, from, *start, at);
    let word = starts().filter(|start| begins_word(text, *start)).find(between);
    let start = word.or_else(|| starts().find(between)).unwrap_or(at);
    slice_text(text, start, at)
}

/// Returns at most `most` characters after `at`, ending with a whole word or line, or else with a whole grapheme.
/// `at` is the start or end of a piece.
pub fn edge_after(text: &str, at: usize, most: usize) -> &str {
    let at = text.floor_char_boundary(at);
    let rest = slice_text(text, at, text.len());
    let far = rest.char_indices().nth(most).map_or(rest.len(), |(end, _)| end);
    let ends =
        || std::iter::once(far).chain(slice_text(rest, 0, far).char_indices().rev().map(|(end, _)| end));
    let between = |end: &usize| is_boundary(rest, *end);
    let word = ends().filter(|end| ends_word(rest, *end)).find(between);
    let end = word.or_else(|| ends().find(between)).unwrap_or(0);
    slice_text(rest, 0, end)
}

/// Returns whether an edge may start here, judged by the text from `from` on.
fn is_start(text: &str, from: usize, start: usize, at: usize) -> bool {
    let known = slice_text(text, from, at);
    let mut cursor = GraphemeCursor::new(start, at, true);
    // A grapheme longer than `LOOK_BACK` cannot be judged; then the edge starts later rather than inside it.
    start == 0 || cursor.is_boundary(known, from).unwrap_or(false)
}

fn begins_word(text: &str, at: usize) -> bool {
    let before = slice_text(text, 0, at).chars().next_back();
    let after = slice_text(text, at, text.len()).chars().next();
    before.is_none_or(char::is_whitespace) && after.is_some_and(|c| !c.is_whitespace())
}

fn ends_word(text: &str, at: usize) -> bool {
    let before = slice_text(text, 0, at).chars().next_back();
    let after = slice_text(text, at, text.len()).chars().next();
    before.is_some_and(|c| !c.is_whitespace()) && after.is_none_or(char::is_whitespace)
}

/// Returns whether this is a grapheme boundary, in a text that begins with a whole grapheme.
pub(super) fn is_boundary(text: &str, at: usize) -> bool {
    let around = at
        .checked_sub(1)
        .and_then(|before| text.as_bytes().get(before..=at));
    match around {
        Some([b'\r', b'\n']) => false,
        // Two ASCII characters are always separate, except CR LF. This spares most texts the Unicode tables.
        Some(pair) if pair.is_ascii() => true,
        _ => GraphemeCursor::new(at, text.len(), true)
            .is_boundary(text, 0)
            .unwrap_or(true),
    }
}

/// Returns the last grapheme boundary up to `at`, in a text that begins with a whole grapheme.
pub(super) fn last_boundary(text: &str, at: usize) -> usize {
    if is_boundary(text, at) {
        return at;
    }
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

/// Returns the end of the first grapheme of a text.
pub(super) fn next_boundary(text: &str) -> usize {
    text.graphemes(true).next().map_or(0, str::len)
}
