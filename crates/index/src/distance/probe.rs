//! A query vector prepared once: its length, and its integer codes for packed scans.

use super::{cosine, distance, length, one_minus_dot, squared_difference, wide};
use crate::kernel::QUERY_MAX;
use loci_core::Metric;

/// A prepared query vector.
///
/// Holds the query as given for exact distances, and as small integers (of the normalised
/// query for cosine) with a bound of what rounding them took away.
#[derive(Debug, Clone)]
pub struct Probe {
    metric: Metric,
    query: Vec<f32>,
    length: f64,
    pub(crate) codes: Codes,
}

/// A vector as integers: the vector is `scale · values`, give or take `residual`.
#[derive(Debug, Clone)]
pub(crate) struct Codes {
    pub(crate) values: Vec<i16>,
    pub(crate) scale: f64,
    /// The Euclidean length of the vector the codes stand for.
    pub(crate) length: f64,
    /// The Euclidean length of that vector minus its codes; not finite if nothing is bounded.
    pub(crate) residual: f64,
}

impl Probe {
    /// Prepares `query` for distances by `metric`.
    pub fn new(metric: Metric, query: &[f32]) -> Self {
        let divisor = match metric {
            Metric::Cosine => wide(query, query, |x, y| x * y).sqrt(),
            Metric::L2 | Metric::Ip => 1.0,
        };
        Self {
            metric,
            query: query.to_vec(),
            length: length(query),
            codes: Codes::of(query, divisor),
        }
    }

    /// The exact distance of a stored vector: what [`distance`] gives, up to rounding.
    pub fn exact(&self, stored: &[f32]) -> f32 {
        if stored.len() != self.query.len() {
            return distance(self.metric, &self.query, stored);
        }
        match self.metric {
            Metric::Cosine => cosine(&self.query, self.length, stored),
            Metric::L2 => squared_difference(&self.query, stored),
            Metric::Ip => one_minus_dot(&self.query, stored),
        }
    }

    /// How many components the query has.
    pub fn dimension(&self) -> usize {
        self.query.len()
    }

    /// The metric this query measures by.
    pub fn metric(&self) -> Metric {
        self.metric
    }
}

impl Codes {
    /// Rounds `vector / divisor` to integers of at most [`QUERY_MAX`].
    fn of(vector: &[f32], divisor: f64) -> Self {
        let largest = vector.iter().fold(0f64, |most, x| most.max(f64::from(x.abs()))) / divisor;
        let most = f64::from(QUERY_MAX);
        let scale = largest / most;
        let (mut squared, mut lost) = (0.0, 0.0);
        let mut values = Vec::with_capacity(vector.len());
        for x in vector {
            let x = f64::from(*x) / divisor;
            // A NaN becomes zero here and makes `lost` NaN, which bounds nothing.
            let value = (x / scale).round().clamp(-most, most) as i16;
            let apart = x - scale * f64::from(value);
            squared += x * x;
            lost += apart * apart;
            values.push(value);
        }
        Self {
            values,
            scale,
            length: squared.sqrt(),
            residual: lost.sqrt(),
        }
    }
}
