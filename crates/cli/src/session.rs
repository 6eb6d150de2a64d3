//! One run of a command: its arguments, its environment, and the palace it works on.

use std::ffi::OsStr;
use std::sync::Arc;

use loci_core::{Error, FilingDoor, PalaceRef, Result};
use loci_engine::keys::KeyFolder;
use loci_engine::{Palace, PalaceAddress};

use crate::args::GlobalArgs;
use crate::embedders::InstalledEmbedders;
use crate::environment::{ProcessEnvironment, now};
use crate::opened::OpenedPalaces;
use crate::output::TerminalOutput;
use crate::palace::{self, PalaceLocation, PalacePlace, configured_backend, locate_palace};
use crate::registry::{BackendRegistry, BackendSources};
use crate::tool_folders::list_transcript_folders;

/// One run of a command.
pub(crate) struct CommandSession {
    /// The arguments every command shares.
    pub(crate) globals: GlobalArgs,
    /// The backends of this build.
    pub(crate) registry: BackendRegistry,
    /// The embedders of this machine.
    pub(crate) embedders: Arc<InstalledEmbedders>,
    /// Standard output and standard error.
    pub(crate) out: TerminalOutput,
    /// The palaces that the command has located so far.
    pub(crate) opened: OpenedPalaces,
    environment: ProcessEnvironment,
}

impl CommandSession {
    /// Begins a run.
    pub(crate) fn new(globals: GlobalArgs, environment: ProcessEnvironment, mut out: TerminalOutput) -> Self {
        let opened = OpenedPalaces::default();
        out.tell_damage_of(opened.clone());
        Self {
            opened,
            globals,
            registry: BackendRegistry::standard(&environment.mempalace).with_plugins(&environment.plugins),
            embedders: Arc::new(InstalledEmbedders::new(&environment)),
            out,
            environment,
        }
    }

    /// Copies of the global arguments and the environment.
    pub(crate) fn origin(&self) -> (GlobalArgs, ProcessEnvironment) {
        (self.globals.clone(), self.environment.clone())
    }

    /// The environment.
    pub(crate) fn environment(&self) -> &ProcessEnvironment {
        &self.environment
    }

    /// The location of the palace that the arguments mean, whether it exists or not.
    pub(crate) fn location(&self) -> Result<PalaceLocation> {
        self.locate(self.globals.palace.as_deref())
    }

    /// The location that `reference` means; without one that of the environment or the default.
    pub(crate) fn locate(&self, reference: Option<&OsStr>) -> Result<PalaceLocation> {
        locate_palace(reference, &self.environment, &self.registry)
    }

    /// The palace and collection that the arguments mean. Creates nothing.
    pub(crate) fn open_palace(&self) -> Result<Palace> {
        let address = self.find_address(self.globals.palace.as_deref(), None)?;
        Ok(self.palace_at(address))
    }

    /// The palace at an address, with the collection that the arguments mean.
    pub(crate) fn palace_at(&self, address: PalaceAddress) -> Palace {
        // Drawers filed from here are marked as coming from a terminal; hooks and servers mark theirs.
        let palace = Palace::new(address, self.embedders.clone(), now)
            .in_collection(self.globals.collection.clone())
            .entering_through(FilingDoor::Terminal);
        self.furnish_palace(palace)
    }

    /// The palace that the arguments mean, located at the first use: a server may start before its palace exists.
    pub(crate) fn palace_when_needed(&self) -> Palace {
        let (globals, environment) = self.origin();
        let find = move || {
            // A registry of its own: the closure may outlive this session, on the thread of a server.
            let registry =
                BackendRegistry::standard(&environment.mempalace).with_plugins(&environment.plugins);
            find_address(globals.palace.as_deref(), None, &environment, &registry)
        };
        let palace = Palace::with_locator(find, self.embedders.clone(), now)
            .in_collection(self.globals.collection.clone());
        self.furnish_palace(palace)
    }

    /// Gives a palace the folders of this user: those in which tools keep transcripts, and the one of keys. A user
    /// without a home folder has none.
    fn furnish_palace(&self, palace: Palace) -> Palace {
        let palace = palace.with_transcript_folders(list_transcript_folders());
        match &self.environment.keys {
            Some(folder) => palace.with_keys(KeyFolder::new(folder)),
            None => palace,
        }
    }

    /// Adds the palaces that exist to the hint of an error for a missing one.
    pub(crate) fn name_existing_palaces(&self, error: Error) -> Error {
        palace::name_existing_palaces(error, &self.environment, &self.registry)
    }

    /// The address that `reference` means, with this backend if one is named.
    pub(crate) fn find_address(
        &self,
        reference: Option<&OsStr>,
        backend: Option<&str>,
    ) -> Result<PalaceAddress> {
        let address = find_address(reference, backend, &self.environment, &self.registry)?;
        self.opened.add(&address);
        Ok(address)
    }
}

/// The address that `reference` means in this environment, with this backend if one is named.
pub(crate) fn find_address(
    reference: Option<&OsStr>,
    backend: Option<&str>,
    environment: &ProcessEnvironment,
    registry: &BackendRegistry,
) -> Result<PalaceAddress> {
    let located = locate_palace(reference, environment, registry)?;
    if let (Some(one), Some(other)) = (backend, located.backend.as_deref())
        && one != other
    {
        return Err(
            Error::invalid(format!("the backend is named twice: {one:?} and {other:?}"))
                .with_hint("nothing was changed; name it once, by --backend or before the colon"),
        );
    }
    let folder = match &located.place {
        PalacePlace::Folder(folder) => folder.clone(),
        PalacePlace::Server(url) => return registry.find_server_palace(url.as_given()),
    };
    // A backup is a single file; opened as a palace in place it would no longer be the backup.
    if folder.exists() && !folder.is_dir() {
        return Err(
            Error::invalid(format!("{} is a file; a palace is a folder", folder.display()))
                .with_hint("name another place with --palace; restore a backup with `loci restore FILE`"),
        );
    }
    // Read before the backend is chosen: a config that cannot be read must not fall back to the default backend.
    let config = configured_backend(&folder)?;
    let name = registry.choose_backend(BackendSources {
        flag: backend.or(located.backend.as_deref()),
        config: config.as_deref(),
        environment: environment.backend.as_deref(),
        folder: Some(&folder),
    });
    Ok(PalaceAddress {
        backend: registry.make_backend(&name)?,
        reference: PalaceRef::local(folder),
    })
}
