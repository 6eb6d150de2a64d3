//! The record that a fix writes before it changes anything, so that it can be undone.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::copy;
use crate::failure;

/// The largest record that is read.
const LARGEST: u64 = 1 << 24;

/// One application of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FixRecord {
    /// The step.
    pub(super) step: String,
    /// The copy of the database beside it, by name.
    pub(super) copy: String,
    /// The hash of the database before the step, which is that of the copy.
    pub(super) before: String,
    /// The hash after the step; `None` while it is being applied, or if another process wrote right after it.
    pub(super) after: Option<String>,
    /// The transaction counter of the database before the step, if it has one.
    pub(super) counter: Option<u32>,
    /// The newest write in the queue after the step.
    pub(super) newest: Option<i64>,
    /// The changes, one line each.
    pub(super) changes: Vec<String>,
    /// The renamed folders.
    pub(super) renamed: Vec<FolderRename>,
    /// The files that were written beside the database.
    pub(super) sidecars: Vec<String>,
}

/// A renamed folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FolderRename {
    /// The old name.
    pub(super) from: String,
    /// The new name.
    pub(super) to: String,
}

/// Returns the file name of the record of a step at `moment`.
pub(super) fn record_name(step: &str, moment: &str) -> String {
    format!("loci-fix-{step}-{moment}.json")
}

impl FixRecord {
    /// Writes the record to `path` atomically.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let beside = path.with_extension("json.new");
        let refused = |cause| failure::io_error("write", &beside, cause);
        let bytes = serde_json::to_vec_pretty(self).map_err(|cause| refused(cause.into()))?;
        let written = fs::File::create(&beside).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()
        });
        let placed = written.and_then(|()| fs::rename(&beside, path));
        if placed.is_err() {
            let _ = fs::remove_file(&beside);
        }
        placed.map_err(refused)?;
        copy::sync_folder(path.parent().unwrap_or(path))
    }

    fn read(path: &Path) -> Result<Self> {
        if copy::file_length(path) > LARGEST {
            let message = format!("{} is too large to be a record of a fix", path.display());
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        let bytes = fs::read(path).map_err(|cause| failure::io_error("read", path, cause))?;
        let record: Self = serde_json::from_slice(&bytes).map_err(|cause| {
            let message = format!("{} is not a record of a fix: {cause}", path.display());
            Error::new(ErrorKind::Corrupt, message)
        })?;
        record.check(path)
    }

    /// Checks that every name is one that a fix creates: a record must not lead out of its folder.
    fn check(self, path: &Path) -> Result<Self> {
        let folders = self
            .renamed
            .iter()
            .flat_map(|renamed| [&renamed.from, &renamed.to]);
        // Undo renames the files that a record names, so a forged `../x` must not pass.
        let is_ours = |name: &String| !name.is_empty() && !name.starts_with('.') && !name.contains('/');
        let sound = folders.chain([&self.copy]).all(is_ours);
        if sound {
            Ok(self)
        } else {
            Err(Error::new(
                ErrorKind::Corrupt,
                format!("{} names files that no fix creates", path.display()),
            ))
        }
    }
}

/// Returns the newest record of a step in `folder` that was not undone, with its path.
pub(super) fn find_newest(folder: &Path, step: &str) -> Result<Option<(PathBuf, FixRecord)>> {
    let Some(name) = list_records(folder)?
        .into_iter()
        .filter(|(_, of)| of == step)
        .map(|(name, _)| name)
        // The moment ends the name and sorts as text.
        .max()
    else {
        return Ok(None);
    };
    let path = folder.join(name);
    FixRecord::read(&path).map(|record| Some((path, record)))
}

/// Returns the steps that were applied after the record at `path` and not undone.
pub(super) fn list_later_steps(folder: &Path, path: &Path) -> Result<Vec<String>> {
    let moment = |name: &str| {
        // `YYYYMMDD-HHMMSS.json` has twenty bytes, whichever step precedes it.
        name.get(name.len().saturating_sub(20)..)
            .unwrap_or_default()
            .to_owned()
    };
    let own = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let mut later: Vec<(String, String)> = list_records(folder)?
        .into_iter()
        .map(|(name, step)| (moment(&name), step))
        .filter(|(at, _)| *at > moment(own))
        .collect();
    later.sort_unstable();
    Ok(later.into_iter().map(|(_, step)| step).collect())
}

/// Lists the names of all records in `folder` with their steps.
fn list_records(folder: &Path) -> Result<Vec<(String, String)>> {
    let refused = |cause| failure::io_error("read", folder, cause);
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(refused)? {
        let name = entry.map_err(refused)?.file_name();
        let Some(name) = name.to_str() else { continue };
        if let Some(step) = step_of(name) {
            names.push((name.to_owned(), step.to_owned()));
        }
    }
    Ok(names)
}

fn step_of(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("loci-fix-")?.strip_suffix(".json")?;
    // A step may contain hyphens itself, so the moment is cut off from the end.
    let (step, moment) = rest.split_at_checked(rest.len().checked_sub(16)?)?;
    let is_moment = moment.char_indices().all(|(at, c)| match at {
        0 | 9 => c == '-',
        _ => c.is_ascii_digit(),
    });
    is_moment.then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_known_by_its_name() {
        assert_eq!(
            step_of(&record_name("seq-ids", "20260418-180405")),
            Some("seq-ids")
        );
        for other in [
            "loci-fix-seq-ids.json",
            "loci-fix-.json",
            "x.json",
            "loci-fix-é-180405.json",
        ] {
            assert_eq!(step_of(other), None, "{other}");
        }
        let undone = format!("{}.undone", record_name("seq-ids", "20260418-180405"));
        assert_eq!(step_of(&undone), None);
    }
}
