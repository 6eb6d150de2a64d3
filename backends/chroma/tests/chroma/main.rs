//! Folders that real releases of ChromaDB wrote, sound, damaged, changing and mended.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

mod any_bytes;
mod damaged_databases;
mod damaged_graphs;
mod fixes;
mod folders;
mod histories;
mod live;
mod replaced;
mod searches;
#[path = "../conformance/writer.rs"]
mod writer;

mod scene {
    pub(crate) mod folder;
    pub(crate) mod graph;
    pub(crate) mod reading;
}
