//! The backend against real Chroma servers, beyond the conformance suite.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is a red line of the test"
)]

mod batches;
mod identity;
mod outages;
mod proxy;
mod records;
mod search;
mod support;
