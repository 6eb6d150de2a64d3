//! Private copies of a database and the files beside it, each a consistent snapshot.

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::ForeignFailure;
use crate::stamp::{ForeignStamp, LOGS, path_beside};

/// The number of attempts to copy before opening fails.
const MOST_ATTEMPTS: usize = 5;

/// A file whose length is at least this many times its size on disk is all holes; no disk compresses that well.
const SPARSE_RATIO: u64 = 64;

/// The number of leading bytes that are compared: a database header holds a change counter, a log header the
/// salt of its frames.
const HEADER_LENGTH: u64 = 100;

/// A copy that only this user may read; it is deleted when this value is dropped.
#[derive(Debug)]
pub struct PrivateCopy {
    folder: TempDir,
}

impl PrivateCopy {
    /// The copied database.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("copy.sqlite3")
    }
}

/// Creates a temporary folder that only this user may read.
pub fn private_folder(prefix: &str) -> Result<TempDir, ForeignFailure> {
    tempfile::Builder::new()
        .prefix(prefix)
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|cause| ForeignFailure::Io("make a private folder in", std::env::temp_dir(), cause))
}

/// Copies a database with its log and its journal, and retries if they changed meanwhile. `on_copied` is called after
/// each copy and before it is checked.
pub(crate) fn copy_settled(
    path: &Path,
    on_copied: &dyn Fn(usize),
) -> Result<(PrivateCopy, ForeignStamp), ForeignFailure> {
    for attempt in 1..=MOST_ATTEMPTS {
        // No lock spans the three files, so only equal stamps
        // before and after show that the copy is one moment.
        let before = ForeignStamp::read(path);
        let copy = copy_once(path)?;
        on_copied(attempt);
        if before == ForeignStamp::read(path) && has_same_headers(path, &copy.path()) {
            return Ok((copy, before));
        }
    }
    Err(ForeignFailure::Changing(path.to_path_buf()))
}

/// Copies all files once, except the index of a log, which SQLite rebuilds.
fn copy_once(path: &Path) -> Result<PrivateCopy, ForeignFailure> {
    let copy = PrivateCopy {
        folder: private_folder("loci-foreign-")?,
    };
    for ending in std::iter::once("").chain(LOGS) {
        let from = path_beside(path, ending);
        copy_file(&from, &path_beside(&copy.path(), ending))
            .map_err(|cause| ForeignFailure::Io("copy", from, cause))?;
    }
    Ok(copy)
}

/// Copies a regular file, if there is one, to a new file that only this user may read. Of a file that is nearly all
/// holes, only as many bytes as are on disk are copied, since neither a log nor a database ever looks like that.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(found) = fs::metadata(from) else {
        return Ok(());
    };
    if !found.is_file() {
        return Ok(());
    }
    // `st_blocks` counts units of 512 bytes, whatever the block size of the file system is.
    let on_disk = found.blocks() * 512;
    let length = if on_disk.saturating_mul(SPARSE_RATIO) < found.len() {
        on_disk
    } else {
        found.len()
    };

    let mut copy = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)?;
    io::copy(&mut File::open(from)?.take(length), &mut copy)?;
    Ok(())
}

/// Returns whether the headers are still those that were copied: two commits within one clock tick leave the same
/// times but different counters.
fn has_same_headers(path: &Path, copy: &Path) -> bool {
    let mut endings = std::iter::once("").chain(LOGS);
    endings.all(|ending| {
        // The copy of a sparse file is shorter than the file; the stamps already compared the lengths.
        read_header(&path_beside(path, ending)).starts_with(&read_header(&path_beside(copy, ending)))
    })
}

/// Returns the first bytes of a regular file, or none if there is no such file.
fn read_header(path: &Path) -> Vec<u8> {
    let mut header = Vec::new();
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    if let Some(file) = is_file.then(|| File::open(path).ok()).flatten() {
        // A header that cannot be read compares as empty: it
        // differs from the copy unless neither file exists.
        let _ = file.take(HEADER_LENGTH).read_to_end(&mut header);
    }
    header
}
