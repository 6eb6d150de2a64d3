//! The inner loops for processors with AVX2.

use super::BLOCK;
use std::arch::x86_64::{
    __m256, __m256i, _MM_HINT_T0, _mm_add_epi32, _mm_add_ps, _mm_add_ss, _mm_cvtsi128_si32, _mm_cvtss_f32,
    _mm_extract_epi32, _mm_loadu_si128, _mm_movehdup_ps, _mm_movehl_ps, _mm_prefetch, _mm_shuffle_epi32,
    _mm256_add_epi32, _mm256_add_ps, _mm256_castps256_ps128, _mm256_castsi256_si128, _mm256_cvtepi8_epi16,
    _mm256_extractf128_ps, _mm256_extracti128_si256, _mm256_fmadd_ps, _mm256_hadd_epi32, _mm256_loadu_ps,
    _mm256_loadu_si256, _mm256_madd_epi16, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_sub_ps,
};

/// Sums the products of two slices of one length.
#[target_feature(enable = "avx2,fma")]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let (a_wide, a_rest) = a.as_chunks::<32>();
    let (b_wide, b_rest) = b.as_chunks::<32>();
    let mut sums = [_mm256_setzero_ps(); 4];
    for (x, y) in a_wide.iter().zip(b_wide) {
        for ((sum, x), y) in sums
            .iter_mut()
            .zip(x.as_chunks::<8>().0)
            .zip(y.as_chunks::<8>().0)
        {
            *sum = _mm256_fmadd_ps(load_lanes(x), load_lanes(y), *sum);
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    sum_lanes(sums) + rest
}

/// Sums the products of two slices of one length, and the squares of the second.
#[target_feature(enable = "avx2,fma")]
pub(super) fn dot_and_square(a: &[f32], b: &[f32]) -> (f32, f32) {
    let (a_wide, a_rest) = a.as_chunks::<32>();
    let (b_wide, b_rest) = b.as_chunks::<32>();
    // Four accumulators hide the latency of the fused multiply-add, each of which depends on the one
    // before.
    let (mut sums, mut squares) = ([_mm256_setzero_ps(); 4], [_mm256_setzero_ps(); 4]);
    for (x, y) in a_wide.iter().zip(b_wide) {
        let eights = x.as_chunks::<8>().0.iter().zip(y.as_chunks::<8>().0);
        for ((sum, square), (x, y)) in sums.iter_mut().zip(&mut squares).zip(eights) {
            let y = load_lanes(y);
            *sum = _mm256_fmadd_ps(load_lanes(x), y, *sum);
            *square = _mm256_fmadd_ps(y, y, *square);
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    let square_rest: f32 = b_rest.iter().map(|y| y * y).sum();
    (sum_lanes(sums) + rest, sum_lanes(squares) + square_rest)
}

/// Sums the squared differences of two slices of one length.
#[target_feature(enable = "avx2,fma")]
pub(super) fn squared_difference(a: &[f32], b: &[f32]) -> f32 {
    let (a_wide, a_rest) = a.as_chunks::<32>();
    let (b_wide, b_rest) = b.as_chunks::<32>();
    let mut sums = [_mm256_setzero_ps(); 4];
    for (x, y) in a_wide.iter().zip(b_wide) {
        for ((sum, x), y) in sums
            .iter_mut()
            .zip(x.as_chunks::<8>().0)
            .zip(y.as_chunks::<8>().0)
        {
            let apart = _mm256_sub_ps(load_lanes(x), load_lanes(y));
            *sum = _mm256_fmadd_ps(apart, apart, *sum);
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| (x - y) * (x - y)).sum();
    sum_lanes(sums) + rest
}

#[target_feature(enable = "avx2,fma")]
fn load_lanes(lanes: &[f32; 8]) -> __m256 {
    // SAFETY: the array is exactly the 32 bytes read, and the load needs no alignment.
    unsafe { _mm256_loadu_ps(lanes.as_ptr()) }
}

/// Adds 32 lanes in a fixed order.
#[target_feature(enable = "avx2,fma")]
fn sum_lanes([a, b, c, d]: [__m256; 4]) -> f32 {
    let sum = _mm256_add_ps(_mm256_add_ps(a, b), _mm256_add_ps(c, d));
    let four = _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps::<1>(sum));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)))
}

/// See [`super::row_products`].
#[target_feature(enable = "avx2")]
pub(super) fn row_products(query: &[i16], codes: &[u8], bits: &[u64], out: &mut [i64]) {
    let dimension = query.len();
    if dimension > BLOCK {
        return super::each_row(dimension, codes, bits, out, |row| {
            let blocks = query.chunks(BLOCK).zip(row.chunks(BLOCK));
            blocks.map(|(query, row)| i64::from(sum_block(query, row))).sum()
        });
    }
    let fours = bits
        .iter()
        .flat_map(|word| (0..16).map(move |four| word >> (4 * four) & 15));
    for (out, (codes, four)) in out.chunks_mut(4).zip(codes.chunks(4 * dimension).zip(fours)) {
        let whole = four == 15 && codes.len() == 4 * dimension;
        match out {
            // Four rows share each load of the query, and most masks select all rows.
            [a, b, c, d] if whole && dimension.is_multiple_of(16) => {
                [*a, *b, *c, *d] = sum_four(query, codes).map(i64::from);
            }
            out => super::each_row(dimension, codes, &[four], out, |row| {
                i64::from(sum_block(query, row))
            }),
        }
    }
}

/// Sums the products of four rows of at most [`BLOCK`] codes, a multiple of 16, each with the query.
#[target_feature(enable = "avx2")]
fn sum_four(query: &[i16], rows: &[u8]) -> [i32; 4] {
    let (first, last) = rows.split_at(rows.len() / 2);
    let ((a, b), (c, d)) = (first.split_at(query.len()), last.split_at(query.len()));
    let pairs = a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0);
    let others = c.as_chunks::<16>().0.iter().zip(d.as_chunks::<16>().0);
    let mut sums = [_mm256_setzero_si256(); 4];
    // As many lines of memory lie in four rows as there are steps, so each step asks for one of them.
    let lines = rows.as_chunks::<64>().0.iter();
    let steps = query.as_chunks::<16>().0.iter().zip(lines);
    for ((query, line), ((a, b), (c, d))) in steps.zip(pairs.zip(others)) {
        prefetch_ahead(line);
        for (sum, codes) in sums.iter_mut().zip([a, b, c, d]) {
            *sum = _mm256_add_epi32(*sum, multiply_pairs(query, codes));
        }
    }
    let [a, b, c, d] = sums;
    let all = _mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));
    // Each half of the register now holds one part of each of the four sums, in order.
    let four = _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256::<1>(all));
    [
        _mm_extract_epi32::<0>(four),
        _mm_extract_epi32::<1>(four),
        _mm_extract_epi32::<2>(four),
        _mm_extract_epi32::<3>(four),
    ]
}

/// Sums at most [`BLOCK`] products.
#[target_feature(enable = "avx2")]
fn sum_block(query: &[i16], row: &[u8]) -> i32 {
    let (query_wide, query_rest) = query.as_chunks::<32>();
    let (row_wide, row_rest) = row.as_chunks::<32>();
    let mut sums = [_mm256_setzero_si256(); 2];
    for (q, codes) in query_wide.iter().zip(row_wide) {
        prefetch_ahead(codes);
        let halves = q.as_chunks::<16>().0.iter().zip(codes.as_chunks::<16>().0);
        for (sum, (q, codes)) in sums.iter_mut().zip(halves) {
            *sum = _mm256_add_epi32(*sum, multiply_pairs(q, codes));
        }
    }
    let terms = query_rest.iter().zip(row_rest);
    let rest: i32 = terms
        .map(|(q, code)| i32::from(*q) * i32::from(code.cast_signed()))
        .sum();
    let [a, b] = sums;
    sum_across(_mm256_add_epi32(a, b)) + rest
}

/// Prefetches the codes that will be read some rows later: memory is slower than the products.
#[target_feature(enable = "avx2")]
fn prefetch_ahead<const N: usize>(codes: &[u8; N]) {
    /// Far enough for a line to arrive in time, near enough for it to be still cached.
    const BYTES: usize = 8192;
    // Past the end of the codes the address is invalid, and prefetching an invalid address has no effect.
    _mm_prefetch::<_MM_HINT_T0>(codes.as_ptr().wrapping_add(BYTES).cast());
}

/// Multiplies 16 components by 16 codes and adds them in pairs.
#[target_feature(enable = "avx2")]
fn multiply_pairs(query: &[i16; 16], codes: &[u8; 16]) -> __m256i {
    // SAFETY: the array is exactly the 32 bytes read, and the load needs no alignment.
    let query = unsafe { _mm256_loadu_si256(query.as_ptr().cast()) };
    // SAFETY: the array is exactly the 16 bytes read, and the load needs no alignment.
    let codes = unsafe { _mm_loadu_si128(codes.as_ptr().cast()) };
    _mm256_madd_epi16(query, _mm256_cvtepi8_epi16(codes))
}

#[target_feature(enable = "avx2")]
fn sum_across(sum: __m256i) -> i32 {
    let four = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b_00_00_11_10>(four));
    _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b_00_00_00_01>(two)))
}
