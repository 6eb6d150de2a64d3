//! The parsed head of a segment, and the scan of its body.

use super::bounds::{DistanceBounds, UNBOUNDED};
use super::layout::{HEAD_CHECKSUM, SegmentPrefix, corrupt_error};
use super::mask::set_positions;
use super::quantise::PackedRow;
use super::{RowMask, SegmentSeal};
use crate::candidates::NearestCandidates;
use crate::distance::QueryProbe;
use crate::kernel;
use crate::rows::{RowSeeker, RowSet};
use loci_core::{Metric, Result};
use std::ops::Range;

/// The parsed head of a segment: all about its rows except their codes.
#[derive(Debug, Clone)]
pub struct SegmentHead {
    prefix: SegmentPrefix,
    rows: Vec<i64>,
    packed: Vec<PackedRow>,
    /// The length of each row's vector, rounded up.
    lengths: Vec<f32>,
}

impl SegmentHead {
    /// Parses the head from the first bytes of a segment; more bytes may follow.
    ///
    /// Lengths, order and ranges are always checked, the checksum only if `verify`; a head that
    /// fails is `Corrupt`.
    pub fn parse(bytes: &[u8], seal: &SegmentSeal, verify: bool) -> Result<Self> {
        let prefix = SegmentPrefix::read(bytes)?;
        let head = bytes
            .get(..prefix.head_len())
            .ok_or_else(|| corrupt_error("a segment's head is cut short"))?;
        if verify && compute_head_checksum(head, seal) != Some(prefix.head_checksum) {
            return Err(corrupt_error("a segment's head fails its checksum"));
        }
        let (rows, packed) = read_arrays(head, prefix.count);
        if rows.len() != prefix.count || packed.len() != prefix.count {
            return Err(corrupt_error("a segment's head is cut short"));
        }
        // Checked even without the checksum: masks and seekers rely on ascending rows and would skip some
        // silently.
        let ends = (rows.first(), rows.last());
        if ends != (Some(&prefix.first), Some(&prefix.last)) || !rows.is_sorted_by(|a, b| a < b) {
            return Err(corrupt_error("a segment's rows are out of order"));
        }
        if !packed
            .iter()
            .all(|row| row.scale.is_finite() && row.norm >= 0.0 && row.error >= 0.0)
        {
            return Err(corrupt_error("a segment's scales are out of range"));
        }
        let lengths = packed.iter().map(PackedRow::length).collect();
        Ok(Self {
            prefix,
            rows,
            packed,
            lengths,
        })
    }

    /// Returns the row numbers, strictly ascending.
    pub fn rows(&self) -> &[i64] {
        &self.rows
    }

    /// Returns the number of rows; at least one.
    pub fn count(&self) -> usize {
        self.prefix.count
    }

    /// Returns the number of components per vector.
    pub fn dimension(&self) -> usize {
        self.prefix.dimension
    }

    /// Returns the metric the rows were packed for.
    pub fn metric(&self) -> Metric {
        self.prefix.metric
    }

    /// Returns the smallest row number.
    pub fn first(&self) -> i64 {
        self.prefix.first
    }

    /// Returns the largest row number.
    pub fn last(&self) -> i64 {
        self.prefix.last
    }

    /// Returns the byte range of the codes; its end is the segment's length.
    pub fn body_range(&self) -> Range<usize> {
        let start = self.prefix.head_len();
        start..start + self.prefix.count * self.prefix.dimension
    }

    /// Checks the codes against their checksum; `Corrupt` if they differ from the sealed ones.
    pub fn check_body(&self, seal: &SegmentSeal, body: &[u8]) -> Result<()> {
        if body.len() != self.body_range().len() {
            return Err(
                corrupt_error("a segment's body has the wrong length").with_context("bytes", body.len())
            );
        }
        if seal.checksum(&[body]) != self.prefix.body_checksum {
            return Err(corrupt_error("a segment's body fails its checksum"));
        }
        Ok(())
    }

    /// Selects the rows that `allow` contains (all, if `None`) and that are not in `skip`, which ascends.
    pub fn select_rows(&self, allow: Option<&RowSet>, skip: &[i64]) -> RowMask {
        // Most segments have lost no row and most queries have no filter; those need no walk over the
        // rows.
        let untouched = skip.partition_point(|&row| row < self.first())
            == skip.partition_point(|&row| row <= self.last());
        if untouched && allow.is_none_or(|rows| rows.excluded_rows().is_some_and(<[i64]>::is_empty)) {
            return RowMask::from_first(self.rows.len());
        }
        let mut dead = RowSeeker(skip);
        let mut listed = allow.and_then(RowSet::listed_rows).map(RowSeeker);
        let mut excluded = RowSeeker(allow.and_then(RowSet::excluded_rows).unwrap_or_default());
        RowMask::from_chosen(self.rows.iter().map(|&row| {
            let allowed =
                listed.as_mut().is_none_or(|listed| listed.seek_row(row)) && !excluded.seek_row(row);
            allowed && !dead.seek_row(row)
        }))
    }

    /// Offers each selected row to `out` with bounds of its exact distance from `probe`.
    ///
    /// A row is offered without bounds if its codes are missing because `body` is too short; so is every row if the
    /// probe has another metric or dimension or is not finite. The answer stays right and costs more.
    pub fn scan_body(&self, body: &[u8], probe: &QueryProbe, mask: &RowMask, out: &mut NearestCandidates) {
        self.scan_rows(0, body, probe, mask, out);
        let coded = body.len() / self.dimension();
        for row in mask
            .without_first(coded)
            .positions()
            .map_while(|at| self.rows.get(at))
        {
            out.offer_row(*row, UNBOUNDED.0, UNBOUNDED.1);
        }
    }

    /// As [`SegmentHead::scan_body`], for the rows from position `first` on whose codes are here.
    pub(super) fn scan_rows(
        &self,
        first: usize,
        codes: &[u8],
        probe: &QueryProbe,
        mask: &RowMask,
        out: &mut NearestCandidates,
    ) {
        let dimension = self.dimension();
        let fits = probe.metric() == self.metric() && probe.dimension() == dimension;
        let bounds = DistanceBounds::new(probe);
        let mut products = [0i64; 64];
        let parts = (first..).step_by(64).zip(codes.chunks(64 * dimension));
        for (first, codes) in parts {
            let coded = 1_u64.checked_shl((codes.len() / dimension) as u32);
            let bits = mask.bits_from(first) & coded.map_or(u64::MAX, |above| above - 1);
            // All products first, bounds afterwards: the inner loop then streams over the codes without
            // branching.
            if fits {
                kernel::row_products(&probe.codes.values, codes, &[bits], &mut products);
            }
            for bit in set_positions(bits) {
                let at = first + bit;
                let (Some(&row), Some(packed)) = (self.rows.get(at), self.packed.get(at)) else {
                    break;
                };
                let (Some(&length), Some(&product)) = (self.lengths.get(at), products.get(bit)) else {
                    break;
                };
                if !fits {
                    out.offer_row(row, UNBOUNDED.0, UNBOUNDED.1);
                // The limit falls during the scan, so it is read again at every row.
                } else if let Some((lower, upper)) =
                    bounds.bound_distance(packed, length, product, out.limit())
                {
                    out.offer_row(row, lower, upper);
                }
            }
        }
    }
}

/// Computes the checksum of a head, its own field taken as zeros.
fn compute_head_checksum(head: &[u8], seal: &SegmentSeal) -> Option<u64> {
    let before = head.get(..HEAD_CHECKSUM.start)?;
    let after = head.get(HEAD_CHECKSUM.end..)?;
    Some(seal.checksum(&[before, &[0; HEAD_CHECKSUM.end - HEAD_CHECKSUM.start], after]))
}

/// Reads the arrays after the prefix, as far as the bytes reach.
fn read_arrays(head: &[u8], count: usize) -> (Vec<i64>, Vec<PackedRow>) {
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
            .map(|((&scale, &norm), &error)| PackedRow { scale, norm, error })
            .collect(),
    )
}
