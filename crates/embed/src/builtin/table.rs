//! The file format of a static embedding table, read in place.
//!
//! `LOCITAB1`, then as little-endian u32 the first token id, the number of rows and the dimension, then sixteen
//! ASCII characters that name the revision, then for each row its scale as f32, then for each row its values as i8.

use std::fmt;

const MAGIC: &[u8; 8] = b"LOCITAB1";
const REVISION: usize = 16;
/// The number of rows sampled for the usual length of a vector.
const SAMPLED: usize = 64;
const HEADER: usize = 8 + 3 * 4 + REVISION;

/// A table of token vectors, borrowed from the bytes of its file.
#[derive(Debug, Clone, Copy)]
pub struct EmbeddingTable<'a> {
    first: usize,
    rows: usize,
    dimension: usize,
    revision: &'a str,
    scales: &'a [[u8; 4]],
    codes: &'a [u8],
    usual_length: f32,
}

/// The reason why bytes are not a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableDamage {
    /// The bytes are something else.
    NotATable,
    /// The file ends before its rows do, or continues after them.
    Length,
}

impl fmt::Display for TableDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotATable => "it is not an embedding table",
            Self::Length => "its length differs from the one in its header",
        })
    }
}

impl<'a> EmbeddingTable<'a> {
    /// Reads a table's header; its rows are read when they are used.
    pub fn read(bytes: &'a [u8]) -> Result<Self, TableDamage> {
        let (header, body) = bytes.split_at_checked(HEADER).ok_or(TableDamage::NotATable)?;
        let numbers = header.strip_prefix(MAGIC).ok_or(TableDamage::NotATable)?;
        let (numbers, revision) = numbers.split_at_checked(12).ok_or(TableDamage::NotATable)?;
        let number = |at: usize| {
            let bytes = numbers.as_chunks::<4>().0.get(at).copied().unwrap_or_default();
            u32::from_le_bytes(bytes) as usize
        };
        let (first, rows, dimension) = (number(0), number(1), number(2));
        let revision = std::str::from_utf8(revision).map_err(|_| TableDamage::NotATable)?;
        let values = rows.checked_mul(dimension).ok_or(TableDamage::Length)?;
        let scales = rows.checked_mul(4).ok_or(TableDamage::Length)?;
        let (scales, codes) = body.split_at_checked(scales).ok_or(TableDamage::Length)?;
        if codes.len() != values || values == 0 {
            return Err(TableDamage::Length);
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
        // A sample spread over the table: reading every row at each start would page in the whole
        // asset.
        let some = (0..SAMPLED).map(|at| table.length_of_row(at * rows / SAMPLED));
        table.usual_length = some.sum::<f32>() / SAMPLED as f32;
        Ok(table)
    }

    /// Returns the number of values in a vector.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Returns the revision that distinguishes this table from every other.
    pub fn revision(&self) -> &'a str {
        self.revision
    }

    /// Returns the length of an ordinary word's vector.
    pub fn usual_length(&self) -> f32 {
        self.usual_length
    }

    fn row_codes(&self, row: usize) -> Option<(f32, &'a [u8])> {
        let scale = f32::from_le_bytes(*self.scales.get(row)?);
        let codes = self.codes.get(row * self.dimension..(row + 1) * self.dimension)?;
        Some((scale, codes))
    }

    fn length_of_row(&self, row: usize) -> f32 {
        let Some((scale, codes)) = self.row_codes(row.min(self.rows - 1)) else {
            return 1.0;
        };
        let squares = codes.iter().map(|code| f32::from(*code as i8).powi(2));
        scale * squares.sum::<f32>().sqrt()
    }

    /// Adds the vector of a token to `sum`; a token without a row adds nothing.
    pub fn add_token(&self, token: u16, sum: &mut [f32]) {
        // The first ids of the vocabulary are special and unused tokens, for which the table has no rows.
        let row = usize::from(token).checked_sub(self.first);
        if let Some((scale, codes)) = row.and_then(|row| self.row_codes(row)) {
            add_scaled(sum, scale, codes);
        }
    }
}

/// Adds codes times a scale. Not inlined: among the loops of its caller the compiler no longer knows that `sum` and `codes`
/// lie apart, and adds one value after the other.
#[inline(never)]
fn add_scaled(sum: &mut [f32], scale: f32, codes: &[u8]) {
    for (sum, code) in sum.iter_mut().zip(codes) {
        *sum += scale * f32::from(*code as i8);
    }
}

/// Writes a table of f32 rows, the first of which belongs to token `first`.
pub fn write_table(first: u32, dimension: usize, values: &[f32]) -> Vec<u8> {
    let rows = values.chunks_exact(dimension);
    let mut scales = Vec::with_capacity(rows.len() * 4);
    let mut codes = Vec::with_capacity(values.len());
    for row in rows.clone() {
        let largest = row.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        // Each row has its own scale: lengths differ widely, and one common scale would round short vectors to nothing.
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
    bytes.extend(compute_revision(&body).as_bytes());
    bytes.extend(body);
    bytes
}

/// Returns sixteen characters that depend on every row of a table.
pub(super) fn compute_revision(body: &[u8]) -> String {
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
        write_table(
            10,
            4,
            &[1.0, -0.5, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0, -3.0, 2.0, 1.0, 0.5],
        )
    }

    #[test]
    fn rows_come_back_within_a_step_of_their_scale() {
        let bytes = small();
        let table = EmbeddingTable::read(&bytes).unwrap();
        assert_eq!((table.dimension(), table.revision().len()), (4, REVISION));
        let mut sum = [0.0; 4];
        table.add_token(12, &mut sum);
        for (value, expected) in sum.iter().zip([-3.0, 2.0, 1.0, 0.5]) {
            assert!((value - expected).abs() <= 3.0 / 127.0 / 2.0, "{sum:?}");
        }
        let before = sum;
        table.add_token(9, &mut sum);
        table.add_token(13, &mut sum);
        table.add_token(11, &mut sum);
        assert_eq!(sum, before, "tokens without a row and rows of zeros add nothing");
    }

    #[test]
    fn another_value_is_another_revision() {
        let (one, two) = (write_table(0, 2, &[1.0, 0.5]), write_table(0, 2, &[1.0, 0.25]));
        let revision = |bytes: &[u8]| EmbeddingTable::read(bytes).unwrap().revision().to_owned();
        assert_ne!(revision(&one), revision(&two));
    }

    #[test]
    fn what_is_no_table_is_refused_at_every_length() {
        let bytes = small();
        for length in 0..bytes.len() {
            assert!(EmbeddingTable::read(&bytes[..length]).is_err(), "{length}");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert_eq!(EmbeddingTable::read(&longer).unwrap_err(), TableDamage::Length);
        let mut huge = bytes.clone();
        huge[12..20].fill(0xff);
        assert_eq!(EmbeddingTable::read(&huge).unwrap_err(), TableDamage::Length);
        let mut other = bytes;
        other[0] = b'X';
        assert_eq!(EmbeddingTable::read(&other).unwrap_err(), TableDamage::NotATable);
    }
}
