//! One row as SQLite writes it down: a header of varints that says what each column is, and the columns.

/// The most columns a row of Chroma's tables could have; more is damage.
const MOST_COLUMNS: usize = 64;

/// One column of one row, borrowed from the bytes it was read from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    Int(i64),
    Real(f64),
    /// As it stands in the file; it need not be UTF-8.
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The text, if it is text and whole.
    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

/// Reads a varint and says how many bytes it took.
pub(super) fn varint(bytes: &[u8]) -> Option<(i64, usize)> {
    let mut value: u64 = 0;
    for (at, byte) in bytes.iter().take(8).enumerate() {
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value.cast_signed(), at + 1));
        }
    }
    let last = bytes.get(8)?;
    Some((((value << 8) | u64::from(*last)).cast_signed(), 9))
}

/// Reads a big-endian number of at most eight bytes, as unsigned.
pub(super) fn big_endian(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    Some(
        bytes
            .iter()
            .fold(0, |value, byte| (value << 8) | u64::from(*byte)),
    )
}

/// Reads a page number.
pub(super) fn page_number(bytes: &[u8], at: usize) -> Option<u32> {
    big_endian(bytes, at, 4).and_then(|number| u32::try_from(number).ok())
}

/// Reads all columns; `None` where a single byte is left over or lacking.
pub(super) fn columns(payload: &[u8]) -> Option<Vec<Value<'_>>> {
    let (values, end) = read(payload)?;
    (end == Some(payload.len())).then_some(values)
}

/// Reads the columns that lie in the beginning of a row.
pub(super) fn start(payload: &[u8]) -> Option<Vec<Value<'_>>> {
    read(payload).map(|(values, _)| values)
}

/// Reads columns as far as there are bytes, and says where they end if they all are there.
fn read(payload: &[u8]) -> Option<(Vec<Value<'_>>, Option<usize>)> {
    let (header, mut at) = varint(payload)?;
    let header = usize::try_from(header).ok()?;
    let mut body = header;
    let mut values = Vec::new();
    while at < header {
        let (serial, width) = varint(payload.get(at..header)?)?;
        at += width;
        let end = body.checked_add(size(serial)?)?;
        let Some(bytes) = payload.get(body..end) else {
            return Some((values, None));
        };
        body = end;
        values.push(value(serial, bytes)?);
        if values.len() > MOST_COLUMNS {
            return None;
        }
    }
    (at == header && !values.is_empty()).then_some((values, Some(body)))
}

/// How many bytes a column of this serial type takes.
fn size(serial: i64) -> Option<usize> {
    match serial {
        0 | 8 | 9 => Some(0),
        1..=4 => usize::try_from(serial).ok(),
        5 => Some(6),
        6 | 7 => Some(8),
        12.. => usize::try_from((serial - 12) / 2).ok(),
        _ => None,
    }
}

fn value(serial: i64, bytes: &[u8]) -> Option<Value<'_>> {
    Some(match serial {
        0 => Value::Null,
        1..=6 => Value::Int(signed(bytes)?),
        7 => Value::Real(f64::from_bits(big_endian(bytes, 0, 8)?)),
        8 => Value::Int(0),
        9 => Value::Int(1),
        _ if serial % 2 == 0 => Value::Blob(bytes),
        _ => Value::Text(bytes),
    })
}

/// A big-endian number in two's complement.
fn signed(bytes: &[u8]) -> Option<i64> {
    let unused = 64 - 8 * u32::try_from(bytes.len()).ok()?;
    Some((big_endian(bytes, 0, bytes.len())? << unused).cast_signed() >> unused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_of_every_length_are_read() {
        assert_eq!(varint(&[0x7f, 1]), Some((127, 1)));
        assert_eq!(varint(&[0x81, 0x00]), Some((128, 2)));
        assert_eq!(varint(&[0xff; 9]), Some((-1, 9)));
        assert_eq!(varint(&[0xff; 8]), None);
        assert_eq!(varint(&[]), None);
    }

    #[test]
    fn a_row_is_read_column_by_column() {
        let row = [
            7, 0, 1, 2, 9, 15, 14, //
            0xff, 0x01, 0x00, b'a', 0xee,
        ];
        let expected = vec![
            Value::Null,
            Value::Int(-1),
            Value::Int(256),
            Value::Int(1),
            Value::Text(b"a"),
            Value::Blob(&[0xee]),
        ];
        assert_eq!(columns(&row), Some(expected));
    }

    #[test]
    fn a_row_with_a_byte_too_many_or_too_few_is_no_row() {
        assert_eq!(columns(&[2, 1, 5]), Some(vec![Value::Int(5)]));
        assert_eq!(columns(&[2, 1, 5, 0]), None);
        assert_eq!(columns(&[2, 1]), None);
        assert_eq!(
            columns(&[2, 10]),
            None,
            "serial types 10 and 11 are not used in files"
        );
        assert_eq!(columns(&[0xff; 30]), None);
        assert_eq!(columns(&[]), None);
    }
}
