//! The layout of a segment: numbers read and written at fixed offsets.

use super::ROWS;
use loci_core::{Error, ErrorKind, Metric, Result};

/// The number of bytes before the arrays of a segment.
pub const PREFIX: usize = 64;

/// The byte range of the head checksum, which counts as zeros in its own computation.
pub(super) const HEAD_CHECKSUM: std::ops::Range<usize> = 40..48;

/// The bytes per row in the head: number, scale, squared length, error.
const HEAD_ROW: usize = 20;

const MAGIC: [u8; 8] = *b"LOCISEG1";
const DIMENSION_MAX: usize = 65_536;

/// The fields of the first [`PREFIX`] bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentPrefix {
    pub(super) metric: Metric,
    pub(super) dimension: usize,
    pub(super) count: usize,
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) head_checksum: u64,
    pub(super) body_checksum: u64,
}

/// Returns the length of a segment's prefix and arrays in bytes, given its first [`PREFIX`] bytes.
///
/// A prefix that is too short, of another kind or out of range is `Corrupt`.
pub fn head_len(prefix: &[u8]) -> Result<usize> {
    SegmentPrefix::read(prefix).map(|prefix| prefix.head_len())
}

impl SegmentPrefix {
    /// Returns the length of the prefix and its arrays in bytes.
    pub(super) fn head_len(&self) -> usize {
        PREFIX + self.count * HEAD_ROW
    }

    /// Reads and checks the prefix of `bytes`.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let mut fields = PrefixFields(bytes);
        let magic: [u8; 8] = fields.take_field()?;
        if magic != MAGIC {
            return Err(corrupt_error("a segment does not begin with its magic bytes"));
        }
        let [metric, padding @ ..]: [u8; 4] = fields.take_field()?;
        let dimension = u32::from_le_bytes(fields.take_field()?) as usize;
        let count = u32::from_le_bytes(fields.take_field()?) as usize;
        let gap: [u8; 4] = fields.take_field()?;
        let prefix = Self {
            metric: decode_metric(metric)?,
            dimension,
            count,
            first: i64::from_le_bytes(fields.take_field()?),
            last: i64::from_le_bytes(fields.take_field()?),
            head_checksum: u64::from_le_bytes(fields.take_field()?),
            body_checksum: u64::from_le_bytes(fields.take_field()?),
        };
        let end: [u8; 8] = fields.take_field()?;
        // Reserved bytes must be zero, so that a later format can give them a meaning that this build
        // refuses.
        if padding != [0; 3] || gap != [0; 4] || end != [0; 8] {
            return Err(corrupt_error("a segment's prefix has bytes where zeros belong"));
        }
        // Before anything is allocated: these two numbers decide how much the rest reads.
        if !(1..=ROWS).contains(&count) || !(1..=DIMENSION_MAX).contains(&dimension) {
            let error = corrupt_error("a segment's prefix is out of range");
            return Err(error
                .with_context("count", count)
                .with_context("dimension", dimension));
        }
        Ok(prefix)
    }

    /// Returns this prefix as bytes.
    pub(super) fn to_bytes(self) -> [u8; PREFIX] {
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

/// Reports whether a segment can hold vectors of this dimension.
pub(super) fn supports_dimension(dimension: usize) -> bool {
    (1..=DIMENSION_MAX).contains(&dimension)
}

/// Returns an error of kind `Corrupt`.
pub(super) fn corrupt_error(message: &str) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}

fn metric_code(metric: Metric) -> u8 {
    match metric {
        Metric::Cosine => 0,
        Metric::L2 => 1,
        Metric::Ip => 2,
    }
}

fn decode_metric(code: u8) -> Result<Metric> {
    let known = Metric::ALL
        .into_iter()
        .find(|metric| metric_code(*metric) == code);
    known.ok_or_else(|| corrupt_error("a segment names an unknown metric").with_context("metric", code))
}

/// Hands out fields from the front of a slice.
struct PrefixFields<'a>(&'a [u8]);

impl PrefixFields<'_> {
    fn take_field<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (field, rest) = self
            .0
            .split_first_chunk()
            .ok_or_else(|| corrupt_error("a segment is cut short"))?;
        self.0 = rest;
        Ok(*field)
    }
}
