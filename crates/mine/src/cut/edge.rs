//! Edges: a little of the text before and behind a place, and where graphemes begin and end.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::part;

/// How far back a grapheme that holds the start of an edge is looked for, in bytes.
const LOOK_BACK: usize = 1024;

/// The last characters before `at`, at most this many, from the start of a word or line on, or where there is none
/// from a grapheme on. `at` is where a piece begins or ends.
pub fn edge_before(text: &str, at: usize, most: usize) -> &str {
    let at = text.floor_char_boundary(at);
    let before = part(text, 0, at);
    let far = match most.checked_sub(1) {
        Some(skip) => before
            .char_indices()
            .rev()
            .nth(skip)
            .map_or(0, |(start, _)| start),
        None => at,
    };
    let from = text.floor_char_boundary(far.saturating_sub(LOOK_BACK));
    let starts = || part(text, far, at).char_indices().map(|(offset, _)| far + offset);
    let between = |start: &usize| is_start(text, from, *start, at);
    let word = starts().filter(|start| begins_word(text, *start)).find(between);
    let start = word.or_else(|| starts().find(between)).unwrap_or(at);
    part(text, start, at)
}

/// The next characters behind `at`, at most this many, to the end of a word or line, or where there is none to that
/// of a grapheme. `at` is where a piece begins or ends.
pub fn edge_after(text: &str, at: usize, most: usize) -> &str {
    let at = text.floor_char_boundary(at);
    let rest = part(text, at, text.len());
    let far = rest.char_indices().nth(most).map_or(rest.len(), |(end, _)| end);
    let ends = || std::iter::once(far).chain(part(rest, 0, far).char_indices().rev().map(|(end, _)| end));
    let between = |end: &usize| is_boundary(rest, *end);
    let word = ends().filter(|end| ends_word(rest, *end)).find(between);
    let end = word.or_else(|| ends().find(between)).unwrap_or(0);
    part(rest, 0, end)
}

/// Whether an edge may start here, as far as can be told from `from` on.
fn is_start(text: &str, from: usize, start: usize, at: usize) -> bool {
    let known = part(text, from, at);
    let mut cursor = GraphemeCursor::new(start, at, true);
    start == 0 || cursor.is_boundary(known, from).unwrap_or(false)
}

fn begins_word(text: &str, at: usize) -> bool {
    let before = part(text, 0, at).chars().next_back();
    let after = part(text, at, text.len()).chars().next();
    before.is_none_or(char::is_whitespace) && after.is_some_and(|c| !c.is_whitespace())
}

fn ends_word(text: &str, at: usize) -> bool {
    let before = part(text, 0, at).chars().next_back();
    let after = part(text, at, text.len()).chars().next();
    before.is_some_and(|c| !c.is_whitespace()) && after.is_none_or(char::is_whitespace)
}

/// Whether one grapheme ends and another begins here, in a text that begins with a whole one.
pub(super) fn is_boundary(text: &str, at: usize) -> bool {
    let around = at
        .checked_sub(1)
        .and_then(|before| text.as_bytes().get(before..=at));
    match around {
        Some([b'\r', b'\n']) => false,
        Some(pair) if pair.is_ascii() => true,
        _ => GraphemeCursor::new(at, text.len(), true)
            .is_boundary(text, 0)
            .unwrap_or(true),
    }
}

/// The last grapheme boundary up to `at`, in a text that begins with a whole grapheme.
pub(super) fn last_boundary(text: &str, at: usize) -> usize {
    if is_boundary(text, at) {
        return at;
    }
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    cursor.prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

/// Where the first grapheme of a text ends.
pub(super) fn next_boundary(text: &str) -> usize {
    text.graphemes(true).next().map_or(0, str::len)
}
