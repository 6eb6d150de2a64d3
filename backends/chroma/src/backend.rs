//! The backend `chroma`: a read-only view of folders that ChromaDB 0.4 to 1.5 wrote.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{
    Backend, BackendDescriptor, BackendHealth, Capability, Collection, CollectionInfo, CollectionName,
    CreateMode, Doctor, Error, ErrorKind, Metric, OpenOptions, PalaceFinding, PalaceId, PalaceRef, Result,
    SPEC_VERSION, SnapshotStore, Visibility,
};
use loci_foreign::check_open_options;
use loci_foreign::mempalace::MempalaceInstallation;

use crate::collection::ChromaCollection;
use crate::palace::ChromaPalace;

/// Reads and examines folders that ChromaDB wrote. Nothing is opened before a palace is asked for.
#[derive(Debug)]
pub struct ChromaBackend {
    descriptor: BackendDescriptor,
    palaces: Mutex<HashMap<PathBuf, Arc<ChromaPalace>>>,
    closed: AtomicBool,
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
            palaces: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    fn lock_palaces(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<ChromaPalace>>> {
        // The map only caches handles, so a panic while it was locked leaves nothing inconsistent.
        self.palaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the handle of the folder at `path`, shared by all callers.
    pub(crate) fn open_palace(&self, path: &Path) -> Result<Arc<ChromaPalace>> {
        if self.closed.load(Ordering::SeqCst) {
            let error = Error::new(ErrorKind::Closed, "the backend \"chroma\" was closed");
            return Err(error.with_hint("make a new one"));
        }
        // One handle for each folder, so that all its collections share the rows that were read.
        let mut palaces = self.lock_palaces();
        let palace = palaces.entry(path.to_path_buf()).or_insert_with(|| {
            Arc::new(ChromaPalace::with_installation(
                path,
                Arc::clone(&self.installation),
            ))
        });
        Ok(Arc::clone(palace))
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
        // Existence is checked before writability, so that a misspelled name is reported as such.
        let info = open.with_loaded(|loaded, folder| loaded.collection_info(folder, collection))?;
        if options.writable {
            return Err(refuse_write(&open.folder));
        }
        check_open_options(&info, options)?;
        Ok(Arc::new(ChromaCollection {
            palace: open,
            name: collection.clone(),
            visible: Visibility::new(options.visible.clone()),
            model: info.identity,
        }))
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
            None if self.closed.load(Ordering::SeqCst) => {
                Err(Error::new(ErrorKind::Closed, "the backend \"chroma\" was closed"))
            }
            None => Ok(()),
        };
        BackendHealth {
            ok: seen.is_ok(),
            detail: seen
                .err()
                .map_or_else(|| "ready".to_owned(), |error| error.to_string()),
        }
    }

    fn list_damage(&self, palace: &PalaceRef) -> Vec<PalaceFinding> {
        let held = palace
            .local_path
            .as_ref()
            .and_then(|path| self.lock_palaces().get(path).cloned());
        held.map(|held| held.list_damage()).unwrap_or_default()
    }

    fn close_palace(&self, palace: &PalaceRef) {
        let held = palace
            .local_path
            .as_ref()
            .and_then(|path| self.lock_palaces().remove(path));
        if let Some(held) = held {
            held.close();
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        // Collections that callers still hold share these handles and must fail as closed, too.
        for (_, palace) in self.lock_palaces().drain() {
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
