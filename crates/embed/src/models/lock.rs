//! One change of the models folder at a time, and a place to prepare it in.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::Result;

use super::io;

/// The file whose lock is held.
const NAME: &str = ".lock";

/// The right to change the folder, until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Makes the folder where there is none, waits for whoever changes it, and clears away what a stopped process
    /// left. `waiting` is called before a wait.
    ///
    /// Where the disk knows no locks the change goes on without: it is prepared aside and put in place by one
    /// rename either way, only nothing can be cleared away.
    pub(super) fn hold(folder: &Path, waiting: &mut dyn FnMut()) -> Result<Self> {
        fs::create_dir_all(folder).map_err(|cause| io("cannot make the folder", folder, cause))?;
        let path = folder.join(NAME);
        let opened = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let file = opened.map_err(|cause| io("cannot open", &path, cause))?;
        let held = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => {
                waiting();
                file.lock().is_ok()
            }
            Err(TryLockError::Error(_)) => false,
        };
        if held {
            sweep(folder);
        }
        Ok(Self { _file: file })
    }

    /// Clears away what a stopped process left, if nobody is at work; no harm is done where that cannot be.
    pub(super) fn tidy(folder: &Path) {
        if let Ok(file) = File::options().write(true).open(folder.join(NAME))
            && file.try_lock().is_ok()
        {
            sweep(folder);
        }
    }
}

/// Clears away every temporary name; what cannot be removed is in nobody's way.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(ENDING) {
            discard(&entry.path());
        }
    }
}

/// How every temporary name ends.
const ENDING: &str = ".tmp";

fn discard(path: &Path) {
    if fs::remove_file(path).is_err() {
        let _ = fs::remove_dir_all(path);
    }
}

/// A fresh folder beside the models in which a change is prepared; it goes when dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes the folder for a change of `name`.
    pub(super) fn new(folder: &Path, name: &str) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".{name}.{}.{count}{ENDING}", std::process::id()));
        fs::create_dir(&path).map_err(|cause| io("cannot make the folder", &path, cause))?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        discard(&self.path);
    }
}

/// Makes the names in `folder` survive a power cut, where folders can be synced.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|cause| io("cannot sync the folder", folder, cause))
}
