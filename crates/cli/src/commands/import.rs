//! `loci import`: lines of JSON, or another program's database, into drawers, storing none twice.

mod memtomem;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use loci_core::{Error, FilingDoor, OriginKind, Provenance};
use loci_engine::{ImportReport, ImportRequest, Importer, OnBadLine, OnConflict, Palace};

use super::add::without_vector;
use crate::errors::{Done, Exit};
use crate::input::Lines;
use crate::session::Session;

/// File the drawers of an export, or the chunks of a memtomem database
///
/// Each line goes to the collection it names, unless --collection is given. Lines that cannot be stored are
/// listed and the others go on; the exit status is then 1. However often it runs, no drawer is stored twice.
///
/// `loci import memtomem DB` files each chunk of a memtomem database (~/.memtomem/memtomem.db) under its own id: its
/// namespace is the wing, its project the room, its file the source; lines, headings, tags and everything else are
/// kept. Chunks that stand there twice are filed once, the most used one. Vectors are made anew by the model of this
/// palace. The database is only read, and what is wrong with it is listed.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "loci import [OPTIONS] <FILE>\n       loci import [OPTIONS] memtomem <DB>",
    after_long_help = "Examples:\n  loci import palace.jsonl --palace ./copy\n  \
    loci export --all --embeddings | loci import - --palace ./copy --on-conflict replace\n  \
    loci import memtomem ~/.memtomem/memtomem.db"
)]
pub(crate) struct Args {
    /// The file; `-` is standard input. Or the word `memtomem`, and a database after it
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The database to import, after the word `memtomem`
    #[arg(value_name = "DB")]
    database: Option<PathBuf>,

    /// What to do with a line or chunk whose drawer is there already
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    on_conflict: Conflict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Conflict {
    /// Leave what is there.
    Keep,
    /// Replace it whole.
    Replace,
    /// List the line or chunk as failed.
    Fail,
}

impl From<Conflict> for OnConflict {
    fn from(conflict: Conflict) -> Self {
        match conflict {
            Conflict::Keep => Self::Keep,
            Conflict::Replace => Self::Replace,
            Conflict::Fail => Self::Fail,
        }
    }
}

/// How many lines are made durable at once.
const BATCH: usize = 1000;

/// Files them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    match &args.database {
        Some(database) if args.file == Path::new(MEMTOMEM) => {
            memtomem::run(database, args.on_conflict.into(), session)
        }
        Some(_) => Err(unknown(&args.file).into()),
        None => lines(args, session),
    }
}

/// The word that says that a database of memtomem follows.
const MEMTOMEM: &str = "memtomem";

fn unknown(program: &Path) -> Error {
    Error::invalid(format!("loci cannot import from {:?}", program.display().to_string())).hint(
        "nothing was imported; write `loci import FILE` for an export, or `loci import memtomem DB` for its database",
    )
}

fn lines(args: &Args, session: &mut Session) -> Done {
    let mut lines = Lines::open(&args.file).map_err(|error| match args.file == Path::new(MEMTOMEM) {
        true => error.hint("nothing was imported; name the database after it: `loci import memtomem DB`"),
        false => error,
    })?;
    let palace = session.palace()?;
    let request = ImportRequest {
        on_conflict: args.on_conflict.into(),
        on_bad_line: OnBadLine::List,
        batch: BATCH,
        into: session.globals.collection.clone(),
        provenance: Provenance::new(FilingDoor::Import, OriginKind::Export),
    };
    let report = file(&mut lines, &palace, request, session)?;
    let out = &mut session.out;
    out.note_made(report.made_palace.as_deref());
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
    let mut importer = palace.import(request);
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
