//! A query vector prepared once: its length, and its integer codes for packed scans.

use super::{
    cosine_distance, measure_distance, one_minus_dot, squared_difference, sum_in_f64, vector_length,
};
use crate::kernel::QUERY_MAX;
use loci_core::Metric;

/// A prepared query vector.
///
/// Holds the query as given for exact distances, and as small integers (of the normalised query for cosine) with a
/// bound of their rounding error.
#[derive(Debug, Clone)]
pub struct QueryProbe {
    metric: Metric,
    query: Vec<f32>,
    length: f64,
    pub(crate) codes: QueryCodes,
}

/// A vector as integers: the vector is `scale · values`, up to an error of length `residual`.
#[derive(Debug, Clone)]
pub(crate) struct QueryCodes {
    pub(crate) values: Vec<i16>,
    pub(crate) scale: f64,
    /// The Euclidean length of the vector that the codes represent.
    pub(crate) length: f64,
    /// The Euclidean length of that vector minus its codes; not finite if nothing is bounded.
    pub(crate) residual: f64,
}

impl QueryProbe {
    /// Prepares `query` for distances by `metric`.
    pub fn new(metric: Metric, query: &[f32]) -> Self {
        // Rows are packed normalised for cosine, so the query must be too; stored vectors of the other
        // metrics keep their lengths.
        let divisor = match metric {
            Metric::Cosine => sum_in_f64(query, query, |x, y| x * y).sqrt(),
            Metric::L2 | Metric::Ip => 1.0,
        };
        Self {
            metric,
            query: query.to_vec(),
            length: vector_length(query),
            codes: QueryCodes::from_vector(query, divisor),
        }
    }

    /// Returns the exact distance of a stored vector, equal to [`measure_distance`] up to rounding.
    pub fn exact_distance(&self, stored: &[f32]) -> f32 {
        // The prepared length would not match a shorter comparison.
        if stored.len() != self.query.len() {
            return measure_distance(self.metric, &self.query, stored);
        }
        match self.metric {
            Metric::Cosine => cosine_distance(&self.query, self.length, stored),
            Metric::L2 => squared_difference(&self.query, stored),
            Metric::Ip => one_minus_dot(&self.query, stored),
        }
    }

    /// Returns the number of components of the query.
    pub fn dimension(&self) -> usize {
        self.query.len()
    }

    /// Returns the metric of this query.
    pub fn metric(&self) -> Metric {
        self.metric
    }
}

impl QueryCodes {
    /// Rounds `vector / divisor` to integers of at most [`QUERY_MAX`].
    fn from_vector(vector: &[f32], divisor: f64) -> Self {
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
