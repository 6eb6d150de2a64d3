//! `loci forget`: removes drawers to the last byte; a dry run unless confirmed.

use std::path::PathBuf;

use loci_core::{DrawerId, Result, StoredTrace, UnreachedPart};
use loci_engine::forget::{ForgetReport, ForgetRequest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{self, CommandResult, ExitStatus};
use crate::page::{TextPage, format_count};
use crate::progress::JobProgress;
use crate::render::{count_drawers, print_parts};
use crate::scope::{SCOPE_OPTIONS, ScopeArgs};
use crate::session::CommandSession;

/// Remove drawers to the last byte, from the palace and its backups
///
/// A dry run that counts the matching drawers, unless --yes is given. Rewrites the whole palace, so that no page, index or
/// log holds a byte of what was removed, and then every backup: those that `loci backup` has made, and those named with
/// --backups. Lists what was reached and what was not. Other processes can keep working; writers wait while the file is
/// rewritten. Mining does not bring forgotten words back. Exits with 1 if nothing matches or a part was not reached.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci forget note-1 note-2 --yes\n  loci forget --contains hunter2 --yes\n  \
    loci forget --wing old --backups /mnt/backups --yes\n  loci forget --check secrets.txt"
)]
pub(crate) struct ForgetArgs {
    /// The ids
    #[arg(value_name = "ID", conflicts_with_all = SCOPE_OPTIONS)]
    ids: Vec<DrawerId>,

    #[command(flatten)]
    scope: ScopeArgs,

    /// Also rewrite these backups: a file, or a folder of them; may be repeated
    #[arg(long, value_name = "PATH")]
    backups: Vec<PathBuf>,

    /// Remove the drawers
    #[arg(long)]
    yes: bool,

    /// Remove no drawer; rewrite the palace, so that nothing is left of what was deleted or replaced before
    ///
    /// Backups are not looked at: after an interruption, the same command once more reaches them.
    #[arg(long, conflicts_with_all = ["ids", "check", "backups"], conflicts_with_all = SCOPE_OPTIONS)]
    finish: bool,

    /// Look for every line of FILE in each byte of palace, log and backups, and for its words in the indexes
    ///
    /// Prints where they are, never the lines themselves. Exits with 1 if any is found.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ids", "yes"], conflicts_with_all = SCOPE_OPTIONS)]
    check: Option<PathBuf>,
}

impl ForgetArgs {
    /// Whether the command answers from what is stored.
    pub(crate) fn is_answer(&self) -> bool {
        self.check.is_some()
    }
}

/// The places at which lines of a file are stored.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckedTraces {
    /// The number of lines that were looked for.
    checked: u64,
    /// The places.
    found: Vec<FoundLine>,
    /// The copies that could not be searched.
    not_searched: Vec<UnreachedPart>,
}

/// A place at which a line is stored.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FoundLine {
    /// The number of the line, counted from 1.
    line: usize,
    #[serde(flatten)]
    trace: PlacedTrace,
}

/// The file and the place in it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlacedTrace {
    /// The file.
    file: String,
    /// The position of the first byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// The table or drawer, if it was found by decoding.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

/// Counts the drawers and removes them if confirmed, or looks for lines of a file.
pub(crate) fn run(args: &ForgetArgs, session: &mut CommandSession) -> CommandResult {
    if let Some(file) = &args.check {
        return check(file, args, session);
    }
    let dry_run = !args.yes && !args.finish;
    let mut progress = session.out.progress("steps of rewriting");
    let report = session.open_palace()?.forget(
        &ForgetRequest {
            ids: args.ids.clone(),
            whole_ids: false,
            scope: args.scope.build_scope()?,
            expected: None,
            copies: args.backups.clone(),
            finish: args.finish,
            dry_run,
        },
        &mut |what, done, total| show_step(what, done, total, &mut progress),
    )?;
    drop(progress);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| print_report(&report, dry_run, page))?;
        if dry_run && report.matched > 0 {
            out.note("dry run: nothing was removed; add --yes to forget them");
        }
    }
    out.warnings(&report.warnings);
    let is_done = args.finish || report.matched > 0 || report.forgotten_in_copies > 0;
    Ok(ExitStatus::from_found(is_done && report.not_reached.is_empty()))
}

fn show_step(what: &str, done: u64, total: u64, progress: &mut JobProgress) {
    progress.begin_phase(&format!("steps of rewriting {what}"));
    progress.tick(done, Some(total));
}

fn print_report(report: &ForgetReport, dry_run: bool, page: &mut TextPage) {
    if dry_run {
        page.plain(&format!("{} would be forgotten", count_drawers(report.matched)))
            .end();
    } else {
        page.plain(&format!("{} forgotten", count_drawers(report.forgotten)));
        if report.forgotten_in_copies > 0 {
            page.plain(&format!(", {} in backups", report.forgotten_in_copies));
        }
        page.end();
    }
    let verb = if dry_run { "would be rewritten" } else { "reached" };
    print_parts(verb, report.reached.iter().map(String::as_str), page);
    let missed: Vec<String> = report
        .not_reached
        .iter()
        .map(|part| format!("{}: {}", part.part, part.reason))
        .collect();
    print_parts("not reached", missed.iter().map(String::as_str), page);
}

fn check(file: &PathBuf, args: &ForgetArgs, session: &mut CommandSession) -> CommandResult {
    let text = std::fs::read(file)
        .map_err(|cause| errors::io_error(format!("cannot read {}", file.display()), cause))?;
    let text = String::from_utf8_lossy(&text).into_owned();
    // Blank lines stay, so that numbers are those of the file.
    let lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
    let traces = find_traces(&lines, args, session)?;
    let checked = CheckedTraces {
        checked: lines.iter().filter(|line| !line.is_empty()).count() as u64,
        found: traces.0,
        not_searched: traces.1,
    };
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&checked)?;
    } else {
        out.write_page(|page| print_checked(&checked, page))?;
    }
    Ok(ExitStatus::from_found(
        checked.found.is_empty() && checked.not_searched.is_empty(),
    ))
}

fn find_traces(
    lines: &[String],
    args: &ForgetArgs,
    session: &mut CommandSession,
) -> Result<(Vec<FoundLine>, Vec<UnreachedPart>)> {
    let mut progress = session.out.progress("bytes searched");
    let report = session
        .open_palace()?
        .find_traces(lines, &args.backups, &mut |what, done, total| {
            progress.begin_phase(&format!("bytes of {what} searched"));
            progress.tick(done, Some(total));
        })?;
    let place = |trace: StoredTrace| FoundLine {
        line: trace.text + 1,
        trace: PlacedTrace {
            file: trace.file,
            offset: trace.offset,
            place: trace.place,
        },
    };
    Ok((report.found.into_iter().map(place).collect(), report.not_searched))
}

fn print_checked(checked: &CheckedTraces, page: &mut TextPage) {
    for found in &checked.found {
        page.plain(&format!("line {}: ", found.line))
            .bold(&found.trace.file);
        if let Some(offset) = found.trace.offset {
            page.plain(&format!(" at byte {offset}"));
        }
        if let Some(place) = &found.trace.place {
            page.plain(": ").plain(place);
        }
        page.end();
    }
    for part in &checked.not_searched {
        page.plain(&format!("not searched: {}: {}", part.part, part.reason))
            .end();
    }
    let lines = format_count(checked.checked, "line");
    let found: std::collections::BTreeSet<usize> = checked.found.iter().map(|found| found.line).collect();
    page.plain(&format!("{lines} looked for, {} found", found.len()))
        .end();
}
