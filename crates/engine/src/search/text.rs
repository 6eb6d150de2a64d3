//! Texts prepared for comparison: the words they contain, whether two are alike, and whether two are near twins.

use loci_index::bm25::{LexicalStatistics, term_gain};
use loci_index::tokenise::TextIndexer;

use super::weights;

/// A text prepared for comparison.
#[derive(Debug)]
pub(super) struct ComparedText {
    /// The hash of the unchanged text; 0 if it is empty.
    whole: u64,
    /// The hashes of its words as the index stores them.
    tokens: Vec<u64>,
    /// The same, each once and in order.
    distinct: Vec<u64>,
}

/// A word as written, except for case and for the punctuation around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ComparedWord {
    hash: u64,
    /// Whether a long text means the same with and without it.
    harmless: bool,
}

/// Words that negate a sentence or count something, in English, German, French and Spanish.
// Sorted for the binary search.
const TELLING: &[&str] = &[
    "cannot", "double", "eight", "eleven", "except", "first", "five", "four", "half", "hundred", "jamais",
    "kein", "keine", "last", "less", "million", "more", "neither", "never", "nicht", "nie", "nine", "no",
    "none", "nor", "not", "nunca", "ohne", "one", "only", "pas", "sans", "second", "seven", "sin", "six",
    "ten", "third", "thousand", "three", "twelve", "twice", "two", "unless", "without", "zero",
];

impl ComparedText {
    /// Prepares a text. The indexer caches stems from one text to the next.
    pub(super) fn from_text(indexer: &mut TextIndexer, text: &str) -> Self {
        let mut tokens = Vec::new();
        indexer.for_each_index_token(text, &mut |token| tokens.push(hash_bytes(token.as_bytes())));
        let mut distinct = tokens.clone();
        distinct.sort_unstable();
        distinct.dedup();
        Self {
            whole: if text.is_empty() {
                0
            } else {
                hash_bytes(text.as_bytes())
            },
            tokens,
            distinct,
        }
    }

    /// Returns whether it contains the word with this [hash](hash_bytes), as the index stores words.
    pub(super) fn holds_word(&self, word: u64) -> bool {
        self.tokens.contains(&word)
    }

    /// Returns how often it contains the word with this [hash](hash_bytes).
    pub(super) fn count_word(&self, word: u64) -> u32 {
        self.tokens.iter().filter(|token| **token == word).count() as u32
    }

    /// Returns the number of its words, as the index counts them.
    pub(super) fn count_words(&self) -> u32 {
        self.tokens.len() as u32
    }

    /// Returns whether two texts share most of their words: [`weights::ALIKE`] of all that either has.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let (few, many) = if self.distinct.len() <= other.distinct.len() {
            (&self.distinct, &other.distinct)
        } else {
            (&other.distinct, &self.distinct)
        };
        // With s words shared, s / (few + many - s) must reach the share, so that many words of the shorter text may be
        // missing from the longer one. Most pairs have little in common and are given up after a few words.
        let both = (few.len() + many.len()) as f32;
        let needed = (weights::ALIKE * both / (1.0 + weights::ALIKE)).ceil() as usize;
        let Some(mut may_miss) = few.len().checked_sub(needed) else {
            return false;
        };
        let mut rest = many.iter().peekable();
        for word in few {
            while rest.next_if(|other| *other < word).is_some() {}
            if rest.peek() != Some(&word) {
                let Some(fewer) = may_miss.checked_sub(1) else {
                    return false;
                };
                may_miss = fewer;
            }
        }
        true
    }

    /// Returns whether two texts say the same: equal ones do, and [near twins](are_near_twins).
    pub(super) fn says_the_same(&self, text: &str, other: &Self, other_text: &str) -> bool {
        // Empty texts are never twins: drawers without text have nothing in common.
        if self.whole == other.whole {
            return self.whole != 0;
        }
        // Near twins share nearly all words, and comparing these is cheaper than reading both texts again.
        self.is_like(other) && are_near_twins(text, other_text)
    }
}

/// Returns whether two texts differ at most in whitespace, case and the punctuation around words; or, if they are long,
/// in a word or two that only one of them has and that are neither numbers nor negations.
fn are_near_twins(text: &str, other: &str) -> bool {
    let read = |text: &str| -> Vec<ComparedWord> {
        text.split_whitespace().map(ComparedWord::from_written).collect()
    };
    let (said, other) = (read(text), read(other));
    if said == other {
        return !said.is_empty();
    }
    let (long, short) = if said.len() >= other.len() {
        (said, other)
    } else {
        (other, said)
    };
    let more = long.len() - short.len();
    if short.len() < weights::LONG || !(1..=weights::MORE_WORDS).contains(&more) {
        return false;
    }
    // The added words must be one run: a common beginning and a common end that together cover the short text. They may
    // overlap where words repeat, so the sum can exceed its length.
    let pairs = long.iter().zip(&short);
    let first = pairs.take_while(|(a, b)| a == b).count();
    let pairs = long.iter().rev().zip(short.iter().rev());
    let last = pairs.take_while(|(a, b)| a == b).count();
    let added = long.get(first..first + more).unwrap_or_default();
    first + last >= short.len() && added.iter().all(|word| word.harmless)
}

impl ComparedWord {
    fn from_written(written: &str) -> Self {
        let ends = |c: char| ".,;:!?…。、，！？：；\"'“”‘’«»„".contains(c);
        let around = |c: char| "\"'“”‘’«»„()[]「」".contains(c);
        let word = written.trim_end_matches(ends);
        // Brackets and signs before a number are part of it: "(5)" is a loss in a ledger.
        let word = if written.contains(char::is_numeric) {
            word
        } else {
            word.trim_matches(around).trim_end_matches(ends)
        };
        // A word of nothing but punctuation stays as it is, or "?" and "!" would be the same.
        let word = if word.is_empty() { written } else { word };
        let word = word.to_lowercase();
        Self {
            hash: hash_bytes(word.as_bytes()),
            harmless: word.chars().all(char::is_alphabetic) && TELLING.binary_search(&word.as_str()).is_err(),
        }
    }
}

/// Scores texts with BM25 by the words with these [hashes](hash_bytes), among themselves.
pub(super) fn score_own_words(words: &[u64], texts: &[&ComparedText]) -> Vec<f32> {
    let mut statistics = LexicalStatistics::default();
    texts
        .iter()
        .for_each(|text| statistics.add_drawer(text.count_words()));
    let mut scores = vec![0.0; texts.len()];
    for word in words {
        let counts: Vec<u32> = texts.iter().map(|text| text.count_word(*word)).collect();
        let holding = counts.iter().filter(|count| **count > 0).count();
        let rarity = statistics.term_rarity(holding as u64);
        for ((score, count), text) in scores.iter_mut().zip(counts).zip(texts) {
            if count > 0 {
                *score += term_gain(rarity, count, statistics.length_burden(text.count_words()));
            }
        }
    }
    scores
}

/// FNV-1a: the words of a few hundred texts need no stronger hash.
pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "the quick brown fox jumps over the lazy dog and runs far into the wood where it \
        meets a badger a hare and an old owl that never sleeps by day nor speaks by night \
        and they share bread and talk until the moon is gone behind the hill of stones";

    fn same(a: &str, b: &str) -> bool {
        let mut indexer = TextIndexer::default();
        let [first, second] = [a, b].map(|text| ComparedText::from_text(&mut indexer, text));
        first.says_the_same(a, &second, b)
    }

    #[test]
    fn texts_are_alike_if_they_share_half_of_all_their_words() {
        let like = |a: &str, b: &str| {
            let mut indexer = TextIndexer::default();
            let [first, second] = [a, b].map(|text| ComparedText::from_text(&mut indexer, text));
            assert_eq!(first.is_like(&second), second.is_like(&first), "{a} / {b}");
            first.is_like(&second)
        };
        assert!(like("red blue green", "green red blue"));
        assert!(like("red blue", "red blue green gold"), "two of four");
        assert!(!like("red blue", "red blue green gold pink"), "two of five");
        assert!(like("red blue green", "red blue gold"), "two of four");
        assert!(!like("red blue", "red gold"), "one of three");
        assert!(!like("red", "gold") && !like("", "gold"));
        assert!(like("", ""));
    }

    #[test]
    fn rare_words_short_texts_and_repetition_score_higher() {
        let mut indexer = TextIndexer::default();
        let texts = ["red fox", "red red dog barks", "red dog runs far away", "a cat"];
        let texts = texts.map(|text| ComparedText::from_text(&mut indexer, text));
        let words = ["red", "fox"].map(|word| hash_bytes(word.as_bytes()));
        let scores = score_own_words(&words, &texts.iter().collect::<Vec<_>>());
        assert!(scores[0] > scores[1] && scores[1] > scores[2] && scores[2] > scores[3]);
        assert_eq!(scores[3], 0.0);
        assert_eq!(score_own_words(&words, &[]), [0.0; 0]);
    }

    #[test]
    fn texts_are_the_same_whatever_their_blanks_case_and_the_signs_around_words() {
        assert!(same("Ship it on Friday.", "ship  it, on\nFRIDAY"));
        assert!(same("She said “ship it”!", "she said ship it"));
        assert!(same("船は金曜日に出る", "船は金曜日に出る。"));
        assert!(!same("ship it on friday", "ship it on monday"));
    }

    #[test]
    fn signs_within_and_before_words_are_part_of_them() {
        for (a, b) in [
            (
                "the freezer stands at -5 degrees",
                "the freezer stands at 5 degrees",
            ),
            ("1.5", "1 5"),
            ("1/2 full", "1.2 full"),
            ("10² drawers", "102 drawers"),
            ("ship if x < 5", "ship if x > 5"),
            ("a loss of (5)", "a loss of 5"),
            ("written in C++", "written in C"),
            ("written in C#", "written in C"),
            ("good 👍", "good 👎"),
            ("send the résumé", "send the resume"),
        ] {
            assert!(!same(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn a_long_text_may_have_a_word_more_but_none_that_counts_or_denies() {
        assert!(TELLING.is_sorted());
        assert!(same(LONG, &format!("{LONG} again")));
        assert!(same(&format!("well {LONG}"), LONG));
        for (a, b) in [
            (format!("we do ship. {LONG}"), format!("we do not ship. {LONG}")),
            (format!("{LONG} at 9"), format!("{LONG} at 10")),
            (format!("{LONG} pay 9 and 9"), format!("{LONG} pay 9")),
            (format!("{LONG} from 9 to 10"), format!("{LONG} from 10 to 9")),
            (format!("{LONG} nine"), format!("{LONG} ten")),
            (format!("{LONG} ٩"), format!("{LONG} ٨")),
            (format!("{LONG} friday"), format!("{LONG} monday")),
            (format!("{LONG} again and again"), LONG.to_owned()),
        ] {
            assert!(!same(&a, &b), "{a} / {b}");
        }
    }

    #[test]
    fn texts_without_words_are_the_same_sign_for_sign_and_empty_ones_never() {
        assert!(same("👍", "👍") && !same("👍", "👎"));
        assert!(!same("", "") && !same(" ", "\n"));
    }
}
