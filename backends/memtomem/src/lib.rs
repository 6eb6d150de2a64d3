//! Databases that memtomem wrote, read without any of its code: which chunks they hold as drawers, which of them stand
//! there twice, and where its indexes have drifted from them.
//!
//! The rows of the table `chunks` are the truth. Releases differ in their columns, so those that are there are looked
//! up: the ones known by name become the place, the times and the uses of a drawer, all others its metadata. Nothing
//! here writes to a database or beside it.

mod cell;
mod chunk;
mod database;
mod duplicates;
mod ghosts;
mod rows;
mod survey;

pub use database::Database;
pub use duplicates::Duplicate;
pub use ghosts::{Ghosts, Sidecar};
pub use survey::{Chunk, Survey, Unreadable};
