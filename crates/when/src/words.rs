//! Splits a query into words, and knows which of them stand for themselves and which are part of a path or a number.

use std::ops::Range;

/// A word of a query.
#[derive(Debug)]
pub(super) struct Word {
    /// In lower case; empty where it is glued to something, as in `today.rs`, `#2023` or `mid-May`.
    pub(super) text: String,
    /// Whether it is written with a first capital alone: "May", not "may" or "MAY".
    pub(super) capital: bool,
    /// What is between it and the word before it.
    pub(super) gap: Gap,
    /// Its bytes in the query, without a possessive s.
    pub(super) range: Range<usize>,
}

/// What is between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    Space,
    Comma,
    Dot,
    Other,
}

/// The words of `query`, in order; a date like 2023-05-07 is one word.
pub(super) fn split(query: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut rest = query;
    while let Some(skipped) = rest.find(in_word) {
        let (between, tail) = rest.split_at(skipped);
        let length = date_length(tail).unwrap_or_else(|| tail.find(|c| !in_word(c)).unwrap_or(tail.len()));
        let (word, after) = tail.split_at(length);
        let after = after.split_at(possessive_length(after)).1;
        let start = query.len() - tail.len();
        let alone = query.get(..start).is_some_and(may_precede) && may_follow(after);
        words.push(Word {
            text: if alone { word.to_lowercase() } else { String::new() },
            capital: has_one_capital(word),
            gap: gap(between),
            range: start..start + length,
        });
        rest = after;
    }
    words
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn has_one_capital(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
}

fn gap(between: &str) -> Gap {
    match between.trim() {
        "" => Gap::Space,
        "," => Gap::Comma,
        "." => Gap::Dot,
        _ => Gap::Other,
    }
}

/// The length of the `'s` that `after` begins with.
fn possessive_length(after: &str) -> usize {
    ["'s", "’s"]
        .into_iter()
        .find(|s| {
            after
                .strip_prefix(s)
                .is_some_and(|rest| !rest.starts_with(in_word))
        })
        .map_or(0, str::len)
}

fn may_precede(before: &str) -> bool {
    let last = before.chars().next_back();
    last.is_none_or(|c| c.is_whitespace() || "([\"'“‘«—*¿¡".contains(c))
}

fn may_follow(after: &str) -> bool {
    let mut letters = after.chars();
    match letters.next() {
        None | Some('—') => true,
        Some(c) if ",.;:!?)]\"'”’»…*".contains(c) => letters.next().is_none_or(|c| !in_word(c)),
        Some(c) => c.is_whitespace(),
    }
}

/// The length of the date that `tail` begins with: 2023-05, 2023-05-07, 2023/05/07 or one of these days with a time.
fn date_length(tail: &str) -> Option<usize> {
    let digits = |from: usize| tail.bytes().skip(from).take_while(u8::is_ascii_digit).count();
    let byte = |at: usize| tail.as_bytes().get(at).copied();
    let separator = byte(4).filter(|byte| matches!(byte, b'-' | b'/'))?;
    let month = digits(5);
    if digits(0) != 4 || !(1..=2).contains(&month) {
        return None;
    }
    let end = 5 + month;
    if byte(end) != Some(separator) {
        return (separator == b'-' && month == 2).then_some(end);
    }
    let day = digits(end + 1);
    let end = end + 1 + day;
    (1..=2)
        .contains(&day)
        .then(|| end + clock_length(tail.split_at(end).1))
}

/// The length of the `T09:30:00Z` that `after` begins with.
fn clock_length(after: &str) -> usize {
    let in_clock = |c: char| c.is_ascii_digit() || "Tt:.+-Zz".contains(c);
    let clock = after
        .split_at(after.find(|c| !in_clock(c)).unwrap_or(after.len()))
        .0;
    if clock.starts_with(['T', 't']) {
        clock.trim_end_matches(['.', ':']).len()
    } else {
        0
    }
}
