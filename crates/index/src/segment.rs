//! The bytes of one packed segment: up to [`ROWS`] vectors as signed bytes with error bounds.
//!
//! A segment is sealed once and never changed. All numbers are little-endian.
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | magic `LOCISEG1` |
//! | 8 | metric: 0 cosine, 1 squared Euclidean, 2 inner product |
//! | 9..12 | zero |
//! | 12..16 | dimension `d`, u32, 1..=65536 |
//! | 16..20 | count `n`, u32, 1..=1024 |
//! | 20..24 | zero |
//! | 24..32 | first row number, i64 |
//! | 32..40 | last row number, i64 |
//! | 40..48 | head checksum, u64 |
//! | 48..56 | body checksum, u64 |
//! | 56..64 | zero |
//! | 64.. | `n` row numbers, i64, strictly ascending |
//! | 64 + 8n.. | `n` scales, f32 |
//! | 64 + 12n.. | `n` squared lengths, f32 |
//! | 64 + 16n.. | `n` errors, f32 |
//! | 64 + 20n.. | the body: `n` rows of `d` codes, i8 |
//!
//! A row represents a vector `v`: the stored vector, divided by its length if the metric is cosine. Its codes are
//! `v` times 127 over the largest magnitude of its components, rounded to the nearest integer; its scale is the
//! factor by which the codes come nearest to `v`, so that the residual is perpendicular to them; its squared length
//! is that of `v`; its error is the length of `v` minus scale times codes, rounded up. A vector too small for its
//! scale to be a normal f32 has zero scale and codes and consists of error only.
//!
//! Checksums are XXH3-64. The seed is the XXH3-64, with seed zero, of the 16 bytes of the palace followed by the
//! space as i64, so that a segment copied from another palace or space fails its check. The head checksum covers
//! everything before the body with its own field as zeros; the body checksum covers the body.

mod bounds;
mod head;
mod layout;
mod mask;
mod pack;
mod pieces;
mod quantise;

pub use head::SegmentHead;
pub use layout::{PREFIX, head_len};
pub use mask::RowMask;
pub use pack::pack_segment;
pub use pieces::PieceScan;

use std::hash::Hasher;
use twox_hash::XxHash3_64;

/// The most rows in a segment.
pub const ROWS: usize = 1024;

/// The palace and space a segment belongs to; it seeds the checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentSeal {
    /// The palace's identity, as stored in its file.
    pub palace: [u8; 16],
    /// The embedding space within the palace.
    pub space: i64,
}

impl SegmentSeal {
    /// Computes the checksum of the concatenated `parts` under this seal.
    fn checksum(&self, parts: &[&[u8]]) -> u64 {
        // Streaming gives the same value as hashing the concatenation, without copying the head to zero
        // its own field.
        let mut hasher = XxHash3_64::with_seed(self.seed());
        for part in parts {
            hasher.write(part);
        }
        hasher.finish()
    }

    fn seed(&self) -> u64 {
        let mut seed = XxHash3_64::with_seed(0);
        seed.write(&self.palace);
        seed.write(&self.space.to_le_bytes());
        seed.finish()
    }
}

#[cfg(test)]
mod tests;
