//! The backend `sqlite_exact`: a read-only view of MemPalace's palaces in one SQLite file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use loci_core::{
    Backend, BackendDescriptor, BackendHealth, Capability, Collection, CollectionInfo, CollectionName,
    CreateMode, Doctor, Error, ErrorKind, Metric, OpenOptions, PalaceFinding, PalaceId, PalaceRef, Result,
    SPEC_VERSION, SnapshotStore,
};
use loci_foreign::mempalace::MempalaceInstallation;
use loci_foreign::scan::{OpenedFolders, ScannedCollection};

use crate::palace::ExactPalace;

/// Reads and examines `sqlite_exact` palaces. Nothing is opened before a palace is asked for.
#[derive(Debug)]
pub struct ExactBackend {
    descriptor: BackendDescriptor,
    palaces: OpenedFolders<ExactPalace>,
    installation: Arc<MempalaceInstallation>,
}

impl ExactBackend {
    /// The name of the backend, as MemPalace calls it.
    pub const NAME: &'static str = "sqlite_exact";

    /// Creates a backend with no open palace, which also looks for MemPalace's files where this installation has them.
    pub fn with_installation(installation: MempalaceInstallation) -> Self {
        Self {
            descriptor: build_descriptor(),
            palaces: OpenedFolders::new(Self::NAME),
            installation: Arc::new(installation),
        }
    }

    /// Returns the handle of the folder at `path`, shared by all callers.
    pub(crate) fn open_palace(&self, path: &Path) -> Result<Arc<ExactPalace>> {
        self.palaces
            .open_folder(path, || ExactPalace::new(path, Arc::clone(&self.installation)))
    }

    fn resolve_palace(&self, palace: &PalaceRef) -> Result<Arc<ExactPalace>> {
        let open = self.open_palace(palace.require_folder()?)?;
        if palace.namespace.is_some() {
            self.descriptor
                .require_capability(&Capability::NamespaceIsolation)?;
        }
        Ok(open)
    }
}

fn build_descriptor() -> BackendDescriptor {
    BackendDescriptor {
        name: ExactBackend::NAME.to_owned(),
        spec_version: SPEC_VERSION,
        capabilities: BTreeSet::from([
            Capability::EmbeddingsPassthrough,
            Capability::EmbeddingsOut,
            Capability::RangeFilters,
            Capability::Lexical,
            Capability::Export,
            Capability::Local,
            Capability::ReadOnly,
            Capability::MultiProcess,
        ]),
        // MemPalace compares by the cosine whatever the model.
        metrics: vec![Metric::Cosine],
        maintenance: Vec::new(),
    }
}

/// Creates the error for every write, with the command that moves the palace to a writable backend.
pub(crate) fn refuse_write(folder: &Path) -> Error {
    let folder = folder.display();
    let message = format!("the backend \"sqlite_exact\" is read_only and refuses writes: {folder}");
    Error::new(ErrorKind::Unsupported, message).with_hint(format!(
        "nothing was changed; move the palace with `loci migrate --from 'sqlite_exact:{folder}' --to NEW` and write there"
    ))
}

impl Backend for ExactBackend {
    fn descriptor(&self) -> &BackendDescriptor {
        &self.descriptor
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let open = self.resolve_palace(palace)?;
        Ok(Arc::new(ScannedCollection::open(open, collection, options)?))
    }

    fn create(
        &self,
        palace: &PalaceRef,
        _collection: &CollectionName,
        _mode: CreateMode,
        _options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        Err(refuse_write(&self.resolve_palace(palace)?.folder))
    }

    fn drop_collection(&self, palace: &PalaceRef, _collection: &CollectionName) -> Result<()> {
        Err(refuse_write(&self.resolve_palace(palace)?.folder))
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.resolve_palace(palace)?.with_loaded(|loaded| {
            let names = loaded.collection_names();
            names.iter().map(|name| loaded.collection_info(name)).collect()
        })
    }

    fn palace_id(&self, _palace: &PalaceRef) -> Result<Option<PalaceId>> {
        Ok(None)
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
        let seen = match palace {
            Some(palace) => self
                .resolve_palace(palace)
                .and_then(|palace| palace.with_loaded(|_| Ok(()))),
            None => self.palaces.check_open(),
        };
        BackendHealth {
            ok: seen.is_ok(),
            detail: seen
                .err()
                .map_or_else(|| "ready".to_owned(), |error| error.to_string()),
        }
    }

    fn list_damage(&self, palace: &PalaceRef) -> Vec<PalaceFinding> {
        let held = self.palaces.find_open(palace);
        held.map(|held| held.list_damage()).unwrap_or_default()
    }

    fn close_palace(&self, palace: &PalaceRef) {
        if let Some(held) = self.palaces.take_open(palace) {
            held.close();
        }
    }

    fn close(&self) {
        // Collections that callers still hold share these handles and must fail as closed, too.
        for palace in self.palaces.close() {
            palace.close();
        }
    }

    fn doctor(&self) -> Option<&dyn Doctor> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        None
    }
}
