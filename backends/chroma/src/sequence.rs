//! Sequence numbers, which Chroma kept as eight bytes, largest first, until 0.6, and as integers since 1.0.

use rusqlite::Row;
use rusqlite::types::ValueRef;

/// A sequence number and how it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// The number; nothing where the bytes are not one.
    pub(crate) number: Option<i64>,
    /// Whether it is kept as bytes.
    pub(crate) is_bytes: bool,
}

/// Reads a column that holds a sequence number in either way.
pub(crate) fn sequence(row: &Row<'_>, at: usize) -> rusqlite::Result<Sequence> {
    Ok(match row.get_ref(at)? {
        ValueRef::Integer(number) => Sequence {
            number: Some(number),
            is_bytes: false,
        },
        ValueRef::Blob(bytes) => Sequence {
            number: from_bytes(bytes),
            is_bytes: true,
        },
        _ => Sequence {
            number: None,
            is_bytes: false,
        },
    })
}

/// The number in up to eight bytes, largest first; `None` for what no release wrote.
pub(crate) fn from_bytes(bytes: &[u8]) -> Option<i64> {
    if bytes.is_empty() || bytes.len() > 8 {
        return None;
    }
    let value = bytes
        .iter()
        .fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
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
