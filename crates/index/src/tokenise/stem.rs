//! English stems, remembered while texts are read.

use rust_stemmers::{Algorithm, Stemmer};

/// How many words of many texts are remembered at once.
const MANY: usize = 4096;

/// How many letters are remembered before everything is forgotten.
const LETTERS: usize = 1 << 18;

/// A stemmer with a small memory, one word to a slot.
pub(super) struct Stems {
    stemmer: Option<Stemmer>,
    /// How many slots there are once a word needs one; a power of two.
    size: usize,
    slots: Vec<Slot>,
    /// Words, each followed by its stem.
    letters: String,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    start: usize,
    middle: usize,
    end: usize,
}

impl Default for Stems {
    /// Remembers the words of many texts.
    fn default() -> Self {
        Self::remembering(MANY)
    }
}

impl Stems {
    /// Remembers one word: a query has few, and clearing the memory for many costs more than they do.
    pub(super) fn for_query() -> Self {
        Self::remembering(1)
    }

    fn remembering(size: usize) -> Self {
        Self {
            stemmer: None,
            size,
            slots: Vec::new(),
            letters: String::new(),
        }
    }

    /// The stem of a word of ASCII lower-case letters.
    pub(super) fn stem<'a>(&'a mut self, word: &'a str) -> &'a str {
        if !may_change(word.as_bytes()) {
            return word;
        }
        if self.slots.is_empty() || self.letters.len() > LETTERS {
            self.slots.clear();
            self.slots.resize(self.size, Slot::default());
            self.letters.clear();
        }
        let Some(slot) = self.slots.get_mut(place(word, self.size)) else {
            return word;
        };
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

/// Tells whether a word has an ending that the English stemmer could take away.
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

/// Which of `size` slots a word has; `size` is a power of two.
fn place(word: &str, size: usize) -> usize {
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
            for mut stems in [Stems::default(), Stems::for_query()] {
                for word in words.iter().chain(&words) {
                    prop_assert_eq!(stems.stem(word), plain.stem(word));
                }
            }
        }
    }

    #[test]
    fn a_query_makes_no_room_for_many_words() {
        let mut stems = Stems::for_query();
        assert_eq!(stems.stem("houses"), "hous");
        assert_eq!(stems.slots.len(), 1);
    }
}
