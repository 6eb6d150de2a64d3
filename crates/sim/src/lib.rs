//! A simulator for the embedded store: real store code on a machine whose disk, clock and processes follow a seed.
//!
//! One seed is one history: some lives of a machine, each with processes that write, read, maintain, back up and are
//! killed, on a disk that fails, fills up, loses power and tears what was not synced. Afterwards everything that was
//! acknowledged must be there, everything else wholly or not at all, and every read must have seen one state of the
//! palace. The same seed gives the same trace, byte for byte. `docs/simulator.md` says how to use it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "this crate is only ever a test: a panic is a red line"
)]

mod check;
mod content;
mod disk;
mod exchange;
mod fault;
mod history;
mod machine;
mod process;
mod replay;
mod run;
mod stock;
mod trace;
mod vfs;
mod workload;
mod world;

pub use disk::DiskHonesty;
pub use run::{SeedOutcome, SimSettings, run_seed};
pub use trace::TraceLog;
pub use vfs::MOST_PROCESSES;
