//! `loci mine`: files and conversations into drawers, every word once.

use std::path::{Path, PathBuf};

use loci_core::{Error, FilingDoor, Result, Timestamp};
use loci_engine::mine::{self, MineReport, MineRequest, formats};

use super::add::without_vector;
use crate::bar::Bar;
use crate::errors::{self, Done, Exit};
use crate::page::{Page, counted};
use crate::session::Session;

/// Read files and conversations into drawers
///
/// What each file is, is decided by what is in it. Folders are walked by Git's ignore rules. Mining the same again
/// costs a look at each file; what changed is replaced, and what vanished is kept and flagged (see `loci sync`).
/// What is left out is listed with the reason. Exits with 1 if a source failed.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci mine .\n  loci mine ~/.claude/projects ~/.codex/sessions\n  \
    loci mine export.json --as chatgpt --wing home\n  loci mine notes --dry-run"
)]
pub(crate) struct Args {
    /// Files and folders
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Take every file for this, whatever is in it
    ///
    /// `text` is any file of text; the others are formats of conversations.
    #[arg(long = "as", value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(formats::names()))]
    format: Option<String>,

    /// The wing for everything [default: the project it belongs to]
    #[arg(long, value_name = "WING")]
    wing: Option<String>,

    /// The room for everything [default: the folder, the title or the day]
    #[arg(long, value_name = "ROOM")]
    room: Option<String>,

    /// Only what was said, or files that changed, at this time or later
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,

    /// Only show what would be filed where
    #[arg(long)]
    dry_run: bool,

    /// Leave out files larger than this, like 500k, 64MB or 1G
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = size)]
    max_size: u64,

    /// Take hidden files and folders, too
    #[arg(long)]
    hidden: bool,

    /// Take what ignore files leave out, too
    #[arg(long)]
    ignored: bool,

    /// About how many characters a drawer holds
    #[arg(long, value_name = "N", default_value = "800", value_parser = clap::value_parser!(u32).range(100..=100_000))]
    piece: u32,
}

/// How many lines of a list people are shown.
const SHOWN: usize = 20;

/// Mines.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let palace = session.palace()?;
    let request = request(args, palace.address()?.reference.local_path.as_deref())?;
    let (terminal, silent) = (session.out.is_watched(), session.out.is_quiet());
    let extent = match terminal {
        true => Some(mine::survey(&request)?),
        false => None,
    };
    let mut bar = Bar::new(extent, terminal);
    let report = palace.mine(&request, &mut |progress| {
        if !silent {
            bar.tick(progress);
        }
    })?;
    drop(bar);
    let out = &mut session.out;
    out.note_made(report.made_palace.as_deref());
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| summary(&report, page))?;
        out.flush()?;
        for failed in &report.sources_failed {
            out.warn(&format!("{}: {}", failed.source, failed.error));
        }
    }
    if report.without_vector > 0 {
        let what = format!("{} stored", report.without_vector);
        out.note(&without_vector(&what, report.lacking.as_deref()));
    }
    Ok(Exit::found(report.sources_failed.is_empty()))
}

fn request(args: &Args, palace: Option<&Path>) -> Result<MineRequest> {
    let absolute = |path: &PathBuf| {
        path.canonicalize()
            .map_err(|cause| errors::io(format!("cannot mine {}", path.display()), cause))
            .map_err(|error| error.hint("nothing was mined; name files and folders that are there"))
    };
    let paths: Vec<PathBuf> = args.paths.iter().map(absolute).collect::<Result<_>>()?;
    let mut request = MineRequest::of(paths);
    request.door = FilingDoor::Terminal;
    request.format.clone_from(&args.format);
    request.wing.clone_from(&args.wing);
    request.room.clone_from(&args.room);
    request.since = args.since;
    request.max_bytes = args.max_size;
    request.hidden = args.hidden;
    request.ignored = args.ignored;
    request.cutting = mine::cut::Cutting::of(args.piece as usize);
    request.dry_run = args.dry_run;
    request.excludes = mine::walk::global_excludes();
    request
        .avoid
        .extend(palace.and_then(|folder| folder.canonicalize().ok()));
    Ok(request)
}

fn size(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text
        .get(digits.len()..)
        .unwrap_or_default()
        .to_ascii_lowercase()
        .as_str()
    {
        "" | "b" => Some(1),
        "k" | "kb" | "kib" => Some(1 << 10),
        "m" | "mb" | "mib" => Some(1 << 20),
        "g" | "gb" | "gib" => Some(1_u64 << 30),
        _ => None,
    };
    let number = digits.trim().parse::<u64>().ok().filter(|number| *number > 0);
    number
        .zip(unit)
        .and_then(|(number, unit)| number.checked_mul(unit))
        .ok_or_else(|| Error::invalid(format!("{text:?} is not a size; write it like 500k, 64MB or 1G")))
}

fn summary(report: &MineReport, page: &mut Page) {
    if let Some(plan) = &report.plan {
        for planned in plan {
            page.plain(&format!("{:>6}  ", planned.new))
                .plain(&planned.format)
                .plain("  ");
            page.bold(&planned.wing)
                .plain(" / ")
                .plain(&planned.room)
                .plain("  ");
            page.plain(&planned.source).end();
        }
    }
    counts(report, page);
    left_out(report, page);
    let skipped = report
        .skipped
        .iter()
        .map(|one| format!("{}: {}", one.source, one.reason));
    listed("left out", skipped.collect(), page);
    let notes = report.notes.iter().map(|one| match one.line {
        Some(line) => format!("{}:{line}: {}", one.source, one.note),
        None => format!("{}: {}", one.source, one.note),
    });
    listed("not taken over", notes.collect(), page);
    listed(
        "vanished, their drawers are kept (see `loci sync`)",
        report.vanished.clone(),
        page,
    );
}

fn left_out(report: &MineReport, page: &mut Page) {
    let left = &report.left_out;
    let said: Vec<String> = [
        (left.hidden, "hidden (--hidden takes them)"),
        (left.ignored, "ignored (--ignored takes them)"),
        (left.vendored, "of downloaded or built things"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    if !said.is_empty() {
        page.plain(&format!("not looked at: {}", said.join(", "))).end();
    }
}

fn counts(report: &MineReport, page: &mut Page) {
    let verb = match report.plan {
        Some(_) => "would be mined",
        None => "mined",
    };
    let mined = report
        .plan
        .as_ref()
        .map_or(report.sources_mined, |plan| plan.len() as u64);
    page.plain(&format!(
        "{}: {mined} {verb}, {} unchanged, {} left out, {} failed",
        counted(report.sources_seen, "source"),
        report.sources_unchanged,
        report.skipped.len(),
        report.sources_failed.len()
    ))
    .end();
    let added = report.plan.as_ref().map_or(report.drawers_added, |plan| {
        plan.iter().map(|planned| planned.new).sum()
    });
    page.plain(&format!(
        "{} {}added, {} kept, {} removed, in {:.1} s",
        counted(added, "drawer"),
        if report.plan.is_some() { "would be " } else { "" },
        report.drawers_kept,
        report.drawers_removed,
        report.seconds
    ))
    .end();
}

/// A list for people; a long one says how much of it is not shown.
pub(super) fn listed(what: &str, lines: Vec<String>, page: &mut Page) {
    if lines.is_empty() {
        return;
    }
    page.dim(what).plain(":").end();
    for line in lines.iter().take(SHOWN) {
        page.plain("  ").plain(line).end();
    }
    if let Some(more) = lines.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        page.plain(&format!("  and {more} more; --json lists them all"))
            .end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_the_units_people_write() {
        let check = |text: &str, bytes: u64| assert_eq!(size(text).unwrap(), bytes, "{text}");
        check("500", 500);
        check("500k", 500 << 10);
        check("64MB", 64 << 20);
        check("1 GiB", 1 << 30);
        for text in ["", "MB", "-1", "0", "1.5MB", "64 bananas", "99999999999G"] {
            assert!(size(text).unwrap_err().message().contains("not a size"), "{text}");
        }
    }
}
