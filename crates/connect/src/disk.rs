//! Settings files on disk: read and checked before any is changed.

mod made_folders;
mod staged;

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use rustix::fs::Access;

pub(crate) use staged::StagedFile;

/// The largest settings file that is read.
const LARGEST_FILE: u64 = 16 << 20;
/// The longest chain of links that is followed.
const LONGEST_CHAIN: usize = 40;

/// A settings file as it was read.
#[derive(Debug)]
pub(crate) struct SettingsState {
    /// The text, or `None` if the file does not exist.
    pub(crate) text: Option<String>,
    /// The file behind all links. Edits replace this file, so a link stays a link.
    target: PathBuf,
    /// The home or project folder, which is never removed.
    root: PathBuf,
}

impl SettingsState {
    /// Reads the settings file at `path` and checks that it can be replaced.
    pub(crate) fn read(path: &Path, root: &Path) -> Result<Self> {
        // Dotfile managers keep settings elsewhere and link to them: the rename must replace that file, not
        // the link.
        let target = follow_links(path)?;
        let text = match fs::metadata(&target) {
            Ok(metadata) => {
                check_file(path, &metadata)?;
                Some(read_text(path, &target)?)
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => return Err(file_error(path, "cannot be read").caused_by(cause)),
        };
        // Also for a file that exists: the new one is written beside it, so the folder must be writable.
        check_folder(path, &target)?;
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        Ok(Self { text, target, root })
    }

    /// Reads the backup: the text before any entry was added.
    pub(crate) fn read_backup(&self) -> Option<String> {
        let backup = self.backup_path();
        let metadata = fs::symlink_metadata(&backup).ok()?;
        // A backup that is a link or too large was not made here. Without one an undo still works, only less
        // exactly.
        let is_usable = metadata.is_file() && metadata.len() <= LARGEST_FILE;
        if is_usable {
            fs::read_to_string(backup).ok()
        } else {
            None
        }
    }

    /// Removes the backup if the file has the same text again.
    fn remove_backup(&self, after: Option<&str>) {
        if after.is_some() && self.read_backup().as_deref() == after {
            // A backup that cannot be removed does no harm.
            let _ = fs::remove_file(self.backup_path());
        }
    }

    fn backup_path(&self) -> PathBuf {
        let mut name = OsString::from(self.target.file_name().unwrap_or_default());
        name.push(".loci-backup");
        self.target.with_file_name(name)
    }

    /// The folder that contains the file.
    fn folder(&self) -> &Path {
        self.target.parent().unwrap_or(Path::new("/"))
    }

    /// Whether the file at `path` has the text that was read, or, without a text, does not exist.
    fn is_unchanged_at(&self, path: &Path) -> bool {
        match (fs::read(path), &self.text) {
            (Ok(bytes), Some(text)) => bytes == text.as_bytes(),
            (Err(cause), None) => cause.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }
}

/// Follows every link to the file it leads to, which need not exist.
fn follow_links(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..LONGEST_CHAIN {
        // Link by link, because `canonicalize` fails if the last link leads to a file that does not exist
        // yet.
        match fs::read_link(&target) {
            Ok(next) => target = target.parent().unwrap_or(Path::new("/")).join(next),
            Err(_) => return Ok(fs::canonicalize(&target).unwrap_or(target)),
        }
    }
    Err(file_error(path, "is a link that leads to itself"))
}

fn check_file(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.is_dir() {
        return Err(file_error(path, "is a folder, not a settings file"));
    }
    if !metadata.is_file() {
        return Err(file_error(path, "is not a regular file"));
    }
    if metadata.len() > LARGEST_FILE {
        return Err(file_error(path, "is larger than 16 MB"));
    }
    // A rename would replace a read-only file all the same, but its mode says that it is not to be changed.
    if metadata.permissions().readonly() {
        return Err(file_error(path, "is read-only"));
    }
    // Replacing the file would change its owner.
    let owner = metadata.uid();
    if owner != rustix::process::geteuid().as_raw() {
        return Err(file_error(path, &format!("belongs to another user ({owner})")));
    }
    Ok(())
}

/// Checks that a new file can be written beside the old one.
fn check_folder(path: &Path, target: &Path) -> Result<()> {
    // Folders that are missing are created, so the nearest existing one decides.
    let existing = target.ancestors().skip(1).find(|folder| folder.exists());
    let folder = existing.unwrap_or(Path::new("/"));
    let name = folder.display();
    if !folder.is_dir() {
        return Err(file_error(
            path,
            &format!("cannot be created: {name} is not a folder"),
        ));
    }
    if rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        return Err(file_error(
            path,
            &format!("cannot be replaced: {name} is not writable"),
        ));
    }
    Ok(())
}

fn read_text(path: &Path, target: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    // Bounded again: the file may have grown since its size was checked.
    let read = File::open(target).and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes));
    read.map_err(|cause| file_error(path, "cannot be read").caused_by(cause))?;
    String::from_utf8(bytes).map_err(|_| format_error(path, "is not UTF-8"))
}

/// The error for a file that does not have the format its tool reads.
pub(crate) fn format_error(path: &Path, problem: &str) -> Error {
    settings_error(ErrorKind::Format, path, problem)
}

/// The error for a file that cannot be read or replaced.
fn file_error(path: &Path, problem: &str) -> Error {
    settings_error(ErrorKind::Io, path, problem)
}

fn settings_error(kind: ErrorKind, path: &Path, problem: &str) -> Error {
    Error::new(kind, format!("{} {problem}", path.display()))
        .with_context("file", path.display())
        .with_hint("nothing was changed in any file; `--print` prints the entries to paste by hand")
}

/// The error for a file operation that failed while `action` was attempted on `path`.
fn operation_error(action: &str, path: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot {action} {}", path.display())).caused_by(cause)
}
