//! `loci sync`: lists sources that vanished, and removes their drawers on request.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use loci_core::{Error, ErrorKind, Result};
use loci_engine::sync::SyncReport;

use crate::errors::{CommandResult, ExitStatus};
use crate::page::format_count;
use crate::session::CommandSession;

/// List sources that are no longer where they were mined
///
/// Their drawers are kept. To remove them, use --apply and confirm the number of sources, at the prompt or with --count.
/// Nothing is removed if a whole folder or volume is missing, or if more than ten sources and more than half of them
/// vanished at once. Exits with 1 if any vanished.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci sync\n  loci sync ~/projects/old --apply\n  loci sync --apply --count 3"
)]
pub(crate) struct SyncArgs {
    /// Only sources that were mined from here
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Remove the drawers of vanished sources
    #[arg(long)]
    apply: bool,

    /// Confirm the number of sources to remove
    #[arg(long, value_name = "N", requires = "apply")]
    count: Option<u64>,
}

/// Lists vanished sources, and removes their drawers if that was confirmed.
pub(crate) fn run(args: &SyncArgs, session: &mut CommandSession) -> CommandResult {
    let palace = session.open_palace()?;
    // A path that vanished cannot be resolved, and is exactly what may be asked about.
    let paths = args.paths.iter().map(|path| {
        path.canonicalize()
            .or_else(|_| std::path::absolute(path))
            .unwrap_or_else(|_| path.clone())
    });
    let mut report = palace.check_sources(&paths.collect::<Vec<_>>())?;
    if !session.out.is_json() {
        print_report(&report, args.apply, session)?;
    }
    if args.apply && (!report.vanished.is_empty() || args.count.is_some_and(|count| count > 0)) {
        let count = match args.count {
            Some(count) => count,
            None => ask_count(&report, session)?,
        };
        report.removed = palace.remove_vanished(&report, count)?;
    }
    // The report is printed before the question, in words; scripts get it once, with what was removed.
    let (out, removed) = (&mut session.out, report.removed);
    if out.is_json() {
        out.write_json(&report)?;
    } else if removed.sources > 0 {
        out.write_page(|page| {
            page.plain(&format!(
                "removed {} of {}",
                format_count(removed.drawers, "drawer"),
                format_count(removed.sources, "source")
            ))
            .end();
        })?;
    }
    // Sources that are still vanished after the run are something to look at.
    let settled = report.vanished.len() as u64 == removed.sources;
    Ok(ExitStatus::from_found(settled))
}

fn print_report(report: &SyncReport, apply: bool, session: &mut CommandSession) -> CommandResult<()> {
    let out = &mut session.out;
    out.write_page(|page| {
        for gone in &report.vanished {
            page.bold("vanished").plain("    ").plain(&gone.source);
            page.dim(&format!("  {}", format_count(gone.drawers, "drawer")))
                .end();
        }
        for unclear in &report.unresolved {
            page.yellow("unresolved").plain("  ").plain(&unclear.source);
            page.dim(&format!("  {}", unclear.reason)).end();
        }
        page.plain(&format!(
            "{}: {} vanished, {} unresolved",
            format_count(report.checked, "source"),
            report.vanished.len(),
            report.unresolved.len()
        ))
        .end();
    })?;
    out.flush()?;
    if apply {
        return Ok(());
    }
    if let Some(why) = &report.refused {
        out.warn(why);
    } else if !report.vanished.is_empty() {
        out.note("their drawers are kept; remove them with `loci sync --apply`");
    }
    Ok(())
}

/// Asks for the number of sources to remove.
fn ask_count(report: &SyncReport, session: &mut CommandSession) -> Result<u64> {
    let there = report.vanished.len();
    // The engine refuses in any case, with the reason; asking first would waste an answer.
    if report.refused.is_some() {
        return Ok(there as u64);
    }
    // A script pipes the number in and needs no question.
    if io::stdin().is_terminal() {
        session.out.note(&format!(
            "this permanently removes the drawers of {}; type that number to continue:",
            format_count(there as u64, "source")
        ));
    }
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|cause| crate::errors::io_error("cannot read the answer", cause))?;
    let answer = line.trim();
    answer.parse().map_err(|_| {
        let sources = format_count(there as u64, "source");
        let message = if answer.is_empty() {
            format!("removing the drawers of {sources} was not confirmed")
        } else {
            format!("{answer:?} does not confirm the removal: {sources} vanished")
        };
        Error::new(ErrorKind::Conflict, message).with_hint(format!(
            "nothing was removed; type the number at the prompt, or use --count {there}"
        ))
    })
}
