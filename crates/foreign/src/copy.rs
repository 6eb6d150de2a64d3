//! Private copies of a database and what lies beside it, each of one moment.

use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::failure::ForeignFailure;
use crate::stamp::{ForeignStamp, LOGS, path_beside};

/// The number of copies that are made before opening fails.
const ATTEMPTS: usize = 5;

/// A file is all holes if it says that it is this many times as long as it is on the disk; no disk packs so well.
const HOLES: u64 = 64;

/// The bytes at the beginning of a file that are compared: a database's header holds a counter of changes, a log's the salt of its frames.
const HEADER: u64 = 100;

/// A copy that only this user may look into; it goes with this value.
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

/// A temporary folder that only this user may look into.
pub fn private_folder(prefix: &str) -> Result<TempDir, ForeignFailure> {
    tempfile::Builder::new()
        .prefix(prefix)
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|cause| ForeignFailure::Io("make a private folder in", std::env::temp_dir(), cause))
}

/// Copies a database with its log and its journal, again where they changed meanwhile. `on_copied` is called after
/// each copy and before it is checked.
pub(crate) fn copy_settled(
    path: &Path,
    on_copied: &dyn Fn(usize),
) -> Result<(PrivateCopy, ForeignStamp), ForeignFailure> {
    for attempt in 1..=ATTEMPTS {
        let before = ForeignStamp::of(path);
        let copy = copy_once(path)?;
        on_copied(attempt);
        if before == ForeignStamp::of(path) && has_same_headers(path, &copy.path()) {
            return Ok((copy, before));
        }
    }
    Err(ForeignFailure::Changing(path.to_path_buf()))
}

/// Copies all files once; never the index of a log, which SQLite makes anew.
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

/// Copies a regular file, if there is one, to a new one of this user's alone; of one that is nearly all holes only as
/// much as is there, for neither a log nor a database is ever so.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(found) = fs::metadata(from) else {
        return Ok(());
    };
    if !found.is_file() {
        return Ok(());
    }
    let on_disk = found.blocks() * 512;
    let length = if on_disk.saturating_mul(HOLES) < found.len() {
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

/// Whether the headers are still those that were copied: two commits within one tick of the clock leave the same
/// times behind, but not the same counters.
fn has_same_headers(path: &Path, copy: &Path) -> bool {
    let mut endings = std::iter::once("").chain(LOGS);
    endings.all(|ending| {
        // The copy of a file of holes is shorter than the file; its length was compared before.
        read_header(&path_beside(path, ending)).starts_with(&read_header(&path_beside(copy, ending)))
    })
}

/// The first bytes of a regular file; none where there is no such file.
fn read_header(path: &Path) -> Vec<u8> {
    let mut header = Vec::new();
    let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
    if let Some(file) = is_file.then(|| File::open(path).ok()).flatten() {
        // What cannot be read differs from what was copied, unless neither is there.
        let _ = file.take(HEADER).read_to_end(&mut header);
    }
    header
}
