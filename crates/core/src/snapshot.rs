//! Verified copies of palaces that live in files, taken while others write.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{PalaceRef, Result};

/// Copies whole palaces out and back in.
pub trait SnapshotStore: fmt::Debug + Send + Sync {
    /// Writes one consistent copy of `palace` to the new file `dest` while others go on writing, then verifies it.
    ///
    /// `dest` appears only when it is whole and verified; an existing file is never overwritten. `progress` is
    /// told how many parts of how many are copied.
    fn backup(
        &self,
        palace: &PalaceRef,
        dest: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<SnapshotReport>;

    /// Verifies the copy `file` and makes it the palace `palace`, which must not exist yet.
    fn restore(
        &self,
        file: &Path,
        palace: &PalaceRef,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<SnapshotReport>;
}

/// What a copy holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SnapshotReport {
    /// The file that was written or read.
    pub file: PathBuf,
    /// How many drawers it holds, over all collections.
    pub drawers: u64,
    /// Whether the copy was read back and found sound.
    pub verified: bool,
}
