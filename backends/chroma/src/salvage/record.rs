//! One row in SQLite's record format: a header of varints with the type of each column, then the columns.

/// The most columns that a row of Chroma's tables can have; more is damage.
const MOST_COLUMNS: usize = 64;

/// One column of one row, borrowed from the bytes it was read from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ColumnValue<'a> {
    Null,
    Int(i64),
    Real(f64),
    /// The bytes in the file, which need not be UTF-8.
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

impl<'a> ColumnValue<'a> {
    /// Returns the text, if it is valid UTF-8.
    pub(super) fn as_text(self) -> Option<&'a str> {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

/// Reads a varint, and returns its value and length.
pub(super) fn read_varint(bytes: &[u8]) -> Option<(i64, usize)> {
    let mut value: u64 = 0;
    for (at, byte) in bytes.iter().take(8).enumerate() {
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value.cast_signed(), at + 1));
        }
    }
    // The ninth byte carries eight bits instead of seven, which completes the 64.
    let last = bytes.get(8)?;
    Some((((value << 8) | u64::from(*last)).cast_signed(), 9))
}

/// Reads an unsigned big-endian number of at most eight bytes.
pub(super) fn read_big_endian(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(width)?)?;
    Some(
        bytes
            .iter()
            .fold(0, |value, byte| (value << 8) | u64::from(*byte)),
    )
}

/// Reads a page number.
pub(super) fn read_page_number(bytes: &[u8], at: usize) -> Option<u32> {
    read_big_endian(bytes, at, 4).and_then(|number| u32::try_from(number).ok())
}

/// Reads all columns. Returns `None` if a single byte is left over or missing.
pub(super) fn parse_columns(payload: &[u8]) -> Option<Vec<ColumnValue<'_>>> {
    let (values, end) = parse_values(payload)?;
    (end == Some(payload.len())).then_some(values)
}

/// Reads the columns at the beginning of a row.
pub(super) fn parse_leading_columns(payload: &[u8]) -> Option<Vec<ColumnValue<'_>>> {
    parse_values(payload).map(|(values, _)| values)
}

/// Reads columns as far as there are bytes, and returns their end if all are complete.
fn parse_values(payload: &[u8]) -> Option<(Vec<ColumnValue<'_>>, Option<usize>)> {
    let (header, mut at) = read_varint(payload)?;
    let header = usize::try_from(header).ok()?;
    let mut body = header;
    let mut values = Vec::new();
    while at < header {
        let (serial, width) = read_varint(payload.get(at..header)?)?;
        at += width;
        let end = body.checked_add(serial_size(serial)?)?;
        let Some(bytes) = payload.get(body..end) else {
            // The rest lies on overflow pages; the columns so far are enough to recognise a row.
            return Some((values, None));
        };
        body = end;
        values.push(parse_value(serial, bytes)?);
        if values.len() > MOST_COLUMNS {
            return None;
        }
    }
    (at == header && !values.is_empty()).then_some((values, Some(body)))
}

/// Returns the size of a column of this serial type in bytes.
fn serial_size(serial: i64) -> Option<usize> {
    match serial {
        // NULL and the constants 0 and 1 are wholly in the header.
        0 | 8 | 9 => Some(0),
        1..=4 => usize::try_from(serial).ok(),
        5 => Some(6),
        6 | 7 => Some(8),
        12.. => usize::try_from((serial - 12) / 2).ok(),
        _ => None,
    }
}

fn parse_value(serial: i64, bytes: &[u8]) -> Option<ColumnValue<'_>> {
    Some(match serial {
        0 => ColumnValue::Null,
        1..=6 => ColumnValue::Int(read_signed(bytes)?),
        7 => ColumnValue::Real(f64::from_bits(read_big_endian(bytes, 0, 8)?)),
        8 => ColumnValue::Int(0),
        9 => ColumnValue::Int(1),
        _ if serial % 2 == 0 => ColumnValue::Blob(bytes),
        _ => ColumnValue::Text(bytes),
    })
}

/// Reads a big-endian number in two's complement.
fn read_signed(bytes: &[u8]) -> Option<i64> {
    let unused = 64 - 8 * u32::try_from(bytes.len()).ok()?;
    Some((read_big_endian(bytes, 0, bytes.len())? << unused).cast_signed() >> unused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_of_every_length_are_read() {
        assert_eq!(read_varint(&[0x7f, 1]), Some((127, 1)));
        assert_eq!(read_varint(&[0x81, 0x00]), Some((128, 2)));
        assert_eq!(read_varint(&[0xff; 9]), Some((-1, 9)));
        assert_eq!(read_varint(&[0xff; 8]), None);
        assert_eq!(read_varint(&[]), None);
    }

    #[test]
    fn a_row_is_read_column_by_column() {
        let row = [
            7, 0, 1, 2, 9, 15, 14, //
            0xff, 0x01, 0x00, b'a', 0xee,
        ];
        let expected = vec![
            ColumnValue::Null,
            ColumnValue::Int(-1),
            ColumnValue::Int(256),
            ColumnValue::Int(1),
            ColumnValue::Text(b"a"),
            ColumnValue::Blob(&[0xee]),
        ];
        assert_eq!(parse_columns(&row), Some(expected));
    }

    #[test]
    fn a_row_with_a_byte_too_many_or_too_few_is_no_row() {
        assert_eq!(parse_columns(&[2, 1, 5]), Some(vec![ColumnValue::Int(5)]));
        assert_eq!(parse_columns(&[2, 1, 5, 0]), None);
        assert_eq!(parse_columns(&[2, 1]), None);
        assert_eq!(
            parse_columns(&[2, 10]),
            None,
            "serial types 10 and 11 are not used in files"
        );
        assert_eq!(parse_columns(&[0xff; 30]), None);
        assert_eq!(parse_columns(&[]), None);
    }
}
