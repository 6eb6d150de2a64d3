//! The crate from outside: the walk over real trees, and the formats conversations come in.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

mod formats;
mod walk;
