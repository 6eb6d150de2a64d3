//! `mine`: reads files and conversations into drawers.

use std::path::PathBuf;
use std::time::Instant;

use loci_core::{Error, ErrorKind, Result};
use loci_engine::mine::{self, MineReport, MineRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::tool::{Call, Effect, Reply, Tool};

/// How many failures and omissions are named, and how long each may be.
const NAMED: usize = 5;
const LONGEST: usize = 160;

pub(crate) struct Mine;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// An absolute path: file or folder
    pub(crate) path: String,
    pub(crate) wing: Option<String>,
    pub(crate) room: Option<String>,
    pub(crate) dry_run: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    sources_seen: u64,
    sources_mined: u64,
    sources_unchanged: u64,
    sources_failed: u64,
    sources_skipped: u64,
    drawers_added: u64,
    drawers_kept: u64,
    drawers_removed: u64,
    seconds: f64,
    /// What failed or was left out, and why
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for Mine {
    const NAME: &'static str = "mine";
    const ABOUT: &'static str = "Read a file, folder or transcript into drawers, every word once; again files only \
        what is new.";
    const EFFECT: Effect = Effect::Adds;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let (report, seconds) = run(&input, call)?;
        Ok(reply(&report, seconds))
    }
}

/// Mines, and says how long it took.
pub(crate) fn run(input: &Input, call: &Call<'_>) -> Result<(MineReport, f64)> {
    let request = request(input, call)?;
    let began = Instant::now();
    let total = mine::survey(&request)?.sources;
    let mut said = None;
    let report = call.palace.mine(&request, &mut |progress| {
        if said != Some(progress.sources) {
            said = Some(progress.sources);
            let words = format!(
                "{} of {total} sources, {} drawers added",
                progress.sources, progress.drawers
            );
            (call.progress)(progress.sources as f64, Some(total as f64), words);
        }
    })?;
    Ok((report, began.elapsed().as_secs_f64()))
}

fn request(input: &Input, call: &Call<'_>) -> Result<MineRequest> {
    let path = PathBuf::from(&input.path);
    if !path.is_absolute() {
        return Err(Error::invalid(format!("{:?} is no absolute path", input.path))
            .hint("nothing was mined; give the whole path, beginning with /"));
    }
    let path = path.canonicalize().map_err(|cause| {
        let kind = match cause.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        Error::new(kind, format!("cannot mine {:?}: {cause}", input.path)).hint("nothing was mined")
    })?;
    let mut request = MineRequest::of([path]);
    request.door = call.palace.door();
    request.wing.clone_from(&input.wing);
    request.room.clone_from(&input.room);
    request.dry_run = input.dry_run == Some(true);
    request.stop = call.stop.clone();
    request.excludes = mine::walk::global_excludes();
    let palace = call.palace.address()?.reference.local_path;
    request
        .avoid
        .extend(palace.and_then(|folder| folder.canonicalize().ok()));
    Ok(request)
}

/// What mining did, in words and as a value.
pub(crate) fn reply(report: &MineReport, seconds: f64) -> Reply<Output> {
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
        .take(NAMED)
        .map(|note| note.chars().take(LONGEST).collect())
        .collect();
    if let Some(more) = all.len().checked_sub(NAMED).filter(|more| *more > 0) {
        notes.push(format!("and {more} more; `loci mine --json` lists them all"));
    }
    let planned =
        |of: fn(&mine::Planned) -> u64| report.plan.as_ref().map_or(0, |plan| plan.iter().map(of).sum());
    let value = Output {
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
        "{} sources: {} {verb}, {} unchanged, {} failed, {} left out; {} drawers added, {} kept, {} removed",
        value.sources_seen,
        value.sources_mined,
        value.sources_unchanged,
        value.sources_failed,
        value.sources_skipped,
        value.drawers_added,
        value.drawers_kept,
        value.drawers_removed
    );
    for note in &value.notes {
        text.push('\n');
        text.push_str(note);
    }
    Reply { text, value }
}
