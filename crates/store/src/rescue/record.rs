//! SQLite's record format: a header of types, then the values.

/// One value of a record.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RecordValue<'a> {
    Null,
    Int(i64),
    Real,
    Text(&'a [u8]),
    Blob(&'a [u8]),
    /// The value lies, in whole or in part, beyond the bytes at hand.
    Cut,
}

impl<'a> RecordValue<'a> {
    pub(super) fn as_int(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn as_text(self) -> Option<&'a str> {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub(super) fn as_blob(self) -> Option<&'a [u8]> {
        match self {
            Self::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(super) fn is_null(self) -> bool {
        self == RecordValue::Null
    }
}

/// Reads a varint at `at`; returns it and the place after it.
pub(super) fn read_varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for step in 0..9 {
        let place = at.checked_add(step)?;
        let byte = *bytes.get(place)?;
        if step == 8 {
            // The ninth byte has no flag and gives all its bits.
            return Some(((value << 8) | u64::from(byte), place + 1));
        }
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, place + 1));
        }
    }
    None
}

/// Decodes the columns of a record of which `bytes` is the beginning; `None` if that is not a record.
///
/// Values beyond `bytes` are [`RecordValue::Cut`]. The header must be whole, and `total` bytes long together with the
/// values it announces.
pub(super) fn decode_record(bytes: &[u8], total: usize) -> Option<Vec<RecordValue<'_>>> {
    let (header, mut at) = read_varint(bytes, 0)?;
    let header = usize::try_from(header).ok()?;
    if header > total || header > bytes.len() || header < at {
        return None;
    }
    let mut place = header;
    let mut values = Vec::new();
    while at < header {
        let (kind, after) = read_varint(bytes, at)?;
        at = after;
        let length = value_length(kind)?;
        let end = place.checked_add(length)?;
        if end > total {
            return None;
        }
        let value = bytes
            .get(place..end)
            .map_or(RecordValue::Cut, |content| decode_value(kind, content));
        values.push(value);
        place = end;
    }
    // A record is exactly as long as its header says: other bytes that happen to parse rarely are.
    (at == header && place == total).then_some(values)
}

fn value_length(kind: u64) -> Option<usize> {
    match kind {
        0 | 8 | 9 => Some(0),
        1..=4 => usize::try_from(kind).ok(),
        5 => Some(6),
        6 | 7 => Some(8),
        // Reserved for SQLite itself; never in a file.
        10 | 11 => None,
        _ => usize::try_from((kind - 12) / 2).ok(),
    }
}

fn decode_value(kind: u64, content: &[u8]) -> RecordValue<'_> {
    match kind {
        0 => RecordValue::Null,
        1..=6 => RecordValue::Int(read_signed(content)),
        7 => RecordValue::Real,
        8 => RecordValue::Int(0),
        9 => RecordValue::Int(1),
        _ if kind.is_multiple_of(2) => RecordValue::Blob(content),
        _ => RecordValue::Text(content),
    }
}

/// Reads a big-endian integer of up to eight bytes, extending its sign.
fn read_signed(content: &[u8]) -> i64 {
    let negative = content.first().is_some_and(|byte| byte & 0x80 != 0);
    content
        .iter()
        .fold(if negative { -1 } else { 0 }, |value: i64, byte| {
            (value << 8) | i64::from(*byte)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_keep_their_sign() {
        // header: 7 bytes; types 1, 2, 3, 4, 5, 6
        let mut bytes = vec![7, 1, 2, 3, 4, 5, 6];
        bytes.extend([0xff]);
        bytes.extend([0x7f, 0xff]);
        bytes.extend([0x80, 0, 0]);
        bytes.extend([0, 0, 0, 9]);
        bytes.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xfe]);
        bytes.extend(i64::MIN.to_be_bytes());
        let expected = [-1, 32_767, -8_388_608, 9, -2, i64::MIN].map(RecordValue::Int);
        assert_eq!(decode_record(&bytes, bytes.len()).unwrap(), expected);
    }

    #[test]
    fn a_record_must_end_where_its_header_says() {
        let bytes = [3, 1, 15, 5, b'a'];
        assert_eq!(
            decode_record(&bytes, 5),
            Some(vec![RecordValue::Int(5), RecordValue::Text(b"a")])
        );
        assert_eq!(decode_record(&bytes, 6), None, "a byte is left over");
        assert_eq!(decode_record(&bytes, 4), None, "a byte is missing");
        assert_eq!(
            decode_record(&bytes[..4], 5),
            Some(vec![RecordValue::Int(5), RecordValue::Cut]),
            "the rest is on another page"
        );
        assert_eq!(decode_record(&[], 0), None);
        assert_eq!(decode_record(&[2, 10], 2), None, "a type that no file holds");
    }

    #[test]
    fn a_varint_has_at_most_nine_bytes() {
        assert_eq!(read_varint(&[0x81, 0x00], 0), Some((128, 2)));
        assert_eq!(read_varint(&[0xff; 9], 0), Some((u64::MAX, 9)));
        assert_eq!(read_varint(&[0xff; 8], 0), None);
    }
}
