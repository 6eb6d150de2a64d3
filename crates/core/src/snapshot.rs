//! Verified copies of palaces that live in files, taken while other processes write, and the remains of damaged ones.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{PalaceRef, PalaceRemains, Result};

/// Copies whole palaces out and back in, and reads the remains of damaged ones.
pub trait SnapshotStore: fmt::Debug + Send + Sync {
    /// Writes one consistent copy of `palace` to the new file `dest` while other processes keep writing, then
    /// verifies it.
    ///
    /// `dest` appears only once it is complete and verified; an existing file is never overwritten. A palace that can
    /// be written remembers the copy. `watch` receives every step.
    fn backup(
        &self,
        palace: &PalaceRef,
        dest: &Path,
        watch: &mut dyn FnMut(SnapshotStep),
    ) -> Result<SnapshotReport>;

    /// Returns the files to which `palace` was copied by [`SnapshotStore::backup`], as far as it remembers, so
    /// that an erasure can reach them as well. A file may be gone or changed meanwhile.
    fn list_copies(&self, palace: &PalaceRef) -> Result<Vec<PathBuf>>;

    /// Removes files from the list of copies of `palace`; the files themselves are not looked at.
    fn unlist_copies(&self, palace: &PalaceRef, files: &[PathBuf]) -> Result<()>;

    /// Verifies the copy `file` and restores it as `palace`, which must not exist yet.
    fn restore(
        &self,
        file: &Path,
        palace: &PalaceRef,
        watch: &mut dyn FnMut(SnapshotStep),
    ) -> Result<SnapshotReport>;

    /// Reads whatever is left of the palace or copy at `path`, part by part, however damaged it is.
    ///
    /// Never writes, not even beside the file. Parts that are whole are read although others are not. A drawer that was
    /// removed does not come back if anything readable says so. `Format` if nothing at `path` is part of a palace.
    /// `watch` receives the number of parts read so far and the total.
    fn open_remains(&self, path: &Path, watch: &mut dyn FnMut(u64, u64)) -> Result<PalaceRemains>;
}

/// A step of copying a palace: the parts done so far, and their total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotStep {
    /// Parts of the palace that are copied.
    Copied(u64, u64),
    /// Checks of the finished copy that are done.
    Verified(u64, u64),
}

/// The contents of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SnapshotReport {
    /// The file that was written or read.
    pub file: PathBuf,
    /// The number of drawers in all collections.
    pub drawers: u64,
    /// True if the copy was read back and found sound.
    pub verified: bool,
}
