//! The embedders and the models folder with real files, real weights and real servers.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

mod http;
mod minilm;
mod models;
mod wordpiece;
