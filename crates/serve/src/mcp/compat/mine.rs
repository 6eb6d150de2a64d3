//! `mempalace_mine`: reads files and conversations into drawers.

use loci_core::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Namesake;
use crate::mcp::tool::{Call, Effect};
use crate::mcp::tools::mine;

/// MemPalace's ways of mining. What a file is, is seen from the file here, so that all do the same.
const MODES: [&str; 3] = ["projects", "convos", "extract"];
/// How many failures are named.
const NAMED: usize = 20;

pub(super) struct Mine;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// An absolute path: file or folder
    source: String,
    /// projects, convos or extract; formats are recognised anyway
    mode: Option<String>,
    wing: Option<String>,
    dry_run: Option<bool>,
    /// Only 0: all files
    limit: Option<u64>,
    /// Ignored
    #[expect(dead_code, reason = "MemPalace takes it; who mined is not kept here")]
    agent: Option<String>,
    #[expect(dead_code, reason = "MemPalace takes it; every message is kept here")]
    extract: Option<String>,
    #[expect(
        dead_code,
        reason = "MemPalace takes it; transcripts are mined where they lie here"
    )]
    include_subagents: Option<bool>,
}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    success: bool,
    mode: String,
    dry_run: bool,
    output: String,
    drawers_added: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files_failed: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failed_files: Vec<String>,
}

impl Namesake for Mine {
    const NAME: &'static str = "mempalace_mine";
    const ABOUT: &'static str =
        "Read a file, folder or transcript into drawers; again files only what is new.";
    const EFFECT: Effect = Effect::Adds;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Output> {
        let mode = input.mode.as_deref().unwrap_or("projects");
        if !MODES.contains(&mode) {
            return Err(Error::invalid(format!(
                "`mode` must be one of {}, not {mode:?}",
                MODES.join(", ")
            ))
            .hint("nothing was mined; leave it out"));
        }
        if input.limit.is_some_and(|limit| limit > 0) {
            return Err(Error::invalid("`limit` can only be 0 here")
                .hint("nothing was mined; leave it out: what is stopped goes on where it was"));
        }
        let asked = mine::Input {
            path: input.source,
            wing: input.wing,
            room: None,
            dry_run: input.dry_run,
        };
        let (report, seconds) = mine::run(&asked, call)?;
        let failed = &report.sources_failed;
        let said = mine::reply(&report, seconds);
        Ok(Output {
            success: failed.is_empty(),
            mode: mode.to_owned(),
            dry_run: input.dry_run == Some(true),
            output: said.text,
            drawers_added: report.drawers_added,
            error: (!failed.is_empty()).then(|| format!("{} files could not be mined", failed.len())),
            files_failed: (!failed.is_empty()).then_some(failed.len()),
            failed_files: failed.iter().take(NAMED).map(|one| one.source.clone()).collect(),
        })
    }
}
