//! Search maths on slices: words, postings, distances, packed vectors, sets of rows. No files, no locks.

pub mod bm25;
pub mod candidates;
pub mod distance;
mod kernel;
pub mod postings;
pub mod rows;
pub mod segment;
pub mod tokenise;

pub use candidates::{Candidate, Candidates};
pub use distance::{Probe, distance, dot};
pub use rows::Rows;
pub use segment::{Head, Mask, Seal};
