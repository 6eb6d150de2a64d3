//! Undoes the newest application of a step.
//!
//! Folders are restored first and the database last, so that a kill in between leaves a database that does not need
//! them; the record is retired at the very end, so that undo can be run again.

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, FixReport, RenamedFolder, Result};

use super::book::{self, FixSession};
use super::copy;
use super::names::{self, UtcSecond};
use super::record::{self, FixRecord, FolderRename};
use crate::failure;
use crate::folder;

/// The state of the database relative to a record.
#[derive(Debug, PartialEq, Eq)]
enum UndoState {
    /// As it was before the step.
    Before,
    /// As the step left it.
    After,
}

/// Undoes `step` in the folder at `path`.
pub(super) fn undo_step(path: &Path, step: &str) -> Result<FixReport> {
    let found = if path.is_dir() {
        record::find_newest(path, step)?
    } else {
        None
    };
    let Some((at, record)) = found else {
        let message = format!("{} has no record of a fix {step:?}", path.display());
        return Err(Error::new(ErrorKind::Conflict, message)
            .with_hint("nothing was changed; there is nothing to undo"));
    };
    let now = compare_state(path, &at, &record)?;
    let (mut changes, mut restored) = (Vec::new(), Vec::new());
    for renamed in record.renamed.iter().rev() {
        let lines = restore_folder(path, renamed)?;
        if !lines.is_empty() {
            let RenamedFolder { from, to } = renamed.report_in(path);
            restored.push(RenamedFolder { from: to, to: from });
        }
        changes.extend(lines);
    }
    if now == UndoState::After {
        changes.push(restore_database(path, &record)?);
    }
    retire_record(path, &at)?;
    if changes.is_empty() {
        changes.push("the step had not changed anything yet; its record was set aside".to_owned());
    }
    Ok(FixReport {
        step: step.to_owned(),
        applied: true,
        changes,
        renamed: restored,
        undo: None,
    })
}

/// Determines whether the database is as before or as after the step; any other state is refused.
fn compare_state(path: &Path, at: &Path, record: &FixRecord) -> Result<UndoState> {
    let copy = path.join(&record.copy);
    let database = folder::database_path(path);
    // An undo that was killed between its two renames leaves no database; the copy is then all there is.
    if !database.exists() {
        check_copy(&copy, record)?;
        return Ok(UndoState::After);
    }
    let book = FixSession::open_locked(path)?;
    let now = copy::hash_file(&book.file, &database)?;
    if now == record.before {
        return Ok(UndoState::Before);
    }
    // A step that was killed has made its one transaction
    // or none; in the latter case only unused bytes differ.
    let unfinished = record.after.is_none()
        && match (record.counter, book.transaction_counter()) {
            (Some(before), Some(now)) => now == before || now == before.wrapping_add(1),
            _ => false,
        };
    if record.after.as_ref() == Some(&now) || unfinished {
        check_copy(&copy, record)?;
        return Ok(UndoState::After);
    }
    Err(changed_since_error(&book, path, at, record)?)
}

fn changed_since_error(book: &FixSession, path: &Path, at: &Path, record: &FixRecord) -> Result<Error> {
    let came = match (record.newest, book.newest_write()?) {
        (Some(then), Some(now)) if now > then => {
            let more = loci_core::format_count(now.abs_diff(then), "write");
            format!("its queue has {more} more")
        }
        _ => {
            let (then, now) = (
                copy::file_length(&path.join(&record.copy)),
                copy::file_length(&folder::database_path(path)),
            );
            // Chroma often rewrites rows in place, which leaves the size as it was.
            if now == then {
                format!("its {now} bytes are not those that the step left")
            } else {
                format!("it has {now} bytes now, and had {then} before the step")
            }
        }
    };
    // A later step looks like any other change, but it can be undone first.
    let later = record::list_later_steps(path, at)?;
    let hint = match later.last() {
        Some(step) => {
            format!("nothing was changed; undo the later step first: --fix {step} --undo")
        }
        None => format!(
            "nothing was changed; the database as it was before the step is {}",
            path.join(&record.copy).display()
        ),
    };
    let message = format!(
        "{} changed after the step {:?}: {came}, and undo would lose those changes",
        folder::database_path(path).display(),
        record.step
    );
    Ok(Error::new(ErrorKind::Conflict, message).with_hint(hint))
}

fn check_copy(copy: &Path, record: &FixRecord) -> Result<()> {
    if copy::hash_path(copy)? == record.before {
        return Ok(());
    }
    let message = format!("{} is not the copy that the step made", copy.display());
    Err(Error::new(ErrorKind::Corrupt, message).with_hint("nothing was changed"))
}

/// Restores the name of a folder; a new folder that Chroma created in its place is set aside.
fn restore_folder(path: &Path, renamed: &FolderRename) -> Result<Vec<String>> {
    let (from, to) = (path.join(&renamed.from), path.join(&renamed.to));
    if fs::symlink_metadata(&to).is_err() {
        // An undo that was killed has already restored this one.
        return Ok(Vec::new());
    }
    let mut changes = Vec::new();
    if fs::symlink_metadata(&from).is_ok() {
        let name = |text: &str| format!("{}.rebuilt-{text}", renamed.from);
        let moment = names::first_free_moment(path, UtcSecond::now(), |text| [name(text)])?;
        rename_path(&from, &path.join(name(&moment)))?;
        changes.push(format!("{} is now {}", renamed.from, name(&moment)));
    }
    rename_path(&to, &from)?;
    changes.push(format!("{} is {} again", renamed.to, renamed.from));
    Ok(changes)
}

/// Replaces the database with the copy, and keeps it under another name.
fn restore_database(path: &Path, record: &FixRecord) -> Result<String> {
    let database = folder::database_path(path);
    // A process with the old file open would go on reading and writing it under its new name.
    book::check_users(&database)?;
    let name = |text: &str| format!("{}.undone-{}-{text}", folder::DATABASE, record.step);
    let moment = names::first_free_moment(path, UtcSecond::now(), |text| [name(text)])?;
    let kept = path.join(name(&moment));
    // With a second link, the rename below replaces the database atomically: it is never away.
    if database.exists() && fs::hard_link(&database, &kept).is_err() {
        // Without hard links the database is missing for a moment, but the record still leads back.
        rename_path(&database, &kept)?;
    }
    rename_path(&path.join(&record.copy), &database)?;
    copy::sync_folder(path)?;
    Ok(format!(
        "{} is as before the step; its previous state is kept as {}",
        folder::DATABASE,
        name(&moment)
    ))
}

fn retire_record(path: &Path, at: &Path) -> Result<()> {
    let mut undone = at.as_os_str().to_owned();
    undone.push(".undone");
    rename_path(at, &PathBuf::from(undone))?;
    copy::sync_folder(path)
}

fn rename_path(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|cause| failure::io_error("rename", from, cause))
}
