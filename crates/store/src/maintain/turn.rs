//! A kernel lock for each kind of maintenance, which ends with the process that holds it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use loci_core::{MaintenanceKind, Result};

use crate::failure;

/// The right to run one kind of maintenance on one palace; released when dropped.
///
/// The lock file lies in the palace's folder, is empty, and exists only while the maintenance runs.
#[derive(Debug)]
pub(crate) struct MaintenanceTurn {
    path: PathBuf,
    _lock: File,
}

impl MaintenanceTurn {
    /// Takes the turn; `None` if another process has it.
    pub(crate) fn take(palace: &Path, kind: &MaintenanceKind) -> Result<Option<Self>> {
        let path = lock_path(palace, kind);
        loop {
            let file = OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)
                .map_err(|cause| failure::io_error("make the lock file", &path, cause))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(cause)) => return Err(failure::io_error("lock", &path, cause)),
            }
            // The previous holder may have removed the file between our opening and our locking it; the lock
            // would then be on a file that no other process can find.
            if same_file(&file, &path) {
                return Ok(Some(Self { path, _lock: file }));
            }
        }
    }

    /// Returns whether a process has the turn now.
    pub(crate) fn is_taken(palace: &Path, kind: &MaintenanceKind) -> bool {
        let path = lock_path(palace, kind);
        let Ok(file) = OpenOptions::new().write(true).open(path) else {
            return false;
        };
        matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }
}

impl Drop for MaintenanceTurn {
    fn drop(&mut self) {
        // Removed while still locked, so that no other process can take a turn on a file about to vanish.
        let _ = fs::remove_file(&self.path);
    }
}

fn same_file(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => open.ino() == named.ino() && open.dev() == named.dev(),
        _ => false,
    }
}

fn lock_path(palace: &Path, kind: &MaintenanceKind) -> PathBuf {
    palace.with_file_name(format!("{}.lock", kind.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_held_once_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let palace = folder.path().join("palace.db");
        let kind = MaintenanceKind::COMPACT;
        assert!(!MaintenanceTurn::is_taken(&palace, &kind));
        let turn = MaintenanceTurn::take(&palace, &kind).unwrap().unwrap();
        assert!(MaintenanceTurn::is_taken(&palace, &kind));
        assert!(MaintenanceTurn::take(&palace, &kind).unwrap().is_none());
        assert!(
            MaintenanceTurn::take(&palace, &MaintenanceKind::REINDEX)
                .unwrap()
                .is_some(),
            "kinds do not exclude each other"
        );
        drop(turn);
        assert!(!MaintenanceTurn::is_taken(&palace, &kind));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(MaintenanceTurn::take(&palace, &kind).unwrap().is_some());
    }
}
