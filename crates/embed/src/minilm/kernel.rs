//! The inner loops of the model: matrix products and the functions between them, as wide as this processor allows.
//!
//! Each width sums a value in one order, regardless of its neighbours in the batch, so that a text has one vector.
#![allow(
    unsafe_code,
    reason = "SIMD intrinsics behind runtime detection; beside the mapping, nowhere else in the model"
)]
#![allow(
    clippy::indexing_slicing,
    reason = "inner loops over lengths that are checked once at their head"
)]

use std::array::from_fn;

use super::curves;

/// A SIMD level of this processor. Only detected levels are ever constructed, so having one proves support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SimdLevel(SimdWidth);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SimdWidth {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl SimdLevel {
    /// Returns every level that this processor supports, narrowest first.
    pub(super) fn detected_levels() -> Vec<Self> {
        let mut all = vec![Self(SimdWidth::Portable)];
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            all.push(Self(SimdWidth::Avx2));
            if is_x86_feature_detected!("avx512f") {
                all.push(Self(SimdWidth::Avx512));
            }
        }
        all
    }

    /// Returns the widest level that this processor supports.
    pub(super) fn widest_level() -> Self {
        Self::detected_levels().pop().unwrap_or(Self(SimdWidth::Portable))
    }

    /// Returns the number of columns in one panel of a packed matrix.
    pub(super) fn panel_width(self) -> usize {
        match self.0 {
            SimdWidth::Portable => portable::PANEL,
            #[cfg(target_arch = "x86_64")]
            SimdWidth::Avx2 => avx2::PANEL,
            #[cfg(target_arch = "x86_64")]
            SimdWidth::Avx512 => avx512::PANEL,
        }
    }
}

/// MatrixRows of a matrix in memory: row `i` begins at `i * stride`.
#[derive(Debug, Clone, Copy)]
pub(super) struct MatrixRows<'a> {
    pub(super) values: &'a [f32],
    pub(super) stride: usize,
}

/// The initial value that a product is added to.
#[derive(Debug, Clone, Copy)]
pub(super) enum ProductAddend<'a> {
    /// Nothing.
    Zero,
    /// One value for each column.
    Bias(&'a [f32]),
    /// The current contents of the target.
    Held,
}

/// One product: `rows` rows of `left`, `depth` long, by a packed matrix with `columns` columns.
///
/// A packed matrix is a row of panels, each of [`SimdLevel::panel_width`] columns side by side for the whole depth; the last
/// one is padded, and the padding is never written to the target.
#[derive(Debug, Clone, Copy)]
pub(super) struct MatrixProduct<'a> {
    pub(super) left: MatrixRows<'a>,
    pub(super) rows: usize,
    pub(super) depth: usize,
    pub(super) packed: &'a [f32],
    pub(super) columns: usize,
    pub(super) onto: ProductAddend<'a>,
}

/// Writes a product to `target`, whose rows begin `stride` apart.
pub(super) fn multiply(level: SimdLevel, product: MatrixProduct<'_>, target: &mut [f32], stride: usize) {
    match level.0 {
        SimdWidth::Portable => portable::multiply(product, target, stride),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the level is only ever made after its features were detected.
        SimdWidth::Avx2 => unsafe { avx2::multiply(product, target, stride) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        SimdWidth::Avx512 => unsafe { avx512::multiply(product, target, stride) },
    }
}

/// Whether code without detection may fuse multiply and add: on other targets a fused product is a library call.
const FUSED: bool = cfg!(target_arch = "aarch64");

/// The number of steps by which a panel is prefetched; for a short text it comes from main memory.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 32;

/// Compiles one of the [`curves`] per level.
macro_rules! curve {
    ($what:literal, $name:ident, $($argument:ident: $type:ty),*) => {
        #[doc = $what]
        pub(super) fn $name(level: SimdLevel, $($argument: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($argument: $type),*) {
                curves::$name::<true>($($argument),*);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx2,fma")]
            fn avx512($($argument: $type),*) {
                curves::$name::<true>($($argument),*);
            }
            match level.0 {
                SimdWidth::Portable => curves::$name::<FUSED>($($argument),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the level is only ever made after its features were detected.
                SimdWidth::Avx2 => unsafe { avx2($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                SimdWidth::Avx512 => unsafe { avx512($($argument),*) },
            }
        }
    };
}

curve!("Applies GELU: weighs each value by the normal distribution below it.", gelu, values: &mut [f32]);
curve!(
    "Raises e to rows of `across` scores, of which `many` count; a share is the inverse of the sum of its row.",
    raise, scores: &mut [f32], across: usize, many: usize, scale: f32, shares: &mut [f32]
);
curve!(
    "Adds `bias` to each row, normalises it to mean 0 and variance 1, then weighs and shifts it.",
    normalise, rows: &mut [f32], bias: &[f32], weight: &[f32], shift: &[f32]
);

/// Products for one kind of register: `$lanes` values each, two to a panel, at most `$most` rows at once.
///
/// Two registers of a panel meet `$most` rows, whose sums stay in registers for the whole depth. The rows are
/// spread evenly over as few parts as possible, so that the last part is not a sliver.
macro_rules! products {
    (
        [$(#[$feature:meta])*], $lanes:literal, $most:literal: [$($count:literal)*],
        $load:path, $store:path, $splat:path, $fused:path, $ahead:path
    ) => {
        const LANES: usize = $lanes;
        pub(super) const PANEL: usize = 2 * LANES;

        $(#[$feature])*
        pub(super) fn multiply(product: MatrixProduct<'_>, target: &mut [f32], stride: usize) {
            // Panels outside, rows inside: a panel stays in cache while all rows pass over it.
            let parts = product.rows.div_ceil($most);
            let panels = product.packed.chunks_exact((PANEL * product.depth).max(1));
            for (first, panel) in (0..product.columns).step_by(PANEL).zip(panels) {
                let panel = panel.as_chunks::<LANES>().0.as_chunks::<2>().0;
                let mut row = 0;
                for part in 1..=parts {
                    let end = product.rows * part / parts;
                    match end - row {
                        $($count => rows::<$count>(product, panel, row, first, target, stride),)*
                        _ => {}
                    }
                    row = end;
                }
            }
        }

        /// `R` rows from `row` on by one panel, whose first column is `first`.
        $(#[$feature])*
        fn rows<const R: usize>(
            product: MatrixProduct<'_>,
            panel: &[[[f32; LANES]; 2]],
            row: usize,
            first: usize,
            target: &mut [f32],
            stride: usize,
        ) {
            let MatrixRows { values, stride: apart } = product.left;
            let left = MatrixRows { values: &values[row * apart..], stride: apart };
            let target = &mut target[row * stride + first..];
            let wide = product.columns - first;
            if wide >= PANEL {
                let onto = match product.onto {
                    ProductAddend::Bias(bias) => ProductAddend::Bias(&bias[first..]),
                    other => other,
                };
                return add::<R>(left, panel, onto, target, stride);
            }
            // The last panel may be wider than what is left of the target.
            let mut tile = [[0.0; PANEL]; R];
            for (i, tile) in tile.iter_mut().enumerate() {
                match product.onto {
                    ProductAddend::Zero => {}
                    ProductAddend::Bias(bias) => tile[..wide].copy_from_slice(&bias[first..]),
                    ProductAddend::Held => tile[..wide].copy_from_slice(&target[i * stride..][..wide]),
                }
            }
            add::<R>(left, panel, ProductAddend::Held, tile.as_flattened_mut(), PANEL);
            for (i, tile) in tile.iter().enumerate() {
                target[i * stride..][..wide].copy_from_slice(&tile[..wide]);
            }
        }

        /// `R` whole rows by one panel. A separate function, so that it has all the registers to itself.
        $(#[$feature])*
        #[inline(never)]
        fn add<const R: usize>(
            left: MatrixRows<'_>,
            panel: &[[[f32; LANES]; 2]],
            onto: ProductAddend<'_>,
            target: &mut [f32],
            stride: usize,
        ) {
            let MatrixRows { values, stride: apart } = left;
            assert!((R - 1) * apart + panel.len() <= values.len(), "the rows lie within their matrix");
            let mut sums: [[Register; 2]; R] = [[$splat(0.0); 2]; R];
            for i in 0..R {
                let from = match onto {
                    ProductAddend::Zero => continue,
                    ProductAddend::Bias(bias) => &bias[..PANEL],
                    ProductAddend::Held => &target[i * stride..][..PANEL],
                };
                let halves = from.as_chunks::<LANES>().0;
                sums[i] = [$load(&halves[0]), $load(&halves[1])];
            }
            for (k, halves) in panel.iter().enumerate() {
                $ahead(halves);
                let (low, high) = ($load(&halves[0]), $load(&halves[1]));
                for i in 0..R {
                    // SAFETY: i < R and k < panel.len(), so by the assertion above it lies within.
                    let value = $splat(*unsafe { values.get_unchecked(i * apart + k) });
                    sums[i] = [$fused(value, low, sums[i][0]), $fused(value, high, sums[i][1])];
                }
            }
            for i in 0..R {
                let halves = target[i * stride..][..PANEL].as_chunks_mut::<LANES>().0;
                $store(&mut halves[0], sums[i][0]);
                $store(&mut halves[1], sums[i][1]);
            }
        }
    };
}

mod portable {
    use super::*;

    type Register = [f32; 8];

    fn load(from: &[f32; 8]) -> Register {
        *from
    }

    fn store(to: &mut [f32; 8], value: Register) {
        *to = value;
    }

    fn splat(value: f32) -> Register {
        [value; 8]
    }

    fn fused(value: Register, by: Register, onto: Register) -> Register {
        from_fn(|i| curves::multiply_add::<FUSED>(value[i], by[i], onto[i]))
    }

    fn ahead(_: &[[f32; 8]; 2]) {}

    products!([], 8, 4: [1 2 3 4], load, store, splat, fused, ahead);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::*;
    use std::arch::x86_64::{
        __m256, _MM_HINT_T0, _mm_prefetch, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_set1_ps, _mm256_storeu_ps,
    };

    type Register = __m256;

    #[target_feature(enable = "avx2,fma")]
    fn load(from: &[f32; 8]) -> Register {
        // SAFETY: the array holds the eight values that are read.
        unsafe { _mm256_loadu_ps(from.as_ptr()) }
    }

    #[target_feature(enable = "avx2,fma")]
    fn store(to: &mut [f32; 8], value: Register) {
        // SAFETY: the array has room for the eight values that are written.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), value) }
    }

    #[target_feature(enable = "avx2,fma")]
    fn ahead(halves: &[[f32; 8]; 2]) {
        _mm_prefetch::<_MM_HINT_T0>(halves.as_ptr().wrapping_add(2 * AHEAD).cast());
    }

    products!(
        [#[target_feature(enable = "avx2,fma")]], 8, 6: [1 2 3 4 5 6],
        load, store, _mm256_set1_ps, _mm256_fmadd_ps, ahead
    );
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::*;
    use std::arch::x86_64::{
        __m512, _MM_HINT_T0, _mm_prefetch, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_storeu_ps,
    };

    type Register = __m512;

    #[target_feature(enable = "avx512f,avx2,fma")]
    fn load(from: &[f32; 16]) -> Register {
        // SAFETY: the array holds the sixteen values that are read.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[target_feature(enable = "avx512f,avx2,fma")]
    fn store(to: &mut [f32; 16], value: Register) {
        // SAFETY: the array has room for the sixteen values that are written.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), value) }
    }

    #[target_feature(enable = "avx512f,avx2,fma")]
    fn ahead([low, high]: &[[f32; 16]; 2]) {
        _mm_prefetch::<_MM_HINT_T0>(low.as_ptr().wrapping_add(AHEAD * PANEL).cast());
        _mm_prefetch::<_MM_HINT_T0>(high.as_ptr().wrapping_add(AHEAD * PANEL).cast());
    }

    products!(
        [#[target_feature(enable = "avx512f,avx2,fma")]], 16, 12: [1 2 3 4 5 6 7 8 9 10 11 12],
        load, store, _mm512_set1_ps, _mm512_fmadd_ps, ahead
    );
}
