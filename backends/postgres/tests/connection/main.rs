//! Connecting to real servers: passwords, TLS, several hosts, errors, timeouts and cancelling.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is a red line of the test"
)]

mod authority;
mod hosts;
mod impostor;
mod passwords;
mod refusals;
mod server;
mod tls;
mod waiting;
