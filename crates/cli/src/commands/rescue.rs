//! `loci rescue`: brings the readable drawers of a damaged palace into a new one.

use std::ffi::OsString;
use std::path::PathBuf;

use loci_core::{LostDrawers, format_count};
use loci_migrate::migrate::MigrateStep;
use loci_migrate::rescue::{RescueReport, rescue_palace};

use super::verify::print_findings;
use crate::errors::{CommandResult, ExitStatus};
use crate::escape::quote_for_shell;
use crate::page::TextPage;
use crate::progress::JobProgress;
use crate::render::count_drawers;
use crate::session::CommandSession;

/// Bring the readable drawers of a damaged palace into a new one
///
/// Reads a palace page by page, however damaged its header, its log or its indexes are. Every drawer whose own pages are
/// whole comes back unchanged, with its vector if that is whole, too. The others are listed, and so are drawers that the
/// damaged palace may have removed. Only reads the damaged palace; stop other programs that write to it first.
///
/// The new palace is built in a hidden folder beside its place and put there once it is complete. Exits with 1 if a drawer
/// is lost or in doubt.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci rescue ~/.local/share/loci/default --to rescued\n  \
    loci rescue ./damaged/palace.db --to ./rescued\n  \
    loci rescue ~/backups/palace-20260501T093000.000000Z.db --to ./rescued --json"
)]
pub(crate) struct RescueArgs {
    /// The damaged palace: its folder, its palace.db, a backup, or the name of a palace
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// The new palace; it must not exist yet
    #[arg(long, value_name = "REF")]
    to: OsString,
}

/// Rescues the palace.
pub(crate) fn run(args: &RescueArgs, session: &mut CommandSession) -> CommandResult {
    let path = find_path(args, session)?;
    let target = session.palace_at(session.find_address(Some(&args.to), None)?);
    let mut progress = session.out.progress("pages read");
    // Only this build's own files are read without their backend's help.
    let backend = session.registry.make_backend("embedded")?;
    let snapshots = backend
        .snapshots()
        .ok_or_else(|| super::backup::no_snapshots(&backend.descriptor().name))?;
    let remains = snapshots.open_remains(&path, &mut |done, total| progress.tick(done, Some(total)))?;
    let report = rescue_palace(remains, &target, &mut |step| show_step(step, &mut progress))?;
    drop(progress);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| print_report(&report, page))?;
    }
    Ok(ExitStatus::from_found(report.ok))
}

/// The path of the damaged palace. A name of a palace is taken for one if there is no such path.
fn find_path(args: &RescueArgs, session: &CommandSession) -> CommandResult<PathBuf> {
    if args.path.exists() {
        return Ok(args.path.clone());
    }
    Ok(session
        .locate(Some(args.path.as_os_str()))?
        .require_folder()?
        .to_owned())
}

fn show_step(step: MigrateStep<'_>, progress: &mut JobProgress) {
    let (phase, done, total) = match step {
        MigrateStep::Surveyed(done, total) => ("drawers surveyed", done, total),
        MigrateStep::Copied(done, total) => ("drawers copied", done, total),
        MigrateStep::Checked(done, total) => ("drawers compared", done, total),
        MigrateStep::Examined(..)
        | MigrateStep::SetAside(_)
        | MigrateStep::Staged { .. }
        | MigrateStep::SourceFinding(_) => return,
    };
    progress.begin_phase(phase);
    progress.tick(done, Some(total));
}

/// The most lost or doubtful drawers that are shown.
const SHOWN: usize = 100;

fn print_report(report: &RescueReport, page: &mut TextPage) {
    print_list("lost", report.lost.iter().map(describe_lost).collect(), page);
    let doubtful = report.doubtful.iter();
    let doubtful =
        doubtful.map(|drawer| format!("{} in {}: {}", drawer.id, drawer.collection, drawer.reason));
    print_list(
        "brought back, but maybe removed or changed since",
        doubtful.collect(),
        page,
    );
    print_findings(&report.findings, page);
    page.bold(&report.target)
        .plain(&format!("  {}", count_drawers(report.drawers)))
        .plain(if report.ok { ", nothing lost" } else { "" })
        .end();
    for collection in &report.collections {
        page.plain(&format!(
            "{:>8}  {}: {} with a vector, {} without",
            collection.rows, collection.name, collection.with_vector, collection.without_vector
        ))
        .end();
    }
    let palace = quote_for_shell(&report.target);
    page.dim("next: ")
        .plain(&format!("loci verify --palace {palace}"))
        .end();
}

fn print_list(what: &str, lines: Vec<String>, page: &mut TextPage) {
    if lines.is_empty() {
        return;
    }
    page.dim(&format!("{what}:")).end();
    for line in lines.iter().take(SHOWN) {
        page.plain("    ").plain(line).end();
    }
    let more = lines.len().saturating_sub(SHOWN);
    if more > 0 {
        page.plain(&format!("    and {more} more; --json lists them"))
            .end();
    }
}

fn describe_lost(lost: &LostDrawers) -> String {
    let mut text = match (&lost.id, lost.count) {
        (Some(id), _) => id.clone(),
        (None, Some(count)) => format_count(count, "drawer"),
        (None, None) => "an unknown number of drawers".to_owned(),
    };
    let known = [
        ("in", &lost.collection),
        ("wing", &lost.wing),
        ("room", &lost.room),
        ("from", &lost.source),
    ];
    for (word, value) in known {
        if let Some(value) = value {
            text.push_str(&format!(" {word} {value}"));
        }
    }
    if !lost.pages.is_empty() {
        let pages: Vec<String> = lost.pages.iter().map(ToString::to_string).collect();
        text.push_str(&format!(" (page {})", pages.join(", ")));
    }
    format!("{text}: {}", lost.reason)
}
