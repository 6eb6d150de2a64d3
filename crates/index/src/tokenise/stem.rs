//! English stems, cached while texts are read.

use rust_stemmers::{Algorithm, Stemmer};

/// The number of cache slots for many texts.
const MANY: usize = 4096;

/// The number of cache slots for a few short texts.
const FEW: usize = 64;

/// The number of cached letters after which the cache is cleared.
const LETTERS: usize = 1 << 18;

/// A stemmer with a small cache, one word per slot.
pub(super) struct StemCache {
    stemmer: Option<Stemmer>,
    /// The number of slots, allocated when a word first needs one; a power of two.
    size: usize,
    slots: Vec<StemSlot>,
    /// Words, each followed by its stem.
    letters: String,
}

#[derive(Clone, Copy, Default)]
struct StemSlot {
    start: usize,
    middle: usize,
    end: usize,
}

impl Default for StemCache {
    /// Creates a cache for the words of many texts.
    fn default() -> Self {
        Self::with_slots(MANY)
    }
}

impl StemCache {
    /// Creates a cache of one word: a query has few, and clearing a large cache would cost more than stemming them.
    pub(super) fn for_query() -> Self {
        Self::with_slots(1)
    }

    /// Creates a cache for the words of a few short texts.
    pub(super) fn for_short_texts() -> Self {
        Self::with_slots(FEW)
    }

    fn with_slots(size: usize) -> Self {
        Self {
            stemmer: None,
            size,
            slots: Vec::new(),
            letters: String::new(),
        }
    }

    /// Returns the stem of a word of ASCII lower-case letters.
    pub(super) fn stem_word<'a>(&'a mut self, word: &'a str) -> &'a str {
        if !may_change(word.as_bytes()) {
            return word;
        }
        // Replaced words leave their letters behind; starting over is simpler than reclaiming them, and
        // rare.
        if self.slots.is_empty() || self.letters.len() > LETTERS {
            self.slots.clear();
            self.slots.resize(self.size, StemSlot::default());
            self.letters.clear();
        }
        let Some(slot) = self.slots.get_mut(slot_index(word, self.size)) else {
            return word;
        };
        // A fresh slot spans the empty word, which no token is, so it never counts as a hit.
        if self.letters.get(slot.start..slot.middle) != Some(word) {
            slot.start = self.letters.len();
            self.letters.push_str(word);
            slot.middle = self.letters.len();
            let stemmer = self
                .stemmer
                .get_or_insert_with(|| Stemmer::create(Algorithm::English));
            self.letters.push_str(&stemmer.stem(word));
            slot.end = self.letters.len();
        }
        self.letters.get(slot.middle..slot.end).unwrap_or(word)
    }
}

/// Reports whether a word has an ending that the English stemmer could remove.
///
/// Every rule of the stemmer begins at the end of the word; most words end in none of its endings.
fn may_change(word: &[u8]) -> bool {
    match word {
        [_, .., before, last] => match last {
            b'e' | b's' | b'y' => true,
            b'd' => *before == b'e',
            b'g' => *before == b'n',
            b'n' => *before == b'o',
            b'c' => *before == b'i',
            b't' => *before == b'n',
            b'm' => *before == b's',
            b'r' => matches!(before, b'e' | b'o'),
            b'l' => matches!(before, b'a' | b'l' | b'u'),
            b'i' => matches!(before, b'c' | b'g' | b'l' | b't'),
            _ => false,
        },
        _ => false,
    }
}

/// Returns the slot of a word among `size`; `size` is a power of two.
fn slot_index(word: &str, size: usize) -> usize {
    let mixed = word.bytes().fold(0u64, |mixed, byte| {
        (mixed ^ u64::from(byte)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    (mixed >> 40) as usize & (size - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENDINGS: &str = "s|d|ed|ied|ies|eed|ing|edly|ingly|y|tional|enci|anci|abli|entli|izer|ization|ational|\
        ation|ator|alism|aliti|alli|fulness|ousli|ousness|iveness|iviti|biliti|bli|ogi|fulli|lessli|li|alize|\
        icate|iciti|ical|ful|ness|ative|al|ance|ence|er|ic|able|ible|ant|ement|ment|ent|ism|ate|iti|ous|ive|\
        ize|ion|e|l|";

    fn words() -> impl Strategy<Value = Vec<String>> {
        let pattern = format!("[a-z]{{1,6}}({ENDINGS})({ENDINGS})[a-z]?");
        proptest::collection::vec(proptest::string::string_regex(&pattern).unwrap(), 1..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn remembering_and_skipping_change_no_stem(words in words()) {
            let plain = Stemmer::create(Algorithm::English);
            for mut stems in [StemCache::default(), StemCache::for_query()] {
                for word in words.iter().chain(&words) {
                    prop_assert_eq!(stems.stem_word(word), plain.stem(word));
                }
            }
        }
    }

    #[test]
    fn a_query_makes_no_room_for_many_words() {
        let mut stems = StemCache::for_query();
        assert_eq!(stems.stem_word("houses"), "hous");
        assert_eq!(stems.slots.len(), 1);
    }
}
