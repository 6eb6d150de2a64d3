//! Takes the newest application of a step back.
//!
//! Folders come back first and the database last, so that one that is killed in between has a database which can do
//! without them; the record goes at the very end, so that taking back can be begun again.

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, FixReport, Result};

use super::book::{self, Book};
use super::copy;
use super::names::{self, Moment};
use super::record::{self, Record, Renamed};
use crate::failure;
use crate::folder;

/// What the database is now, seen from a record.
#[derive(Debug, PartialEq, Eq)]
enum Now {
    /// As it was before the step.
    Before,
    /// As the step left it.
    After,
}

/// Takes `step` back in the folder at `path`.
pub(super) fn run(path: &Path, step: &str) -> Result<FixReport> {
    let found = match path.is_dir() {
        true => record::newest(path, step)?,
        false => None,
    };
    let Some((at, record)) = found else {
        let message = format!("no record of a fix {step:?} is in {}", path.display());
        return Err(
            Error::new(ErrorKind::Conflict, message).hint("nothing was changed; there is nothing to undo")
        );
    };
    let now = state(path, &at, &record)?;
    let mut changes = Vec::new();
    for renamed in record.renamed.iter().rev() {
        changes.extend(bring_back(path, renamed)?);
    }
    if now == Now::After {
        changes.push(put_back(path, &record)?);
    }
    retire(path, &at)?;
    if changes.is_empty() {
        changes.push("the step had changed nothing yet; its record was set aside".to_owned());
    }
    Ok(FixReport {
        step: step.to_owned(),
        applied: true,
        changes,
        undo: None,
    })
}

/// Whether the database is as before or after the step; anything else is refused.
fn state(path: &Path, at: &Path, record: &Record) -> Result<Now> {
    let copy = path.join(&record.copy);
    let database = folder::database(path);
    if !database.exists() {
        check_copy(&copy, record)?;
        return Ok(Now::After);
    }
    let book = Book::lock(path)?;
    let now = copy::hash(&book.file, &database)?;
    if now == record.before {
        return Ok(Now::Before);
    }
    // One that was killed has made its one transaction, or none: then what differs lies in pages nobody uses.
    let unfinished = record.after.is_none()
        && match (record.counter, book.counter()) {
            (Some(before), Some(now)) => now == before || now == before.wrapping_add(1),
            _ => false,
        };
    if record.after.as_ref() == Some(&now) || unfinished {
        check_copy(&copy, record)?;
        return Ok(Now::After);
    }
    Err(changed_since(&book, path, at, record)?)
}

fn changed_since(book: &Book, path: &Path, at: &Path, record: &Record) -> Result<Error> {
    let came = match (record.newest, book.newest()?) {
        (Some(then), Some(now)) if now > then => format!("{} writes came since", now - then),
        _ => {
            let (then, now) = (
                copy::length(&path.join(&record.copy)),
                copy::length(&folder::database(path)),
            );
            format!("it has {now} bytes now, and had {then} before the step")
        }
    };
    let later = record::later(path, at)?;
    let hint = match later.last() {
        Some(step) => {
            format!("nothing was changed; take back what was done later first: --fix {step} --undo")
        }
        None => format!(
            "nothing was changed; the database as it was before the step is {}",
            path.join(&record.copy).display()
        ),
    };
    let message = format!(
        "{} changed after the step {:?}: {came}, and taking it back would lose them",
        folder::database(path).display(),
        record.step
    );
    Ok(Error::new(ErrorKind::Conflict, message).hint(hint))
}

fn check_copy(copy: &Path, record: &Record) -> Result<()> {
    if copy::hash_at(copy)? == record.before {
        return Ok(());
    }
    let message = format!("{} is not what the step copied", copy.display());
    Err(Error::new(ErrorKind::Corrupt, message).hint("nothing was changed"))
}

/// Gives a folder its name back; one that Chroma made in its place is set aside.
fn bring_back(path: &Path, renamed: &Renamed) -> Result<Vec<String>> {
    let (from, to) = (path.join(&renamed.from), path.join(&renamed.to));
    if fs::symlink_metadata(&to).is_err() {
        return Ok(Vec::new());
    }
    let mut changes = Vec::new();
    if fs::symlink_metadata(&from).is_ok() {
        let name = |text: &str| format!("{}.rebuilt-{text}", renamed.from);
        let moment = names::free(path, Moment::now(), |text| [name(text)])?;
        rename(&from, &path.join(name(&moment)))?;
        changes.push(format!("{} is now {}", renamed.from, name(&moment)));
    }
    rename(&to, &from)?;
    changes.push(format!("{} is {} again", renamed.to, renamed.from));
    Ok(changes)
}

/// Puts the copy in the place of the database, which is kept under another name.
fn put_back(path: &Path, record: &Record) -> Result<String> {
    let database = folder::database(path);
    book::check_users(&database)?;
    let name = |text: &str| format!("{}.undone-{}-{text}", folder::DATABASE, record.step);
    let moment = names::free(path, Moment::now(), |text| [name(text)])?;
    let kept = path.join(name(&moment));
    if database.exists() && fs::hard_link(&database, &kept).is_err() {
        // A file system without such links: the database is away for a moment, and the record still there.
        rename(&database, &kept)?;
    }
    rename(&path.join(&record.copy), &database)?;
    copy::settle(path)?;
    Ok(format!(
        "{} is as before the step; what it was until now is {}",
        folder::DATABASE,
        name(&moment)
    ))
}

fn retire(path: &Path, at: &Path) -> Result<()> {
    let mut undone = at.as_os_str().to_owned();
    undone.push(".undone");
    rename(at, &PathBuf::from(undone))?;
    copy::settle(path)
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|cause| failure::io("rename", from, cause))
}
