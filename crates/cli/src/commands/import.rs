//! `loci import`: files the drawers of an export, or of another tool's database, and none twice.

mod detect;
mod memtomem;

use std::path::PathBuf;

use clap::ValueEnum;
use loci_core::{Error, FilingDoor, OriginKind, Provenance};
use loci_engine::{ImportReport, ImportRequest, LineImporter, OnBadLine, OnConflict, OnProvenance, Palace};

use super::add::{describe_checked, without_vector};
use crate::errors::{CommandResult, ExitStatus};
use crate::input::InputLines;
use crate::page::format_count;
use crate::session::CommandSession;
use detect::{ImportFormat, detect_format};
pub(crate) use memtomem::MemtomemReport;

/// Import an export, or the database of another tool
///
/// The content of FILE decides its format: JSON lines as `loci export` writes them, or a memtomem database. A drawer is
/// never stored twice, however often the import runs.
///
/// Each line of an export goes to the collection it names, unless --collection is given. Lines that cannot be stored are
/// listed, and the others are imported; the exit status is then 1.
///
/// Each chunk of a memtomem database is filed under its own id: its namespace becomes the wing, its project the room and
/// its file the source. Lines, headings, tags and all other fields are kept. Of chunks that are stored twice, the most
/// used one is filed. The model of this palace makes new vectors. The database is only read, and its defects are listed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci import palace.jsonl --palace ./copy\n  \
    loci export --all --embeddings | loci import - --palace ./copy --on-conflict replace\n  \
    loci import ~/.memtomem/memtomem.db")]
pub(crate) struct ImportArgs {
    /// The export or the database; `-` reads JSON lines from standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The treatment of a line or chunk whose drawer already exists
    #[arg(long, value_name = "HOW", default_value = "keep")]
    on_conflict: ConflictChoice,

    /// Believe what lines say about their provenance
    ///
    /// Any program can write lines, so each drawer is recorded as coming from an export, and its trust is unknown. Use this
    /// for your own exports: what you typed is then yours again.
    #[arg(long)]
    trusted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ConflictChoice {
    /// Keep the existing drawer.
    Keep,
    /// Replace the existing drawer.
    Replace,
    /// List the line or chunk as failed.
    Fail,
}

impl From<ConflictChoice> for OnConflict {
    fn from(conflict: ConflictChoice) -> Self {
        match conflict {
            ConflictChoice::Keep => Self::Keep,
            ConflictChoice::Replace => Self::Replace,
            ConflictChoice::Fail => Self::Fail,
        }
    }
}

/// The number of lines in one commit.
const BATCH: usize = 1000;

/// Imports the file by its format.
pub(crate) fn run(args: &ImportArgs, session: &mut CommandSession) -> CommandResult {
    match detect_format(&args.file, &session.registry)? {
        ImportFormat::JsonLines => import_lines(args, session),
        ImportFormat::Memtomem(database) => memtomem::run(*database, args.on_conflict.into(), session),
    }
}

fn import_lines(args: &ImportArgs, session: &mut CommandSession) -> CommandResult {
    let mut lines = InputLines::open(&args.file)?;
    let palace = session.open_palace()?;
    let request = ImportRequest {
        on_conflict: args.on_conflict.into(),
        // An export may be cut short or edited by hand; one bad line should not cost the others.
        on_bad_line: OnBadLine::List,
        batch: BATCH,
        into: session.globals.collection.clone(),
        provenance: Provenance::new(FilingDoor::Import, OriginKind::Export),
        on_provenance: if args.trusted {
            OnProvenance::Keep
        } else {
            OnProvenance::Ignore
        },
    };
    let report = file_lines(&mut lines, &palace, request, session)?;
    let out = &mut session.out;
    out.note_made(report.made_palace.as_deref());
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| {
            page.plain(&format!(
                "{} added, {} kept, {} replaced, {} failed",
                format_count(report.added, "drawer"),
                report.kept,
                report.replaced,
                report.failed.len()
            ))
            .plain(&describe_checked(report.vectors_checked, report.vectors_brought))
            .end();
        })?;
        // Named like compilers name a place, so that an editor can jump to the line.
        for failed in &report.failed {
            out.warn(&format!("{}:{}: {}", lines.name, failed.line, failed.error));
        }
    }
    if report.provenance_ignored > 0 {
        let lines = format_count(report.provenance_ignored, "line");
        out.note(&format!(
            "the provenance of {lines} was not believed; --trusted keeps it, for your own exports"
        ));
    }
    if let Some(secrets) = report.secrets.describe() {
        out.note(&secrets);
        out.note(
            "lines are looked at one by one; `loci seal` finds secrets that were cut into several drawers",
        );
    }
    if report.without_vector > 0 {
        let what = format!("{} stored", report.without_vector);
        out.note(&without_vector(&what, report.lacking.as_deref()));
    }
    Ok(ExitStatus::from_found(report.failed.is_empty()))
}

fn file_lines(
    lines: &mut InputLines,
    palace: &Palace,
    request: ImportRequest,
    session: &CommandSession,
) -> CommandResult<ImportReport> {
    let mut progress = session.out.progress("lines read");
    let mut importer = palace.import(request);
    while let Some((number, line)) = lines.next()? {
        let pushed = importer.push(number, line);
        pushed.map_err(|error| with_durable(error, &importer))?;
        // Lines are counted for people; bytes tell how far it is, since the number of lines is not known.
        let words = format!("{} read", format_count(number, "line"));
        progress.tick_in_words(words, number, lines.read_bytes, lines.total_bytes);
    }
    // The last batches are not full, one for each collection.
    while importer
        .finish()
        .map_err(|error| with_durable(error, &importer))?
        .is_some()
    {}
    Ok(importer.report().clone())
}

/// Adds the number of lines that are durable to the error that stopped an import.
fn with_durable(error: Error, importer: &LineImporter<'_>) -> Error {
    // Batches before the failing one are committed, and a second run keeps them.
    let report = importer.report();
    let durable = report.added + report.kept + report.replaced;
    let hint = error
        .hint_text()
        .unwrap_or("run it again; drawers that are already stored are kept");
    let stored = match durable {
        0 => "nothing was imported".to_owned(),
        durable => format!("{} before it are durable", format_count(durable, "line")),
    };
    let hint = format!("{stored}; {}", hint.trim_start_matches("nothing was written; "));
    error.with_context("durable_lines", durable).with_hint(hint)
}
