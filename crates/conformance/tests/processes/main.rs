//! Plug-ins as processes: killed at random, left by their host, and one session written down for the documentation.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: a panic is a red line"
)]

mod credit;
#[path = "../plugin/hub.rs"]
mod hub;
mod kills;
mod raw;
mod transcript;
