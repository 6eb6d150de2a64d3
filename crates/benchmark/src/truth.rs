//! The true nearest drawers, by comparing every vector, to measure recall against.

use loci_core::{DrawerHit, Metric};
use loci_index::distance::measure_distance;

use crate::BenchmarkCorpus;

/// The difference up to which two distances count as the same: sums of floats depend on their order.
const SAME_DISTANCE: f32 = 1e-5;

/// The distances of the true nearest drawers of one question.
#[derive(Debug, Clone)]
pub(crate) struct NearestDistances {
    k: usize,
    /// Sorted, at most `k`.
    distances: Vec<f32>,
}

impl NearestDistances {
    fn offer(&mut self, distance: f32) {
        let at = self.distances.partition_point(|nearer| *nearer <= distance);
        if at < self.k {
            self.distances.insert(at, distance);
            self.distances.truncate(self.k);
        }
    }

    /// Returns the share of the true nearest that `hits` hold. Drawers as near as the last of them count alike.
    pub(crate) fn measure_recall(&self, hits: &[DrawerHit]) -> f64 {
        let Some(farthest) = self.distances.last() else {
            return 1.0;
        };
        let near = hits.iter().filter(|hit| hit.score <= farthest + SAME_DISTANCE);
        near.count().min(self.distances.len()) as f64 / self.distances.len() as f64
    }
}

/// Finds the true nearest of each question, among all drawers and among those that each filter keeps.
///
/// The first list of the answer is for all drawers, the others for the filters in their order.
pub(crate) fn find_truth(
    corpus: &BenchmarkCorpus,
    questions: &[Vec<f32>],
    filters: &[f64],
    k: usize,
) -> Vec<Vec<NearestDistances>> {
    let none = NearestDistances {
        k,
        distances: Vec::with_capacity(k + 1),
    };
    let mut truth = vec![vec![none; questions.len()]; filters.len() + 1];
    for n in 0..corpus.rows {
        let vector = corpus.make_vector(n);
        let mut kept = vec![true];
        kept.extend(filters.iter().map(|share| corpus.is_kept(n, *share)));
        for (at, question) in questions.iter().enumerate() {
            let distance = measure_distance(Metric::Cosine, question, &vector);
            for (nearest, _) in truth.iter_mut().zip(&kept).filter(|(_, kept)| **kept) {
                if let Some(nearest) = nearest.get_mut(at) {
                    nearest.offer(distance);
                }
            }
        }
    }
    truth
}

#[cfg(test)]
mod tests {
    use loci_core::{Drawer, DrawerId, NewDrawer, Timestamp};

    use super::*;

    fn hit(score: f32) -> DrawerHit {
        let drawer = NewDrawer::new(DrawerId::new("a").unwrap(), "");
        let drawer: Drawer = drawer
            .to_filed_drawer(Timestamp::from_micros(0).unwrap())
            .unwrap();
        DrawerHit { drawer, score }
    }

    #[test]
    fn ties_by_distance_count_and_farther_drawers_do_not() {
        let mut nearest = NearestDistances {
            k: 2,
            distances: Vec::new(),
        };
        [0.5, 0.1, 0.3, 0.3]
            .into_iter()
            .for_each(|distance| nearest.offer(distance));
        assert_eq!(nearest.distances, [0.1, 0.3]);
        assert_eq!(nearest.measure_recall(&[hit(0.1), hit(0.3)]), 1.0);
        assert_eq!(nearest.measure_recall(&[hit(0.3), hit(0.5)]), 0.5);
        assert_eq!(nearest.measure_recall(&[]), 0.0);
        // More hits than were asked for cannot make up for missing ones.
        assert_eq!(nearest.measure_recall(&[hit(0.1), hit(0.3), hit(0.3)]), 1.0);
    }
}
