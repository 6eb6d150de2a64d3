//! The embedded backend: which palaces this process has open, and what it can do with them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::{
    Backend, Capability, Collection, CollectionInfo, CollectionName, Descriptor, Error, Health,
    MaintenanceKind, Metric, OpenOptions, PalaceRef, Result, SPEC_VERSION,
};

use crate::collection::{Handle, describe};
use crate::disk;
use crate::palace::{self, Palace};
use crate::shelf::Shelf;

/// How long reads wait for a palace that is just being made.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The embedded backend: each palace is one SQLite file in a folder of its own.
///
/// Any number of processes may use a palace at once. Readers never block; writers wait for each other.
#[derive(Debug)]
pub struct Embedded {
    descriptor: Descriptor,
    base: Option<String>,
    closed: AtomicBool,
    palaces: Mutex<HashMap<PathBuf, Arc<Palace>>>,
}

impl Default for Embedded {
    fn default() -> Self {
        Self::new()
    }
}

impl Embedded {
    /// The file that is the palace, within its folder.
    pub const FILE: &'static str = "palace.db";

    /// Makes the backend; does no I/O.
    pub fn new() -> Self {
        use Capability::{
            AtomicBatch, AtomicUpdate, ChangeFeed, EmbeddingsOut, EmbeddingsPassthrough, Export, Lexical,
            Local, RangeFilters, Sources, Spaces,
        };
        let capabilities = [
            AtomicBatch,
            AtomicUpdate,
            ChangeFeed,
            EmbeddingsOut,
            EmbeddingsPassthrough,
            Export,
            Lexical,
            Local,
            RangeFilters,
            Sources,
            Spaces,
        ];
        Self {
            descriptor: Descriptor {
                name: "embedded".to_owned(),
                spec_version: SPEC_VERSION,
                capabilities: BTreeSet::from(capabilities),
                metrics: Metric::ALL.to_vec(),
                maintenance: vec![
                    MaintenanceKind::ANALYZE,
                    MaintenanceKind::COMPACT,
                    MaintenanceKind::REINDEX,
                ],
            },
            base: None,
            closed: AtomicBool::new(false),
            palaces: Mutex::default(),
        }
    }

    /// The same backend over another virtual file system of SQLite's, by name; tests record and cut I/O there.
    pub fn over(base: impl Into<String>) -> Self {
        Self {
            base: Some(base.into()),
            ..Self::new()
        }
    }

    /// Whether the folder at `path` holds an embedded palace.
    pub fn detect(path: &Path) -> bool {
        path.join(Self::FILE).is_file()
    }

    fn palaces(&self) -> MutexGuard<'_, HashMap<PathBuf, Arc<Palace>>> {
        self.palaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The palace in a folder; `create` makes the folder first.
    pub(crate) fn palace(&self, palace: &PalaceRef, create: bool) -> Result<Arc<Palace>> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(palace::closed());
        }
        if let Some(namespace) = &palace.namespace {
            return Err(self
                .descriptor
                .require(&Capability::NamespaceIsolation)
                .map_or_else(
                    |error| {
                        error
                            .with("namespace", namespace)
                            .hint("leave the namespace out, or use another backend")
                    },
                    |()| Error::invalid("namespaces are not kept apart here"),
                ));
        }
        let path = palace.folder()?;
        if create && !path.is_file() {
            disk::make_folder(path)?;
        }
        let file = file_of(path);
        if !create && !file.is_file() {
            return Err(palace::missing(&file));
        }
        disk::refuse_network(file.parent().unwrap_or(path))?;
        let fresh = || Arc::new(Palace::new(file.clone(), self.base.clone()));
        Ok(Arc::clone(
            self.palaces().entry(file.clone()).or_insert_with(fresh),
        ))
    }
}

/// The file of the palace at `path`: in its folder, or `path` itself where that is a file, such as a backup.
fn file_of(path: &Path) -> PathBuf {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if real.is_file() {
        real
    } else {
        real.join(Embedded::FILE)
    }
}

impl Backend for Embedded {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        how: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let palace = self.palace(palace, how.create)?;
        if how.create {
            drop(palace.lease(true, how.wait)?);
        }
        let found = palace.read(how.wait, |transaction| Shelf::find(transaction, collection));
        let shelf = match found {
            Err(error) if how.create && error.kind() == loci_core::ErrorKind::NotFound => palace
                .write(how.wait, |transaction| {
                    Shelf::ensure(transaction, collection, how)
                })?,
            found => found?,
        };
        shelf.check_options(how)?;
        Ok(Arc::new(Handle::new(
            palace,
            collection.clone(),
            how.declared(),
            how.wait,
        )))
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        let palace = self.palace(palace, false)?;
        palace.read(PATIENCE, |transaction| {
            let shelves = Shelf::all(transaction)?;
            shelves
                .iter()
                .map(|shelf| describe(transaction, &palace, shelf))
                .collect()
        })
    }

    fn health(&self, palace: Option<&PalaceRef>) -> Health {
        let looked = match palace {
            None if self.closed.load(Ordering::SeqCst) => Err(palace::closed()),
            None => Ok("ready".to_owned()),
            Some(palace) => self
                .collections(palace)
                .map(|all| format!("{} collections", all.len())),
        };
        match looked {
            Ok(detail) => Health { ok: true, detail },
            Err(error) => Health {
                ok: false,
                detail: error.to_string(),
            },
        }
    }

    fn close_palace(&self, palace: &PalaceRef) {
        let Ok(path) = palace.folder() else { return };
        if let Some(palace) = self.palaces().remove(&file_of(path)) {
            palace.close();
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        for (_, palace) in self.palaces().drain() {
            palace.close();
        }
    }
}
