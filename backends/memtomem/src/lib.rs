//! Reads databases that memtomem wrote, without any of its code: their chunks as drawers, the duplicates among them,
//! and the drift of its indexes.
//!
//! The rows of the table `chunks` are the truth. Releases differ in their columns, so the columns are looked up: the
//! known ones become the place, the times and the uses of a drawer, all others its metadata. Nothing here writes to a
//! database or beside it.

mod cell;
mod chunk;
mod database;
mod duplicates;
mod ghosts;
mod rows;
mod survey;

pub use database::MemtomemDatabase;
pub use duplicates::DuplicateChunk;
pub use ghosts::{GhostReport, IndexDrift};
pub use survey::{MemtomemChunk, MemtomemSurvey, UnreadableRow};
