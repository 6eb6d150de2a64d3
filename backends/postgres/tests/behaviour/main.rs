//! Behaviour that only a server has: codes that come later, waits, hostile names, and rights.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "these are only ever tests: a panic is a red line"
)]

mod approximate;
mod codes;
mod names;
mod waits;

use std::sync::Arc;

use loci_core::{Backend, Collection, CollectionName, CreateMode, OpenOptions};
use loci_postgres::PostgresBackend;

/// Opens, or makes, the usual collection of the palace at a URL.
fn open(backend: &PostgresBackend, url: &str) -> Arc<dyn Collection> {
    let palace = backend.adopt_url(url).unwrap();
    let name = CollectionName::new(CollectionName::DEFAULT).unwrap();
    let options = OpenOptions {
        // The vectors of these tests are of no model.
        carries_unknown: true,
        ..OpenOptions::for_writing()
    };
    backend
        .create(&palace, &name, CreateMode::OpenExisting, &options)
        .unwrap()
}
