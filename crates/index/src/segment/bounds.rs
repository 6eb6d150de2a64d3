//! Bounds on the difference between a distance computed from codes and the exact one.

use super::quantise::PackedRow;
use crate::distance::QueryProbe;
use loci_core::Metric;

/// Half the gap between 1 and the next `f32`.
const ROUNDING: f64 = 1.0 / 16_777_216.0;

/// The query's share of every bound, computed once per scan.
#[derive(Debug, Clone, Copy)]
pub(super) struct DistanceBounds {
    metric: Metric,
    scale: f64,
    length: f64,
    residual: f64,
    /// The relative error of sums in `f32`, as a share of the product of the lengths.
    slack: f64,
}

/// The bounds of a row about which nothing is known.
pub(super) const UNBOUNDED: (f32, f32) = (f32::NEG_INFINITY, f32::INFINITY);

impl DistanceBounds {
    /// Prepares the bounds of distances from `probe`.
    pub(super) fn new(probe: &QueryProbe) -> Self {
        // An exact sum runs in at least eight lanes, plus at most 31 terms left over, and
        // cosine divides by two lengths that were summed in the same way.
        let steps = probe.dimension() as f64 / 8.0 + 80.0;
        Self {
            metric: probe.metric(),
            scale: probe.codes.scale,
            length: probe.codes.length,
            residual: probe.codes.residual,
            slack: 2.0 * steps * ROUNDING,
        }
    }

    /// Returns a lower and an upper bound of the exact distance, as [`QueryProbe::exact_distance`] rounds it.
    ///
    /// Returns `None` if the distance is certainly above `limit`. `length` is that of the row's vector, rounded up.
    #[inline]
    pub(super) fn bound_distance(
        &self,
        row: &PackedRow,
        length: f32,
        product: i64,
        limit: f32,
    ) -> Option<(f32, f32)> {
        let (norm, error, length) = (f64::from(row.norm), f64::from(row.error), f64::from(length));
        // All in `f64`: the bounds must hold against rounding, and the arithmetic here must not add its
        // own.
        let lengths = self.length * length;
        let dot = self.scale * f64::from(row.scale) * product as f64;
        // The query is quantised too: its residual can meet the whole row, codes and error alike.
        let drift = self.residual * (length + error);
        let rounding = 4.0 * ROUNDING * lengths;
        // First the cheap test with the whole query length (Cauchy-Schwarz). Most rows end here and never
        // pay for the square root below.
        let (hopeless, _) = self.distances_around(dot, self.length * error + drift + rounding, norm, lengths);
        if hopeless > f64::from(limit) {
            return None;
        }
        let spread = self.perpendicular_length(dot, drift, norm) * error + drift + rounding;
        let (lower, upper) = self.distances_around(dot, spread, norm, lengths);
        if lower.is_finite() && upper.is_finite() {
            Some((round_down(lower), round_up(upper)))
        } else {
            // Overflow or NaN bounds nothing: the row is compared exactly, which is slower and still
            // right.
            Some(UNBOUNDED)
        }
    }

    /// Returns the length of the query's component perpendicular to the codes, an upper bound.
    ///
    /// The residual of the vector is perpendicular to its codes, so only this component can meet it.
    fn perpendicular_length(&self, dot: f64, drift: f64, norm: f64) -> f64 {
        let along = (dot.abs() - drift).max(0.0);
        // The squared length of the codes is at most that of the vector, give or take rounding.
        let ceiling = norm * (1.0 + 8.0 * ROUNDING) + f64::from(f32::MIN_POSITIVE);
        (self.length * self.length - along * along / ceiling)
            .max(0.0)
            .sqrt()
    }

    /// Returns the range of distances of vectors whose inner product with the query is within `spread` of `dot`.
    #[inline]
    fn distances_around(&self, dot: f64, spread: f64, norm: f64, lengths: f64) -> (f64, f64) {
        match self.metric {
            Metric::Cosine => (1.0 - dot - spread - self.slack, 1.0 - dot + spread + self.slack),
            Metric::Ip => {
                let spread = spread + self.slack * (1.0 + lengths);
                (1.0 - dot - spread, 1.0 - dot + spread)
            }
            Metric::L2 => {
                let middle = self.length * self.length + norm - 2.0 * dot;
                // The stored squared length was rounded once; tiny squares vanish in `f32`.
                let spread = 2.0 * spread + 4.0 * ROUNDING * (norm + lengths) + f64::from(f32::MIN_POSITIVE);
                // `max` turns a NaN lower bound into zero, which is safe; a NaN upper bound has to stay NaN.
                let (lower, upper) = ((middle - spread).max(0.0), middle + spread);
                (lower - self.slack * lower, upper + self.slack * upper)
            }
        }
    }
}

/// Returns the largest `f32` that is not above `bound`.
fn round_down(bound: f64) -> f32 {
    let near = bound as f32;
    if f64::from(near) > bound {
        near.next_down()
    } else {
        near
    }
}

/// Returns the smallest `f32` that is not below `bound`.
fn round_up(bound: f64) -> f32 {
    let near = bound as f32;
    if f64::from(near) < bound {
        near.next_up()
    } else {
        near
    }
}
