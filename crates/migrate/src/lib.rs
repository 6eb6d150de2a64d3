//! Whole palaces: verified, compared with each other, and moved from one backend to another.
//!
//! Every collection of a palace is meant here, so operations take palaces or their addresses instead of a session on one
//! collection. Knows no backend and no model by name, prints nothing and reads no clock.

mod canonical;
mod merge;
pub mod migrate;
pub mod verify;

pub use migrate::{MigrateOptions, MigrateReport, MigrateRequest, migrate, migrate_palace};
pub use verify::{VerifyReport, VerifyRequest, VerifyStep, compare, examine, verify, verify_palace};
