//! WordPiece: cuts text into entries of the uncased BERT vocabulary, with the same ids as the reference.
//!
//! The steps are those of the reference: special tokens written in the text are kept; control characters and
//! accents are removed, CJK characters become single words, and everything is lowercased; words end at white space
//! and around punctuation; each word is cut by greedy longest match. ASCII words take a faster path that gives the
//! same pieces.

pub mod vocabulary;

mod ascii;
mod normal;
mod properties;

use ascii::{ByteClass, byte_class};

/// The entry for a word that cannot be cut into pieces.
pub const UNK: u16 = 100;
/// The entry before a text.
pub const CLS: u16 = 101;
/// The entry after a text.
pub const SEP: u16 = 102;
/// The number of entries in the vocabulary.
pub const ENTRIES: usize = 30_522;

/// Entries that are recognised in a text as written, before anything else is done to it.
const SPECIAL: [(&str, u16); 5] = [
    ("[PAD]", 0),
    ("[UNK]", UNK),
    ("[CLS]", CLS),
    ("[SEP]", SEP),
    ("[MASK]", 103),
];

/// The longest word in characters; a longer one is unknown as a whole.
const LONGEST_WORD: usize = 100;

/// One piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VocabularyPiece<'a> {
    /// An entry of the vocabulary.
    Entry(u16),
    /// A word without pieces, in normalised form; its id is [`UNK`].
    Unknown(&'a str),
}

impl VocabularyPiece<'_> {
    /// Returns the id in the vocabulary.
    #[inline]
    pub fn id(self) -> u16 {
        match self {
            Self::Entry(id) => id,
            Self::Unknown(_) => UNK,
        }
    }
}

/// Returns the text of an entry, with `##` if it continues a word.
pub fn entry_text(id: u16) -> Option<&'static str> {
    vocabulary::entry_text(id)
}

/// Appends the ids of the pieces of `text`, without [`CLS`] and [`SEP`].
pub fn encode(text: &str, ids: &mut Vec<u16>) {
    encode_with(text, |piece| ids.push(piece.id()));
}

/// Calls `each` with every piece of `text`, in order.
pub fn encode_with(text: &str, mut each: impl FnMut(VocabularyPiece<'_>)) {
    let mut cutter = WordCutter::new();
    let mut normal = String::new();
    let mut word = ascii::AsciiWord::new();
    let mut rest = text;
    while let Some(first) = rest.bytes().next() {
        let taken = match byte_class(first) {
            ByteClass::Space | ByteClass::Control => 1,
            ByteClass::Punctuation => match special_token(rest) {
                // Written out in the text it is an unknown word like any other, not a control token.
                Some((name, UNK)) => {
                    each(VocabularyPiece::Unknown(name));
                    name.len()
                }
                Some((name, id)) => {
                    each(VocabularyPiece::Entry(id));
                    name.len()
                }
                None => {
                    cutter.cut_word(rest.get(..1).unwrap_or_default(), &mut each);
                    1
                }
            },
            ByteClass::Letter | ByteClass::Wide => match word.read_word(rest) {
                Some(word) => {
                    cutter.cut_word(word, &mut each);
                    word.len()
                }
                None => {
                    let run = ascii::leading_run(rest);
                    normal::normalise_text(run, &mut normal);
                    normal::for_each_word(&normal, |word| cutter.cut_word(word, &mut each));
                    run.len()
                }
            },
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
}

/// Returns the special token that `text` begins with.
fn special_token(text: &str) -> Option<(&'static str, u16)> {
    if !text.starts_with('[') {
        return None;
    }
    SPECIAL.into_iter().find(|(name, _)| text.starts_with(name))
}

/// Cuts words into pieces, reusing its buffers from word to word.
struct WordCutter {
    /// The hash of each prefix of the word; a character has at most four bytes.
    prefixes: [u64; 4 * LONGEST_WORD + 1],
    pieces: [u16; 4 * LONGEST_WORD],
}

impl WordCutter {
    fn new() -> Self {
        Self {
            prefixes: [0; 4 * LONGEST_WORD + 1],
            pieces: [0; 4 * LONGEST_WORD],
        }
    }

    /// Emits the pieces of one normalised word, or the word as unknown.
    #[inline]
    fn cut_word(&mut self, word: &str, each: &mut impl FnMut(VocabularyPiece<'_>)) {
        match self.find_pieces(word) {
            Some(pieces) => pieces.iter().for_each(|id| each(VocabularyPiece::Entry(*id))),
            None => each(VocabularyPiece::Unknown(word)),
        }
    }

    #[inline]
    fn find_pieces(&mut self, word: &str) -> Option<&[u16]> {
        let bytes = word.as_bytes();
        // The reference counts characters, not bytes; the cheap comparison decides nearly always.
        if bytes.len() > LONGEST_WORD && word.chars().count() > LONGEST_WORD {
            return None;
        }
        let mut hash = 0;
        // With the hashes of all prefixes, the hash of any substring costs one multiplication, so the
        // longest match needs no rehashing.
        for (byte, prefix) in bytes.iter().zip(self.prefixes.get_mut(1..)?) {
            hash = vocabulary::extend_hash(hash, *byte);
            *prefix = hash;
        }
        let (mut begin, mut count) = (0, 0);
        while begin < bytes.len() {
            let (id, end) = self.longest_entry(bytes, begin)?;
            *self.pieces.get_mut(count)? = id;
            (begin, count) = (end, count + 1);
        }
        self.pieces.get(..count)
    }

    /// Returns the longest entry that matches the word at `begin`, and its end.
    #[inline]
    fn longest_entry(&self, word: &[u8], begin: usize) -> Option<(u16, usize)> {
        let shorter = *self.prefixes.get(begin)?;
        let furthest = word.len().min(begin + vocabulary::LONGEST);
        (begin + 1..=furthest).rev().find_map(|end| {
            let hash = vocabulary::hash_between(shorter, *self.prefixes.get(end)?, end - begin);
            // Only the first piece of a word lacks `##`.
            let id = vocabulary::find_entry(word.get(begin..end)?, hash, begin > 0)?;
            Some((id, end))
        })
    }
}
