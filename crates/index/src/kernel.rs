//! The inner loops: sums of products over slices, as wide as this processor allows.
#![allow(
    unsafe_code,
    reason = "SIMD intrinsics behind runtime detection; nowhere else in the crate"
)]

#[cfg(target_arch = "x86_64")]
mod avx2;
pub(crate) mod portable;

/// The largest magnitude of a quantised query component.
pub(crate) const QUERY_MAX: i16 = 4095;

/// The number of products of a query component and a code that fit an `i32` in any order: 4096 · 4095 · 127 < 2³¹.
/// Longer rows are summed block by block.
pub(crate) const BLOCK: usize = 4096;

/// Sums the products of two slices over the length of the shorter.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a, b) = same_length(a, b);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: both features were detected on the line above.
        return unsafe { avx2::dot(a, b) };
    }
    portable::dot(a, b)
}

/// Sums the products of two slices, and the squares of the second, over the length of the shorter.
pub(crate) fn dot_and_square(a: &[f32], b: &[f32]) -> (f32, f32) {
    let (a, b) = same_length(a, b);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: both features were detected on the line above.
        return unsafe { avx2::dot_and_square(a, b) };
    }
    (portable::dot(a, b), portable::dot(b, b))
}

/// Sums the squared differences of two slices over the length of the shorter.
pub(crate) fn squared_difference(a: &[f32], b: &[f32]) -> f32 {
    let (a, b) = same_length(a, b);
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: both features were detected on the line above.
        return unsafe { avx2::squared_difference(a, b) };
    }
    portable::squared_difference(a, b)
}

/// Writes to `out` the product of `query` with each whole row of `codes` whose bit is set.
///
/// `query` holds magnitudes of at most [`QUERY_MAX`]; `codes` holds rows of `query.len()` signed bytes. Entries
/// without a bit or without codes are left unchanged.
pub(crate) fn row_products(query: &[i16], codes: &[u8], bits: &[u64], out: &mut [i64]) {
    // Rows of zero bytes would all lie at offset zero, and every position would count as a row.
    if query.is_empty() {
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the feature was detected on the line above.
        return unsafe { avx2::row_products(query, codes, bits, out) };
    }
    portable::row_products(query, codes, bits, out);
}

/// Calls `product` for each whole row of `codes` whose bit is set and writes the result.
#[inline(always)]
fn each_row(dimension: usize, codes: &[u8], bits: &[u64], out: &mut [i64], product: impl Fn(&[u8]) -> i64) {
    for (word, &bits) in bits.iter().enumerate() {
        let mut left = bits;
        while left != 0 {
            let position = word * 64 + left.trailing_zeros() as usize;
            // Clears the lowest set bit, so that a sparse mask costs one step per selected row and not
            // per row.
            left &= left - 1;
            let start = position * dimension;
            let (Some(row), Some(out)) = (codes.get(start..start + dimension), out.get_mut(position)) else {
                return;
            };
            *out = product(row);
        }
    }
}

fn same_length<'a>(a: &'a [f32], b: &'a [f32]) -> (&'a [f32], &'a [f32]) {
    let n = a.len().min(b.len());
    (a.get(..n).unwrap_or_default(), b.get(..n).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f32, b: f64, magnitude: f64) -> bool {
        (f64::from(a) - b).abs() <= 1e-5 * magnitude + 1e-30
    }

    proptest! {
        #[test]
        fn every_kernel_sums_the_same(pairs in proptest::collection::vec((-9f32..9.0, -9f32..9.0), 0..200)) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let wide: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            let apart: f64 = a.iter().zip(&b).map(|(x, y)| (f64::from(*x) - f64::from(*y)).powi(2)).sum();
            prop_assert!(close(dot(&a, &b), wide, 81.0 * 200.0));
            let square: f64 = b.iter().map(|y| f64::from(*y).powi(2)).sum();
            let (fused, squared) = dot_and_square(&a, &b);
            prop_assert!(close(fused, wide, 81.0 * 200.0) && close(squared, square, square));
            prop_assert!(close(portable::dot(&a, &b), wide, 81.0 * 200.0));
            prop_assert!(close(squared_difference(&a, &b), apart, apart));
            prop_assert!(close(portable::squared_difference(&a, &b), apart, apart));
        }

        #[test]
        fn products_are_exact_for_every_kernel(
            query in proptest::collection::vec(-QUERY_MAX..=QUERY_MAX, 1..100),
            bytes in proptest::collection::vec(any::<u8>(), 0..1000),
            bits in any::<u64>(),
        ) {
            let mut expected = vec![7i64; 64];
            for (row, codes) in bytes.chunks_exact(query.len()).take(64).enumerate() {
                if bits >> row & 1 == 1 {
                    let terms = query.iter().zip(codes);
                    expected[row] = terms.map(|(q, c)| i64::from(*q) * i64::from(*c as i8)).sum();
                }
            }
            let mut fast = vec![7i64; 64];
            row_products(&query, &bytes, &[bits], &mut fast);
            prop_assert_eq!(&fast, &expected);
            let mut plain = vec![7i64; 64];
            portable::row_products(&query, &bytes, &[bits], &mut plain);
            prop_assert_eq!(&plain, &expected);
        }
    }

    #[test]
    fn the_largest_products_of_the_largest_dimension_do_not_overflow() {
        let query = vec![QUERY_MAX; 65_536];
        let codes = vec![-127i8 as u8; 65_536];
        for kernel in [row_products, portable::row_products] {
            let mut out = [0i64];
            kernel(&query, &codes, &[1], &mut out);
            assert_eq!(out, [-65_536 * 4095 * 127]);
        }
    }
}
