//! The identity of open files, and the private controls by which the layer below reveals it.

use rusqlite::ffi;
use std::ffi::c_int;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::base::BaseFile;

/// Asks an open file for its [`FileStanding`].
pub(super) const STANDING: c_int = 0x6c6f_6370;
/// Asks a database for the [`MemoryStanding`] of its shared memory.
pub(super) const MEMORY_STANDING: c_int = 0x6c6f_6371;
/// Asks an open file, with an `i64`, to hold a family byte; `SQLITE_BUSY` if another opener holds a different one.
pub(super) const HOLD_BYTE: c_int = 0x6c6f_6372;
/// The same for the shared memory of a database.
pub(super) const HOLD_MEMORY_BYTE: c_int = 0x6c6f_6373;
/// Asks an open file to release its family byte; the argument is unused.
pub(super) const RELEASE_BYTE: c_int = 0x6c6f_6374;

/// A file, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct InodeId {
    pub(crate) device: u64,
    /// Zero on a file system that has no inodes.
    pub(crate) inode: u64,
}

impl InodeId {
    pub(crate) fn from_metadata(found: &std::fs::Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
        }
    }

    /// Returns the file that `path` names now.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        std::fs::metadata(path)
            .ok()
            .map(|found| Self::from_metadata(&found))
    }

    /// Returns whether `other` may be the same file; file systems without inodes get the benefit of the doubt.
    pub(crate) fn same_as(self, other: Self) -> bool {
        let without_inodes = self.inode == 0 || other.inode == 0;
        self.device == other.device && (self.inode == other.inode || without_inodes)
    }
}

/// An open file, and the file that its name leads to now.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FileStanding {
    pub(super) opened: InodeId,
    pub(super) named: Option<InodeId>,
}

impl FileStanding {
    /// Asks an open file; `None` if the layer below does not know, as other VFSs do not.
    pub(super) fn ask_file(base: BaseFile) -> Option<Self> {
        let mut standing = Self::default();
        (base.control(STANDING, &mut standing) == ffi::SQLITE_OK).then_some(standing)
    }

    /// Returns whether the name still leads to the open file.
    pub(super) fn is_named(self) -> bool {
        self.named.is_some_and(|named| named.same_as(self.opened))
    }
}

/// The shared memory of a database.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MemoryStanding {
    pub(super) file: FileStanding,
    /// Whether the file is shorter than what is mapped of it, or was when a lost page was touched.
    pub(super) cut: bool,
}

impl MemoryStanding {
    /// Asks a database; `None` if the layer below does not know, or no memory is mapped.
    pub(super) fn ask_file(base: BaseFile) -> Option<Self> {
        let mut standing = Self::default();
        (base.control(MEMORY_STANDING, &mut standing) == ffi::SQLITE_OK).then_some(standing)
    }
}
