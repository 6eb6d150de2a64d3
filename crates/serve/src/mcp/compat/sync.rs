//! `mempalace_sync`: which sources are gone, and taking their drawers away.

use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use loci_engine::sync::{self, Removed, SyncReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Namesake;
use crate::mcp::tool::{Call, Effect};

/// How many sources are named.
const NAMED: usize = 20;

pub(super) struct Sync;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// Only what was mined from here; needed to apply
    project_dir: Option<String>,
    /// Not offered
    wing: Option<String>,
    /// Remove [false]
    apply: Option<bool>,
}

/// How many sources there are of each sort.
#[derive(Debug, Serialize)]
pub(super) struct Output {
    success: bool,
    dry_run: bool,
    scanned: u64,
    kept: u64,
    missing: usize,
    unresolved: usize,
    missing_drawers: u64,
    missing_sources: Vec<String>,
    removed_sources: u64,
    removed_drawers: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Namesake for Sync {
    const NAME: &'static str = "mempalace_sync";
    const ABOUT: &'static str = "Sources that are gone; with apply, their drawers are removed.";
    const EFFECT: Effect = Effect::Removes;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Output> {
        let apply = input.apply == Some(true);
        if input.wing.is_some() {
            return Err(
                Error::new(ErrorKind::Unsupported, "a sync of one wing is not offered")
                    .hint("nothing was removed; give project_dir instead"),
            );
        }
        if apply && input.project_dir.is_none() {
            return Err(Error::invalid("to apply, `project_dir` must be given").hint("nothing was removed"));
        }
        let paths = match &input.project_dir {
            Some(folder) => vec![absolute(folder)?],
            None => Vec::new(),
        };
        let report = sync::sync(call.house.read()?.as_ref(), &paths)?;
        let removed = match apply && !report.vanished.is_empty() {
            true => call
                .house
                .file(|_, collection| sync::remove(collection, &report, report.vanished.len() as u64))?,
            false => Removed::default(),
        };
        Ok(output(&report, apply, removed))
    }
}

fn output(report: &SyncReport, apply: bool, removed: Removed) -> Output {
    let gone = &report.vanished;
    let away = gone.len() + report.unresolved.len();
    let again = "nothing was removed; call again with project_dir and apply true to remove what is missing";
    Output {
        success: true,
        dry_run: !apply,
        scanned: report.checked,
        kept: report.checked.saturating_sub(away as u64),
        missing: gone.len(),
        unresolved: report.unresolved.len(),
        missing_drawers: gone.iter().map(|one| one.drawers).sum(),
        missing_sources: gone.iter().take(NAMED).map(|one| one.source.clone()).collect(),
        removed_sources: removed.sources,
        removed_drawers: removed.drawers,
        hint: match (apply, gone.is_empty(), &report.refused) {
            (_, _, Some(why)) => Some(why.clone()),
            (false, false, None) => Some(again.to_owned()),
            _ => None,
        },
    }
}

/// A folder that may be gone itself.
fn absolute(folder: &str) -> Result<PathBuf> {
    let path = Path::new(folder);
    match path.is_absolute() {
        true => Ok(path.canonicalize().unwrap_or_else(|_| path.to_owned())),
        false => Err(Error::invalid(format!("{folder:?} is no absolute path"))
            .hint("nothing was removed; give the whole path, beginning with /")),
    }
}
