//! Classes of bytes, and a fast path for ASCII words that needs no Unicode tables.

use super::LONGEST_WORD;

/// The class of a byte in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteClass {
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

static CLASSES: [ByteClass; 256] = build_classes();

#[allow(
    clippy::indexing_slicing,
    reason = "it runs while compiling, where a panic is an error"
)]
const fn build_classes() -> [ByteClass; 256] {
    let mut classes = [ByteClass::Letter; 256];
    let mut at = 0;
    while at < classes.len() {
        let byte = at as u8;
        classes[at] = match byte {
            // Before the control class: these three are control characters too, but separate words.
            b'\t' | b'\n' | b'\r' | b' ' => ByteClass::Space,
            _ if byte.is_ascii_control() => ByteClass::Control,
            _ if byte.is_ascii_punctuation() => ByteClass::Punctuation,
            _ if byte.is_ascii() => ByteClass::Letter,
            _ => ByteClass::Wide,
        };
        at += 1;
    }
    classes
}

/// Returns the class of a byte.
#[inline]
pub(super) fn byte_class(byte: u8) -> ByteClass {
    CLASSES.get(usize::from(byte)).copied().unwrap_or(ByteClass::Wide)
}

/// Returns the beginning of `text` up to the next ASCII white space or punctuation, which no step of normalisation
/// can cross.
pub(super) fn leading_run(text: &str) -> &str {
    let end = text
        .bytes()
        .position(|byte| matches!(byte_class(byte), ByteClass::Space | ByteClass::Punctuation));
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// A buffer for one word in lower case.
pub(super) struct AsciiWord {
    bytes: [u8; LONGEST_WORD],
}

impl AsciiWord {
    pub(super) fn new() -> Self {
        Self {
            bytes: [0; LONGEST_WORD],
        }
    }

    /// Returns the word that `text` begins with, lowercased; `None` if it is too long or contains more than
    /// letters.
    #[inline]
    pub(super) fn read_word(&mut self, text: &str) -> Option<&str> {
        let text = text.as_bytes();
        let mut length = 0;
        while let Some(&byte) = text.get(length) {
            match byte_class(byte) {
                ByteClass::Letter => *self.bytes.get_mut(length)? = byte.to_ascii_lowercase(),
                ByteClass::Space | ByteClass::Punctuation => break,
                // A control character vanishes inside a word, and an accent may follow a plain letter:
                // both need the slow path for the whole word.
                ByteClass::Control | ByteClass::Wide => return None,
            }
            length += 1;
        }
        std::str::from_utf8(self.bytes.get(..length)?).ok()
    }
}
