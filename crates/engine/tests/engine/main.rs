//! The operations, seen through the in-memory reference backend.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "this whole crate is a test: a panic is a red line"
)]

mod agents;
mod counted;
#[allow(dead_code, reason = "the tests of whole palaces use the rest")]
mod damaged;
mod embedders;
mod export;
mod filing;
mod import;
mod mining;
mod neighbours;
mod palace;
mod passage;
#[allow(dead_code, reason = "the tests of whole palaces use the rest")]
mod scene;
mod searching;
mod status;
mod switch;
mod switching_writers;
mod timeline;
mod undo;
mod vectors;
mod visit;

use scene::*;
