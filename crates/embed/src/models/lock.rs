//! The lock of the models folder, and scratch folders for preparing a change.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::Result;

use super::io_error;

/// The name of the lock file.
const NAME: &str = ".lock";

/// The exclusive right to change the folder, until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct FolderLock {
    _file: File,
}

impl FolderLock {
    /// Creates the folder if needed, waits for another process that changes it, and removes leftovers of stopped
    /// processes. `waiting` is called before a wait.
    ///
    /// If the disk does not support locks, the change proceeds without one: it is prepared aside and put in place
    /// by one rename either way, but leftovers cannot be removed.
    pub(super) fn acquire_lock(folder: &Path, waiting: &mut dyn FnMut()) -> Result<Self> {
        fs::create_dir_all(folder).map_err(|cause| io_error("cannot create the folder", folder, cause))?;
        let path = folder.join(NAME);
        let opened = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let file = opened.map_err(|cause| io_error("cannot open", &path, cause))?;
        let held = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => {
                waiting();
                file.lock().is_ok()
            }
            Err(TryLockError::Error(_)) => false,
        };
        if held {
            sweep_temporaries(folder);
        }
        Ok(Self { _file: file })
    }

    /// Removes leftovers of stopped processes if no process holds the lock; does nothing if that is not possible.
    pub(super) fn sweep_if_free(folder: &Path) {
        if let Ok(file) = File::options().write(true).open(folder.join(NAME))
            && file.try_lock().is_ok()
        {
            sweep_temporaries(folder);
        }
    }
}

/// Removes every temporary entry; entries that cannot be removed do no harm.
fn sweep_temporaries(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(ENDING) {
            discard_path(&entry.path());
        }
    }
}

/// The ending of every temporary name.
const ENDING: &str = ".tmp";

fn discard_path(path: &Path) {
    if fs::remove_file(path).is_err() {
        let _ = fs::remove_dir_all(path);
    }
}

/// A fresh folder beside the models in which a change is prepared; removed when dropped.
#[derive(Debug)]
pub(super) struct ScratchFolder {
    path: PathBuf,
}

impl ScratchFolder {
    /// Creates the folder for a change of `name`.
    pub(super) fn new(folder: &Path, name: &str) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Beside its target, because a rename is atomic only within one file system. The process id and
        // the counter keep two changes apart even where there are no locks.
        let path = folder.join(format!(".{name}.{}.{count}{ENDING}", std::process::id()));
        fs::create_dir(&path).map_err(|cause| io_error("cannot create the folder", &path, cause))?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        discard_path(&self.path);
    }
}

/// Makes the names in `folder` survive a power cut, on systems that can sync folders.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|cause| io_error("cannot sync the folder", folder, cause))
}
