//! Mending a Chroma folder in named steps, for those who stay on Chroma.
//!
//! Every step is planned from what the folder holds now, and a dry run ends there. One that is taken goes like this:
//!
//! 1. the database is locked against everybody else, and what must change is planned under that lock;
//! 2. the database is copied beside itself and the copy read back; vectors that no database can keep are written
//!    to a file; a record says what is about to happen;
//! 3. the change is one transaction; folders are renamed after it; then the record is completed.
//!
//! Killed at any moment, a folder is as before, or its record is there to take the step back. In between stands
//! only a database that can do without the graph beside it, so nothing is lost either way.

mod book;
mod copy;
mod full_text;
mod names;
mod positions;
mod quarantine;
mod record;
mod sequence_numbers;
mod sidecar;
mod undo;
mod write_back;

use std::fs;
use std::path::{Path, PathBuf};

use book::Book;
use loci_core::{Error, ErrorKind, FixInfo, FixMode, FixReport, Result};
use names::Moment;
use record::{Record, Renamed};
use rusqlite::Connection;

use crate::Chroma;
use crate::failure;
use crate::folder;
use crate::palace::Palace;

/// The steps, with what each changes.
pub(crate) const STEPS: &[FixInfo] = &[
    FixInfo {
        step: quarantine::STEP,
        changes: "renames the folders of graphs that disagree with the rows, so that Chroma makes them anew; \
                  vectors that only they hold go back into the write queue first",
    },
    FixInfo {
        step: sequence_numbers::STEP,
        changes: "turns sequence numbers that are kept as bytes into numbers, which Chroma 1.x needs",
    },
    FixInfo {
        step: positions::STEP,
        changes: "sets absurd positions in the write queue to what was really consumed, so that writes count again",
    },
    FixInfo {
        step: full_text::STEP,
        changes: "makes the full text anew from the documents",
    },
];

/// What to do with a database that nothing here writes to.
const MOVE: &str = "nothing was changed; a damaged database is not mended in place: what is readable moves with \
                    `loci migrate --from PATH --to NEW`";

/// What a step found: the change it would make, and what else is to be said.
struct Plan {
    /// The change, if there is one to make.
    change: Option<Box<dyn Change>>,
    /// What is left as it is, and why.
    notes: Vec<String>,
}

impl Plan {
    fn nothing(why: impl Into<String>) -> Self {
        Self {
            change: None,
            notes: vec![format!("nothing to change: {}", why.into())],
        }
    }

    fn of(change: impl Change + 'static) -> Self {
        Self {
            change: Some(Box::new(change)),
            notes: Vec::new(),
        }
    }

    /// What is said of it, a line each.
    fn lines(&self) -> Vec<String> {
        let change = self.change.as_ref().map(|change| change.lines());
        change.into_iter().flatten().chain(self.notes.clone()).collect()
    }
}

/// A change to a folder, ready to be made.
trait Change {
    /// What it changes, a line each.
    fn lines(&self) -> Vec<String>;

    /// How many bytes it adds to the database at most.
    fn growth(&self) -> u64 {
        0
    }

    /// The segments whose folders are set aside afterwards.
    fn segments(&self) -> Vec<String> {
        Vec::new()
    }

    /// Writes down beside the database what would be lost otherwise, and names the files.
    fn save(&self, _folder: &Path, _made: &mut Made) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Makes it, inside the transaction of `connection`, and checks that it was made.
    fn make(&self, connection: &Connection) -> Result<()>;
}

/// Takes one step.
///
/// A report of something that changes, or would, says how to take it back; one of nothing says nothing there.
pub(crate) fn run(doctor: &Chroma, path: &Path, step: &str, how: FixMode) -> Result<FixReport> {
    if !STEPS.iter().any(|info| info.step == step) {
        return Err(unknown(step));
    }
    if how == FixMode::Undo {
        return undo::run(path, step);
    }
    if folder::format(path) != Some(folder::Format::Sqlite) {
        let why = format!("there is no {} in {}", folder::DATABASE, path.display());
        return Ok(report(step, false, &Plan::nothing(why)));
    }
    check_pages(path)?;
    let plan = planner(doctor, path, step)?;
    match how {
        FixMode::Apply => apply(path, step, &plan),
        _ => {
            let plan = plan(&Book::look(path)?).map_err(book::damaged)?;
            Ok(report(step, false, &plan))
        }
    }
}

type Planner<'a> = Box<dyn Fn(&Book) -> Result<Plan> + 'a>;

fn planner<'a>(doctor: &Chroma, path: &Path, step: &str) -> Result<Planner<'a>> {
    Ok(match step {
        quarantine::STEP => Box::new(quarantine::plan),
        sequence_numbers::STEP => Box::new(sequence_numbers::plan),
        positions::STEP => Box::new(positions::plan),
        full_text::STEP => {
            let wrong = full_text::wrong(doctor, path)?;
            Box::new(move |book| full_text::plan(book, &wrong))
        }
        _ => return Err(unknown(step)),
    })
}

fn unknown(step: &str) -> Error {
    let message = format!("Chroma folders have no fix called {step:?}");
    let steps: Vec<&str> = STEPS.iter().map(|info| info.step).collect();
    Error::new(ErrorKind::Unsupported, message).hint(format!("steps: {}", steps.join(", ")))
}

fn report(step: &str, applied: bool, plan: &Plan) -> FixReport {
    let undo = || format!("loci doctor PATH --fix {step} --undo");
    FixReport {
        step: step.to_owned(),
        applied,
        changes: plan.lines(),
        undo: plan.change.is_some().then(undo),
    }
}

/// Refuses a database with damaged pages.
fn check_pages(path: &Path) -> Result<()> {
    let palace = Palace::new(path);
    palace.examine_pages().map_err(book::damaged)?;
    palace
        .with(|loaded, _| match loaded.database.is_salvaged() {
            true => {
                let message = format!("{} is damaged", folder::database(path).display());
                Err(Error::new(ErrorKind::Corrupt, message))
            }
            false => Ok(()),
        })
        .map_err(book::damaged)
}

fn apply(path: &Path, step: &str, plan: &Planner<'_>) -> Result<FixReport> {
    let book = Book::lock(path)?;
    let plan = plan(&book).map_err(book::damaged)?;
    let Some(change) = &plan.change else {
        return Ok(report(step, false, &plan));
    };
    let mut made = Made::default();
    let (at, record) = change_database(&book, step, &plan, change.as_ref(), &mut made).map_err(unchanged)?;
    made.keep();
    complete(book, &at, record)?;
    Ok(report(step, true, &plan))
}

/// Makes the change in a locked database once everything is kept that takes it back.
fn change_database(
    book: &Book,
    step: &str,
    plan: &Plan,
    change: &dyn Change,
    made: &mut Made,
) -> Result<(PathBuf, Record)> {
    let database = copy::length(&book.path());
    let needed = database.saturating_mul(2).saturating_add(change.growth());
    copy::check_room(&book.folder, needed)?;
    let (at, mut record) = prepare(book, step, plan, change, made)?;
    change.make(book.connection())?;
    record.newest = book.newest()?;
    book::run(book.connection(), "COMMIT")?;
    Ok((at, record))
}

fn unchanged(error: Error) -> Error {
    match error.hint_text() {
        Some(_) => error,
        None => error.hint("nothing was changed"),
    }
}

/// What follows the change: the record is completed, and folders are set aside.
fn complete(book: Book, at: &Path, mut record: Record) -> Result<()> {
    let folder = book.folder.clone();
    book.lock_again()?;
    // What somebody wrote between the two locks is not to be taken back with the step.
    let alone = record
        .counter
        .is_none_or(|before| book.counter() == Some(before.wrapping_add(1)));
    record.after = alone.then(|| copy::hash(&book.file, &book.path())).transpose()?;
    record.write(at)?;
    let renamed = set_aside(&folder, &record.renamed);
    drop(book);
    let Err(error) = renamed else {
        return Ok(());
    };
    undo::run(&folder, &record.step)?;
    Err(error.hint("nothing was changed: the step was taken back"))
}

/// Everything that is written before the change: the copy, the vectors that need a file, and the record.
fn prepare(
    book: &Book,
    step: &str,
    plan: &Plan,
    change: &dyn Change,
    made: &mut Made,
) -> Result<(PathBuf, Record)> {
    let now = Moment::now();
    let copy_name = |moment: &str| format!("{}.before-{step}-{moment}", folder::DATABASE);
    let moment = names::free(&book.folder, now, |text| {
        [copy_name(text), record::name(step, text)]
    })?;
    let copy = made.add(book.folder.join(copy_name(&moment)));
    let before = copy::take(&book.file, &book.path(), &copy)?;
    let sidecars = change.save(&book.folder, made)?;
    let mut renamed = Vec::new();
    for segment in change.segments() {
        let to = |text: &str| format!("{segment}.drift-{text}");
        let moment = names::free(&book.folder, now, |text| [to(text)])?;
        let to = to(&moment);
        renamed.push(Renamed { from: segment, to });
    }
    let record = Record {
        step: step.to_owned(),
        copy: copy_name(&moment),
        before,
        after: None,
        counter: book.counter(),
        newest: None,
        changes: plan.lines(),
        renamed,
        sidecars,
    };
    let at = made.add(book.folder.join(record::name(step, &moment)));
    record.write(&at)?;
    Ok((at, record))
}

fn set_aside(folder: &Path, renamed: &[Renamed]) -> Result<()> {
    for Renamed { from, to } in renamed {
        let (from, to) = (folder.join(from), folder.join(to));
        fs::rename(&from, &to).map_err(|cause| failure::io("rename", &from, cause))?;
    }
    copy::settle(folder)
}

/// Files that were made for a step, and go with it unless it is taken.
#[derive(Debug, Default)]
struct Made {
    files: Vec<PathBuf>,
}

impl Made {
    /// Remembers a file that is about to be made.
    fn add(&mut self, path: PathBuf) -> PathBuf {
        self.files.push(path.clone());
        path
    }

    fn keep(&mut self) {
        self.files.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
    }
}
