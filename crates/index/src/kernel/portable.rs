//! The inner loops in plain Rust, eight lanes wide so that a compiler can pack them.

use super::BLOCK;

/// Sums the products of two slices of one length.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    sum_by_lanes(a, b, |x, y| x * y)
}

/// Sums the squared differences of two slices of one length.
pub(crate) fn squared_difference(a: &[f32], b: &[f32]) -> f32 {
    sum_by_lanes(a, b, |x, y| (x - y) * (x - y))
}

#[inline(always)]
fn sum_by_lanes(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    // Eight separate sums: one running sum would force an order that the compiler may not vectorise.
    let mut sums = [0f32; 8];
    for (x, y) in a.iter().zip(b) {
        #[allow(
            clippy::indexing_slicing,
            reason = "each array has eight lanes; iterators are not packed"
        )]
        for lane in 0..8 {
            sums[lane] += term(x[lane], y[lane]);
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| term(*x, *y)).sum();
    sums.iter().sum::<f32>() + rest
}

/// See [`super::row_products`].
pub(crate) fn row_products(query: &[i16], codes: &[u8], bits: &[u64], out: &mut [i64]) {
    super::each_row(query.len(), codes, bits, out, |row| {
        let blocks = query.chunks(BLOCK).zip(row.chunks(BLOCK));
        blocks.map(|(query, row)| i64::from(sum_block(query, row))).sum()
    });
}

/// Sums at most [`BLOCK`] products.
fn sum_block(query: &[i16], row: &[u8]) -> i32 {
    let terms = query.iter().zip(row);
    terms
        .map(|(q, code)| i32::from(*q) * i32::from(code.cast_signed()))
        .sum()
}
