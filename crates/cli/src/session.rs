//! One run of a command: its arguments and environment, and the palace it means.

use std::ffi::OsStr;
use std::sync::Arc;

use loci_core::{Error, FilingDoor, PalaceRef, Result};
use loci_engine::{Palace, PalaceAddress};

use crate::args::Globals;
use crate::embedders::Installed;
use crate::environment::{Environment, now};
use crate::output::Output;
use crate::palace::{Located, configured_backend, locate};
use crate::registry::{Asked, Registry};

/// A run.
pub(crate) struct Session {
    /// The arguments every command shares.
    pub(crate) globals: Globals,
    /// The backends of this build.
    pub(crate) registry: Registry,
    /// The embedders of this machine.
    pub(crate) embedders: Arc<Installed>,
    /// Standard output and standard error.
    pub(crate) out: Output,
    environment: Environment,
}

impl Session {
    /// Starts a run.
    pub(crate) fn new(globals: Globals, environment: Environment, out: Output) -> Self {
        Self {
            globals,
            registry: Registry::standard(),
            embedders: Arc::new(Installed::new(&environment)),
            out,
            environment,
        }
    }

    /// The globals and environment this run was started with.
    pub(crate) fn origin(&self) -> (Globals, Environment) {
        (self.globals.clone(), self.environment.clone())
    }

    /// The environment.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The folder of the palace that is meant, without a look at it.
    pub(crate) fn located(&self) -> Result<Located> {
        locate(self.globals.palace.as_deref(), &self.environment, &self.registry)
    }

    /// The palace and collection that are meant. Looks, but makes nothing.
    pub(crate) fn palace(&self) -> Result<Palace> {
        let address = self.address_of(self.globals.palace.as_deref(), None)?;
        Ok(self.palace_at(address))
    }

    /// The palace at an address, with the collection that is meant.
    pub(crate) fn palace_at(&self, address: PalaceAddress) -> Palace {
        Palace::new(address, self.embedders.clone(), now)
            .in_collection(self.globals.collection.clone())
            .through(FilingDoor::Terminal)
    }

    /// The palace that is meant, looked for when it is needed.
    pub(crate) fn palace_when_needed(&self) -> Palace {
        let (globals, environment) = self.origin();
        let find = move || {
            let registry = Registry::standard();
            address_of(globals.palace.as_deref(), None, &environment, &registry)
        };
        Palace::located_by(find, self.embedders.clone(), now).in_collection(self.globals.collection.clone())
    }

    /// The address `reference` means, held by `backend` if one is asked for.
    pub(crate) fn address_of(
        &self,
        reference: Option<&OsStr>,
        backend: Option<&str>,
    ) -> Result<PalaceAddress> {
        address_of(reference, backend, &self.environment, &self.registry)
    }
}

fn address_of(
    reference: Option<&OsStr>,
    backend: Option<&str>,
    environment: &Environment,
    registry: &Registry,
) -> Result<PalaceAddress> {
    let located = locate(reference, environment, registry)?;
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
            Error::invalid(format!("{} is a file; a palace is a folder", folder.display()))
                .hint("name another place with --palace; a backup is brought back with `loci restore FILE`"),
        );
    }
    let config = configured_backend(&folder)?;
    let name = registry.choose(Asked {
        flag: backend.or(located.backend.as_deref()),
        config: config.as_deref(),
        environment: environment.backend.as_deref(),
        folder: Some(&folder),
    });
    Ok(PalaceAddress {
        backend: registry.make(&name)?,
        reference: PalaceRef::local(folder),
    })
}
