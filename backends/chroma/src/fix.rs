//! Repairs a Chroma folder in named steps, for users who stay on Chroma.
//!
//! Every step is planned from the current content of the folder, and a dry run ends there. Applying a step works like
//! this:
//!
//! 1. the database is locked against other processes, and the change is planned under that lock;
//! 2. the database is copied beside itself and the copy is read back; vectors that the database cannot keep are written
//!    to a file; a record describes the change;
//! 3. the change is one transaction; then the record is completed, and folders are renamed last.
//!
//! After a kill at any moment, the folder is unchanged, or its record allows the step to be undone. In between there
//! is only a database that does not need the graph beside it, so nothing is lost either way.

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

use book::FixSession;
use loci_core::{Error, ErrorKind, FixInfo, FixMode, FixReport, FixRequest, RenamedFolder, Result};
use names::UtcSecond;
use record::{FixRecord, FolderRename};
use rusqlite::Connection;

use crate::ChromaBackend;
use crate::failure;
use crate::folder;
use crate::palace::ChromaPalace;

/// The steps and the changes each makes.
pub(crate) const STEPS: &[FixInfo] = &[
    FixInfo {
        step: quarantine::STEP,
        changes: "renames the folders of graphs that are damaged or disagree with the rows, so that Chroma rebuilds \
                  them; vectors that only they or folders set aside earlier hold are written back into the write queue first",
    },
    FixInfo {
        step: sequence_numbers::STEP,
        changes: "converts sequence numbers that are stored as bytes to numbers, which Chroma 1.x needs",
    },
    FixInfo {
        step: positions::STEP,
        changes: "sets absurd positions in the write queue to the ones really consumed, so that writes are applied again",
    },
    FixInfo {
        step: full_text::STEP,
        changes: "rebuilds the full text from the documents",
    },
];

/// The hint for a damaged database, which no step writes to.
const DAMAGED_HINT: &str = "nothing was changed; a damaged database is not repaired in place: move everything readable with \
                    `loci migrate --from PATH --to NEW`";

/// The plan of a step: the change it would make, and notes for the report.
struct FixPlan {
    /// The change, if one is needed.
    change: Option<Box<dyn FolderChange>>,
    /// The problems that stay unrepaired, with the reason.
    notes: Vec<String>,
}

impl FixPlan {
    fn without_change(why: impl Into<String>) -> Self {
        Self {
            change: None,
            notes: vec![format!("nothing to change: {}", why.into())],
        }
    }

    fn with_change(change: impl FolderChange + 'static) -> Self {
        Self {
            change: Some(Box::new(change)),
            notes: Vec::new(),
        }
    }

    /// Returns the lines of the report.
    fn report_lines(&self) -> Vec<String> {
        let change = self.change.as_ref().map(|change| change.describe());
        change.into_iter().flatten().chain(self.notes.clone()).collect()
    }
}

/// A planned change to a folder.
trait FolderChange {
    /// Returns a description of the change, one line for each part.
    fn describe(&self) -> Vec<String>;

    /// Returns an upper bound of the bytes it adds to the database.
    fn estimate_growth(&self) -> u64 {
        0
    }

    /// Returns the segments whose folders are set aside afterwards.
    fn renamed_segments(&self) -> Vec<String> {
        Vec::new()
    }

    /// Saves data that would be lost otherwise to files beside the database, and returns their names.
    fn save_beside(&self, _folder: &Path, _made: &mut StepFiles) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Makes the change inside the transaction of `connection`, and verifies it.
    fn write_change(&self, connection: &Connection) -> Result<()>;
}

/// Plans, applies or undoes one step.
///
/// The report names the undo command if something changes or would change.
pub(crate) fn run_step(doctor: &ChromaBackend, path: &Path, request: &FixRequest<'_>) -> Result<FixReport> {
    let step = request.step;
    if !STEPS.iter().any(|info| info.step == step) {
        return Err(unknown_step(step));
    }
    if request.mode == FixMode::Undo {
        return undo::undo_step(path, step);
    }
    if folder::detect_format(path) != Some(folder::FolderFormat::Sqlite) {
        let why = format!("{} does not exist in {}", folder::DATABASE, path.display());
        return Ok(build_report(step, false, &FixPlan::without_change(why)));
    }
    // A write into a damaged database may destroy more, so damage anywhere refuses every step.
    check_pages(path)?;
    let plan = choose_planner(doctor, path, request)?;
    match request.mode {
        FixMode::Apply => apply_step(path, step, &plan),
        _ => {
            let plan = plan(&FixSession::open_read_only(path)?).map_err(book::hint_if_damaged)?;
            Ok(build_report(step, false, &plan))
        }
    }
}

type FixPlanner<'a> = Box<dyn Fn(&FixSession) -> Result<FixPlan> + 'a>;

fn choose_planner<'a>(
    doctor: &ChromaBackend,
    path: &Path,
    request: &FixRequest<'_>,
) -> Result<FixPlanner<'a>> {
    let older_than = request.older_than;
    Ok(match request.step {
        quarantine::STEP => Box::new(move |book| quarantine::plan(book, older_than)),
        sequence_numbers::STEP => Box::new(sequence_numbers::plan),
        positions::STEP => Box::new(positions::plan),
        full_text::STEP => {
            // Found out beforehand, because checks of broken
            // tables spoil the transaction that is to repair them.
            let wrong = full_text::find_faults(doctor, path)?;
            Box::new(move |book| full_text::plan(book, &wrong))
        }
        step => return Err(unknown_step(step)),
    })
}

fn unknown_step(step: &str) -> Error {
    let message = format!("{step:?} is not a fix for Chroma folders");
    let steps: Vec<&str> = STEPS.iter().map(|info| info.step).collect();
    Error::new(ErrorKind::Unsupported, message).with_hint(format!("steps: {}", steps.join(", ")))
}

fn build_report(step: &str, applied: bool, plan: &FixPlan) -> FixReport {
    let undo = || format!("loci doctor PATH --fix {step} --undo");
    FixReport {
        step: step.to_owned(),
        applied,
        changes: plan.report_lines(),
        renamed: Vec::new(),
        undo: plan.change.is_some().then(undo),
    }
}

/// Refuses a database with damaged pages.
fn check_pages(path: &Path) -> Result<()> {
    let palace = ChromaPalace::new(path);
    palace.examine_pages().map_err(book::hint_if_damaged)?;
    palace
        .with_loaded(|loaded, _| {
            if loaded.database.is_salvaged() {
                let message = format!("{} is damaged", folder::database_path(path).display());
                return Err(Error::new(ErrorKind::Corrupt, message));
            }
            Ok(())
        })
        .map_err(book::hint_if_damaged)
}

fn apply_step(path: &Path, step: &str, plan: &FixPlanner<'_>) -> Result<FixReport> {
    let book = FixSession::open_locked(path)?;
    let plan = plan(&book).map_err(book::hint_if_damaged)?;
    let Some(change) = &plan.change else {
        return Ok(build_report(step, false, &plan));
    };
    // Until the commit, an error removes every file of the step; afterwards they are what takes it back.
    let mut made = StepFiles::default();
    let (at, record) =
        change_database(&book, step, &plan, change.as_ref(), &mut made).map_err(hint_unchanged)?;
    made.keep_files();
    let renamed = record
        .renamed
        .iter()
        .map(|renamed| renamed.report_in(path))
        .collect();
    complete_record(book, &at, record)?;
    Ok(FixReport {
        renamed,
        ..build_report(step, true, &plan)
    })
}

impl FolderRename {
    /// Returns the renaming with the paths it has in `folder`.
    fn report_in(&self, folder: &Path) -> RenamedFolder {
        let path = |name: &str| folder.join(name).display().to_string();
        RenamedFolder {
            from: path(&self.from),
            to: path(&self.to),
        }
    }
}

/// Makes the change in a locked database, after saving everything that undo needs.
fn change_database(
    book: &FixSession,
    step: &str,
    plan: &FixPlan,
    change: &dyn FolderChange,
    made: &mut StepFiles,
) -> Result<(PathBuf, FixRecord)> {
    let database = copy::file_length(&book.path());
    // Twice the database: the copy beside it, and the journal of a transaction that touches every page.
    let needed = database
        .saturating_mul(2)
        .saturating_add(change.estimate_growth());
    copy::check_room(&book.folder, needed)?;
    let (at, mut record) = prepare_undo(book, step, plan, change, made)?;
    change.write_change(book.connection())?;
    // Read inside the transaction: after the commit another process may have added writes.
    record.newest = book.newest_write()?;
    book::run_statement(book.connection(), "COMMIT")?;
    Ok((at, record))
}

fn hint_unchanged(error: Error) -> Error {
    // A more precise hint of the failing part must not be replaced.
    match error.hint_text() {
        Some(_) => error,
        None => error.with_hint("nothing was changed"),
    }
}

/// Finishes a committed change: completes the record and sets folders aside.
fn complete_record(book: FixSession, at: &Path, mut record: FixRecord) -> Result<()> {
    let folder = book.folder.clone();
    book.lock_again()?;
    // If another process committed between the two locks, undo must not roll its writes back, so the record
    // then gets no hash of the result.
    let alone = record
        .counter
        .is_none_or(|before| book.transaction_counter() == Some(before.wrapping_add(1)));
    record.after = alone
        .then(|| copy::hash_file(&book.file, &book.path()))
        .transpose()?;
    record.write(at)?;
    // Last, because Chroma may rebuild a graph as soon as its
    // folder is gone, from the queue that was just filled.
    let renamed = rename_folders(&folder, &record.renamed);
    drop(book);
    let Err(error) = renamed else {
        return Ok(());
    };
    // A rename fails only for outside reasons, such as
    // permissions; half of the step would be worse than none.
    undo::undo_step(&folder, &record.step)?;
    Err(error.with_hint("nothing was changed: the step was undone"))
}

/// Writes everything that must exist before the change: the copy, the file of vectors, and the record.
fn prepare_undo(
    book: &FixSession,
    step: &str,
    plan: &FixPlan,
    change: &dyn FolderChange,
    made: &mut StepFiles,
) -> Result<(PathBuf, FixRecord)> {
    let now = UtcSecond::now();
    let copy_name = |moment: &str| format!("{}.before-{step}-{moment}", folder::DATABASE);
    let moment = names::first_free_moment(&book.folder, now, |text| {
        [copy_name(text), record::record_name(step, text)]
    })?;
    // The record comes last: once it exists, every file it names is complete.
    let copy = made.track_file(book.folder.join(copy_name(&moment)));
    let before = copy::copy_verified(&book.file, &book.path(), &copy)?;
    let sidecars = change.save_beside(&book.folder, made)?;
    let mut renamed = Vec::new();
    for segment in change.renamed_segments() {
        let to = |text: &str| format!("{segment}.drift-{text}");
        let moment = names::first_free_moment(&book.folder, now, |text| [to(text)])?;
        let to = to(&moment);
        renamed.push(FolderRename { from: segment, to });
    }
    let record = FixRecord {
        step: step.to_owned(),
        copy: copy_name(&moment),
        before,
        after: None,
        counter: book.transaction_counter(),
        newest: None,
        changes: plan.report_lines(),
        renamed,
        sidecars,
    };
    let at = made.track_file(book.folder.join(record::record_name(step, &moment)));
    record.write(&at)?;
    Ok((at, record))
}

fn rename_folders(folder: &Path, renamed: &[FolderRename]) -> Result<()> {
    for FolderRename { from, to } in renamed {
        let (from, to) = (folder.join(from), folder.join(to));
        fs::rename(&from, &to).map_err(|cause| failure::io_error("rename", &from, cause))?;
    }
    // A rename is durable only once the folder itself is synced.
    copy::sync_folder(folder)
}

/// The files that a step created; they are removed on drop unless the step succeeds.
#[derive(Debug, Default)]
struct StepFiles {
    files: Vec<PathBuf>,
}

impl StepFiles {
    /// Registers a file that is about to be created.
    fn track_file(&mut self, path: PathBuf) -> PathBuf {
        self.files.push(path.clone());
        path
    }

    fn keep_files(&mut self) {
        self.files.clear();
    }
}

impl Drop for StepFiles {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
    }
}
