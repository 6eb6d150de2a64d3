//! The handle of one palace of another program: its folder, and its content once it was read.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{Error, ErrorKind, Result};

use super::backend;
use crate::mempalace::MempalaceInstallation;

/// A palace that is open, with what was read of it.
#[derive(Debug)]
pub struct OpenedPalace<C> {
    folder: PathBuf,
    installation: Arc<MempalaceInstallation>,
    content: Mutex<Option<C>>,
    closed: AtomicBool,
}

impl<C> OpenedPalace<C> {
    /// Creates the handle of a folder, which may belong to this installation of MemPalace, without reading it.
    pub fn new(folder: &Path, installation: Arc<MempalaceInstallation>) -> Self {
        Self {
            folder: folder.to_path_buf(),
            installation,
            content: Mutex::new(None),
            closed: AtomicBool::new(false),
        }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the installation of MemPalace that the folder may belong to.
    pub fn installation(&self) -> &Arc<MempalaceInstallation> {
        &self.installation
    }

    /// Drops everything that was read; later calls fail as `Closed`.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        *self.lock_content() = None;
    }

    fn lock_content(&self) -> MutexGuard<'_, Option<C>> {
        // The content is only ever replaced as a whole, so a panic leaves nothing half done.
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the content that was read, for the caller to replace; fails once the palace was closed.
    pub fn hold_content(&self) -> Result<MutexGuard<'_, Option<C>>> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Closed, "this palace was closed").with_hint("open it again"));
        }
        Ok(self.lock_content())
    }

    /// Asks the content that was read; `None` before that.
    pub fn ask_content<T>(&self, ask: impl FnOnce(&C) -> T) -> Option<T> {
        self.lock_content().as_ref().map(ask)
    }

    /// Creates the error for a palace that could not be read between two changes.
    pub fn changing_error(&self) -> Error {
        let message = format!("{} changes faster than it can be read", self.folder.display());
        Error::new(ErrorKind::Locked, message)
            .with_hint("nothing was changed; try again when no other process writes to it")
    }

    /// Creates the error for every write, with the command that moves the palace to a writable backend.
    pub fn refuse_write(&self, backend: &str) -> Error {
        backend::refuse_write(backend, &self.folder)
    }
}
