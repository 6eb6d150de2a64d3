//! Strays: bytes that were no text, kept beside it so that nothing is lost.

use std::fmt::Write;
use std::ops::Range;

/// A place where the bytes were no text: the text holds one U+FFFD there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stray {
    /// Where that U+FFFD begins in the text, in bytes.
    pub at: usize,
    /// The bytes that stood there.
    pub bytes: Vec<u8>,
}

impl Stray {
    /// Puts a U+FFFD at the end of the text for these bytes.
    pub(super) fn mark(text: &mut String, bytes: &[u8]) -> Self {
        let at = text.len();
        text.push(char::REPLACEMENT_CHARACTER);
        Self {
            at,
            bytes: bytes.to_vec(),
        }
    }
}

/// The strays of one piece of a text, counted from where the piece begins. They must be in ascending order.
pub fn piece_strays(strays: &[Stray], range: Range<usize>) -> Vec<Stray> {
    let from = strays.partition_point(|stray| stray.at < range.start);
    let behind = strays.get(from..).unwrap_or_default();
    let inside = behind.iter().take_while(|stray| stray.at < range.end);
    inside
        .map(|stray| Stray {
            at: stray.at - range.start,
            bytes: stray.bytes.clone(),
        })
        .collect()
}

/// Strays as one short line: `12:ff,40:c3a9`.
pub fn write_strays(strays: &[Stray]) -> String {
    let mut line = String::new();
    for stray in strays {
        let comma = if line.is_empty() { "" } else { "," };
        let _ = write!(line, "{comma}{}:", stray.at);
        for byte in &stray.bytes {
            let _ = write!(line, "{byte:02x}");
        }
    }
    line
}

/// Reads what [`write_strays`] wrote; `None` for anything else.
pub fn read_strays(line: &str) -> Option<Vec<Stray>> {
    if line.is_empty() {
        return Some(Vec::new());
    }
    let strays: Vec<Stray> = line.split(',').map(read_stray).collect::<Option<_>>()?;
    strays.is_sorted_by(|a, b| a.at < b.at).then_some(strays)
}

fn read_stray(text: &str) -> Option<Stray> {
    let (at, bytes) = text.split_once(':')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !digits(at) || !digits(bytes) || bytes.len() % 2 != 0 {
        return None;
    }
    let (pairs, _) = bytes.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    Some(Stray {
        at: at.parse().ok()?,
        bytes: pairs.iter().map(byte).collect::<Option<_>>()?,
    })
}
