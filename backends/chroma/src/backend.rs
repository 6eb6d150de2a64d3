//! The backend `chroma`: folders of ChromaDB 0.4 to 1.5, read-only.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{
    Backend, Capability, Collection, CollectionInfo, CollectionName, CreateMode, Descriptor, Doctor, Error,
    ErrorKind, Health, Metric, OpenOptions, PalaceRef, Result, SPEC_VERSION, SnapshotStore, Visibility,
};

use crate::collection::ChromaCollection;
use crate::palace::{Palace, check_options};

/// Reads and examines folders that ChromaDB wrote. Holds nothing until a palace is opened.
#[derive(Debug)]
pub struct Chroma {
    descriptor: Descriptor,
    palaces: Mutex<HashMap<PathBuf, Arc<Palace>>>,
    closed: AtomicBool,
}

impl Chroma {
    /// The backend's name.
    pub const NAME: &'static str = "chroma";

    /// A backend that has opened nothing yet.
    pub fn new() -> Self {
        Self {
            descriptor: descriptor(),
            palaces: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    fn palaces(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Palace>>> {
        self.palaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder at `path`, shared by everybody who asks for it.
    pub(crate) fn palace(&self, path: &Path) -> Result<Arc<Palace>> {
        if self.closed.load(Ordering::SeqCst) {
            let error = Error::new(ErrorKind::Closed, "the backend \"chroma\" was closed");
            return Err(error.hint("make a new one"));
        }
        let mut palaces = self.palaces();
        let palace = palaces
            .entry(path.to_path_buf())
            .or_insert_with(|| Arc::new(Palace::new(path)));
        Ok(Arc::clone(palace))
    }

    fn named(&self, palace: &PalaceRef) -> Result<Arc<Palace>> {
        let open = self.palace(palace.folder()?)?;
        if palace.namespace.is_some() {
            self.descriptor.require(&Capability::NamespaceIsolation)?;
        }
        Ok(open)
    }
}

impl Default for Chroma {
    fn default() -> Self {
        Self::new()
    }
}

fn descriptor() -> Descriptor {
    Descriptor {
        name: Chroma::NAME.to_owned(),
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

/// The refusal of every write, with the command that moves the palace to where it can be written.
pub(crate) fn takes_no_writes(folder: &Path) -> Error {
    let message = format!(
        "the backend \"chroma\" is read_only and takes no writes: {}",
        folder.display()
    );
    Error::new(ErrorKind::Unsupported, message).hint(format!(
        "nothing was changed; move the palace with `loci migrate --from 'chroma:{}' --to NEW` and write there",
        folder.display()
    ))
}

impl Backend for Chroma {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let open = self.named(palace)?;
        let info = open.with(|loaded, folder| loaded.info(folder, collection))?;
        if options.writable {
            return Err(takes_no_writes(&open.folder));
        }
        check_options(&info, options)?;
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
        Err(takes_no_writes(&self.named(palace)?.folder))
    }

    fn drop_collection(&self, palace: &PalaceRef, _collection: &CollectionName) -> Result<()> {
        Err(takes_no_writes(&self.named(palace)?.folder))
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.named(palace)?.with(|loaded, folder| {
            let names = loaded.names();
            names.iter().map(|name| loaded.info(folder, name)).collect()
        })
    }

    fn health(&self, palace: Option<&PalaceRef>) -> Health {
        let seen = match palace {
            Some(palace) => self.named(palace).and_then(|palace| palace.with(|_, _| Ok(()))),
            None if self.closed.load(Ordering::SeqCst) => {
                Err(Error::new(ErrorKind::Closed, "the backend \"chroma\" was closed"))
            }
            None => Ok(()),
        };
        Health {
            ok: seen.is_ok(),
            detail: seen
                .err()
                .map_or_else(|| "ready".to_owned(), |error| error.to_string()),
        }
    }

    fn close_palace(&self, palace: &PalaceRef) {
        let held = palace
            .local_path
            .as_ref()
            .and_then(|path| self.palaces().remove(path));
        if let Some(held) = held {
            held.close();
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        for (_, palace) in self.palaces().drain() {
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
