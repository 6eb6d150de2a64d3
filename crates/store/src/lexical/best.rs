//! The best of many scored rows.

use std::cmp::Ordering;

/// Keeps the `k` rows with the highest scores and all that score exactly as much as the last of them.
#[derive(Debug)]
pub(super) struct BestRows {
    k: usize,
    found: Vec<(i64, f32)>,
    /// The least score with which a row can be among the best.
    least: f32,
    /// The number of rows at which the losers are dropped the next time.
    prune_at: usize,
}

impl BestRows {
    pub(super) fn new(k: usize) -> Self {
        Self {
            k,
            found: Vec::new(),
            least: 0.0,
            prune_at: room_for(k),
        }
    }

    /// Returns whether a row with this score may be among the best; a score of zero never is.
    #[inline]
    pub(super) fn wants(&self, score: f32) -> bool {
        score > 0.0 && score >= self.least
    }

    pub(super) fn offer(&mut self, row: i64, score: f32) {
        self.found.push((row, score));
        if self.found.len() >= self.prune_at {
            self.prune();
            // If many rows score the same, few are dropped. Doubling keeps the total work linear even then.
            self.prune_at = self.found.len().saturating_mul(2).max(room_for(self.k));
        }
    }

    fn prune(&mut self) {
        if let Some(worst) = self.k.checked_sub(1).filter(|worst| *worst < self.found.len()) {
            let (_, kept, _) = self.found.select_nth_unstable_by(worst, compare_scores);
            self.least = kept.1;
            let least = self.least;
            self.found.retain(|(_, score)| *score >= least);
        }
    }

    /// Returns the best, highest scores first.
    pub(super) fn finish(mut self) -> Vec<(i64, f32)> {
        self.prune();
        self.found.sort_unstable_by(compare_scores);
        self.found
    }
}

/// Returns the number of rows kept before any are dropped.
fn room_for(k: usize) -> usize {
    k.saturating_mul(2).saturating_add(256)
}

fn compare_scores(a: &(i64, f32), b: &(i64, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_are_those_of_sorting_everything_and_their_equals(scores in proptest::collection::vec(0_u8..20, 0..900), k in 1_usize..40) {
            let mut best = BestRows::new(k);
            // Rows come in no order.
            let rows = scores.iter().enumerate().map(|(n, score)| ((n as i64 * 7919) % 1009, f32::from(*score)));
            let mut all: Vec<(i64, f32)> = rows.clone().filter(|(_, score)| *score > 0.0).collect();
            for (row, score) in rows {
                if best.wants(score) {
                    best.offer(row, score);
                }
            }
            all.sort_by(compare_scores);
            let least = all.get(k - 1).map_or(0.0, |(_, score)| *score);
            all.retain(|(_, score)| *score >= least);
            prop_assert_eq!(best.finish(), all);
        }
    }
}
