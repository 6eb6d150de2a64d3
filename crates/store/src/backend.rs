//! The embedded backend: which palaces this process has open, and what it can do with them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::{
    Backend, Capability, Collection, CollectionInfo, CollectionName, CreateMode, Descriptor, Doctor, Error,
    ErrorKind, Health, MaintenanceKind, Metric, OpenOptions, PalaceRef, Result, SPEC_VERSION, SnapshotStore,
};

use crate::collection::Handle;
use crate::deadline::CallLimits;
use crate::palace::{self, PageSpread, Palace};
use crate::shelf::Shelf;
use crate::view::describe;
use crate::{clock, disk, schema};

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
            Local, Moment, MultiProcess, RangeFilters, Sources, Spaces,
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
            Moment,
            MultiProcess,
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
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let palace = self.palace(palace, false)?;
        let limits = CallLimits::new(options.wait, None);
        let (generation, shelf) = palace.read_within(limits, PageSpread::Near, |opened| {
            let shelf = Shelf::find(opened.connection, collection)?;
            shelf.check_options(options)?;
            Ok((opened.generation, shelf))
        })?;
        Ok(Arc::new(Handle::new(palace, generation, &shelf, options)))
    }

    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let options = &OpenOptions {
            writable: true,
            ..options.clone()
        };
        let palace = self.palace(palace, true)?;
        let limits = CallLimits::new(options.wait, None);
        let take = |found: Shelf| match mode {
            CreateMode::Exclusive => Err(exists(collection)),
            CreateMode::OpenExisting => found.check_options(options).map(|()| found),
        };
        let there = palace.make_and_read(limits, |opened| {
            let found = Shelf::look(opened.connection, collection)?.map(take);
            Ok(found.transpose()?.map(|shelf| (opened.generation, shelf)))
        })?;
        let (generation, shelf) = match there {
            Some(there) => there,
            // Whether it is there is decided within the lock: another process may make it at the same moment.
            None => palace.write_within(limits, |transaction, generation| {
                let shelf = match Shelf::look(transaction, collection)? {
                    Some(found) => take(found)?,
                    None => Shelf::make(transaction, collection, options)?,
                };
                shelf.check_options(options).map(|()| (generation, shelf))
            })?,
        };
        Ok(Arc::new(Handle::new(palace, generation, &shelf, options)))
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        let palace = self.palace(palace, false)?;
        let dropped = palace.write(PATIENCE, |transaction| {
            let shelf = Shelf::find(transaction, collection)?;
            shelf.drop_all(transaction)?;
            let text = format!(
                "dropped the collection {:?} with {} drawers",
                collection.as_str(),
                shelf.drawers
            );
            schema::note(transaction, clock::now(), &text)
        });
        dropped.map_err(Error::from)
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        let palace = self.palace(palace, false)?;
        palace.read(PATIENCE, |connection| {
            let shelves = Shelf::all(connection)?;
            shelves
                .iter()
                .map(|shelf| describe(connection, &palace, shelf))
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

    fn doctor(&self) -> Option<&dyn Doctor> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        Some(self)
    }
}

fn exists(collection: &CollectionName) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the palace has a collection {:?} already", collection.as_str()),
    )
    .hint("it was left unchanged; open it, or choose another name")
}
