//! Operations on whole palaces: verify, compare, move from one backend to another, and rescue.
//!
//! They cover every collection of a palace, so they take palaces or their addresses instead of a session on
//! one collection. This crate knows no backend and no model by name, prints nothing and reads no wall clock.

mod canonical;
mod digests;
mod merge;
pub mod migrate;
pub mod rescue;
pub mod verify;

pub use migrate::{MigrateOptions, MigrateReport, MigrateRequest, migrate, migrate_palace};
pub use rescue::{RescueReport, rescue_palace};
pub use verify::{
    VerifyReport, VerifyRequest, VerifyStep, compare_palaces, examine_palace, verify_collections,
    verify_palace,
};
