//! The palaces of a backend that are open: one handle for each folder, shared by all callers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{Error, ErrorKind, PalaceRef, Result};

/// The handles of open palaces, by folder.
#[derive(Debug)]
pub(super) struct OpenedFolders<P> {
    backend: &'static str,
    palaces: Mutex<HashMap<PathBuf, Arc<P>>>,
    closed: AtomicBool,
}

impl<P> OpenedFolders<P> {
    /// Creates an empty set for the backend of this name.
    pub(super) fn new(backend: &'static str) -> Self {
        Self {
            backend,
            palaces: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    fn lock_palaces(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<P>>> {
        // The map only caches handles, so a panic while it was locked leaves nothing inconsistent.
        self.palaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails once the backend was closed.
    pub(super) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            let message = format!("the backend {:?} was closed", self.backend);
            return Err(Error::new(ErrorKind::Closed, message).with_hint("make a new one"));
        }
        Ok(())
    }

    /// Returns the handle of the folder at `path`, made by `make` if there is none yet.
    pub(super) fn open_folder(&self, path: &Path, make: impl FnOnce() -> P) -> Result<Arc<P>> {
        self.check_open()?;
        // One handle for each folder, so that all its collections share the rows that were read.
        let mut palaces = self.lock_palaces();
        let palace = palaces
            .entry(path.to_path_buf())
            .or_insert_with(|| Arc::new(make()));
        Ok(Arc::clone(palace))
    }

    /// Returns the handle of a palace, if it is open.
    pub(super) fn find_open(&self, palace: &PalaceRef) -> Option<Arc<P>> {
        self.lock_palaces().get(palace.local_path.as_ref()?).cloned()
    }

    /// Removes the handle of a palace, if it is open.
    pub(super) fn take_open(&self, palace: &PalaceRef) -> Option<Arc<P>> {
        self.lock_palaces().remove(palace.local_path.as_ref()?)
    }

    /// Closes the backend and removes all handles.
    pub(super) fn close(&self) -> Vec<Arc<P>> {
        self.closed.store(true, Ordering::SeqCst);
        self.lock_palaces().drain().map(|(_, palace)| palace).collect()
    }
}
