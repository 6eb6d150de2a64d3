//! The embedded store in files of its own: what damage, full disks, power cuts and other processes may cost.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it measured"
)]

mod budget;
mod damage;
mod days;
mod disk_full;
mod drift;
mod dropped;
mod duplicates;
mod erase;
mod exchanged;
mod formats;
mod grouping;
mod log;
mod many;
mod mended;
mod nearest;
mod orders;
mod provenance;
mod receipts;
mod rescue;
mod sources;
mod streamed;
mod switch;
mod transactions;
mod unsynced;
mod upgrade;
mod words;

mod power {
    pub(crate) mod counter;
    pub(crate) mod forgetful;
    pub(crate) mod unreadable;
}
mod scene {
    pub(crate) mod listing;
    pub(crate) mod lists;
    pub(crate) mod look;
    pub(crate) mod raw;
    pub(crate) mod spaces;
    pub(crate) mod truth;
}
