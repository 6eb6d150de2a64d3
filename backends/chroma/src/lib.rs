//! Reads, examines and repairs folders that ChromaDB 0.4 to 1.5 wrote, without any of its code.
//!
//! The rows of `chroma.sqlite3` are the truth about which records exist. The vector of a record is the newest one
//! written for it: in the write queue, or else in the graph files. Only a fix that the user asked for writes to a
//! folder.

mod backend;
mod catalogue;
mod collection;
mod database;
mod drawer;
mod examine;
mod failure;
mod fix;
mod folder;
mod graph;
mod palace;
#[doc(hidden)]
pub mod pickle;
mod replay;
mod salvage;
mod sequence;
mod shelf;
mod sweep;
mod users;
mod view;

pub use backend::ChromaBackend;
pub use loci_foreign::mempalace::MempalaceInstallation;
