//! The stamp of a database: shows whether it was written to, without opening it.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files beside a database that may hold commits, or rollback data, that the file itself lacks.
pub(crate) const LOGS: [&str; 2] = ["-wal", "-journal"];

/// Returns the path of the file beside a database whose name has the suffix `ending`.
pub fn path_beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// Returns whether `path` is a regular file that is not empty.
pub(crate) fn has_bytes(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0)
}

/// The stats of a database, its log and its journal. The files are not opened: closing one would drop the POSIX locks
/// that this process holds on it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignStamp(Vec<Option<FileLook>>);

#[derive(Debug, Clone, Copy)]
struct FileLook {
    /// 0 on file systems without inode numbers, where it equals any other.
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    length: u64,
}

impl ForeignStamp {
    /// Reads the stats of the database at `path` and of the files beside it. An empty log counts as none.
    pub fn read(path: &Path) -> Self {
        let look = |path: &Path| {
            fs::metadata(path)
                .ok()
                .map(|found| FileLook::from_metadata(&found))
        };
        let logs = LOGS.iter().map(|ending| look(&path_beside(path, ending)));
        // Opening a database in log mode creates an empty log,
        // and closing it removes the log: neither is a commit.
        let logs = logs.map(|log| log.filter(|log| log.length > 0));
        Self(std::iter::once(look(path)).chain(logs).collect())
    }
}

impl FileLook {
    fn from_metadata(found: &Metadata) -> Self {
        Self {
            inode: found.ino(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
            length: found.len(),
        }
    }
}

impl PartialEq for FileLook {
    fn eq(&self, other: &Self) -> bool {
        let same_file = self.inode == other.inode || self.inode == 0 || other.inode == 0;
        same_file
            && self.modified == other.modified
            && self.changed == other.changed
            && self.length == other.length
    }
}
