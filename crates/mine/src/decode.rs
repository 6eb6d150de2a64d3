//! Decodes bytes to text and back. Decoding is reversible: encoding a decoded text gives the same bytes.

mod guess;
mod magic;
mod stray;
mod windows;

pub use stray::{StrayBytes, piece_strays, read_strays, write_strays};

/// Decoded text, with everything needed to restore the bytes exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedText {
    /// The text. A byte order mark stays in it as U+FEFF.
    pub text: String,
    /// The encoding of the bytes.
    pub encoding: TextEncoding,
    /// The places where the bytes were not valid text, in ascending order.
    pub strays: Vec<StrayBytes>,
}

/// A text encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextEncoding {
    /// One to four bytes a character.
    Utf8,
    /// Two or four bytes a character, the low byte first.
    Utf16Le,
    /// Two or four bytes a character, the high byte first.
    Utf16Be,
    /// One byte a character, for the languages of western Europe. The five undefined bytes decode to the control
    /// characters of the same number.
    Windows1252,
}

impl TextEncoding {
    /// All encodings.
    pub const ALL: [Self; 4] = [Self::Utf8, Self::Utf16Le, Self::Utf16Be, Self::Windows1252];

    /// Returns the name that drawers carry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Windows1252 => "windows-1252",
        }
    }

    /// Returns the encoding of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == name)
    }
}

/// The reason why bytes are not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTextCause {
    /// There are no bytes.
    Empty,
    /// They are something else, such as "a PNG image" or "binary data".
    Binary(&'static str),
}

/// Decodes bytes as text. Valid UTF-8 is not copied.
pub fn decode_bytes(bytes: Vec<u8>) -> Result<DecodedText, NotTextCause> {
    if bytes.is_empty() {
        return Err(NotTextCause::Empty);
    }
    // Before any guess: the bytes of a PDF may well decode as text.
    if let Some(what) = magic::certain_binary_kind(&bytes) {
        return Err(NotTextCause::Binary(what));
    }
    // Before UTF-8, because ASCII in UTF-16 is valid UTF-8 full of NULs.
    if let Some(encoding) = guess::guess_utf16(&bytes) {
        return read_utf16(&bytes, encoding);
    }
    match String::from_utf8(bytes) {
        Ok(text) if guess::is_noise(text.as_bytes()) => Err(describe_binary(text.as_bytes())),
        Ok(text) => Ok(DecodedText {
            text,
            encoding: TextEncoding::Utf8,
            strays: Vec::new(),
        }),
        Err(error) => decode_near_utf8(error.as_bytes()),
    }
}

/// Restores the bytes that [`decode_bytes`] read. A stray that is not at a U+FFFD is ignored, and a character that the
/// encoding lacks becomes `?`; the output of `decode_bytes` contains neither.
pub fn encode_text(text: &str, encoding: TextEncoding, strays: &[StrayBytes]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut done = 0;
    for stray in strays {
        let Some(before) = text.get(done..stray.at) else {
            continue;
        };
        let behind = text.get(stray.at..).unwrap_or_default();
        // A U+FFFD without a stray was in the original text and is encoded as it is.
        if behind.starts_with(char::REPLACEMENT_CHARACTER) {
            write_encoded(before, encoding, &mut bytes);
            bytes.extend_from_slice(&stray.bytes);
            done = stray.at + char::REPLACEMENT_CHARACTER.len_utf8();
        }
    }
    write_encoded(text.get(done..).unwrap_or_default(), encoding, &mut bytes);
    bytes
}

fn write_encoded(text: &str, encoding: TextEncoding, bytes: &mut Vec<u8>) {
    match encoding {
        TextEncoding::Utf8 => bytes.extend_from_slice(text.as_bytes()),
        TextEncoding::Utf16Le => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
        TextEncoding::Utf16Be => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
        TextEncoding::Windows1252 => {
            bytes.extend(text.chars().map(|c| windows::encode_character(c).unwrap_or(b'?')))
        }
    }
}

fn describe_binary(bytes: &[u8]) -> NotTextCause {
    NotTextCause::Binary(magic::likely_binary_kind(bytes).unwrap_or("binary data"))
}

fn decode_near_utf8(bytes: &[u8]) -> Result<DecodedText, NotTextCause> {
    match guess::guess_byte_encoding(bytes) {
        Some(TextEncoding::Windows1252) => Ok(DecodedText {
            text: bytes.iter().copied().map(windows::decode_byte).collect(),
            encoding: TextEncoding::Windows1252,
            strays: Vec::new(),
        }),
        Some(_) => Ok(decode_utf8_with_strays(bytes)),
        None => Err(describe_binary(bytes)),
    }
}

fn decode_utf8_with_strays(bytes: &[u8]) -> DecodedText {
    let mut text = String::with_capacity(bytes.len());
    let mut strays: Vec<StrayBytes> = Vec::new();
    // Invalid bytes in a row share one U+FFFD, although `utf8_chunks` reports them one by one.
    let mut open = false;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        open &= chunk.valid().is_empty();
        match strays.last_mut() {
            _ if chunk.invalid().is_empty() => {}
            Some(stray) if open => stray.bytes.extend_from_slice(chunk.invalid()),
            _ => strays.push(StrayBytes::push_replacement(&mut text, chunk.invalid())),
        }
        open = !chunk.invalid().is_empty();
    }
    DecodedText {
        text,
        encoding: TextEncoding::Utf8,
        strays,
    }
}

/// Decodes UTF-16. Lone surrogates and half a unit at the end become strays.
fn read_utf16(bytes: &[u8], encoding: TextEncoding) -> Result<DecodedText, NotTextCause> {
    let (units, rest) = bytes.as_chunks::<2>();
    let big = encoding == TextEncoding::Utf16Be;
    let order = if big {
        u16::from_be_bytes
    } else {
        u16::from_le_bytes
    };
    let back = if big { u16::to_be_bytes } else { u16::to_le_bytes };
    let mut text = String::with_capacity(bytes.len());
    let mut strays = Vec::new();
    for unit in char::decode_utf16(units.iter().copied().map(order)) {
        match unit {
            Ok(character) => text.push(character),
            Err(lone) => strays.push(StrayBytes::push_replacement(
                &mut text,
                &back(lone.unpaired_surrogate()),
            )),
        }
    }
    if !rest.is_empty() {
        strays.push(StrayBytes::push_replacement(&mut text, rest));
    }
    // Up to a hundredth of a text may be broken; with more it was binary that happened to look like UTF-16.
    if strays.len() > 2 + units.len() / 100 || guess::is_noise(text.as_bytes()) {
        return Err(NotTextCause::Binary("binary data"));
    }
    Ok(DecodedText {
        text,
        encoding,
        strays,
    })
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
