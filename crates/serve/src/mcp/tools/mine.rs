//! `mine`: reads files and conversations into drawers.

use std::path::PathBuf;
use std::time::Instant;

use loci_core::{Error, ErrorKind, Result, format_count};
use loci_engine::mine::{self, MineReport, MineRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};

/// The most failures and omissions that are named, and the longest, in characters.
const MOST_NOTES: usize = 5;
const MAX_NOTE_CHARS: usize = 160;

pub(crate) struct MineTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MineInput {
    /// Absolute path: file or folder
    pub(crate) path: String,
    pub(crate) wing: Option<String>,
    pub(crate) room: Option<String>,
    pub(crate) dry_run: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MineOutput {
    sources_seen: u64,
    sources_mined: u64,
    sources_unchanged: u64,
    sources_failed: u64,
    sources_skipped: u64,
    drawers_added: u64,
    drawers_kept: u64,
    drawers_removed: u64,
    seconds: f64,
    /// Failures and omissions, with reasons
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl PalaceTool for MineTool {
    const NAME: &'static str = "mine";
    const ABOUT: &'static str = "Read a file, folder or transcript into drawers, every word once; a rerun files only \
        what is new.";
    const EFFECT: ToolEffect = ToolEffect::Adds;
    type Input = MineInput;
    type Output = MineOutput;

    fn call(input: MineInput, call: &CallContext<'_>) -> Result<ToolReply<MineOutput>> {
        let (report, seconds) = run_mine(&input, call)?;
        Ok(build_reply(&report, seconds))
    }
}

/// Mines, and returns the report with the seconds it took.
pub(crate) fn run_mine(input: &MineInput, call: &CallContext<'_>) -> Result<(MineReport, f64)> {
    let request = build_request(input, call)?;
    let began = Instant::now();
    // A quick walk without reading, so that progress has a total from the start.
    let total = mine::survey_sources(&request)?.sources;
    let mut said = None;
    let report = call.palace.mine(&request, &mut |progress| {
        // The callback may run more often; a notification is worth sending only when another source is done.
        if said != Some(progress.sources) {
            said = Some(progress.sources);
            let words = format!(
                "{} of {}, {} added",
                progress.sources,
                format_count(total, "source"),
                format_count(progress.drawers, "drawer")
            );
            (call.progress)(progress.sources as f64, Some(total as f64), words);
        }
    })?;
    Ok((report, began.elapsed().as_secs_f64()))
}

fn build_request(input: &MineInput, call: &CallContext<'_>) -> Result<MineRequest> {
    // The server's working folder is not the agent's, so a relative path would mean something else here.
    let path = PathBuf::from(&input.path);
    if !path.is_absolute() {
        return Err(
            Error::invalid(format!("{:?} is not an absolute path", input.path))
                .with_hint("nothing was mined; give the whole path, beginning with /"),
        );
    }
    let path = path.canonicalize().map_err(|cause| {
        let kind = match cause.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        Error::new(kind, format!("cannot mine {:?}: {cause}", input.path)).with_hint("nothing was mined")
    })?;
    let mut request = MineRequest::for_paths([path]);
    request.door = call.palace.door();
    request.wing.clone_from(&input.wing);
    request.room.clone_from(&input.room);
    request.dry_run = input.dry_run == Some(true);
    request.stop = call.stop.clone();
    request.excludes = mine::walk::global_excludes();
    // Mining a folder that contains the palace must not read the palace into itself.
    let palace = call.palace.address()?.reference.local_path;
    request
        .avoid
        .extend(palace.and_then(|folder| folder.canonicalize().ok()));
    Ok(request)
}

/// Renders the report of a run.
pub(crate) fn build_reply(report: &MineReport, seconds: f64) -> ToolReply<MineOutput> {
    let failed = report
        .sources_failed
        .iter()
        .map(|one| format!("{}: {}", one.source, one.error));
    let skipped = report
        .skipped
        .iter()
        .map(|one| format!("{}: {}", one.source, one.reason));
    let all: Vec<String> = failed.chain(skipped).collect();
    let mut notes: Vec<String> = all
        .iter()
        .take(MOST_NOTES)
        .map(|note| note.chars().take(MAX_NOTE_CHARS).collect())
        .collect();
    if let Some(more) = all.len().checked_sub(MOST_NOTES).filter(|more| *more > 0) {
        notes.push(format!("and {more} more; `loci mine --json` lists them all"));
    }
    // A dry run adds nothing and lists its plan instead; its counts stand in for the real ones.
    let planned = |of: fn(&mine::PlannedSource) -> u64| {
        report.plan.as_ref().map_or(0, |plan| plan.iter().map(of).sum())
    };
    let value = MineOutput {
        sources_seen: report.sources_seen,
        sources_mined: report.sources_mined + planned(|_| 1),
        sources_unchanged: report.sources_unchanged,
        sources_failed: report.sources_failed.len() as u64,
        sources_skipped: report.skipped.len() as u64,
        drawers_added: report.drawers_added + planned(|one| one.new),
        drawers_kept: report.drawers_kept,
        drawers_removed: report.drawers_removed,
        seconds: (seconds * 1000.0).round() / 1000.0,
        notes,
    };
    let verb = if report.plan.is_some() {
        "would be mined"
    } else {
        "mined"
    };
    let mut text = format!(
        "{}: {} {verb}, {} unchanged, {} failed, {} skipped; {} added, {} kept, {} removed",
        format_count(value.sources_seen, "source"),
        value.sources_mined,
        value.sources_unchanged,
        value.sources_failed,
        value.sources_skipped,
        format_count(value.drawers_added, "drawer"),
        value.drawers_kept,
        value.drawers_removed
    );
    for note in &value.notes {
        text.push('\n');
        text.push_str(note);
    }
    ToolReply { text, value }
}
