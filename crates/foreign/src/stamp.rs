//! The stamp of a database: what tells that it was written to, asked without opening it.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Files beside a database that may hold commits, or the undoing of some, that the file itself does not.
pub(crate) const LOGS: [&str; 2] = ["-wal", "-journal"];

/// The file beside a database with this behind its name.
pub fn path_beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// Whether a regular file lies there and holds something.
pub(crate) fn has_bytes(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0)
}

/// Everything stats say of a database, its log and its journal. The files are not opened: closing one would drop the locks
/// this process holds on it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignStamp(Vec<Option<FileLook>>);

#[derive(Debug, Clone, Copy)]
struct FileLook {
    /// 0 on file systems that have no such numbers; it is then equal to any other.
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    length: u64,
}

impl ForeignStamp {
    /// Looks at the database at `path` and at what lies beside it. An empty log counts as none.
    pub fn of(path: &Path) -> Self {
        let look = |path: &Path| fs::metadata(path).ok().map(|found| FileLook::of(&found));
        let logs = LOGS.iter().map(|ending| look(&path_beside(path, ending)));
        let logs = logs.map(|log| log.filter(|log| log.length > 0));
        Self(std::iter::once(look(path)).chain(logs).collect())
    }
}

impl FileLook {
    fn of(found: &Metadata) -> Self {
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
