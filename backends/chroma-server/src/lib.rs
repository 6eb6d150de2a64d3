//! The `chroma-server` backend: palaces in a running Chroma server. The only crate that knows Chroma's HTTP interface.
//!
//! A palace is a database of a tenant, a collection is one of Chroma's. Drawers with a vector are records of it; drawers
//! without one, the recorded model and receipts live in a second collection beside it, because Chroma stores nothing
//! without a vector and fixes their length with the first. The server has no transactions, so a batch is not atomic, and
//! the promises about writers hold within one process.

mod address;
mod apply;
mod backend;
mod base64;
mod client;
mod collection;
mod deadline;
mod failure;
mod gate;
mod listing;
mod load;
mod names;
mod nearest;
mod pushdown;
mod read;
mod record;
mod send;
mod shelf;
mod side;
mod wire;
mod words;

pub use address::{ChromaUrl, redact_url};
pub use backend::ChromaServerBackend;
