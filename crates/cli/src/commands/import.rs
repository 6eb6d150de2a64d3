//! `loci import`: lines of JSON into drawers, storing none twice.

use std::path::PathBuf;

use clap::ValueEnum;
use loci_core::Error;
use loci_engine::{ImportReport, ImportRequest, Importer, OnBadLine, OnConflict};

use super::add::without_vector;
use crate::errors::{Done, Exit};
use crate::input::Lines;
use crate::session::{Palace, Session};

/// File the drawers of an export
///
/// Each line goes to the collection it names, unless --collection is given. Lines that cannot be stored are
/// listed and the others go on; the exit status is then 1. However often it runs, no drawer is stored twice.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci import palace.jsonl --palace ./copy\n  \
    loci export --all --embeddings | loci import - --palace ./copy --on-conflict replace")]
pub(crate) struct Args {
    /// The file; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// What to do with a line whose drawer is there already
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    on_conflict: Conflict,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Conflict {
    /// Leave what is there.
    Keep,
    /// Replace it whole.
    Replace,
    /// List the line as failed.
    Fail,
}

/// How many lines are made durable at once.
const BATCH: usize = 1000;

/// Files them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let mut lines = Lines::open(&args.file)?;
    let palace = session.palace()?;
    let request = ImportRequest {
        on_conflict: match args.on_conflict {
            Conflict::Keep => OnConflict::Keep,
            Conflict::Replace => OnConflict::Replace,
            Conflict::Fail => OnConflict::Fail,
        },
        on_bad_line: OnBadLine::List,
        batch: BATCH,
        into: session.globals.collection.clone(),
        otherwise: session.collection(&palace)?,
    };
    let is_new = !palace.exists();
    let report = file(&mut lines, &palace, request, session)?;
    if is_new && palace.exists() {
        session
            .out
            .note(&format!("made a new palace at {}", palace.reference.id));
    }
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| {
            page.plain(&format!("{} added, {} kept, ", report.added, report.kept));
            page.plain(&format!(
                "{} replaced, {} failed",
                report.replaced,
                report.failed.len()
            ))
            .end();
        })?;
        for failed in &report.failed {
            out.warn(&format!("{}:{}: {}", lines.name, failed.line, failed.error));
        }
    }
    if report.without_vector > 0 {
        let what = format!("{} stored", report.without_vector);
        out.note(&without_vector(&what, report.lacking.as_deref()));
    }
    Ok(Exit::found(report.failed.is_empty()))
}

fn file(lines: &mut Lines, palace: &Palace, request: ImportRequest, session: &Session) -> Done<ImportReport> {
    let mut progress = session.out.progress("lines read");
    let mut importer = Importer::new(palace.backend(), &palace.reference, &session.embedders, request);
    while let Some((number, line)) = lines.next()? {
        let pushed = importer.push(number, line);
        pushed.map_err(|error| with_durable(error, &importer))?;
        progress.tick(number, None);
    }
    while importer
        .finish()
        .map_err(|error| with_durable(error, &importer))?
        .is_some()
    {}
    Ok(importer.report().clone())
}

/// The error that stopped it, with how much is durable.
fn with_durable(error: Error, importer: &Importer<'_>) -> Error {
    let report = importer.report();
    let durable = report.added + report.kept + report.replaced;
    let hint = match error.hint_text() {
        Some(hint) => format!("{durable} lines before it are durable; {hint}"),
        None => format!("{durable} lines before it are durable; run it again, what is there is kept"),
    };
    error.with("durable_lines", durable).hint(hint)
}
