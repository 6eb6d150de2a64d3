//! The real binary, run as people and scripts run it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "this whole crate is a test: a panic is a red line"
)]

mod benching;
mod chroma_server;
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
#[cfg(unix)]
mod live_pages;
mod losing_nothing;
mod lossless;
mod mcp;
#[cfg(unix)]
mod mcp_http;
mod mcp_lines;
mod meaning_in_place;
mod mempalace;
mod memtomem;
#[cfg(unix)]
mod migrate_chain;
mod migrate_killed;
mod migrating;
mod mine_together;
mod mining;
mod moving;
mod own_tree;
mod owner_only;
mod places;
#[cfg(unix)]
mod plugging;
mod poison;
#[cfg(unix)]
mod postgres_doors;
#[cfg(unix)]
mod postgres_moves;
#[cfg(unix)]
mod postgres_roles;
mod postgres_waits;
#[cfg(target_os = "linux")]
mod progressing;
mod rescuing;
mod scoping;
mod sealing;
mod search_together;
mod searching;
mod server;
#[cfg(unix)]
mod serving;
mod stale_pages;
mod switch_killed;
#[cfg(unix)]
mod team;
mod together;
mod transactions;
mod vanishing;
mod waking;
#[cfg(unix)]
mod web;
#[cfg(unix)]
mod web_export;
mod whose_words;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use loci_testkit::{TempHome, run_command};
use serde_json::Value as Json;

/// An empty home for runs of the real binary.
fn new_home() -> TempHome {
    TempHome::of_program(env!("CARGO_BIN_EXE_loci"))
}

/// The number of places in a file, or in all files below a folder, that hold this text in upper or lower case.
fn count_in_files(path: &Path, text: &str) -> usize {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).unwrap();
        return entries
            .map(|entry| count_in_files(&entry.unwrap().path(), text))
            .sum();
    }
    let bytes = std::fs::read(path).unwrap().to_ascii_lowercase();
    let text = text.to_ascii_lowercase();
    bytes
        .windows(text.len())
        .filter(|window| *window == text.as_bytes())
        .count()
}

fn ids(list: &Json) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().or_else(|| one["id"].as_str()).unwrap())
        .collect()
}
