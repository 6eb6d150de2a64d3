//! The models folder: models installed on this machine, each whole or not at all.
//!
//! A model of the [catalogue](known_models) is a folder of its name whose files are pinned by size and SHA-256; a
//! registered server is one small file `NAME.json`. A process that changes the folder holds its lock, so anything
//! found under a temporary name was left by a process that was stopped, and is removed with the next change.

mod catalogue;
mod digest;
mod install;
mod lock;
mod package;
mod servers;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};

pub use catalogue::{CatalogueModel, PinnedFile, WheelPackage, known_models};
pub use install::{InstallOutcome, InstallSource, InstallStage};

pub use crate::http::ServerConfig;

use lock::{FolderLock, ScratchFolder};

/// The models folder of this machine.
#[derive(Debug, Clone)]
pub struct ModelFolder {
    folder: PathBuf,
    catalogue: Vec<CatalogueModel>,
}

/// The state of a model by a quick check of file names and sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelState {
    /// The model is not installed.
    Absent,
    /// Every file exists with its size.
    Installed,
    /// The folder exists but cannot be the model; holds a description of the fault.
    Damaged(String),
}

/// One model of the catalogue, installed or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// Its name.
    pub name: String,
    /// The licence of its files, as an SPDX expression.
    pub licence: String,
    /// The size of its files in bytes; zero if it is compiled in.
    pub size: u64,
    /// Its state by a quick check.
    pub state: ModelState,
}

/// The result of verifying one file of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFileFinding {
    /// The file, below the model's folder.
    pub file: String,
    /// The SHA-256 it must have, in hexadecimal.
    pub expected: String,
    /// The SHA-256 it has; `None` if there is no such file.
    pub found: Option<String>,
}

impl ModelFileFinding {
    /// Reports whether the file is the pinned one.
    pub fn is_good(&self) -> bool {
        self.found.as_ref() == Some(&self.expected)
    }
}

impl ModelFolder {
    /// Uses this folder, which need not exist yet.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self::with_catalogue(folder, known_models())
    }

    /// Uses this folder with another catalogue.
    pub fn with_catalogue(folder: impl Into<PathBuf>, catalogue: Vec<CatalogueModel>) -> Self {
        Self {
            folder: folder.into(),
            catalogue,
        }
    }

    /// Returns the folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Lists every model of the catalogue with its state by a quick check.
    pub fn list_models(&self) -> Vec<ListedModel> {
        let listed = |model: &CatalogueModel| ListedModel {
            name: model.name.clone(),
            licence: model.licence.clone(),
            size: model.size(),
            state: self.inspect_model(model),
        };
        self.catalogue.iter().map(listed).collect()
    }

    /// Returns the state of one model by a quick check.
    pub fn model_state(&self, name: &str) -> Result<ModelState> {
        Ok(self.inspect_model(self.find_model(name)?))
    }

    /// Returns the folder of an installed model; the error for an absent or damaged one names the next step.
    pub fn installed_folder(&self, name: &str) -> Result<PathBuf> {
        let model = self.find_model(name)?;
        if model.is_compiled_in() {
            return Err(Error::invalid(format!(
                "the model `{name}` is compiled in and has no folder"
            )));
        }
        match self.inspect_model(model) {
            ModelState::Installed => Ok(self.model_path(model)),
            ModelState::Absent => Err(absent_error(name)),
            ModelState::Damaged(what) => {
                let message = format!(
                    "the model `{name}` in {} is damaged: {what}",
                    self.folder.display()
                );
                Err(Error::new(ErrorKind::Corrupt, message).with_hint(replace_hint(name)))
            }
        }
    }

    /// Reads every file of an installed model and compares its SHA-256 with the pinned one.
    pub fn verify_model(&self, name: &str) -> Result<Vec<ModelFileFinding>> {
        let model = self.find_model(name)?;
        if self.inspect_model(model) == ModelState::Absent {
            return Err(absent_error(name));
        }
        self.check_files(model)
    }

    /// Checks every file of a model in its current state; another process may be removing them meanwhile.
    fn check_files(&self, model: &CatalogueModel) -> Result<Vec<ModelFileFinding>> {
        let place = self.model_path(model);
        let finding = |pinned: &PinnedFile| {
            let path = place.join(&pinned.path);
            // A folder or device in place of a file is reported as missing instead of failing the whole
            // check.
            let there = fs::metadata(&path).is_ok_and(|file| file.is_file());
            Ok(ModelFileFinding {
                file: pinned.path.clone(),
                expected: pinned.sha256.clone(),
                found: if there { digest::hash_file(&path)? } else { None },
            })
        };
        model.files.iter().map(finding).collect()
    }

    /// Removes a model, whole or damaged, or a registered server; reports whether anything was removed.
    pub fn remove_model(&self, name: &str) -> Result<bool> {
        let place = match self.find_model(name) {
            Ok(model) if model.is_compiled_in() => {
                return Err(Error::invalid(format!(
                    "the model `{name}` is compiled in and cannot be removed"
                ))
                .with_hint("nothing was changed"));
            }
            Ok(model) => self.model_path(model),
            // Names of models and servers share one space, so a name that is not in the catalogue is a
            // server's.
            Err(_) => self.server_file(name)?,
        };
        if !self.folder.exists() {
            return Ok(false);
        }
        let _lock = FolderLock::acquire_lock(&self.folder, &mut || {})?;
        if place.symlink_metadata().is_err() {
            return Ok(false);
        }
        let scratch = ScratchFolder::new(&self.folder, name)?;
        // Renamed first and deleted from the scratch folder: a process that is stopped in between leaves
        // no half model.
        let gone = fs::rename(&place, scratch.path().join("old"));
        gone.map_err(|cause| io_error("cannot remove", &place, cause))?;
        lock::sync_folder(&self.folder)?;
        Ok(true)
    }

    /// Reports whether every file of a model exists as pinned.
    fn is_whole(&self, model: &CatalogueModel) -> Result<bool> {
        // The quick check first: hashing ninety megabytes only pays if the sizes are right.
        let installed = self.inspect_model(model) == ModelState::Installed;
        Ok(installed && self.check_files(model)?.iter().all(ModelFileFinding::is_good))
    }

    fn find_model(&self, name: &str) -> Result<&CatalogueModel> {
        self.catalogue
            .iter()
            .find(|model| model.name == name)
            .ok_or_else(|| {
                let known: Vec<&str> = self.catalogue.iter().map(|model| model.name.as_str()).collect();
                Error::new(ErrorKind::NotFound, format!("`{name}` is not a known model")).with_hint(format!(
                    "nothing was changed; the known models are: {}",
                    known.join(", ")
                ))
            })
    }

    fn model_path(&self, model: &CatalogueModel) -> PathBuf {
        self.folder.join(&model.name)
    }

    fn inspect_model(&self, model: &CatalogueModel) -> ModelState {
        if model.is_compiled_in() {
            return ModelState::Installed;
        }
        let place = self.model_path(model);
        if place.symlink_metadata().is_err() {
            return ModelState::Absent;
        }
        let wrong = |pinned: &PinnedFile| match fs::metadata(place.join(&pinned.path)) {
            Ok(file) if file.is_file() && file.len() == pinned.size => None,
            Ok(file) if file.is_file() => Some(format!(
                "{} has {} bytes, not {}",
                pinned.path,
                file.len(),
                pinned.size
            )),
            _ => Some(format!("{} is missing", pinned.path)),
        };
        match model.files.iter().find_map(wrong) {
            None => ModelState::Installed,
            Some(what) => ModelState::Damaged(what),
        }
    }
}

fn absent_error(name: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("the model `{name}` is not installed"),
    )
    .with_hint(format!("install it with `loci model install {name}`"))
}

fn replace_hint(name: &str) -> String {
    format!("nothing was changed; `loci model install {name}` replaces it")
}

/// Returns an error of the operating system about `path`.
fn io_error(what: &str, path: &Path, cause: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what} {}", path.display()))
        .with_hint(
            "the previous state is unchanged; check the folder's permissions and the space on its disk",
        )
        .caused_by(cause)
}
