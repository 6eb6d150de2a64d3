//! Folders that ChromaDB 0.4 to 1.5 wrote, read without any of its code: what they hold, what is wrong with them,
//! and how they are mended.
//!
//! The rows of `chroma.sqlite3` are the truth about which records exist. A record's vector is the newest one written
//! for it: in the write queue, or else in the graph files. Nothing here writes to a folder but a fix that was asked for.

mod backend;
mod catalogue;
mod collection;
mod database;
mod deadline;
mod drawer;
mod examine;
mod failure;
mod fix;
mod folder;
mod graph;
mod identity;
mod palace;
#[doc(hidden)]
pub mod pickle;
mod replay;
mod salvage;
mod search;
mod sequence;
mod shelf;
mod sidecars;
mod users;
mod view;

pub use backend::Chroma;
