//! How far a distance computed from codes can be from the exact one.

use super::quantise::Row;
use crate::distance::Probe;
use loci_core::Metric;

/// Half the gap between 1 and the next `f32`.
const ROUNDING: f64 = 1.0 / 16_777_216.0;

/// The query's share of every bound, computed once for a scan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    metric: Metric,
    scale: f64,
    length: f64,
    residual: f64,
    /// What sums in `f32` can lose, relative to the lengths multiplied.
    slack: f64,
}

/// The bounds of a row nothing is known about.
pub(super) const UNBOUNDED: (f32, f32) = (f32::NEG_INFINITY, f32::INFINITY);

impl Bounds {
    /// The bounds of distances from `probe`.
    pub(super) fn new(probe: &Probe) -> Self {
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

    /// Numbers that the exact distance, as [`Probe::exact`] rounds it, lies between.
    ///
    /// `None` if the distance is certainly above `limit`. `length` is that of the row's vector,
    /// rounded up.
    #[inline]
    pub(super) fn of(&self, row: &Row, length: f32, product: i64, limit: f32) -> Option<(f32, f32)> {
        let (norm, error, length) = (f64::from(row.norm), f64::from(row.error), f64::from(length));
        let lengths = self.length * length;
        let dot = self.scale * f64::from(row.scale) * product as f64;
        let drift = self.residual * (length + error);
        let rounding = 4.0 * ROUNDING * lengths;
        let (hopeless, _) = self.around(dot, self.length * error + drift + rounding, norm, lengths);
        if hopeless > f64::from(limit) {
            return None;
        }
        let spread = self.across(dot, drift, norm) * error + drift + rounding;
        let (lower, upper) = self.around(dot, spread, norm, lengths);
        if lower.is_finite() && upper.is_finite() {
            Some((down(lower), up(upper)))
        } else {
            Some(UNBOUNDED)
        }
    }

    /// How long the part of the query is that can meet what the codes left of the vector.
    ///
    /// What they left is at right angles to them, and so is this part.
    fn across(&self, dot: f64, drift: f64, norm: f64) -> f64 {
        let along = (dot.abs() - drift).max(0.0);
        // The squared length of the codes is at most that of the vector, give or take rounding.
        let ceiling = norm * (1.0 + 8.0 * ROUNDING) + f64::from(f32::MIN_POSITIVE);
        (self.length * self.length - along * along / ceiling)
            .max(0.0)
            .sqrt()
    }

    /// The distances of vectors whose inner product with the query is within `spread` of `dot`.
    #[inline]
    fn around(&self, dot: f64, spread: f64, norm: f64, lengths: f64) -> (f64, f64) {
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
                // A lower bound that is no number becomes zero; an upper one has to stay as it is.
                let (lower, upper) = ((middle - spread).max(0.0), middle + spread);
                (lower - self.slack * lower, upper + self.slack * upper)
            }
        }
    }
}

/// The largest `f32` that is not above `bound`.
fn down(bound: f64) -> f32 {
    let near = bound as f32;
    if f64::from(near) > bound {
        near.next_down()
    } else {
        near
    }
}

/// The smallest `f32` that is not below `bound`.
fn up(bound: f64) -> f32 {
    let near = bound as f32;
    if f64::from(near) < bound {
        near.next_up()
    } else {
        near
    }
}
