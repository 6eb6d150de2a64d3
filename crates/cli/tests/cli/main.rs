//! The real binary, run as people and scripts run it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "this whole crate is a test: a panic is a red line"
)]

mod compat;
#[cfg(unix)]
mod connect;
mod conversations;
mod doctoring;
mod embedding;
#[cfg(unix)]
mod every_command;
mod everyday;
mod filing;
mod finding;
mod first_minutes;
mod forgetting;
mod help;
mod hooks;
mod hostile;
mod json_schemas;
mod keeping;
mod kill;
mod losing_nothing;
mod mcp;
#[cfg(unix)]
mod mcp_http;
mod memtomem;
mod migrate_killed;
mod migrating;
mod mine_together;
mod mining;
mod moving;
mod own_tree;
mod owner_only;
mod places;
#[cfg(target_os = "linux")]
mod progressing;
mod rescuing;
mod scoping;
mod search_together;
mod searching;
mod server;
mod stale_pages;
mod switch_killed;
mod together;
mod transactions;
mod vanishing;
mod waking;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use loci_testkit::{TempHome, run_command};
use serde_json::Value as Json;

/// An empty home for runs of the real binary.
fn new_home() -> TempHome {
    TempHome::of_program(env!("CARGO_BIN_EXE_loci"))
}

fn ids(list: &Json) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().or_else(|| one["id"].as_str()).unwrap())
        .collect()
}
