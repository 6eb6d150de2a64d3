//! The models folder: what is installed on this machine, put there whole or not at all.
//!
//! A model of the [catalogue](catalogue()) is a folder of its name whose files are pinned by size and SHA-256; a server the
//! user named is one small file `NAME.json`. Whoever changes the folder holds its lock, so that what lies about
//! under a temporary name is left from somebody who was stopped, and goes with the next change.

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

pub use catalogue::{Model, Package, Pinned, catalogue};
pub use install::{From, Outcome, Stage};

pub use crate::http::ServerConfig;

use lock::{Lock, Scratch};

/// What is installed on this machine.
#[derive(Debug, Clone)]
pub struct Models {
    folder: PathBuf,
    catalogue: Vec<Model>,
}

/// What a cheap look at a model shows: which files there are, and their sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing is there.
    Absent,
    /// Every file is there with its size.
    Installed,
    /// Something is there that cannot be the model: what is wrong with it.
    Damaged(String),
}

/// One model of the catalogue, installed or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// The licence of its files, as an SPDX expression.
    pub licence: String,
    /// How many bytes its files take; none for what is compiled in.
    pub size: u64,
    /// What a cheap look shows.
    pub state: State,
}

/// What a careful look at one file of a model shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, below the model's folder.
    pub file: String,
    /// The SHA-256 it must have, in hexadecimal.
    pub expected: String,
    /// The SHA-256 it has; nothing where there is no such file.
    pub found: Option<String>,
}

impl Finding {
    /// Whether the file is the pinned one.
    pub fn is_good(&self) -> bool {
        self.found.as_ref() == Some(&self.expected)
    }
}

impl Models {
    /// The models in this folder, which need not exist yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self::with_catalogue(folder, catalogue())
    }

    /// The same with other models to choose from.
    pub fn with_catalogue(folder: impl Into<PathBuf>, catalogue: Vec<Model>) -> Self {
        Self {
            folder: folder.into(),
            catalogue,
        }
    }

    /// Where they lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Every model of the catalogue, by a cheap look.
    pub fn list(&self) -> Vec<Listed> {
        let listed = |model: &Model| Listed {
            name: model.name.clone(),
            licence: model.licence.clone(),
            size: model.size(),
            state: self.look(model),
        };
        self.catalogue.iter().map(listed).collect()
    }

    /// What a cheap look at one model shows.
    pub fn state(&self, name: &str) -> Result<State> {
        Ok(self.look(self.model(name)?))
    }

    /// The folder of an installed model; an error that says what to do if it is absent or damaged.
    pub fn installed(&self, name: &str) -> Result<PathBuf> {
        let model = self.model(name)?;
        if model.is_compiled_in() {
            return Err(Error::invalid(format!(
                "the model `{name}` is compiled in and has no folder"
            )));
        }
        match self.look(model) {
            State::Installed => Ok(self.place(model)),
            State::Absent => Err(absent(name)),
            State::Damaged(what) => {
                let message = format!(
                    "the model `{name}` in {} is damaged: {what}",
                    self.folder.display()
                );
                Err(Error::new(ErrorKind::Corrupt, message).hint(replace(name)))
            }
        }
    }

    /// Reads every file of an installed model and compares its SHA-256 with the pinned one.
    pub fn verify(&self, name: &str) -> Result<Vec<Finding>> {
        let model = self.model(name)?;
        if self.look(model) == State::Absent {
            return Err(absent(name));
        }
        self.findings(model)
    }

    /// Every file of a model as it is now; somebody may be taking them away meanwhile.
    fn findings(&self, model: &Model) -> Result<Vec<Finding>> {
        let place = self.place(model);
        let finding = |pinned: &Pinned| {
            let path = place.join(&pinned.path);
            let there = fs::metadata(&path).is_ok_and(|file| file.is_file());
            Ok(Finding {
                file: pinned.path.clone(),
                expected: pinned.sha256.clone(),
                found: if there { digest::of_file(&path)? } else { None },
            })
        };
        model.files.iter().map(finding).collect()
    }

    /// Takes away a model, whole or damaged, or what is known of a server; says whether there was anything.
    pub fn remove(&self, name: &str) -> Result<bool> {
        let place = match self.model(name) {
            Ok(model) if model.is_compiled_in() => {
                return Err(Error::invalid(format!(
                    "the model `{name}` is compiled in and cannot be removed"
                ))
                .hint("nothing was changed"));
            }
            Ok(model) => self.place(model),
            Err(_) => self.server_file(name)?,
        };
        if !self.folder.exists() {
            return Ok(false);
        }
        let _lock = Lock::hold(&self.folder, &mut || {})?;
        if place.symlink_metadata().is_err() {
            return Ok(false);
        }
        let scratch = Scratch::new(&self.folder, name)?;
        let gone = fs::rename(&place, scratch.path().join("old"));
        gone.map_err(|cause| io("cannot remove", &place, cause))?;
        lock::sync_folder(&self.folder)?;
        Ok(true)
    }

    /// Whether every file of a model is there as it is pinned.
    fn is_whole(&self, model: &Model) -> Result<bool> {
        let installed = self.look(model) == State::Installed;
        Ok(installed && self.findings(model)?.iter().all(Finding::is_good))
    }

    fn model(&self, name: &str) -> Result<&Model> {
        self.catalogue
            .iter()
            .find(|model| model.name == name)
            .ok_or_else(|| {
                let known: Vec<&str> = self.catalogue.iter().map(|model| model.name.as_str()).collect();
                Error::new(
                    ErrorKind::NotFound,
                    format!("there is no model called `{name}` to install"),
                )
                .hint(format!("nothing was changed; there are: {}", known.join(", ")))
            })
    }

    fn place(&self, model: &Model) -> PathBuf {
        self.folder.join(&model.name)
    }

    fn look(&self, model: &Model) -> State {
        if model.is_compiled_in() {
            return State::Installed;
        }
        let place = self.place(model);
        if place.symlink_metadata().is_err() {
            return State::Absent;
        }
        let wrong = |pinned: &Pinned| match fs::metadata(place.join(&pinned.path)) {
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
            None => State::Installed,
            Some(what) => State::Damaged(what),
        }
    }
}

fn absent(name: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("the model `{name}` is not installed"),
    )
    .hint(format!("install it with `loci model install {name}`"))
}

fn replace(name: &str) -> String {
    format!("nothing was changed; `loci model install {name}` puts a whole one in its place")
}

/// An error of the operating system about `path`.
fn io(what: &str, path: &Path, cause: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{what} {}", path.display()))
        .hint("what was there before is unchanged; check the folder's permissions and the space on its disk")
        .caused_by(cause)
}
