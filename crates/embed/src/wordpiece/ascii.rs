//! What each byte means, and words that are all ASCII: read without the tables of Unicode.

use super::LONGEST_WORD;

/// What a byte of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Part of a word.
    Letter,
    /// Between words.
    Space,
    /// A word by itself.
    Punctuation,
    /// Dropped, without ending the word around it.
    Control,
    /// Part of a character beyond ASCII.
    Wide,
}

static CLASSES: [Class; 256] = classes();

#[allow(
    clippy::indexing_slicing,
    reason = "it runs while compiling, where a panic is an error"
)]
const fn classes() -> [Class; 256] {
    let mut classes = [Class::Letter; 256];
    let mut at = 0;
    while at < classes.len() {
        let byte = at as u8;
        classes[at] = match byte {
            b'\t' | b'\n' | b'\r' | b' ' => Class::Space,
            _ if byte.is_ascii_control() => Class::Control,
            _ if byte.is_ascii_punctuation() => Class::Punctuation,
            _ if byte.is_ascii() => Class::Letter,
            _ => Class::Wide,
        };
        at += 1;
    }
    classes
}

/// The class of a byte.
#[inline]
pub(super) fn class(byte: u8) -> Class {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(Class::Wide)
}

/// How `text` begins up to the next white space or punctuation of ASCII, where no step of normalisation can reach
/// across.
pub(super) fn run(text: &str) -> &str {
    let end = text
        .bytes()
        .position(|byte| matches!(class(byte), Class::Space | Class::Punctuation));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Room for one word in lower case.
pub(super) struct Word {
    bytes: [u8; LONGEST_WORD],
}

impl Word {
    pub(super) fn new() -> Self {
        Self {
            bytes: [0; LONGEST_WORD],
        }
    }

    /// The word that `text` begins with, lowercased; nothing if it is too long or not of letters alone.
    #[inline]
    pub(super) fn read(&mut self, text: &str) -> Option<&str> {
        let text = text.as_bytes();
        let mut length = 0;
        while let Some(&byte) = text.get(length) {
            match class(byte) {
                Class::Letter => *self.bytes.get_mut(length)? = byte.to_ascii_lowercase(),
                Class::Space | Class::Punctuation => break,
                Class::Control | Class::Wide => return None,
            }
            length += 1;
        }
        std::str::from_utf8(self.bytes.get(..length)?).ok()
    }
}
