//! Where each number of a segment lies, read and written at fixed places.

use super::ROWS;
use loci_core::{Error, ErrorKind, Metric, Result};

/// How many bytes of a segment come before its arrays.
pub const PREFIX: usize = 64;

/// Where the head checksum lies; it counts as zeros in itself.
pub(super) const HEAD_CHECKSUM: std::ops::Range<usize> = 40..48;

/// The bytes of the head that each row takes: number, scale, squared length, error.
const HEAD_ROW: usize = 20;

const MAGIC: [u8; 8] = *b"LOCISEG1";
const DIMENSION_MAX: usize = 65_536;

/// The numbers of the first [`PREFIX`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) metric: Metric,
    pub(super) dimension: usize,
    pub(super) count: usize,
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) head_checksum: u64,
    pub(super) body_checksum: u64,
}

/// How many bytes the prefix and the arrays of a segment take, from its first [`PREFIX`] bytes.
///
/// A prefix that is too short, of another kind or out of range is `Corrupt`.
pub fn head_len(prefix: &[u8]) -> Result<usize> {
    Prefix::read(prefix).map(|prefix| prefix.head_len())
}

impl Prefix {
    /// The length of the prefix and its arrays.
    pub(super) fn head_len(&self) -> usize {
        PREFIX + self.count * HEAD_ROW
    }

    /// Reads and checks the prefix of `bytes`.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut fields = Fields(bytes);
        let magic: [u8; 8] = fields.take()?;
        if magic != MAGIC {
            return Err(corrupt("a segment does not begin with its magic"));
        }
        let [metric, padding @ ..]: [u8; 4] = fields.take()?;
        let dimension = u32::from_le_bytes(fields.take()?) as usize;
        let count = u32::from_le_bytes(fields.take()?) as usize;
        let gap: [u8; 4] = fields.take()?;
        let prefix = Self {
            metric: metric_of(metric)?,
            dimension,
            count,
            first: i64::from_le_bytes(fields.take()?),
            last: i64::from_le_bytes(fields.take()?),
            head_checksum: u64::from_le_bytes(fields.take()?),
            body_checksum: u64::from_le_bytes(fields.take()?),
        };
        let end: [u8; 8] = fields.take()?;
        if padding != [0; 3] || gap != [0; 4] || end != [0; 8] {
            return Err(corrupt("a segment's prefix has bytes where zeros belong"));
        }
        if !(1..=ROWS).contains(&count) || !(1..=DIMENSION_MAX).contains(&dimension) {
            let error = corrupt("a segment's prefix is out of range");
            return Err(error.with("count", count).with("dimension", dimension));
        }
        Ok(prefix)
    }

    /// The bytes of this prefix.
    pub(super) fn bytes(&self) -> [u8; PREFIX] {
        let mut bytes = [0; PREFIX];
        let fields: [&[u8]; 10] = [
            &MAGIC,
            &[metric_code(self.metric), 0, 0, 0],
            &(self.dimension as u32).to_le_bytes(),
            &(self.count as u32).to_le_bytes(),
            &[0; 4],
            &self.first.to_le_bytes(),
            &self.last.to_le_bytes(),
            &self.head_checksum.to_le_bytes(),
            &self.body_checksum.to_le_bytes(),
            &[0; 8],
        ];
        for (to, from) in bytes.iter_mut().zip(fields.into_iter().flatten()) {
            *to = *from;
        }
        bytes
    }
}

/// Tells whether a segment can hold vectors of this dimension.
pub(super) fn holds(dimension: usize) -> bool {
    (1..=DIMENSION_MAX).contains(&dimension)
}

/// An error of kind `Corrupt`.
pub(super) fn corrupt(message: &str) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}

fn metric_code(metric: Metric) -> u8 {
    match metric {
        Metric::Cosine => 0,
        Metric::L2 => 1,
        Metric::Ip => 2,
    }
}

fn metric_of(code: u8) -> Result<Metric> {
    let known = Metric::ALL
        .into_iter()
        .find(|metric| metric_code(*metric) == code);
    known.ok_or_else(|| corrupt("a segment names an unknown metric").with("metric", code))
}

/// Hands out fields from the front of a slice.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (field, rest) = self
            .0
            .split_first_chunk()
            .ok_or_else(|| corrupt("a segment is cut short"))?;
        self.0 = rest;
        Ok(*field)
    }
}
