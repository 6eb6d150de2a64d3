//! The scan of a body that arrives in pieces.

use super::{RowMask, SegmentHead};
use crate::candidates::NearestCandidates;
use crate::distance::QueryProbe;

/// Scans a body piece by piece, in order: pieces may end anywhere, even within a row.
#[derive(Debug)]
pub struct PieceScan<'a> {
    head: &'a SegmentHead,
    mask: &'a RowMask,
    /// The position of the first row that was not scanned.
    next: usize,
    /// The codes of that row which the pieces before have brought.
    carry: Vec<u8>,
}

impl<'a> PieceScan<'a> {
    /// Begins a scan of the selected rows.
    pub fn new(head: &'a SegmentHead, mask: &'a RowMask) -> Self {
        Self {
            head,
            mask,
            next: 0,
            carry: Vec::with_capacity(head.dimension()),
        }
    }

    /// Offers the rows that are complete with the next piece of the body, as [`SegmentHead::scan_body`] does.
    pub fn scan_piece(&mut self, piece: &[u8], probes: &[QueryProbe], found: &mut [NearestCandidates]) {
        let dimension = self.head.dimension();
        let mut left = piece;
        if !self.carry.is_empty() {
            let missing = dimension.saturating_sub(self.carry.len());
            let (first, rest) = left.split_at(missing.min(left.len()));
            self.carry.extend_from_slice(first);
            left = rest;
            if self.carry.len() < dimension {
                return;
            }
            let row = std::mem::take(&mut self.carry);
            self.scan_whole_rows(&row, probes, found);
            self.carry = row;
            self.carry.clear();
        }
        let (rows, rest) = left.split_at(left.len() - left.len() % dimension);
        self.scan_whole_rows(rows, probes, found);
        self.carry.extend_from_slice(rest);
    }

    fn scan_whole_rows(&mut self, codes: &[u8], probes: &[QueryProbe], found: &mut [NearestCandidates]) {
        for (probe, out) in probes.iter().zip(found.iter_mut()) {
            self.head.scan_rows(self.next, codes, probe, self.mask, out);
        }
        self.next += codes.len() / self.head.dimension();
    }

    /// Returns the selected rows that were not offered yet.
    pub fn unscanned_rows(&self) -> RowMask {
        self.mask.without_first(self.next)
    }
}
