//! Rows that may still be among the k nearest, given bounds of their distances.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// One row that exact rescoring has to compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowCandidate {
    /// The row number as it was offered.
    pub row: i64,
    /// No exact distance of this row is smaller.
    pub lower: f32,
}

/// Collects offered rows and keeps those that can still be among the k nearest.
///
/// If every offered pair of bounds encloses the exact distance of its row, the k nearest of all offered rows (ties
/// broken by row number) are among the candidates. Memory stays within a constant factor of the rows that have to
/// be kept.
#[derive(Debug, Clone)]
pub struct NearestCandidates {
    k: usize,
    uppers: BinaryHeap<UpperBound>,
    kept: Vec<RowCandidate>,
    prune_at: usize,
}

/// Below this many candidates nothing is pruned before the end.
const ROOM: usize = 1024;

impl NearestCandidates {
    /// Starts a search for the `k` nearest rows.
    pub fn new(k: usize) -> Self {
        Self {
            k,
            uppers: BinaryHeap::new(),
            kept: Vec::new(),
            prune_at: ROOM,
        }
    }

    /// Offers a row whose exact distance lies between `lower` and `upper`, both included.
    ///
    /// A bound that is not a number bounds nothing. A row is offered at most once.
    #[inline]
    pub fn offer_row(&mut self, row: i64, lower: f32, upper: f32) {
        if lower > self.limit() {
            return;
        }
        self.keep_row(row, lower, upper);
    }

    fn keep_row(&mut self, row: i64, lower: f32, upper: f32) {
        if self.k == 0 {
            return;
        }
        // A NaN must not drop a row: as the widest bounds it only costs one exact comparison.
        let lower = if lower.is_nan() { f32::NEG_INFINITY } else { lower };
        let upper = UpperBound(if upper.is_nan() { f32::INFINITY } else { upper });
        self.kept.push(RowCandidate { row, lower });
        if self.uppers.len() < self.k {
            self.uppers.push(upper);
        // The heap holds the k smallest upper bounds, the largest of them on top.
        } else if let Some(mut worst) = self.uppers.peek_mut()
            && upper < *worst
        {
            *worst = upper;
        }
        if self.kept.len() >= self.prune_at {
            self.prune_kept();
            // Doubling keeps the cost of pruning linear over all offers.
            self.prune_at = self.kept.len().saturating_mul(2).max(ROOM);
        }
    }

    /// Returns the k-th smallest upper bound so far; infinite until k rows were kept.
    ///
    /// A row whose lower bound exceeds it cannot be among the k nearest.
    #[inline]
    pub fn limit(&self) -> f32 {
        if self.uppers.len() < self.k {
            return f32::INFINITY;
        }
        self.uppers.peek().map_or(f32::NEG_INFINITY, |worst| worst.0)
    }

    /// Returns every offered row whose lower bound does not exceed the final limit, ordered by (lower, row).
    pub fn finish(mut self) -> Vec<RowCandidate> {
        self.prune_kept();
        self.kept
            .sort_unstable_by(|a, b| a.lower.total_cmp(&b.lower).then(a.row.cmp(&b.row)));
        self.kept
    }

    fn prune_kept(&mut self) {
        let limit = self.limit();
        // Equality stays: a row that ties with the k-th may win by its row number.
        self.kept.retain(|candidate| candidate.lower <= limit);
    }
}

/// An upper bound, never NaN, in the order of numbers.
#[derive(Debug, Clone, Copy)]
struct UpperBound(f32);

impl Ord for UpperBound {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for UpperBound {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for UpperBound {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for UpperBound {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(candidates: NearestCandidates) -> Vec<i64> {
        candidates
            .finish()
            .iter()
            .map(|candidate| candidate.row)
            .collect()
    }

    #[test]
    fn nothing_is_asked_and_nothing_is_kept() {
        let mut candidates = NearestCandidates::new(0);
        candidates.offer_row(1, f32::NEG_INFINITY, 0.0);
        assert!(rows(candidates).is_empty());
    }

    #[test]
    fn fewer_rows_than_asked_are_all_kept() {
        let mut candidates = NearestCandidates::new(usize::MAX);
        candidates.offer_row(7, 2.0, 3.0);
        candidates.offer_row(3, 1.0, 9.0);
        assert_eq!(candidates.limit(), f32::INFINITY);
        assert_eq!(rows(candidates), [3, 7]);
    }

    #[test]
    fn bounds_that_are_no_numbers_bound_nothing() {
        let mut candidates = NearestCandidates::new(1);
        candidates.offer_row(1, f32::NAN, f32::NAN);
        candidates.offer_row(2, 0.0, 1.0);
        assert_eq!(candidates.limit(), 1.0);
        assert_eq!(rows(candidates), [1, 2]);
    }

    #[test]
    fn memory_does_not_grow_with_rows_that_cannot_win() {
        let mut candidates = NearestCandidates::new(3);
        for row in 0..100_000_i64 {
            let distance = (100_000 - row) as f32;
            candidates.offer_row(row, distance, distance + 1.5);
        }
        assert!(candidates.kept.len() <= 2 * ROOM);
        assert_eq!(rows(candidates), [99_999, 99_998, 99_997, 99_996]);
    }

    proptest! {
        #[test]
        fn exactly_the_rows_within_the_kth_upper_bound_are_kept(
            k in 0usize..20,
            offers in proptest::collection::vec((-50i32..50, 0i32..20), 0..3000),
        ) {
            let mut candidates = NearestCandidates::new(k);
            let mut uppers = Vec::new();
            for (row, &(lower, width)) in offers.iter().enumerate() {
                candidates.offer_row(row as i64, lower as f32, (lower + width) as f32);
                uppers.push(lower + width);
            }
            uppers.sort_unstable();
            let limit = if k == 0 { i32::MIN } else { uppers.get(k - 1).copied().unwrap_or(i32::MAX) };
            let mut expected: Vec<(i32, i64)> = offers.iter().enumerate()
                .filter(|(_, (lower, _))| *lower <= limit)
                .map(|(row, (lower, _))| (*lower, row as i64))
                .collect();
            expected.sort_unstable();
            prop_assert_eq!(rows(candidates), expected.iter().map(|pair| pair.1).collect::<Vec<_>>());
        }
    }
}
