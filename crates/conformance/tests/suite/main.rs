//! The suite itself: that it tells a wrong backend from a right one, whatever either can do, and that the house is tidy.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

mod each_capability;
mod teeth;
mod tidy;
