//! Whole palaces, seen through the in-memory reference backend and the embedded store.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "this whole crate is a test: a panic is a red line"
)]

#[allow(dead_code, reason = "the engine's tests use the rest")]
#[path = "../../../engine/tests/engine/damaged.rs"]
mod damaged;
#[path = "../../../engine/tests/engine/embedders.rs"]
mod embedders;
mod migrating;
#[allow(dead_code, reason = "the engine's tests use the rest")]
#[path = "../../../engine/tests/engine/scene.rs"]
mod scene;
mod verify;

use scene::*;
