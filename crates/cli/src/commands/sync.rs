//! `loci sync`: lists sources that vanished, and removes their drawers on request.

use std::path::PathBuf;

use loci_engine::sync::SyncReport;

use crate::errors::{CommandResult, ExitStatus};
use crate::page::format_count;
use crate::session::CommandSession;

/// List sources that are no longer where they were mined
///
/// Their drawers are kept. To remove them, confirm the number of vanished sources with --yes N; if it is another number,
/// nothing is removed. Nothing is removed either if a whole folder or volume is missing, or if more than ten sources and more
/// than half of them vanished at once. Exits with 1 if any vanished source is left.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci sync\n  loci sync ~/projects/old\n  loci sync ~/projects/old --yes 3"
)]
pub(crate) struct SyncArgs {
    /// Only sources that were mined from here
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Remove the drawers of the N sources that vanished
    #[arg(long, value_name = "N")]
    yes: Option<u64>,
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
        print_report(&report, args.yes.is_some(), session)?;
    }
    // A palace without vanished sources confirms zero; any other number is a mistake that the engine names.
    if let Some(count) = args.yes.filter(|count| *count > 0 || !report.vanished.is_empty()) {
        report.removed = palace.remove_vanished(&report, count)?;
    }
    // People see the list before the outcome; scripts get one document with both.
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

fn print_report(report: &SyncReport, is_confirmed: bool, session: &mut CommandSession) -> CommandResult<()> {
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
    if is_confirmed {
        return Ok(());
    }
    if let Some(why) = &report.refused {
        out.warn(why);
    } else if !report.vanished.is_empty() {
        let count = report.vanished.len();
        out.note(&format!("their drawers are kept; remove them with --yes {count}"));
    }
    Ok(())
}
