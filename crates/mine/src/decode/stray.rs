//! Strays: bytes that were not valid text, kept beside it so that nothing is lost.

use std::fmt::Write;
use std::ops::Range;

/// Bytes that were not valid text; the text holds one U+FFFD in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StrayBytes {
    /// The byte offset of that U+FFFD in the text.
    pub at: usize,
    /// The original bytes.
    pub bytes: Vec<u8>,
}

impl StrayBytes {
    /// Appends a U+FFFD to the text in place of these bytes.
    pub(super) fn push_replacement(text: &mut String, bytes: &[u8]) -> Self {
        let at = text.len();
        text.push(char::REPLACEMENT_CHARACTER);
        Self {
            at,
            bytes: bytes.to_vec(),
        }
    }
}

/// Returns the strays of one piece of a text, relative to the start of the piece. `strays` must be in ascending order.
pub fn piece_strays(strays: &[StrayBytes], range: Range<usize>) -> Vec<StrayBytes> {
    let from = strays.partition_point(|stray| stray.at < range.start);
    let behind = strays.get(from..).unwrap_or_default();
    let inside = behind.iter().take_while(|stray| stray.at < range.end);
    inside
        .map(|stray| StrayBytes {
            at: stray.at - range.start,
            bytes: stray.bytes.clone(),
        })
        .collect()
}

/// Writes strays as one short line: `12:ff,40:c3a9`.
pub fn write_strays(strays: &[StrayBytes]) -> String {
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

/// Parses a line written by [`write_strays`]; `None` for anything else.
pub fn read_strays(line: &str) -> Option<Vec<StrayBytes>> {
    if line.is_empty() {
        return Some(Vec::new());
    }
    let strays: Vec<StrayBytes> = line.split(',').map(read_stray).collect::<Option<_>>()?;
    // `encode` walks them in one pass, so a line out of order would give back wrong bytes.
    strays.is_sorted_by(|a, b| a.at < b.at).then_some(strays)
}

fn read_stray(text: &str) -> Option<StrayBytes> {
    let (at, bytes) = text.split_once(':')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !digits(at) || !digits(bytes) || bytes.len() % 2 != 0 {
        return None;
    }
    let (pairs, _) = bytes.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    Some(StrayBytes {
        at: at.parse().ok()?,
        bytes: pairs.iter().map(byte).collect::<Option<_>>()?,
    })
}
