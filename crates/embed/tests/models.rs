//! The models folder with real files: a small model of the test's own, real zips, and everything that can go wrong.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

#[path = "models/installing.rs"]
mod installing;
#[path = "models/servers.rs"]
mod servers;
#[path = "models/stopping.rs"]
mod stopping;
#[path = "models/toy.rs"]
mod toy;
