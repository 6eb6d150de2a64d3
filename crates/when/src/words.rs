//! Splits a query into words, and tells free-standing words from parts of a path, a number or a compound.

use std::ops::Range;

use super::names;

/// A word of a query.
#[derive(Debug)]
pub(super) struct QueryWord {
    /// The word in lower case; empty if it is glued to something, as in `today.rs`, `#2023` or `mid-May`.
    pub(super) text: String,
    /// Whether only the first letter is a capital: "May", not "may" or "MAY".
    pub(super) capital: bool,
    /// The gap between it and the word before it.
    pub(super) gap: WordGap,
    /// Its bytes in the query, without a possessive s.
    pub(super) range: Range<usize>,
}

/// The gap between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WordGap {
    Space,
    Comma,
    Dot,
    Other,
}

/// Returns the words of `query` in order; a date like 2023-05-07 is one word.
pub(super) fn split_words(query: &str) -> Vec<QueryWord> {
    let mut words = Vec::new();
    let mut rest = query;
    // Whether the word before is joined to this one by the comma of a date.
    let mut joined = false;
    while let Some(skipped) = rest.find(in_word) {
        let (between, tail) = rest.split_at(skipped);
        let length = date_length(tail).unwrap_or_else(|| tail.find(|c| !in_word(c)).unwrap_or(tail.len()));
        let (word, after) = tail.split_at(length);
        // "Yesterday's" is "yesterday".
        let after = after.split_at(possessive_length(after)).1;
        let start = query.len() - tail.len();
        let begins = joined || query.get(..start).is_some_and(may_precede);
        joined = year_follows(word, after);
        let alone = begins && (joined || may_follow(after));
        words.push(QueryWord {
            // A glued word stays in the list as an empty text, so that no rule joins the words on either side
            // of it.
            text: if alone { word.to_lowercase() } else { String::new() },
            capital: has_one_capital(word),
            gap: classify_gap(between),
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

fn classify_gap(between: &str) -> WordGap {
    match between.trim() {
        "" => WordGap::Space,
        "," => WordGap::Comma,
        "." => WordGap::Dot,
        _ => WordGap::Other,
    }
}

/// Returns the length of the `'s` at the beginning of `after`.
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
        // Punctuation ends a word only if nothing follows at once: `today.rs` and `may:5` are names.
        Some(c) if ",.;:!?)]\"'”’»…*".contains(c) => letters.next().is_none_or(|c| !in_word(c)),
        Some(c) => c.is_whitespace(),
    }
}

/// Returns whether a year follows a day or a month after a comma without a space: "December 1,2023".
fn year_follows(word: &str, after: &str) -> bool {
    let Some(year) = after.strip_prefix(',').filter(|_| may_have_year(word)) else {
        return false;
    };
    let digits = year.bytes().take_while(u8::is_ascii_digit).count();
    // Four digits and no more: "7,20231" and "1,2023,000" are numbers.
    digits == 4 && may_follow(year.split_at(digits).1)
}

fn may_have_year(word: &str) -> bool {
    let lower = word.to_lowercase();
    names::parse_day(&lower).is_some() || names::parse_month(&lower).is_some()
}

/// Returns the length of the date at the beginning of `tail`: 2023-05, 2023-05-07, 2023/05/07, or a day with a time.
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
        // `2023/05` and `2023-5` are more often paths and versions than months.
        return (separator == b'-' && month == 2).then_some(end);
    }
    let day = digits(end + 1);
    let end = end + 1 + day;
    (1..=2)
        .contains(&day)
        .then(|| end + clock_length(tail.split_at(end).1))
}

/// Returns the length of the `T09:30:00Z` at the beginning of `after`.
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
