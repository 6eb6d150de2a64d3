//! Texts as they are compared: which words they hold, and whether two say the same.

use loci_index::tokenise::Indexer;

use super::weights;

/// A text as it is compared.
#[derive(Debug)]
pub(super) struct Text {
    /// The text as it is; 0 where it is empty.
    whole: u64,
    /// Its words as the index keeps them.
    tokens: Vec<u64>,
    /// Its words as they are written, but for case and for the signs that end and quote sentences.
    said: Vec<Word>,
}

/// A word as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word {
    hash: u64,
    /// Whether a long text says the same with it and without it.
    harmless: bool,
}

/// Words of letters that turn a sentence around or count something.
const TELLING: &[&str] = &[
    "cannot", "double", "eight", "eleven", "except", "first", "five", "four", "half", "hundred", "jamais",
    "kein", "keine", "last", "less", "million", "more", "neither", "never", "nicht", "nie", "nine", "no",
    "none", "nor", "not", "nunca", "ohne", "one", "only", "pas", "sans", "second", "seven", "sin", "six",
    "ten", "third", "thousand", "three", "twelve", "twice", "two", "unless", "without", "zero",
];

impl Text {
    /// Reads a text. The indexer remembers stems from one to the next.
    pub(super) fn of(indexer: &mut Indexer, text: &str) -> Self {
        let indexed = indexer.indexed(text);
        let tokens = indexed.split(' ').filter(|token| !token.is_empty());
        Self {
            whole: if text.is_empty() { 0 } else { hash(text.as_bytes()) },
            tokens: tokens.map(|token| hash(token.as_bytes())).collect(),
            said: text.split_whitespace().map(Word::of).collect(),
        }
    }

    /// Whether the word of this [`hash`] stands in it, as the index keeps words.
    pub(super) fn holds(&self, word: u64) -> bool {
        self.tokens.contains(&word)
    }

    /// Whether they are the same but for blanks, case and the signs around words; or, where they are long, but for a word
    /// or two that one of them has more, and that neither count nor deny.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        if self.whole == other.whole {
            return self.whole != 0;
        }
        if self.said == other.said {
            return !self.said.is_empty();
        }
        let (long, short) = match self.said.len() >= other.said.len() {
            true => (&self.said, &other.said),
            false => (&other.said, &self.said),
        };
        let more = long.len() - short.len();
        if short.len() < weights::LONG || !(1..=weights::MORE_WORDS).contains(&more) {
            return false;
        }
        let pairs = long.iter().zip(short);
        let first = pairs.take_while(|(a, b)| a == b).count();
        let pairs = long.iter().rev().zip(short.iter().rev());
        let last = pairs.take_while(|(a, b)| a == b).count();
        let added = long.get(first..first + more).unwrap_or_default();
        first + last >= short.len() && added.iter().all(|word| word.harmless)
    }
}

impl Word {
    fn of(written: &str) -> Self {
        let ends = |c: char| ".,;:!?…。、，！？：；\"'“”‘’«»„".contains(c);
        let around = |c: char| "\"'“”‘’«»„()[]「」".contains(c);
        let word = written.trim_end_matches(ends);
        // Brackets and signs before a number belong to it.
        let word = match written.contains(char::is_numeric) {
            true => word,
            false => word.trim_matches(around).trim_end_matches(ends),
        };
        // What is nothing but signs is itself.
        let word = if word.is_empty() { written } else { word };
        let word = word.to_lowercase();
        Self {
            hash: hash(word.as_bytes()),
            harmless: word.chars().all(char::is_alphabetic) && TELLING.binary_search(&word.as_str()).is_err(),
        }
    }
}

/// FNV-1a: the words of a few hundred texts need no stronger hash.
pub(super) fn hash(bytes: &[u8]) -> u64 {
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
        let mut indexer = Indexer::default();
        Text::of(&mut indexer, a).says_the_same(&Text::of(&mut indexer, b))
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
