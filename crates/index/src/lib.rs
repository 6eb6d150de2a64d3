//! Search mathematics on slices: tokens, postings, distances, packed vectors, row sets. No files, no locks.

pub mod bm25;
pub mod candidates;
pub mod distance;
mod kernel;
pub mod postings;
pub mod rows;
pub mod segment;
pub mod tokenise;

pub use candidates::{NearestCandidates, RowCandidate};
pub use distance::{QueryProbe, dot_product, measure_distance};
pub use rows::RowSet;
pub use segment::{RowMask, SegmentHead, SegmentSeal};
