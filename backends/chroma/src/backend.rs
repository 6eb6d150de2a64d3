//! The backend `chroma`: a read-only view of folders that ChromaDB 0.4 to 1.5 wrote.

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

use crate::palace::ChromaPalace;

/// Reads and examines folders that ChromaDB wrote. Nothing is opened before a palace is asked for.
#[derive(Debug)]
pub struct ChromaBackend {
    descriptor: BackendDescriptor,
    palaces: OpenedFolders<ChromaPalace>,
    installation: Arc<MempalaceInstallation>,
}

impl ChromaBackend {
    /// The name of the backend.
    pub const NAME: &'static str = "chroma";

    /// Creates a backend with no open palace, which looks for MemPalace's files around palaces only.
    pub fn new() -> Self {
        Self::with_installation(MempalaceInstallation::default())
    }

    /// Creates a backend with no open palace, which also looks for MemPalace's files where this installation has them.
    pub fn with_installation(installation: MempalaceInstallation) -> Self {
        Self {
            installation: Arc::new(installation),
            descriptor: build_descriptor(),
            palaces: OpenedFolders::new(Self::NAME),
        }
    }

    /// Returns the handle of the folder at `path`, shared by all callers.
    pub(crate) fn open_palace(&self, path: &Path) -> Result<Arc<ChromaPalace>> {
        self.palaces.open_folder(path, || {
            ChromaPalace::with_installation(path, Arc::clone(&self.installation))
        })
    }

    fn resolve_palace(&self, palace: &PalaceRef) -> Result<Arc<ChromaPalace>> {
        let open = self.open_palace(palace.require_folder()?)?;
        // Chroma's databases and tenants are not namespaces:
        // each of their collections gets a name of its own.
        if palace.namespace.is_some() {
            self.descriptor
                .require_capability(&Capability::NamespaceIsolation)?;
        }
        Ok(open)
    }
}

impl Default for ChromaBackend {
    fn default() -> Self {
        Self::new()
    }
}

fn build_descriptor() -> BackendDescriptor {
    BackendDescriptor {
        name: ChromaBackend::NAME.to_owned(),
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
        metrics: Metric::ALL.to_vec(),
        maintenance: Vec::new(),
    }
}

/// Creates the error for every write, with the command that moves the palace to a writable backend.
pub(crate) fn refuse_write(folder: &Path) -> Error {
    let message = format!(
        "the backend \"chroma\" is read_only and refuses writes: {}",
        folder.display()
    );
    Error::new(ErrorKind::Unsupported, message).with_hint(format!(
        "nothing was changed; move the palace with `loci migrate --from 'chroma:{}' --to NEW` and write there",
        folder.display()
    ))
}

impl Backend for ChromaBackend {
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
        self.resolve_palace(palace)?.with_loaded(|loaded, folder| {
            let names = loaded.collection_names();
            names
                .iter()
                .map(|name| loaded.collection_info(folder, name))
                .collect()
        })
    }

    fn palace_id(&self, _palace: &PalaceRef) -> Result<Option<PalaceId>> {
        Ok(None)
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
        let seen = match palace {
            Some(palace) => self
                .resolve_palace(palace)
                .and_then(|palace| palace.with_loaded(|_, _| Ok(()))),
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
