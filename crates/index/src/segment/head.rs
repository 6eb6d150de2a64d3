//! The parsed head of a segment, and the scan of its body.

use super::bounds::{Bounds, UNBOUNDED};
use super::layout::{HEAD_CHECKSUM, Prefix, corrupt};
use super::quantise::Row;
use super::{Mask, ROWS, Seal};
use crate::candidates::Candidates;
use crate::distance::Probe;
use crate::kernel;
use crate::rows::{Rows, Seeker};
use loci_core::{Metric, Result};
use std::ops::Range;

/// What a segment says about its rows, without their codes.
#[derive(Debug, Clone)]
pub struct Head {
    prefix: Prefix,
    rows: Vec<i64>,
    packed: Vec<Row>,
    /// The length of each row's vector, rounded up.
    lengths: Vec<f32>,
}

impl Head {
    /// Reads the head from the first bytes of a segment; more bytes may follow.
    ///
    /// Lengths, order and ranges are always checked, the checksum only if `verify`; a head that
    /// fails is `Corrupt`.
    pub fn parse(bytes: &[u8], seal: &Seal, verify: bool) -> Result<Self> {
        let prefix = Prefix::read(bytes)?;
        let head = bytes
            .get(..prefix.head_len())
            .ok_or_else(|| corrupt("a segment's head is cut short"))?;
        if verify && checksum(head, seal) != Some(prefix.head_checksum) {
            return Err(corrupt("a segment's head fails its checksum"));
        }
        let (rows, packed) = arrays(head, prefix.count);
        if rows.len() != prefix.count || packed.len() != prefix.count {
            return Err(corrupt("a segment's head is cut short"));
        }
        let ends = (rows.first(), rows.last());
        if ends != (Some(&prefix.first), Some(&prefix.last)) || !rows.is_sorted_by(|a, b| a < b) {
            return Err(corrupt("a segment's rows are out of order"));
        }
        if !packed
            .iter()
            .all(|row| row.scale.is_finite() && row.norm >= 0.0 && row.error >= 0.0)
        {
            return Err(corrupt("a segment's scales are out of range"));
        }
        let lengths = packed.iter().map(Row::length).collect();
        Ok(Self {
            prefix,
            rows,
            packed,
            lengths,
        })
    }

    /// The row numbers, strictly ascending.
    pub fn rows(&self) -> &[i64] {
        &self.rows
    }

    /// How many rows there are; at least one.
    pub fn count(&self) -> usize {
        self.prefix.count
    }

    /// How many components each vector has.
    pub fn dimension(&self) -> usize {
        self.prefix.dimension
    }

    /// The metric the rows were packed for.
    pub fn metric(&self) -> Metric {
        self.prefix.metric
    }

    /// The smallest row number.
    pub fn first(&self) -> i64 {
        self.prefix.first
    }

    /// The largest row number.
    pub fn last(&self) -> i64 {
        self.prefix.last
    }

    /// Where in the segment's bytes the codes lie; its end is the segment's length.
    pub fn body_range(&self) -> Range<usize> {
        let start = self.prefix.head_len();
        start..start + self.prefix.count * self.prefix.dimension
    }

    /// Checks the codes against their checksum; `Corrupt` if they are not what was sealed.
    pub fn check_body(&self, seal: &Seal, body: &[u8]) -> Result<()> {
        if body.len() != self.body_range().len() {
            return Err(corrupt("a segment's body has the wrong length").with("bytes", body.len()));
        }
        if seal.checksum(&[body]) != self.prefix.body_checksum {
            return Err(corrupt("a segment's body fails its checksum"));
        }
        Ok(())
    }

    /// Chooses the rows that `allow` holds (all, if `None`) and that are not in `skip`, which ascends.
    pub fn mask(&self, allow: Option<&Rows>, skip: &[i64]) -> Mask {
        let untouched = skip.partition_point(|&row| row < self.first())
            == skip.partition_point(|&row| row <= self.last());
        if untouched && allow.is_none_or(|rows| rows.excluded().is_some_and(<[i64]>::is_empty)) {
            return Mask::of(self.rows.iter().map(|_| true));
        }
        let mut dead = Seeker(skip);
        let mut listed = allow.and_then(Rows::listed).map(Seeker);
        let mut excluded = Seeker(allow.and_then(Rows::excluded).unwrap_or_default());
        Mask::of(self.rows.iter().map(|&row| {
            let allowed = listed.as_mut().is_none_or(|listed| listed.finds(row)) && !excluded.finds(row);
            allowed && !dead.finds(row)
        }))
    }

    /// Offers each chosen row to `out` with bounds of its exact distance from `probe`.
    ///
    /// A row whose codes are missing, because `body` is too short, and every row, if the probe is
    /// of another metric or dimension or not finite, is offered without bounds: the answer stays
    /// right and costs more.
    pub fn scan(&self, body: &[u8], probe: &Probe, mask: &Mask, out: &mut Candidates) {
        let fits = probe.metric() == self.metric() && probe.dimension() == self.dimension();
        let body = if fits { body } else { &[] };
        let coded = body.len() / self.dimension();
        let mut products = [0i64; ROWS];
        kernel::products(&probe.codes.values, body, mask.words(), &mut products);
        let bounds = Bounds::new(probe);
        for position in mask.positions() {
            let (Some(&row), Some(packed)) = (self.rows.get(position), self.packed.get(position)) else {
                break;
            };
            let (Some(&length), Some(&product)) = (self.lengths.get(position), products.get(position)) else {
                break;
            };
            if position >= coded {
                out.offer(row, UNBOUNDED.0, UNBOUNDED.1);
            } else if let Some((lower, upper)) = bounds.of(packed, length, product, out.limit()) {
                out.offer(row, lower, upper);
            }
        }
    }
}

/// The checksum of a head, its own field taken as zeros.
fn checksum(head: &[u8], seal: &Seal) -> Option<u64> {
    let before = head.get(..HEAD_CHECKSUM.start)?;
    let after = head.get(HEAD_CHECKSUM.end..)?;
    Some(seal.checksum(&[before, &[0; HEAD_CHECKSUM.end - HEAD_CHECKSUM.start], after]))
}

/// The arrays behind the prefix, as far as the bytes reach.
fn arrays(head: &[u8], count: usize) -> (Vec<i64>, Vec<Row>) {
    let arrays = head.get(super::PREFIX..).unwrap_or_default();
    let (rows, floats) = arrays.split_at_checked(count * 8).unwrap_or_default();
    let rows = rows
        .as_chunks()
        .0
        .iter()
        .map(|bytes| i64::from_le_bytes(*bytes))
        .collect();
    let floats: Vec<f32> = floats
        .as_chunks()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();
    let (scales, rest) = floats.split_at_checked(count).unwrap_or_default();
    let (norms, errors) = rest.split_at_checked(count).unwrap_or_default();
    let packed = scales.iter().zip(norms).zip(errors);
    (
        rows,
        packed
            .map(|((&scale, &norm), &error)| Row { scale, norm, error })
            .collect(),
    )
}
