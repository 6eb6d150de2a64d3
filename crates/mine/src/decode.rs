//! Bytes into text and back: whatever is read as text gives its very bytes again.

mod guess;
mod magic;
mod stray;
mod windows;

pub use stray::{Stray, piece_strays, read_strays, write_strays};

/// Text as it was read, and what it takes to give the bytes back exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text. A byte order mark stays in it as U+FEFF.
    pub text: String,
    /// How the bytes spell it.
    pub encoding: Encoding,
    /// Where the bytes were no text, in ascending order.
    pub strays: Vec<Stray>,
}

/// How bytes spell text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// One to four bytes a character.
    Utf8,
    /// Two or four bytes a character, the low byte first.
    Utf16Le,
    /// Two or four bytes a character, the high byte first.
    Utf16Be,
    /// One byte a character, for the languages of western Europe. The five bytes it leaves open are the control
    /// characters of the same number.
    Windows1252,
}

impl Encoding {
    /// Every encoding there is.
    pub const ALL: [Self; 4] = [Self::Utf8, Self::Utf16Le, Self::Utf16Be, Self::Windows1252];

    /// The name it is kept under.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Windows1252 => "windows-1252",
        }
    }

    /// The encoding of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.name() == name)
    }
}

/// Why bytes are no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotText {
    /// There are none.
    Empty,
    /// They are something else, and this is what: "a PNG image", "binary data".
    Binary(&'static str),
}

/// Reads bytes as text. Bytes that are UTF-8 are not copied.
pub fn decode(bytes: Vec<u8>) -> Result<Decoded, NotText> {
    if bytes.is_empty() {
        return Err(NotText::Empty);
    }
    if let Some(what) = magic::certain(&bytes) {
        return Err(NotText::Binary(what));
    }
    if let Some(encoding) = guess::wide(&bytes) {
        return wide(&bytes, encoding);
    }
    match String::from_utf8(bytes) {
        Ok(text) if guess::is_noise(text.as_bytes()) => Err(binary(text.as_bytes())),
        Ok(text) => Ok(Decoded {
            text,
            encoding: Encoding::Utf8,
            strays: Vec::new(),
        }),
        Err(error) => not_quite_utf8(error.as_bytes()),
    }
}

/// Gives back the bytes that [`decode`] read. A stray that does not stand at a U+FFFD is passed over, and a
/// character the encoding lacks becomes `?`; what `decode` gave has neither.
pub fn encode(text: &str, encoding: Encoding, strays: &[Stray]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut done = 0;
    for stray in strays {
        let Some(before) = text.get(done..stray.at) else {
            continue;
        };
        let behind = text.get(stray.at..).unwrap_or_default();
        if behind.starts_with(char::REPLACEMENT_CHARACTER) {
            write(before, encoding, &mut bytes);
            bytes.extend_from_slice(&stray.bytes);
            done = stray.at + char::REPLACEMENT_CHARACTER.len_utf8();
        }
    }
    write(text.get(done..).unwrap_or_default(), encoding, &mut bytes);
    bytes
}

fn write(text: &str, encoding: Encoding, bytes: &mut Vec<u8>) {
    match encoding {
        Encoding::Utf8 => bytes.extend_from_slice(text.as_bytes()),
        Encoding::Utf16Le => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
        Encoding::Utf16Be => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
        Encoding::Windows1252 => bytes.extend(text.chars().map(|c| windows::byte(c).unwrap_or(b'?'))),
    }
}

fn binary(bytes: &[u8]) -> NotText {
    NotText::Binary(magic::likely(bytes).unwrap_or("binary data"))
}

fn not_quite_utf8(bytes: &[u8]) -> Result<Decoded, NotText> {
    match guess::narrow(bytes) {
        Some(Encoding::Windows1252) => Ok(Decoded {
            text: bytes.iter().copied().map(windows::character).collect(),
            encoding: Encoding::Windows1252,
            strays: Vec::new(),
        }),
        Some(_) => Ok(utf8_with_strays(bytes)),
        None => Err(binary(bytes)),
    }
}

fn utf8_with_strays(bytes: &[u8]) -> Decoded {
    let mut text = String::with_capacity(bytes.len());
    let mut strays: Vec<Stray> = Vec::new();
    let mut open = false;
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        open &= chunk.valid().is_empty();
        match strays.last_mut() {
            _ if chunk.invalid().is_empty() => {}
            Some(stray) if open => stray.bytes.extend_from_slice(chunk.invalid()),
            _ => strays.push(Stray::mark(&mut text, chunk.invalid())),
        }
        open = !chunk.invalid().is_empty();
    }
    Decoded {
        text,
        encoding: Encoding::Utf8,
        strays,
    }
}

/// Reads UTF-16. What stands for no character, half a pair or half a unit, is a stray.
fn wide(bytes: &[u8], encoding: Encoding) -> Result<Decoded, NotText> {
    let (units, rest) = bytes.as_chunks::<2>();
    let big = encoding == Encoding::Utf16Be;
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
            Err(lone) => strays.push(Stray::mark(&mut text, &back(lone.unpaired_surrogate()))),
        }
    }
    if !rest.is_empty() {
        strays.push(Stray::mark(&mut text, rest));
    }
    // A hundredth of a text may be broken; more than that was never text.
    if strays.len() > 2 + units.len() / 100 || guess::is_noise(text.as_bytes()) {
        return Err(NotText::Binary("binary data"));
    }
    Ok(Decoded {
        text,
        encoding,
        strays,
    })
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
