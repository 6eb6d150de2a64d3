//! The backend against real Chroma servers, beyond the conformance suite.

mod batches;
mod identity;
mod outages;
mod proxy;
mod records;
mod search;
mod support;
