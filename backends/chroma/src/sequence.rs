//! Sequence numbers, which Chroma stored as eight big-endian bytes until 0.6, and stores as integers since 1.0.

use rusqlite::Row;
use rusqlite::types::ValueRef;

/// A sequence number and its encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SequenceNumber {
    /// The number, or `None` if the bytes are not one.
    pub(crate) number: Option<i64>,
    /// Whether it is stored as bytes.
    pub(crate) is_bytes: bool,
}

/// Reads a sequence number in either encoding.
pub(crate) fn read_sequence(row: &Row<'_>, at: usize) -> rusqlite::Result<SequenceNumber> {
    Ok(match row.get_ref(at)? {
        ValueRef::Integer(number) => SequenceNumber {
            number: Some(number),
            is_bytes: false,
        },
        ValueRef::Blob(bytes) => SequenceNumber {
            number: from_bytes(bytes),
            is_bytes: true,
        },
        _ => SequenceNumber {
            number: None,
            is_bytes: false,
        },
    })
}

/// Decodes a number of up to eight big-endian bytes. Returns `None` for bytes that no release wrote.
pub(crate) fn from_bytes(bytes: &[u8]) -> Option<i64> {
    if bytes.is_empty() || bytes.len() > 8 {
        return None;
    }
    let value = bytes
        .iter()
        .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    // A number beyond `i64` is damage: SQLite's own rowids, from which Chroma takes them, end there.
    i64::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_largest_first() {
        assert_eq!(from_bytes(&42_u64.to_be_bytes()), Some(42));
        assert_eq!(from_bytes(&[0, 1, 0]), Some(256));
        assert_eq!(from_bytes(&[]), None);
        assert_eq!(from_bytes(&[0xff; 8]), None, "larger than any that was given");
        assert_eq!(from_bytes(&[0; 9]), None);
    }
}
