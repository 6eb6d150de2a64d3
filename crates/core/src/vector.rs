//! The vectors that a collection accepts: which values, under which metric, and how many.

use crate::{Error, ErrorKind, Metric, Result};

/// Refuses a vector that no metric accepts: one that is empty or has a value that is not finite.
pub fn check_values(vector: &[f32]) -> Result<()> {
    if vector.is_empty() {
        return Err(Error::invalid("the vector is empty"));
    }
    if let Some(at) = vector.iter().position(|value| !value.is_finite()) {
        return Err(Error::invalid(format!(
            "the vector's value {at} is not a finite number"
        )));
    }
    Ok(())
}

/// Refuses a vector that is empty, has a value that is not finite or, under the metric `cosine`, is all zero.
pub fn check_vector(vector: &[f32], metric: Metric) -> Result<()> {
    check_values(vector)?;
    // A zero vector has no direction, so no angle to it can be measured. Its distance and its product can.
    if metric == Metric::Cosine && vector.iter().all(|value| *value == 0.0) {
        return Err(
            Error::invalid("the vector is all zero, which has no cosine to anything")
                .with_hint("nothing was changed; collections by the metric l2 or ip accept such vectors"),
        );
    }
    Ok(())
}

/// Returns the error for a vector that differs in length from the collection's.
pub fn dimension_mismatch(expected: usize, found: usize) -> Error {
    Error::new(
        ErrorKind::DimensionMismatch,
        format!("the vector has {found} values; this collection's vectors have {expected}"),
    )
    .with_hint("nothing was written; use vectors of the collection's own model")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_that_mean_nothing_are_refused() {
        for metric in Metric::ALL {
            for vector in [vec![], vec![f32::NAN], vec![1.0, f32::INFINITY]] {
                assert!(check_vector(&vector, metric).is_err(), "{vector:?}");
            }
            assert!(check_vector(&[0.0, 1e-30], metric).is_ok());
        }
    }

    #[test]
    fn a_vector_of_zeros_is_refused_only_where_it_has_no_distance() {
        let accepting = Metric::ALL.map(|metric| check_vector(&[0.0, -0.0], metric).is_ok());
        assert_eq!(accepting, [false, true, true], "{:?}", Metric::ALL);
    }
}
