//! Exact distances between vectors, and a query prepared for comparison with many.

mod probe;

pub use probe::QueryProbe;

use crate::kernel;
use loci_core::Metric;

/// Squared lengths in this range neither overflow nor lose digits in `f32`.
const COMFORTABLE: std::ops::Range<f32> = 1e-20..1e30;

/// Sums the products of two vectors over the length of the shorter.
///
/// The same slices give the same bits on the same machine.
pub fn dot_product(a: &[f32], b: &[f32]) -> f32 {
    let product = kernel::dot(a, b);
    if product.is_finite() {
        product
    } else {
        sum_in_f64(a, b, |x, y| x * y) as f32
    }
}

/// Measures how far apart two vectors are: 1 − cosine, squared Euclidean, or 1 − inner product.
///
/// Compares over the length of the shorter. Finite vectors never give NaN: a distance beyond
/// `f32` is infinite, and the cosine distance from a zero vector is 1.
pub fn measure_distance(metric: Metric, a: &[f32], b: &[f32]) -> f32 {
    let n = a.len().min(b.len());
    let (a, b) = (a.get(..n).unwrap_or_default(), b.get(..n).unwrap_or_default());
    match metric {
        Metric::Cosine => cosine_distance(a, vector_length(a), b),
        Metric::L2 => squared_difference(a, b),
        Metric::Ip => one_minus_dot(a, b),
    }
}

/// Returns one minus the cosine of the angle between `a`, of known length, and `b`.
fn cosine_distance(a: &[f32], a_length: f64, b: &[f32]) -> f32 {
    let (product, squared) = kernel::dot_and_square(a, b);
    let mut product = f64::from(product);
    let mut lengths = a_length * f64::from(squared).sqrt();
    let comfortable = f64::from(COMFORTABLE.start)..f64::from(COMFORTABLE.end);
    if !COMFORTABLE.contains(&squared) || !comfortable.contains(&lengths) || !product.is_finite() {
        // Squares of very long or very short vectors overflow or vanish in `f32`, though the cosine
        // itself is an ordinary number.
        product = sum_in_f64(a, b, |x, y| x * y);
        lengths = a_length * vector_length(b);
    }
    if lengths == 0.0 {
        return 1.0;
    }
    // Rounding can push the quotient slightly past 1, and a negative distance would sort before an exact
    // match.
    (1.0 - product / lengths).clamp(0.0, 2.0) as f32
}

fn squared_difference(a: &[f32], b: &[f32]) -> f32 {
    let sum = kernel::squared_difference(a, b);
    if sum.is_finite() {
        sum
    } else {
        sum_in_f64(a, b, |x, y| (x - y) * (x - y)) as f32
    }
}

fn one_minus_dot(a: &[f32], b: &[f32]) -> f32 {
    let product = kernel::dot(a, b);
    if product.is_finite() {
        1.0 - product
    } else {
        (1.0 - sum_in_f64(a, b, |x, y| x * y)) as f32
    }
}

/// Returns the Euclidean length of a vector, right even if its square overflows `f32`.
fn vector_length(vector: &[f32]) -> f64 {
    let squared = kernel::dot(vector, vector);
    if COMFORTABLE.contains(&squared) {
        f64::from(squared).sqrt()
    } else {
        sum_in_f64(vector, vector, |x, y| x * y).sqrt()
    }
}

/// Sums terms in `f64`: slow, for values that `f32` cannot hold.
pub(crate) fn sum_in_f64(a: &[f32], b: &[f32], term: impl Fn(f64, f64) -> f64) -> f64 {
    let terms = a.iter().zip(b);
    terms.map(|(x, y)| term(f64::from(*x), f64::from(*y))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(metric: Metric, a: &[f32], b: &[f32], expect: f32) {
        assert_eq!(measure_distance(metric, a, b), expect, "{metric:?}");
        assert_eq!(QueryProbe::new(metric, a).exact_distance(b), expect, "{metric:?}");
    }

    #[test]
    fn each_metric_is_what_it_says() {
        check(Metric::Cosine, &[3.0, 0.0], &[0.0, 9.0], 1.0);
        check(Metric::Cosine, &[3.0, 0.0], &[-1.0, 0.0], 2.0);
        check(Metric::Cosine, &[3.0, 4.0], &[6.0, 8.0], 0.0);
        check(Metric::L2, &[1.0, 2.0], &[4.0, 6.0], 25.0);
        check(Metric::Ip, &[1.0, 2.0], &[4.0, 6.0], -15.0);
    }

    #[test]
    fn vectors_of_unequal_length_compare_over_the_shorter() {
        check(Metric::L2, &[1.0, 2.0, 7.0], &[4.0, 6.0], 25.0);
        check(Metric::Cosine, &[3.0, 4.0], &[6.0, 8.0, 1.0], 0.0);
        check(Metric::Cosine, &[3.0, 4.0, 5.0], &[6.0, 8.0], 0.0);
        check(Metric::Ip, &[], &[1.0], 1.0);
    }

    #[test]
    fn lengths_beyond_f32_still_give_angles() {
        check(Metric::Cosine, &[3e30, 0.0], &[0.0, 2e30], 1.0);
        assert!(measure_distance(Metric::Cosine, &[3e-30, 4e-30], &[3e30, 4e30]) < 1e-6);
        check(Metric::Cosine, &[0.0, 0.0], &[1.0, 0.0], 1.0);
        check(Metric::L2, &[3e30], &[-3e30], f32::INFINITY);
        check(Metric::Ip, &[3e30, 3e30], &[3e30, -3e30], 1.0);
        assert_eq!(dot_product(&[3e30, 3e30], &[3e30, -3e30]), 0.0);
    }

    fn vectors() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        let number = prop_oneof![-1f32..1.0, -1e38f32..1e38, -1e-38f32..1e-38, Just(0.0)];
        proptest::collection::vec((number.clone(), number), 1..80).prop_map(|pairs| pairs.into_iter().unzip())
    }

    proptest! {
        #[test]
        fn a_probe_measures_as_distance_does((a, b) in vectors()) {
            for metric in Metric::ALL {
                let (plain, probed) = (measure_distance(metric, &a, &b), QueryProbe::new(metric, &a).exact_distance(&b));
                prop_assert!(!plain.is_nan());
                let close = plain == probed || (plain - probed).abs() <= 1e-5 * plain.abs();
                prop_assert!(close, "{} {}", plain, probed);
            }
        }
    }
}
