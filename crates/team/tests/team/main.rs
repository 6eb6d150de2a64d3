//! The crate as its callers see it, and its log in processes that are killed or run out of room.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, says what it measured, and is told its task by a variable"
)]

mod audit_full;
mod audit_kill;
mod child;
mod one_day;
