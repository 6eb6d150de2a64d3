//! `loci sync`: which sources are gone, and removing their drawers once somebody insists.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use loci_core::{Error, ErrorKind, Result};
use loci_engine::sync::SyncReport;

use crate::errors::{Done, Exit};
use crate::page::counted;
use crate::session::Session;

/// Show sources that are no longer where they were mined
///
/// Their drawers stay until --apply is given together with the number of sources that go: typed when asked, or as
/// --count. Nothing is removed where a whole folder or volume is missing, or where more than ten sources and more than
/// half of them vanished at once. Exits with 1 if any vanished.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci sync\n  loci sync ~/projects/old --apply\n  loci sync --apply --count 3"
)]
pub(crate) struct Args {
    /// Only sources mined from here
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Remove the drawers of sources that are gone
    #[arg(long)]
    apply: bool,

    /// How many sources you expect to go
    #[arg(long, value_name = "N", requires = "apply")]
    count: Option<u64>,
}

/// Looks, and removes if told to.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let palace = session.palace()?;
    let paths = args.paths.iter().map(|path| {
        path.canonicalize()
            .or_else(|_| std::path::absolute(path))
            .unwrap_or_else(|_| path.clone())
    });
    let mut report = palace.sync(&paths.collect::<Vec<_>>())?;
    if !session.out.is_json() {
        show(&report, args.apply, session)?;
    }
    if args.apply && (!report.vanished.is_empty() || args.count.is_some_and(|count| count > 0)) {
        let count = match args.count {
            Some(count) => count,
            None => asked(&report, session)?,
        };
        report.removed = palace.remove_vanished(&report, count)?;
    }
    let (out, removed) = (&mut session.out, report.removed);
    if out.is_json() {
        out.json(&report)?;
    } else if removed.sources > 0 {
        out.page(|page| {
            page.plain(&format!(
                "removed {} of {}",
                counted(removed.drawers, "drawer"),
                counted(removed.sources, "source")
            ))
            .end();
        })?;
    }
    let settled = report.vanished.len() as u64 == removed.sources;
    Ok(Exit::found(settled))
}

fn show(report: &SyncReport, apply: bool, session: &mut Session) -> Done<()> {
    let out = &mut session.out;
    out.page(|page| {
        for gone in &report.vanished {
            page.bold("vanished").plain("    ").plain(&gone.source);
            page.dim(&format!("  {}", counted(gone.drawers, "drawer"))).end();
        }
        for unclear in &report.unresolved {
            page.yellow("unresolved").plain("  ").plain(&unclear.source);
            page.dim(&format!("  {}", unclear.reason)).end();
        }
        page.plain(&format!(
            "{}: {} vanished, {} unresolved",
            counted(report.checked, "source"),
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
        out.note("their drawers are kept; `loci sync --apply` removes them");
    }
    Ok(())
}

/// Asks for the number of sources that go.
fn asked(report: &SyncReport, session: &mut Session) -> Result<u64> {
    let there = report.vanished.len();
    if report.refused.is_some() {
        return Ok(there as u64);
    }
    if io::stdin().is_terminal() {
        session.out.note(&format!(
            "this removes the drawers of {there} sources for good. Type that number to go on:"
        ));
    }
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|cause| crate::errors::io("cannot read the answer", cause))?;
    let answer = line.trim();
    answer.parse().map_err(|_| {
        let message = match answer.is_empty() {
            true => format!("{there} sources would be removed, and nobody said so"),
            false => format!("{answer:?} is not the number of sources that go, which is {there}"),
        };
        Error::new(ErrorKind::Conflict, message).hint(format!(
            "nothing was removed; type the number when asked, or give --count {there}"
        ))
    })
}
