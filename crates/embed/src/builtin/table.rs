//! The file of a static embedding table, read in place.
//!
//! `LOCITAB1`, then as little-endian u32 the first token id, the number of rows and the dimension, then sixteen
//! ASCII characters that name the revision, then for each row its scale as f32, then for each row its values as i8.

use std::fmt;

const MAGIC: &[u8; 8] = b"LOCITAB1";
const REVISION: usize = 16;
/// How many rows tell how long a vector usually is.
const SAMPLED: usize = 64;
const HEADER: usize = 8 + 3 * 4 + REVISION;

/// A table of token vectors, borrowed from the bytes of its file.
#[derive(Debug, Clone, Copy)]
pub struct Table<'a> {
    first: usize,
    rows: usize,
    dimension: usize,
    revision: &'a str,
    scales: &'a [[u8; 4]],
    codes: &'a [u8],
    usual_length: f32,
}

/// Why bytes are not a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// It is something else.
    NotATable,
    /// It ends before its rows do, or goes on after them.
    Length,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotATable => "it is not an embedding table",
            Self::Length => "its length is not what its header says",
        })
    }
}

impl<'a> Table<'a> {
    /// Reads a table's header; its rows are read when they are used.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Damage> {
        let (header, body) = bytes.split_at_checked(HEADER).ok_or(Damage::NotATable)?;
        let numbers = header.strip_prefix(MAGIC).ok_or(Damage::NotATable)?;
        let (numbers, revision) = numbers.split_at_checked(12).ok_or(Damage::NotATable)?;
        let number = |at: usize| {
            let bytes = numbers.as_chunks::<4>().0.get(at).copied().unwrap_or_default();
            u32::from_le_bytes(bytes) as usize
        };
        let (first, rows, dimension) = (number(0), number(1), number(2));
        let revision = std::str::from_utf8(revision).map_err(|_| Damage::NotATable)?;
        let values = rows.checked_mul(dimension).ok_or(Damage::Length)?;
        let scales = rows.checked_mul(4).ok_or(Damage::Length)?;
        let (scales, codes) = body.split_at_checked(scales).ok_or(Damage::Length)?;
        if codes.len() != values || values == 0 {
            return Err(Damage::Length);
        }
        let mut table = Self {
            first,
            rows,
            dimension,
            revision,
            scales: scales.as_chunks::<4>().0,
            codes,
            usual_length: 1.0,
        };
        let some = (0..SAMPLED).map(|at| table.length_of_row(at * rows / SAMPLED));
        table.usual_length = some.sum::<f32>() / SAMPLED as f32;
        Ok(table)
    }

    /// How many values a vector has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// What tells this table from every other.
    pub fn revision(&self) -> &'a str {
        self.revision
    }

    /// How long the vector of an ordinary word is.
    pub fn usual_length(&self) -> f32 {
        self.usual_length
    }

    fn row(&self, row: usize) -> Option<(f32, &'a [u8])> {
        let scale = f32::from_le_bytes(*self.scales.get(row)?);
        let codes = self.codes.get(row * self.dimension..(row + 1) * self.dimension)?;
        Some((scale, codes))
    }

    fn length_of_row(&self, row: usize) -> f32 {
        let Some((scale, codes)) = self.row(row.min(self.rows - 1)) else {
            return 1.0;
        };
        let squares = codes.iter().map(|code| f32::from(*code as i8).powi(2));
        scale * squares.sum::<f32>().sqrt()
    }

    /// Adds the vector of a token to `sum`; a token without a row adds nothing.
    pub fn add(&self, token: u16, sum: &mut [f32]) {
        let row = usize::from(token).checked_sub(self.first);
        if let Some((scale, codes)) = row.and_then(|row| self.row(row)) {
            for (sum, code) in sum.iter_mut().zip(codes) {
                *sum += scale * f32::from(*code as i8);
            }
        }
    }
}

/// Writes a table of f32 rows, the first of which belongs to token `first`.
pub fn write(first: u32, dimension: usize, values: &[f32]) -> Vec<u8> {
    let rows = values.chunks_exact(dimension);
    let mut scales = Vec::with_capacity(rows.len() * 4);
    let mut codes = Vec::with_capacity(values.len());
    for row in rows.clone() {
        let largest = row.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        let scale = largest / 127.0;
        scales.extend(scale.to_le_bytes());
        let code = |value: &f32| {
            if scale > 0.0 {
                (value / scale).round() as i8
            } else {
                0
            }
        };
        codes.extend(row.iter().map(|value| code(value) as u8));
    }
    let mut body = scales;
    body.extend(codes);
    let mut bytes = MAGIC.to_vec();
    for number in [first, rows.len() as u32, dimension as u32] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(revision(&body).as_bytes());
    bytes.extend(body);
    bytes
}

/// Sixteen characters that follow from every row of a table.
pub(super) fn revision(body: &[u8]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for chunk in body.chunks(8) {
        let mut word = [0; 8];
        word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 32;
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Vec<u8> {
        write(
            10,
            4,
            &[1.0, -0.5, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0, -3.0, 2.0, 1.0, 0.5],
        )
    }

    #[test]
    fn rows_come_back_within_a_step_of_their_scale() {
        let bytes = small();
        let table = Table::read(&bytes).unwrap();
        assert_eq!((table.dimension(), table.revision().len()), (4, REVISION));
        let mut sum = [0.0; 4];
        table.add(12, &mut sum);
        for (value, expected) in sum.iter().zip([-3.0, 2.0, 1.0, 0.5]) {
            assert!((value - expected).abs() <= 3.0 / 127.0 / 2.0, "{sum:?}");
        }
        let before = sum;
        table.add(9, &mut sum);
        table.add(13, &mut sum);
        table.add(11, &mut sum);
        assert_eq!(sum, before, "tokens without a row and rows of zeros add nothing");
    }

    #[test]
    fn another_value_is_another_revision() {
        let (one, two) = (write(0, 2, &[1.0, 0.5]), write(0, 2, &[1.0, 0.25]));
        let revision = |bytes: &[u8]| Table::read(bytes).unwrap().revision().to_owned();
        assert_ne!(revision(&one), revision(&two));
    }

    #[test]
    fn what_is_no_table_is_refused_at_every_length() {
        let bytes = small();
        for length in 0..bytes.len() {
            assert!(Table::read(&bytes[..length]).is_err(), "{length}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(Table::read(&longer).unwrap_err(), Damage::Length);
        let mut huge = bytes.clone();
        huge[12..20].fill(0xff);
        assert_eq!(Table::read(&huge).unwrap_err(), Damage::Length);
        let mut other = bytes;
        other[0] = b'X';
        assert_eq!(Table::read(&other).unwrap_err(), Damage::NotATable);
    }
}
