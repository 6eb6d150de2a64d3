//! Quantising one vector to signed bytes, with its rounding error.

use crate::distance::sum_in_f64;
use loci_core::Metric;

/// The largest magnitude of a code.
const CODE_MAX: f64 = 127.0;

/// A bound on squares that round to zero in `f32`.
const VANISHING: f64 = 1e-45;

/// The figures that the head keeps per row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PackedRow {
    pub(super) scale: f32,
    /// The squared length of the vector, 1 for cosine; infinite if beyond `f32`.
    pub(super) norm: f32,
    /// The length of the vector minus scale times codes, rounded up.
    pub(super) error: f32,
}

impl PackedRow {
    /// Returns the length of the vector, rounded up.
    pub(super) fn length(&self) -> f32 {
        // The stored square was rounded, and may have vanished.
        round_up((f64::from(self.norm.next_up()) + VANISHING).sqrt())
    }
}

/// Appends the codes of a finite `vector` to `codes` and returns its figures.
pub(super) fn quantise_vector(metric: Metric, vector: &[f32], codes: &mut Vec<u8>) -> PackedRow {
    let squared = sum_in_f64(vector, vector, |x, y| x * y);
    let shrink = match metric {
        Metric::Cosine if squared > 0.0 => 1.0 / squared.sqrt(),
        Metric::Cosine | Metric::L2 | Metric::Ip => 1.0,
    };
    let largest = vector.iter().fold(0f32, |most, x| most.max(x.abs()));
    // Below this the scale would not be a normal number, and the row is all error.
    let small = f64::from(largest) * shrink < f64::from(f32::MIN_POSITIVE) * 256.0;
    let grow = if small { 0.0 } else { CODE_MAX / f64::from(largest) };
    let start = codes.len();
    codes.extend(vector.iter().map(|x| {
        let code = f64::from(*x) * grow;
        // Casting cuts off what half was added to: the nearest integer, halves away from zero.
        ((code + 0.5f64.copysign(code)).clamp(-CODE_MAX, CODE_MAX) as i8).cast_unsigned()
    }));
    let codes = codes.get(start..).unwrap_or_default();
    // Least squares, and not simply largest / 127: it shrinks the residual and makes it perpendicular to
    // the codes, on which the bounds rely.
    let scale = nearest_scale(vector, shrink, codes);
    // Measured against the rounded `f32` scale that is stored, so that the error covers that rounding
    // too.
    let lost: f64 = scaled_pairs(vector, shrink, codes)
        .map(|(x, code)| (x - f64::from(scale) * code).powi(2))
        .sum();
    PackedRow {
        scale,
        norm: (squared * shrink * shrink) as f32,
        error: round_up(lost.sqrt()),
    }
}

/// Returns the factor by which the codes come nearest to the vector times `shrink`.
fn nearest_scale(vector: &[f32], shrink: f64, codes: &[u8]) -> f32 {
    let (mut across, mut squared) = (0.0, 0.0);
    for (x, code) in scaled_pairs(vector, shrink, codes) {
        across += x * code;
        squared += code * code;
    }
    if squared > 0.0 {
        (across / squared) as f32
    } else {
        0.0
    }
}

fn scaled_pairs<'a>(
    vector: &'a [f32],
    shrink: f64,
    codes: &'a [u8],
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let terms = vector.iter().zip(codes);
    terms.map(move |(x, code)| (f64::from(*x) * shrink, f64::from(code.cast_signed())))
}

/// Returns the next `f32` above a non-negative number; zero stays zero.
fn round_up(error: f64) -> f32 {
    if error == 0.0 {
        0.0
    } else {
        (error as f32).next_up()
    }
}
