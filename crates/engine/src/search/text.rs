//! Texts as they are compared: which words they hold, and whether two say the same.

use std::collections::{BTreeSet, HashSet};

use loci_index::tokenise::Indexer;

use super::weights;

/// A text as it is compared: by its words, whatever their case and the signs between them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// The text as it is; 0 where it is empty.
    whole: u64,
    words: Vec<u64>,
    /// Every run of three words.
    runs: HashSet<u64>,
    /// The words with a digit: texts that differ in a number say different things.
    numbers: BTreeSet<String>,
}

impl Text {
    /// Whether the word of this [`hash`] stands in it, as the index keeps words.
    pub(super) fn holds(&self, word: u64) -> bool {
        self.words.contains(&word)
    }

    /// Reads a text. The indexer remembers stems from one to the next.
    pub(super) fn of(indexer: &mut Indexer, text: &str) -> Self {
        let (mut words, mut numbers) = (Vec::new(), BTreeSet::new());
        for token in indexer.indexed(text).split(' ').filter(|token| !token.is_empty()) {
            words.push(hash(token.as_bytes()));
            if token.bytes().any(|byte| byte.is_ascii_digit()) {
                numbers.insert(token.to_owned());
            }
        }
        let runs = words.windows(3).map(|run| {
            let bytes: Vec<u8> = run.iter().flat_map(|word| word.to_le_bytes()).collect();
            hash(&bytes)
        });
        Self {
            whole: if text.is_empty() { 0 } else { hash(text.as_bytes()) },
            runs: runs.collect(),
            words,
            numbers,
        }
    }

    /// Whether they are the same but for signs, case and, in a long text, a few words that are no numbers.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        if self.whole == other.whole {
            return self.whole != 0;
        }
        if self.words.is_empty() || other.words.is_empty() {
            return false;
        }
        if self.words == other.words {
            return true;
        }
        if self.numbers != other.numbers || self.runs.is_empty() || other.runs.is_empty() {
            return false;
        }
        let common = self.runs.intersection(&other.runs).count() as f32;
        let all = (self.runs.len() + other.runs.len()) as f32 - common;
        common / all >= weights::TWIN
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

    fn same(a: &str, b: &str) -> bool {
        let mut indexer = Indexer::default();
        Text::of(&mut indexer, a).says_the_same(&Text::of(&mut indexer, b))
    }

    #[test]
    fn texts_are_the_same_whatever_their_signs_and_case() {
        assert!(same("Ship it on Friday.", "ship it,  on FRIDAY"));
        assert!(same("船は金曜日に出る", "船は金曜日に出る。"));
        assert!(!same("ship it on friday", "ship it on monday"));
    }

    #[test]
    fn long_texts_that_differ_in_a_word_are_the_same_but_not_in_a_number() {
        let long = "the quick brown fox jumps over the lazy dog and runs far into the wood where it \
                    meets a badger a hare and an old owl that never sleeps by day nor speaks by night \
                    and they share bread and talk until the moon is gone behind the hill of stones";
        assert!(same(long, &format!("{long} again")));
        assert!(!same(&format!("{long} at 9"), &format!("{long} at 10")));
    }

    #[test]
    fn texts_without_words_are_the_same_sign_for_sign_and_empty_ones_never() {
        assert!(same("👍", "👍") && !same("👍", "👎"));
        assert!(!same("", ""));
    }
}
