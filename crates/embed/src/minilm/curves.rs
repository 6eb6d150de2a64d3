//! The functions between the matrix products: exponentials, GELU and layer norms, written so that the compiler
//! vectorises them.
//!
//! They are compiled once per SIMD level by `kernel`; sums run over sixteen lanes at every level, so that their
//! order is the same.

#![allow(clippy::indexing_slicing, reason = "arrays of sixteen by constant places")]

use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

/// The number of sums that run side by side.
const LANES: usize = 16;

/// Returns `a * b + c`, with a single rounding if the processor supports it.
#[inline(always)]
pub(super) fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// Evaluates a polynomial; `first` is the coefficient of the highest power.
#[inline(always)]
fn evaluate_polynomial<const FUSED: bool, const N: usize>(x: f32, first: f32, rest: [f32; N]) -> f32 {
    rest.into_iter()
        .fold(first, |sum, next| multiply_add::<FUSED>(sum, x, next))
}

/// Returns the exponential of a number that is at most zero, to a relative error of a few ten-millionths; below -87
/// that of -87.
#[inline(always)]
fn exp<const FUSED: bool>(x: f32) -> f32 {
    /// 1.5 · 2^23: adding it leaves the nearest whole number in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    // Below this the result is no normal `f32`. A plain comparison also turns NaN into the bound and
    // vectorises, which `max` does not always.
    let x = if x > -87.0 { x } else { -87.0 };
    let shifted = multiply_add::<FUSED>(x, LOG2_E, ROUND);
    let whole = shifted - ROUND;
    // ln 2 in two parts, the first so short that its products are exact.
    let rest = multiply_add::<FUSED>(whole, -0.693_359_4, x);
    let rest = multiply_add::<FUSED>(whole, 2.121_944_4e-4, rest);
    let mantissa = evaluate_polynomial::<FUSED, 6>(
        rest,
        1.0 / 720.0,
        [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0],
    );
    let power = (shifted.to_bits() << 23).wrapping_add(127 << 23);
    mantissa * f32::from_bits(power)
}

/// Returns the error function to four ten-millionths: a quotient of polynomials fitted between -4 and 4.
#[allow(
    clippy::approx_constant,
    clippy::excessive_precision,
    reason = "fitted coefficients, kept as they were fitted"
)]
#[inline(always)]
fn erf<const FUSED: bool>(x: f32) -> f32 {
    let x = if x < 4.0 { x } else { 4.0 };
    let x = if x > -4.0 { x } else { -4.0 };
    let square = x * x;
    let above = evaluate_polynomial::<FUSED, 5>(
        square,
        1.974_722_2e-6,
        [
            2.880_136_7e-4,
            4.003_102_8e-3,
            5.346_583e-2,
            1.962_384_9e-1,
            1.128_379,
        ],
    );
    let below = evaluate_polynomial::<FUSED, 5>(
        square,
        3.747_825_8e-5,
        [1.216_197_4e-3, 1.544_337_6e-2, 1.164_718_4e-1, 5.072_43e-1, 1.0],
    );
    x * above / below
}

#[inline(always)]
pub(super) fn gelu<const FUSED: bool>(values: &mut [f32]) {
    for value in values {
        let half = 0.5 * *value;
        *value = multiply_add::<FUSED>(half, erf::<FUSED>(*value * FRAC_1_SQRT_2), half);
    }
}

/// Computes the numerators of softmax and, in `shares`, the inverse sums. `across` is a multiple of the lanes;
/// values beyond `many` end up so small that they count for nothing.
#[inline(always)]
pub(super) fn raise<const FUSED: bool>(
    scores: &mut [f32],
    across: usize,
    many: usize,
    scale: f32,
    shares: &mut [f32],
) {
    for (row, share) in scores.chunks_exact_mut(across).zip(shares) {
        for value in row.iter_mut().skip(many) {
            // Padding of the last panel: minus infinity becomes the exponential of the bound, about
            // 1e-38.
            *value = f32::NEG_INFINITY;
        }
        let row = row.as_chunks_mut::<LANES>().0;
        let mut most = [f32::NEG_INFINITY; LANES];
        for chunk in row.iter() {
            for (most, value) in most.iter_mut().zip(chunk) {
                *most = if *value > *most { *value } else { *most };
            }
        }
        let most = across_lanes(most, |a, b| if a > b { a } else { b });
        let mut sums = [0.0; LANES];
        for chunk in row.iter_mut() {
            for (sum, value) in sums.iter_mut().zip(chunk) {
                // Relative to the largest score, as softmax must be, or the exponentials would overflow.
                *value = exp::<FUSED>((*value - most) * scale);
                *sum += *value;
            }
        }
        *share = 1.0 / across_lanes(sums, |a, b| a + b);
    }
}

#[inline(always)]
pub(super) fn normalise<const FUSED: bool>(rows: &mut [f32], bias: &[f32], weight: &[f32], shift: &[f32]) {
    let many = bias.len() as f32;
    for row in rows.chunks_exact_mut(bias.len()) {
        for (value, bias) in row.iter_mut().zip(bias) {
            *value += bias;
        }
        let mean = sum_mapped(row, |value| value) / many;
        let variance = sum_mapped(row, |value| (value - mean) * (value - mean)) / many;
        // 1e-12 is the epsilon of the original model's layer norm.
        let scale = 1.0 / (variance + 1e-12).sqrt();
        for ((value, weight), shift) in row.iter_mut().zip(weight).zip(shift) {
            *value = multiply_add::<FUSED>((*value - mean) * scale, *weight, *shift);
        }
    }
}

#[inline(always)]
fn sum_mapped(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0f32; LANES];
    let (whole, rest) = values.as_chunks::<LANES>();
    for chunk in whole {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += of(*value);
        }
    }
    let rest: f32 = rest.iter().map(|value| of(*value)).sum();
    across_lanes(sums, |a, b| a + b) + rest
}

/// Joins sixteen lanes into one value, half and half.
#[inline(always)]
fn across_lanes(mut lanes: [f32; LANES], join: impl Fn(f32, f32) -> f32) -> f32 {
    for half in [8, 4, 2, 1] {
        for at in 0..half {
            lanes[at] = join(lanes[at], lanes[at + half]);
        }
    }
    lanes[0]
}
