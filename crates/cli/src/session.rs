//! One run of a command: the palace it means, and how its collections are opened.

use std::ffi::OsStr;
use std::sync::Arc;

use loci_core::{
    Backend, Collection, CollectionInfo, CollectionName, Error, ErrorKind, Finding, OpenOptions, PalaceRef,
    Result, Severity,
};

use crate::args::Globals;
use crate::embedders::Installed;
use crate::environment::Environment;
use crate::output::Output;
use crate::palace::{Located, configured_backend, locate};
use crate::registry::{Asked, Registry};

/// Where MemPalace keeps drawers.
const MEMPALACE: &str = "mempalace_drawers";

/// What a command works with.
pub(crate) struct Session {
    /// The arguments every command shares.
    pub(crate) globals: Globals,
    /// Which backends there are.
    pub(crate) registry: Registry,
    /// Which embedders there are.
    pub(crate) embedders: Installed,
    /// Where words go.
    pub(crate) out: Output,
    environment: Environment,
}

/// A palace and the backend that holds it.
#[derive(Debug)]
pub(crate) struct Palace {
    /// The backend.
    pub(crate) backend: Arc<dyn Backend>,
    /// The palace.
    pub(crate) reference: PalaceRef,
}

impl Session {
    /// Starts a run.
    pub(crate) fn new(globals: Globals, environment: Environment, out: Output) -> Self {
        Self {
            globals,
            registry: Registry::standard(),
            embedders: Installed::new(&environment),
            out,
            environment,
        }
    }

    /// A run within a run, which says nothing.
    pub(crate) fn silent(globals: Globals, environment: Environment) -> Self {
        let out = Output::standard(&globals, &environment);
        Self::new(globals, environment, out)
    }

    /// What this run was started with.
    pub(crate) fn origin(&self) -> (Globals, Environment) {
        (self.globals.clone(), self.environment.clone())
    }

    /// What the environment says.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Where the palace is that is meant, without a look at it.
    pub(crate) fn located(&self) -> Result<Located> {
        locate(self.globals.palace.as_deref(), &self.environment, &self.registry)
    }

    /// The palace that is meant. Looks, but makes nothing.
    pub(crate) fn palace(&self) -> Result<Palace> {
        self.palace_at(self.globals.palace.as_deref(), None)
    }

    /// The palace `reference` means, held by `backend` if one is asked for.
    pub(crate) fn palace_at(&self, reference: Option<&OsStr>, backend: Option<&str>) -> Result<Palace> {
        let located = locate(reference, &self.environment, &self.registry)?;
        if let (Some(one), Some(other)) = (backend, located.backend.as_deref())
            && one != other
        {
            return Err(Error::invalid(format!(
                "the backend is given twice and differs: {one:?} and {other:?}"
            )));
        }
        let folder = located.folder;
        if folder.exists() && !folder.is_dir() {
            return Err(
                Error::invalid(format!("{} is a file; a palace is a folder", folder.display())).hint(
                    "name another place with --palace; a backup is brought back with `loci restore FILE`",
                ),
            );
        }
        let config = configured_backend(&folder)?;
        let name = self.registry.choose(Asked {
            flag: backend.or(located.backend.as_deref()),
            config: config.as_deref(),
            environment: self.environment.backend.as_deref(),
            folder: Some(&folder),
        });
        Ok(Palace {
            backend: self.registry.make(&name)?,
            reference: PalaceRef::local(folder),
        })
    }

    /// The collection that is meant in `palace`: the one that is named; else the usual one if it is there or there is
    /// none; else, in a palace that came from elsewhere, the one MemPalace keeps drawers in, or the only one.
    pub(crate) fn collection(&self, palace: &Palace) -> Result<CollectionName> {
        self.meant(palace).map(|(name, _)| name)
    }

    /// The palace and collection that are meant, opened to be read. Makes nothing.
    pub(crate) fn read(&self) -> Result<(Palace, Arc<dyn Collection>)> {
        let palace = self.palace()?;
        let collection = match self.meant(&palace)? {
            (_, Some(opened)) => opened,
            (name, None) => palace.open(&name)?,
        };
        Ok((palace, collection))
    }

    /// The palace and collection that are meant, opened to be written. Makes nothing.
    pub(crate) fn write(&self) -> Result<(Palace, Arc<dyn Collection>)> {
        let palace = self.palace()?;
        let (name, _) = self.meant(&palace)?;
        let collection = palace.open_writable(&name)?;
        Ok((palace, collection))
    }

    /// The collection that is meant, and the handle on it where finding out has opened it.
    fn meant(&self, palace: &Palace) -> Result<(CollectionName, Option<Arc<dyn Collection>>)> {
        if let Some(name) = &self.globals.collection {
            return Ok((name.clone(), None));
        }
        let usual = CollectionName::new(CollectionName::DEFAULT)?;
        let opened = palace
            .backend()
            .open(&palace.reference, &usual, &OpenOptions::default());
        match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let there = palace.backend().collections(&palace.reference);
                let there = there.unwrap_or_default().into_iter().map(|info| info.name);
                Ok((usual_among(there.collect(), usual), None))
            }
            // What else is wrong with it is said by whoever opens it to do something with it.
            opened => Ok((usual, opened.ok())),
        }
    }
}

impl Palace {
    /// The backend.
    pub(crate) fn backend(&self) -> &dyn Backend {
        self.backend.as_ref()
    }

    /// The backend's name.
    pub(crate) fn backend_name(&self) -> &str {
        &self.backend.descriptor().name
    }

    /// Whether it is there, or something in its place.
    pub(crate) fn exists(&self) -> bool {
        let listed = self.backend().collections(&self.reference);
        !listed.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// Its collections; a palace that is not there is an error that says how to make one.
    pub(crate) fn collections(&self) -> Result<Vec<CollectionInfo>> {
        let listed = self.backend().collections(&self.reference);
        listed.map_err(|error| match error.kind() {
            ErrorKind::NotFound => self.missing(),
            _ => error,
        })
    }

    /// Opens a collection to be read.
    pub(crate) fn open(&self, name: &CollectionName) -> Result<Arc<dyn Collection>> {
        self.open_with(name, &OpenOptions::default())
    }

    /// Opens a collection to be written.
    pub(crate) fn open_writable(&self, name: &CollectionName) -> Result<Arc<dyn Collection>> {
        self.open_with(name, &OpenOptions::writable())
    }

    fn open_with(&self, name: &CollectionName, options: &OpenOptions) -> Result<Arc<dyn Collection>> {
        let opened = self.backend().open(&self.reference, name, options);
        match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let there = self.collections()?;
                let names: Vec<&str> = there.iter().map(|info| info.name.as_str()).collect();
                let message = format!(
                    "there is no collection {name} in the palace {}",
                    self.reference.id
                );
                Err(Error::new(ErrorKind::NotFound, message)
                    .with("palace", &self.reference.id)
                    .with("collection", name)
                    .hint(match names.is_empty() {
                        true => format!("it has none yet; make it with `loci init --collection {name}`"),
                        false => format!("it has: {}", names.join(", ")),
                    }))
            }
            opened => opened,
        }
    }

    fn missing(&self) -> Error {
        let message = format!("there is no palace at {}", self.reference.id);
        Error::new(ErrorKind::NotFound, message)
            .with("palace", &self.reference.id)
            .hint("make one with `loci init`, or name another with --palace")
    }
}

/// The collection that stands for the usual one where that is not there.
fn usual_among(there: Vec<CollectionName>, usual: CollectionName) -> CollectionName {
    let mempalace = there.iter().find(|name| name.as_str() == MEMPALACE);
    let only = || match there.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    mempalace.or_else(only).cloned().unwrap_or(usual)
}

/// What a collection noticed while it was read. That it cannot say is itself worth a warning.
pub(crate) fn noticed(collection: &dyn Collection) -> Vec<Finding> {
    match collection.info() {
        Ok(info) => info.warnings,
        Err(error) => vec![
            Finding::new(
                "unreadable",
                Severity::Error,
                format!("the collection cannot describe itself: {error}"),
            )
            .hint("look closer with `loci verify`"),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_palace_from_elsewhere_is_asked_in_the_collection_it_has() {
        let name = |name: &str| CollectionName::new(name).unwrap();
        let chosen = |there: &[&str]| {
            let there = there.iter().map(|one| name(one)).collect();
            usual_among(there, name("drawers")).to_string()
        };
        assert_eq!(chosen(&[]), "drawers");
        assert_eq!(chosen(&["notes"]), "notes");
        assert_eq!(chosen(&["big", "mempalace_drawers", "tiny"]), "mempalace_drawers");
        assert_eq!(
            chosen(&["big", "tiny"]),
            "drawers",
            "which one is for the user to say"
        );
    }
}
