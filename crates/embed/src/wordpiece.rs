//! WordPiece: cuts text into the entries of the uncased BERT vocabulary, id for id as the reference does.
//!
//! The steps are the reference's: special tokens written in the text stand for themselves; control characters go,
//! CJK characters stand alone, accents go, everything is lowercased; words end at white space and around
//! punctuation; each word is cut by greedy longest match. Words of ASCII take a path of their own, which comes to
//! the same pieces.

pub mod vocabulary;

mod ascii;
mod normal;
mod properties;

use ascii::{Class, class};

/// The entry that stands for a word with no pieces.
pub const UNK: u16 = 100;
/// The entry before a text.
pub const CLS: u16 = 101;
/// The entry after a text.
pub const SEP: u16 = 102;
/// How many entries the vocabulary has.
pub const ENTRIES: usize = 30_522;

/// Entries that are recognised in a text as written, before anything else is done to it.
const SPECIAL: [(&str, u16); 5] = [
    ("[PAD]", 0),
    ("[UNK]", UNK),
    ("[CLS]", CLS),
    ("[SEP]", SEP),
    ("[MASK]", 103),
];

/// A word of more characters than this is unknown as a whole.
const LONGEST_WORD: usize = 100;

/// One piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// An entry of the vocabulary.
    Entry(u16),
    /// A word with no pieces, as it is after normalisation; its id is [`UNK`].
    Unknown(&'a str),
}

impl Piece<'_> {
    /// The id in the vocabulary.
    #[inline]
    pub fn id(self) -> u16 {
        match self {
            Self::Entry(id) => id,
            Self::Unknown(_) => UNK,
        }
    }
}

/// The text of an entry, with its `##` where it continues a word.
pub fn entry(id: u16) -> Option<&'static str> {
    vocabulary::entry(id)
}

/// Appends the ids of the pieces of `text`, without [`CLS`] and [`SEP`].
pub fn encode(text: &str, ids: &mut Vec<u16>) {
    encode_with(text, |piece| ids.push(piece.id()));
}

/// Gives each piece of `text` to `each`, in order.
pub fn encode_with(text: &str, mut each: impl FnMut(Piece<'_>)) {
    let mut cutter = Cutter::new();
    let mut normal = String::new();
    let mut word = ascii::Word::new();
    let mut rest = text;
    while let Some(first) = rest.bytes().next() {
        let taken = match class(first) {
            Class::Space | Class::Control => 1,
            Class::Punctuation => match special(rest) {
                Some((name, UNK)) => {
                    each(Piece::Unknown(name));
                    name.len()
                }
                Some((name, id)) => {
                    each(Piece::Entry(id));
                    name.len()
                }
                None => {
                    cutter.cut(rest.get(..1).unwrap_or_default(), &mut each);
                    1
                }
            },
            Class::Letter | Class::Wide => match word.read(rest) {
                Some(word) => {
                    cutter.cut(word, &mut each);
                    word.len()
                }
                None => {
                    let run = ascii::run(rest);
                    normal::normalise(run, &mut normal);
                    normal::words(&normal, |word| cutter.cut(word, &mut each));
                    run.len()
                }
            },
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
}

/// The special token that `text` begins with.
fn special(text: &str) -> Option<(&'static str, u16)> {
    if !text.starts_with('[') {
        return None;
    }
    SPECIAL.into_iter().find(|(name, _)| text.starts_with(name))
}

/// Cuts words into pieces; what it needs to remember within a word is kept from one to the next.
struct Cutter {
    /// The hash of each prefix of the word; a character has at most four bytes.
    prefixes: [u64; 4 * LONGEST_WORD + 1],
    pieces: [u16; 4 * LONGEST_WORD],
}

impl Cutter {
    fn new() -> Self {
        Self {
            prefixes: [0; 4 * LONGEST_WORD + 1],
            pieces: [0; 4 * LONGEST_WORD],
        }
    }

    /// Gives the pieces of one normalised word, or the word as unknown.
    #[inline]
    fn cut(&mut self, word: &str, each: &mut impl FnMut(Piece<'_>)) {
        match self.pieces(word) {
            Some(pieces) => pieces.iter().for_each(|id| each(Piece::Entry(*id))),
            None => each(Piece::Unknown(word)),
        }
    }

    #[inline]
    fn pieces(&mut self, word: &str) -> Option<&[u16]> {
        let bytes = word.as_bytes();
        if bytes.len() > LONGEST_WORD && word.chars().count() > LONGEST_WORD {
            return None;
        }
        let mut hash = 0;
        for (byte, prefix) in bytes.iter().zip(self.prefixes.get_mut(1..)?) {
            hash = vocabulary::extend(hash, *byte);
            *prefix = hash;
        }
        let (mut begin, mut count) = (0, 0);
        while begin < bytes.len() {
            let (id, end) = self.longest(bytes, begin)?;
            *self.pieces.get_mut(count)? = id;
            (begin, count) = (end, count + 1);
        }
        self.pieces.get(..count)
    }

    /// The longest entry that the word goes on with at `begin`, and where it ends.
    #[inline]
    fn longest(&self, word: &[u8], begin: usize) -> Option<(u16, usize)> {
        let shorter = *self.prefixes.get(begin)?;
        let furthest = word.len().min(begin + vocabulary::LONGEST);
        (begin + 1..=furthest).rev().find_map(|end| {
            let hash = vocabulary::between(shorter, *self.prefixes.get(end)?, end - begin);
            let id = vocabulary::find(word.get(begin..end)?, hash, begin > 0)?;
            Some((id, end))
        })
    }
}
