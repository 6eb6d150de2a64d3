//! Snippets: stored text on one line, without control characters, cut between words.

use unicode_segmentation::UnicodeSegmentation;

use crate::invisible::is_invisible;
use crate::tokens::estimate_tokens;

/// The mark at the end of a cut text.
const CUT: &str = "…";

/// The most characters examined for each token of the budget; a cheap letter costs a third of a token, and
/// spaces are free.
const CHARACTERS_PER_TOKEN: usize = 4;

/// Returns at most the first `limit` characters of a text on one line, and whether that is all of it. Each run of
/// blanks and control characters becomes one space; invisible characters are dropped.
pub(crate) fn flatten_line(text: &str, limit: usize) -> (String, bool) {
    let mut line = String::new();
    let mut length = 0;
    let mut gap = false;
    for c in text.chars() {
        // Text that a person cannot see must not reach a model either.
        if is_invisible(c) {
            continue;
        }
        if c.is_whitespace() || c.is_control() {
            gap = !line.is_empty();
            continue;
        }
        if length + usize::from(gap) >= limit {
            return (line, false);
        }
        if std::mem::take(&mut gap) {
            line.push(' ');
            length += 1;
        }
        line.push(c);
        length += 1;
    }
    (line, true)
}

/// Returns the beginning of a text on one line, within a number of characters and tokens, cut between words;
/// empty if not even its first character fits.
pub(crate) fn cut_snippet(text: &str, characters: usize, tokens: usize) -> String {
    cut_line(flatten_line(text, most_characters(characters, tokens)), tokens)
}

/// Returns the beginning of a text like [`cut_snippet`], in quotation marks and escaped so that it cannot end its
/// quotation; `None` if nothing fits.
pub(crate) fn quote_snippet(text: &str, characters: usize, tokens: usize) -> Option<String> {
    let tokens = tokens.checked_sub(estimate_tokens("\"") * 2)?;
    let (line, whole) = flatten_line(text, most_characters(characters, tokens));
    let words = drop_half_escape(cut_line((escape_quotes(&line), whole), tokens));
    (!words.is_empty()).then(|| format!("\"{words}\""))
}

/// Escapes quotation marks, and the sign that escapes them.
pub(crate) fn escape_quotes(line: &str) -> String {
    line.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Drops a backslash that a cut has separated from the sign it escapes.
fn drop_half_escape(words: String) -> String {
    let Some(kept) = words.strip_suffix(CUT) else {
        return words;
    };
    let escapes = kept.len() - kept.trim_end_matches('\\').len();
    match kept.strip_suffix('\\').filter(|_| escapes % 2 == 1) {
        Some("") => String::new(),
        Some(kept) => format!("{kept}{CUT}"),
        None => words,
    }
}

fn most_characters(characters: usize, tokens: usize) -> usize {
    characters.min(tokens.saturating_mul(CHARACTERS_PER_TOKEN).saturating_add(1))
}

/// Cuts a line, and `whole` says whether it was not cut before, between words.
fn cut_line((line, whole): (String, bool), tokens: usize) -> String {
    if whole && estimate_tokens(&line) <= tokens {
        return line;
    }
    let Some(left) = tokens.checked_sub(estimate_tokens(CUT)) else {
        return String::new();
    };
    // Cutting by length may have split the last word, so the line is cut again at the start of a word; a single
    // word longer than the line is cut between characters instead.
    let words = line.split_word_bound_indices().map(|(at, _)| at);
    let kept = longest_fitting(&line, words, left)
        .or_else(|| longest_fitting(&line, grapheme_ends(&line), left))
        .unwrap_or_default();
    if kept.is_empty() {
        String::new()
    } else {
        format!("{kept}{CUT}")
    }
}

/// Returns the end of each grapheme, so that no emoji or accented letter is split.
fn grapheme_ends(line: &str) -> impl Iterator<Item = usize> {
    line.grapheme_indices(true).map(|(at, seen)| at + seen.len())
}

/// Returns the longest prefix that ends at one of `cuts` and costs at most this many tokens.
fn longest_fitting(line: &str, cuts: impl Iterator<Item = usize>, tokens: usize) -> Option<&str> {
    let cuts: Vec<usize> = cuts.collect();
    let beginning = |at: usize| line.get(..at).unwrap_or_default().trim_end();
    // The estimate never falls as text grows, so the cuts that fit come first.
    let fitting = cuts.partition_point(|at| estimate_tokens(beginning(*at)) <= tokens);
    let kept = beginning(*cuts.get(fitting.checked_sub(1)?)?);
    (!kept.is_empty()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, characters: usize, tokens: usize, expect: &str) {
        assert_eq!(cut_snippet(text, characters, tokens), expect, "{text:?}");
    }

    #[test]
    fn a_snippet_is_one_line_cut_between_words() {
        check("one\r\n\ttwo \u{0}\u{1b}three ", 200, 99, "one two three");
        check("we ship on friday", 12, 99, "we ship on…");
        check("we ship on friday", 200, 5, "we…");
        check("shipshipship", 5, 99, "ships…");
        check("ship", 200, 2, "ship");
        check("ship", 200, 1, "");
        check("抽屉里的钥匙", 3, 99, "抽屉…");
        check("👩‍👩‍👧👩‍👩‍👧", 6, 99, "👩‍👩‍👧…");
        check(" \n ", 200, 99, "");
    }

    proptest! {
        #[test]
        fn a_snippet_keeps_to_both_limits(text in "\\PC{0,80}|[ a-zé抽😀\\n]{0,80}", characters in 0_usize..60, tokens in 0_usize..40) {
            let cut = cut_snippet(&text, characters, tokens);
            prop_assert!(estimate_tokens(&cut) <= tokens);
            prop_assert!(cut.chars().count() <= characters + 1);
            let (line, _) = flatten_line(&text, usize::MAX);
            prop_assert!(line == cut || line.starts_with(cut.trim_end_matches(CUT)));
        }
    }
}
