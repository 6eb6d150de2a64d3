//! Stored text on one line: no line breaks, no control characters, cut between words.

use unicode_segmentation::UnicodeSegmentation;

use crate::invisible::is_invisible;
use crate::tokens::estimate;

/// What stands where a text was cut.
const CUT: &str = "…";

/// At most how many characters of a text are looked at for each token it may cost: letters cost half a token, and
/// between two words stands one space.
const CHARACTERS_PER_TOKEN: usize = 4;

/// At most the first `limit` characters of a text on one line: every run of blanks and control characters is one
/// space, and characters that show nothing are left out. The second is whether that is all of it.
pub(super) fn flat(text: &str, limit: usize) -> (String, bool) {
    let mut line = String::new();
    let mut length = 0;
    let mut gap = false;
    for c in text.chars() {
        // What nobody sees is not said to a model either.
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

/// The beginning of a text on one line, at most so many characters and tokens, cut between words; empty if not even
/// its first character fits.
pub(super) fn snippet(text: &str, characters: usize, tokens: usize) -> String {
    let most = characters.min(tokens.saturating_mul(CHARACTERS_PER_TOKEN).saturating_add(1));
    let (line, whole) = flat(text, most);
    if whole && estimate(&line) <= tokens {
        return line;
    }
    let Some(left) = tokens.checked_sub(estimate(CUT)) else {
        return String::new();
    };
    // The last word may be half of one where the text was cut by its length.
    let words = line.split_word_bound_indices().map(|(at, _)| at);
    let kept = longest(&line, words, left)
        .or_else(|| longest(&line, ends(&line), left))
        .unwrap_or_default();
    match kept.is_empty() {
        true => String::new(),
        false => format!("{kept}{CUT}"),
    }
}

/// The end of every character as people see it.
fn ends(line: &str) -> impl Iterator<Item = usize> {
    line.grapheme_indices(true).map(|(at, seen)| at + seen.len())
}

/// The longest beginning that ends at one of `cuts` and costs at most so many tokens.
fn longest(line: &str, cuts: impl Iterator<Item = usize>, tokens: usize) -> Option<&str> {
    let cuts: Vec<usize> = cuts.collect();
    let beginning = |at: usize| line.get(..at).unwrap_or_default().trim_end();
    let fitting = cuts.partition_point(|at| estimate(beginning(*at)) <= tokens);
    let kept = beginning(*cuts.get(fitting.checked_sub(1)?)?);
    (!kept.is_empty()).then_some(kept)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, characters: usize, tokens: usize, expect: &str) {
        assert_eq!(snippet(text, characters, tokens), expect, "{text:?}");
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
            let cut = snippet(&text, characters, tokens);
            prop_assert!(estimate(&cut) <= tokens);
            prop_assert!(cut.chars().count() <= characters + 1);
            let (line, _) = flat(&text, usize::MAX);
            prop_assert!(line == cut || line.starts_with(cut.trim_end_matches(CUT)));
        }
    }
}
