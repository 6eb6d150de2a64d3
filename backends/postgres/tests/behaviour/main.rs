//! Behaviour that only a server has: codes that come later, sealed words, waits, hostile names, and rights.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "these are only ever tests: a panic is a red line"
)]

mod approximate;
mod codes;
mod doctor;
mod isolation;
mod names;
mod roles;
mod statements;
mod tenants;
mod waits;
mod words;

use std::sync::Arc;

use loci_core::{Backend, Collection, CollectionName, CreateMode, OpenOptions, Result};
use loci_postgres::PostgresBackend;

/// Opens, or makes, the usual collection of the palace at a URL.
fn open(backend: &PostgresBackend, url: &str) -> Arc<dyn Collection> {
    try_open(backend, url).unwrap()
}

/// The same, or the error.
fn try_open(backend: &PostgresBackend, url: &str) -> Result<Arc<dyn Collection>> {
    let palace = backend.adopt_url(url)?;
    let name = CollectionName::new(CollectionName::DEFAULT)?;
    let options = OpenOptions {
        // The vectors of these tests are of no model.
        carries_unknown: true,
        ..OpenOptions::for_writing()
    };
    backend.create(&palace, &name, CreateMode::OpenExisting, &options)
}
