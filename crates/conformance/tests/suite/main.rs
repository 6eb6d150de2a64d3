//! Tests of the suite itself: it tells flawed backends from correct ones, with any capabilities; and `tidy`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

mod each_capability;
mod house;
mod teeth;
mod tidy;
