//! `loci mine`: reads files and conversations into drawers, every word once.

use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, FilingDoor, Result};
use loci_engine::mine::{self, FailedSource, MineExtent, MineProgress, MineReport, MineRequest, formats};
use loci_engine::view::ScopeFields;

use super::add::without_vector;
use crate::environment::now;
use crate::errors::{CommandResult, ExitStatus};
use crate::page::{TextPage, format_count};
use crate::progress::JobProgress;
use crate::session::CommandSession;

/// Read files and conversations into drawers
///
/// The content of a file decides its format. Folders are walked by Git's ignore rules. When a path is mined again,
/// unchanged files are skipped, changed ones are replaced, and the drawers of vanished ones are kept (see `loci sync`).
/// Skipped files are listed with the reason. A path that does not exist is listed as failed and the others are mined.
/// Exits with 1 if a source failed.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci mine .\n  loci mine ~/.claude/projects ~/.codex/sessions\n  \
    loci mine export.json --as chatgpt --wing home\n  loci mine ~/.claude/projects --since 'last May'\n  \
    loci mine old-laptop/claude-projects --trusted\n  loci mine notes --dry-run"
)]
pub(crate) struct MineArgs {
    /// Files and folders to mine
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Read every file in this format, whatever its content
    ///
    /// `text` is any text file; the others are formats of conversations.
    #[arg(long = "as", value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(formats::format_names()))]
    format: Option<String>,

    /// File everything in this wing [default: the project it belongs to]
    #[arg(long, value_name = "WING")]
    wing: Option<String>,

    /// File everything in this room [default: the folder, the title or the day]
    #[arg(long, value_name = "ROOM")]
    room: Option<String>,

    /// Only messages said and files changed at this time or later, like 2026-05-01, yesterday or 'last May'
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Vouch for the transcripts: their speakers and working folders are what they say
    ///
    /// A transcript in the folder of its tool, such as ~/.claude/projects, is believed: its human messages are yours, and
    /// it goes to the wing of its project. Any other is a file that may say anything, and stays in the wing of the folder
    /// it lies in. Use this for your own transcripts and exports elsewhere, such as those of an old laptop. If they
    /// change, it must be given again.
    #[arg(long)]
    trusted: bool,

    /// File words again that were deleted from these sources
    ///
    /// Without it, pieces that were deleted stay deleted, also if their source has changed or was moved.
    #[arg(long)]
    restore_deleted: bool,

    /// Show where each source would be filed, and file nothing
    #[arg(long)]
    dry_run: bool,

    /// Skip files larger than this, like 500k, 64MB or 1G
    #[arg(long, value_name = "SIZE", default_value = "64MB", value_parser = parse_size)]
    max_size: u64,

    /// Include hidden files and folders
    #[arg(long)]
    hidden: bool,

    /// Include files that ignore files exclude
    #[arg(long)]
    ignored: bool,

    /// Include files that hold private keys or credentials by their names, like id_rsa or .env
    #[arg(long)]
    credentials: bool,

    /// Include hidden and ignored files; the same as --hidden --ignored
    #[arg(long)]
    all: bool,

    /// The usual number of characters in a drawer
    #[arg(long, value_name = "N", default_value_t = USUAL_PIECE, value_parser = clap::value_parser!(u32).range(100..=100_000))]
    piece: u32,
}

/// The usual number of characters in a drawer.
const USUAL_PIECE: u32 = 800;

impl MineArgs {
    /// Mines these paths with every option as it is by default.
    pub(super) fn of_paths(paths: Vec<PathBuf>) -> Self {
        Self {
            paths,
            format: None,
            wing: None,
            room: None,
            since: None,
            trusted: false,
            restore_deleted: false,
            dry_run: false,
            max_size: mine::MAX_BYTES,
            hidden: false,
            ignored: false,
            credentials: false,
            all: false,
            piece: USUAL_PIECE,
        }
    }
}

/// The most lines of a list that are shown.
const SHOWN: usize = 20;

/// Mines the paths that exist and lists the others as failed.
pub(crate) fn run(args: &MineArgs, session: &mut CommandSession) -> CommandResult {
    let palace = session.open_palace()?;
    let (paths, missing) = resolve_paths(&args.paths)?;
    let request = build_request(args, paths, palace.address()?.reference.local_path.as_deref())?;
    let mut progress = session.out.progress_or_log("looking for sources");
    // A survey walks the whole tree before the first file is read. In a log the bar it feeds is not shown.
    let extent = if session.out.is_watched() {
        Some(mine::survey_sources(&request)?)
    } else {
        None
    };
    let mut report = palace.mine(&request, &mut |done| show_progress(done, extent, &mut progress))?;
    drop(progress);
    report.sources_failed.extend(missing);
    let out = &mut session.out;
    out.note_made(report.made_palace.as_deref());
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| print_summary(&report, page))?;
        // Warnings on standard error must not overtake the summary they belong to.
        out.flush()?;
        for failed in &report.sources_failed {
            out.warn(&format!("{}: {}", failed.source, failed.error));
        }
    }
    // Filed all the same: words are searched without a model, and vectors can be made later.
    if report.without_vector > 0 {
        let what = format!("{} stored", report.without_vector);
        out.note(&without_vector(&what, report.lacking.as_deref()));
    }
    Ok(ExitStatus::from_found(report.sources_failed.is_empty()))
}

/// Splits the paths into those that can be mined and those that cannot. If none can, that is an error.
fn resolve_paths(paths: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<FailedSource>)> {
    let (mut found, mut missing) = (Vec::new(), Vec::new());
    for path in paths {
        match path.canonicalize() {
            Ok(path) => found.push(path),
            Err(cause) => {
                // Other sources are named by their absolute path, too.
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                missing.push(FailedSource {
                    source: path.display().to_string(),
                    error: cause.to_string(),
                });
            }
        }
    }
    // With nothing to mine no palace may be made, so this cannot wait for the report.
    match (found.is_empty(), missing.first()) {
        (true, Some(first)) => Err(nothing_to_mine(first, missing.len())),
        _ => Ok((found, missing)),
    }
}

fn nothing_to_mine(first: &FailedSource, missing: usize) -> Error {
    let message = match missing {
        1 => format!("cannot mine {}: {}", first.source, first.error),
        _ => format!(
            "none of the {missing} paths can be mined; {}: {}",
            first.source, first.error
        ),
    };
    Error::new(ErrorKind::NotFound, message)
        .with_hint("nothing was mined and no palace was created; name files and folders that exist")
}

/// Shows the sources and drawers so far; their bytes tell best how long it still takes.
fn show_progress(done: MineProgress, extent: Option<MineExtent>, progress: &mut JobProgress) {
    let sources = match extent {
        Some(extent) => format!("{} of {}", done.sources, format_count(extent.sources, "source")),
        None => format_count(done.sources, "source"),
    };
    let words = format!("{sources}, {} filed", format_count(done.drawers, "drawer"));
    let total = extent.map(|extent| extent.bytes);
    progress.tick_in_words(words, done.drawers, done.bytes, total);
}

/// Builds a request from the options, to be filed in the palace in this folder.
pub(super) fn build_request(
    args: &MineArgs,
    paths: Vec<PathBuf>,
    palace: Option<&Path>,
) -> Result<MineRequest> {
    let mut request = MineRequest::for_paths(paths);
    request.door = FilingDoor::Terminal;
    request.format.clone_from(&args.format);
    request.wing.clone_from(&args.wing);
    request.room.clone_from(&args.room);
    // The same words as `loci search --since` understands.
    let bounds = ScopeFields {
        since: args.since.clone(),
        ..ScopeFields::default()
    };
    request.since = bounds.parse(now())?.since;
    request.max_bytes = args.max_size;
    request.hidden = args.hidden || args.all;
    request.ignored = args.ignored || args.all;
    request.credentials = args.credentials;
    request.cutting = mine::cut::PieceLengths::from_target(args.piece as usize);
    request.trusted = args.trusted;
    request.restore_deleted = args.restore_deleted;
    request.dry_run = args.dry_run;
    request.excludes = mine::walk::global_excludes();
    // A palace within a mined folder must not be mined into itself.
    request
        .avoid
        .extend(palace.and_then(|folder| folder.canonicalize().ok()));
    Ok(request)
}

fn parse_size(text: &str) -> Result<u64> {
    // Units are powers of two, as file managers and `du -h` count.
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
    // Zero would skip every file, which no user can mean.
    let number = digits.trim().parse::<u64>().ok().filter(|number| *number > 0);
    number
        .zip(unit)
        .and_then(|(number, unit)| number.checked_mul(unit))
        .ok_or_else(|| Error::invalid(format!("{text:?} is not a size; write it like 500k, 64MB or 1G")))
}

fn print_summary(report: &MineReport, page: &mut TextPage) {
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
    print_counts(report, page);
    print_withheld(report, page);
    print_recognised(report, page);
    if let Some(secrets) = report.secrets.describe() {
        page.plain(&secrets).end();
    }
    print_left_out(report, page);
    let skipped = report
        .skipped
        .iter()
        .map(|one| format!("{}: {}", one.source, one.reason));
    print_list("skipped", skipped.collect(), page);
    let notes = report.notes.iter().map(|one| match one.line {
        Some(line) => format!("{}:{line}: {}", one.source, one.note),
        None => format!("{}: {}", one.source, one.note),
    });
    print_list("not carried over", notes.collect(), page);
    print_list(
        "vanished; their drawers are kept (see `loci sync`)",
        report.vanished.clone(),
        page,
    );
}

fn print_withheld(report: &MineReport, page: &mut TextPage) {
    if report.withheld > 0 {
        let pieces = format_count(report.withheld, "piece");
        page.plain(&format!(
            "{pieces} withheld as deleted before (--restore-deleted files them again)"
        ))
        .end();
    }
}

fn print_recognised(report: &MineReport, page: &mut TextPage) {
    let older = report.recognised;
    if older.replaced + older.kept == 0 {
        return;
    }
    let drawers = format_count(older.replaced + older.kept, "drawer");
    page.plain(&format!(
        "{drawers} of MemPalace recognised: {} replaced, {} kept because their words are not in the source any more",
        older.replaced, older.kept
    ))
    .end();
}

fn print_left_out(report: &MineReport, page: &mut TextPage) {
    let left = &report.left_out;
    let said: Vec<String> = [
        (left.hidden, "hidden (include them with --hidden)"),
        (left.ignored, "ignored (include them with --ignored)"),
        (left.vendored, "downloaded or built"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    if !said.is_empty() {
        page.plain(&format!("not read: {}", said.join(", "))).end();
    }
}

fn print_counts(report: &MineReport, page: &mut TextPage) {
    let verb = match report.plan {
        Some(_) => "would be mined",
        None => "mined",
    };
    // A dry run mines nothing, so its counts are those of the plan.
    let mined = report
        .plan
        .as_ref()
        .map_or(report.sources_mined, |plan| plan.len() as u64);
    page.plain(&format!(
        "{}: {mined} {verb}, {} unchanged, {} skipped, {} failed",
        format_count(report.sources_seen, "source"),
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
        format_count(added, "drawer"),
        if report.plan.is_some() { "would be " } else { "" },
        report.drawers_kept,
        report.drawers_removed,
        report.seconds
    ))
    .end();
}

/// Prints a list under a heading; a long one ends with the number of lines that are not shown.
pub(super) fn print_list(what: &str, lines: Vec<String>, page: &mut TextPage) {
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
        let check = |text: &str, bytes: u64| assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        check("500", 500);
        check("500k", 500 << 10);
        check("64MB", mine::MAX_BYTES);
        check("1 GiB", 1 << 30);
        for text in ["", "MB", "-1", "0", "1.5MB", "64 bananas", "99999999999G"] {
            assert!(
                parse_size(text).unwrap_err().message().contains("not a size"),
                "{text}"
            );
        }
    }
}
