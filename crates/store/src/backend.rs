//! The embedded backend: the palaces this process has open, and the operations on whole palaces.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::{
    Backend, BackendDescriptor, BackendHealth, Capability, Collection, CollectionInfo, CollectionName,
    CreateMode, Doctor, Error, ErrorKind, MaintenanceKind, Metric, OpenOptions, PalaceFinding, PalaceId,
    PalaceRef, Result, SPEC_VERSION, SnapshotStore,
};

use crate::collection::CollectionHandle;
use crate::deadline::CallLimits;
use crate::palace::{self, AbsentPalace, PalaceFile};
use crate::shelf::CollectionShelf;
use crate::view::describe_collection;
use crate::{clock, disk, peek, schema, vfs};

/// The longest wait for a palace that another process is creating or writing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The embedded backend: each palace is one SQLite file in its own folder.
///
/// Any number of processes may use a palace at once. Readers never block; writers wait for each other.
#[derive(Debug)]
pub struct EmbeddedBackend {
    descriptor: BackendDescriptor,
    base: Option<String>,
    groups_writes: bool,
    closed: AtomicBool,
    palaces: Mutex<OpenPalaces>,
}

/// The palaces this process has open.
#[derive(Debug, Default)]
struct OpenPalaces {
    /// By the file, without links: one entry for each, however often it is opened.
    files: HashMap<PathBuf, Arc<PalaceFile>>,
    /// The same by the path that the caller gave, which may lead elsewhere later.
    given: HashMap<PathBuf, Arc<PalaceFile>>,
}

impl Default for EmbeddedBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl EmbeddedBackend {
    /// The file that is the palace, within its folder.
    pub const FILE: &'static str = "palace.db";

    /// Creates the backend; does no I/O.
    pub fn new() -> Self {
        use Capability::{
            AtomicBatch, AtomicUpdate, ChangeFeed, ConditionalBatch, EmbeddingsOut, EmbeddingsPassthrough,
            Erasure, Export, Lexical, Local, Moment, MultiProcess, RangeFilters, Sources, Spaces,
        };
        let capabilities = [
            AtomicBatch,
            AtomicUpdate,
            ChangeFeed,
            ConditionalBatch,
            EmbeddingsOut,
            EmbeddingsPassthrough,
            Erasure,
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
            descriptor: BackendDescriptor {
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
            groups_writes: false,
            closed: AtomicBool::new(false),
            palaces: Mutex::default(),
        }
    }

    /// Creates the backend over another SQLite VFS, by name. Tests use it to record and interrupt I/O.
    pub fn over_vfs(base: impl Into<String>) -> Self {
        Self {
            base: Some(base.into()),
            ..Self::new()
        }
    }

    /// Commits batches together that threads of this process apply at the same time, so that they share the wait for the
    /// disk. Each batch still succeeds or fails by itself. A call with a time budget is committed by itself, and so is
    /// any other write than a batch.
    #[must_use]
    pub fn grouping_writes(self) -> Self {
        Self {
            groups_writes: true,
            ..self
        }
    }

    /// Returns how often this process has waited for the disk to store what it wrote to palaces.
    pub fn count_syncs() -> u64 {
        vfs::count_syncs()
    }

    /// Returns the name of the VFS under the page checksums, if it is not SQLite's own.
    pub(crate) fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// Returns whether the folder at `path` holds an embedded palace.
    pub fn detect(path: &Path) -> bool {
        path.join(Self::FILE).is_file()
    }

    fn lock_palaces(&self) -> MutexGuard<'_, OpenPalaces> {
        self.palaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes this process's idle connections to a file that is about to be put in place.
    pub(crate) fn release_file(&self, file: &Path) {
        let real = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        let palaces = self.lock_palaces();
        for (path, palace) in &palaces.files {
            if *path == file || *path == real {
                palace.part_with_connections();
            }
        }
    }

    /// Returns the palace in a folder; `create` makes the folder first.
    pub(crate) fn open_palace(&self, palace: &PalaceRef, create: bool) -> Result<Arc<PalaceFile>> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(palace::closed_error());
        }
        if let Some(namespace) = &palace.namespace {
            return Err(self
                .descriptor
                .require_capability(&Capability::NamespaceIsolation)
                .map_or_else(
                    |error| {
                        error
                            .with_context("namespace", namespace)
                            .with_hint("leave the namespace out, or use another backend")
                    },
                    |()| Error::invalid("the embedded backend does not isolate namespaces"),
                ));
        }
        // A path that is a file is a palace by itself, such as a backup, so no folder is made in its place.
        let path = palace.require_folder()?;
        let known = self.lock_palaces().given.get(path).cloned();
        if create && !path.is_file() {
            // A folder that was moved away is not made anew: the palace in it is elsewhere, not gone.
            if let Some(known) = &known
                && !known.file().is_file()
            {
                known.refuse_vanished(AbsentPalace::Create)?;
            }
            disk::make_folder(path)?;
        }
        let file = palace_file(path);
        if !create && !file.is_file() {
            return Err(palace::missing_palace_error(&file));
        }
        // Checked before SQLite touches anything: its shared log relies on coherent memory maps and byte locks,
        // which network file systems do not provide.
        disk::refuse_network(file.parent().unwrap_or(path))?;
        // One entry for each file, so that its readers share one pool of connections and its writers one queue.
        let fresh = || {
            let palace = PalaceFile::new(file.clone(), self.base.clone());
            Arc::new(if self.groups_writes {
                palace.grouping_writes()
            } else {
                palace
            })
        };
        let mut palaces = self.lock_palaces();
        let palace = Arc::clone(palaces.files.entry(file.clone()).or_insert_with(fresh));
        // A link that leads elsewhere now must lead to the same palace.
        if let Some(id) = known.and_then(|known| known.known_identity()) {
            palace.expect_identity(id);
        }
        palaces.given.insert(path.to_path_buf(), Arc::clone(&palace));
        Ok(palace)
    }
}

/// Returns the file of the palace at `path`: in its folder, or `path` itself if that is a file, such as a backup.
fn palace_file(path: &Path) -> PathBuf {
    // Two spellings of a path must share one entry in `palaces`; a path that does not exist yet stays as given.
    let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    if real.is_file() {
        real
    } else {
        real.join(EmbeddedBackend::FILE)
    }
}

impl Backend for EmbeddedBackend {
    fn descriptor(&self) -> &BackendDescriptor {
        &self.descriptor
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let palace = self.open_palace(palace, false)?;
        let limits = CallLimits::new(options.wait, None);
        let (generation, shelf) = palace.read_within(limits, |opened| {
            let shelf = CollectionShelf::find(opened.connection, collection)?;
            shelf.check_options(options)?;
            Ok((opened.generation, shelf))
        })?;
        Ok(Arc::new(CollectionHandle::new(
            palace, generation, &shelf, options,
        )))
    }

    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        // The handle that `create` returns can always write, whether or not the caller asked for it.
        let options = &OpenOptions {
            writable: true,
            ..options.clone()
        };
        let palace = self.open_palace(palace, true)?;
        let limits = CallLimits::new(options.wait, None);
        let take = |found: CollectionShelf| match mode {
            CreateMode::Exclusive => Err(exists_error(collection)),
            CreateMode::OpenExisting => found.check_options(options).map(|()| found),
        };
        // A collection that already exists, the usual case, is found without taking the write lock.
        let there = palace.make_and_read(limits, |opened| {
            let found = CollectionShelf::look_up(opened.connection, collection)?.map(take);
            Ok(found.transpose()?.map(|shelf| (opened.generation, shelf)))
        })?;
        let (generation, shelf) = match there {
            Some(there) => there,
            // Decided again within the lock: another process may create it at the same moment.
            None => palace.write_within(limits, |transaction, generation| {
                let shelf = match CollectionShelf::look_up(transaction, collection)? {
                    Some(found) => take(found)?,
                    None => CollectionShelf::create(transaction, collection, options)?,
                };
                shelf.check_options(options).map(|()| (generation, shelf))
            })?,
        };
        Ok(Arc::new(CollectionHandle::new(
            palace, generation, &shelf, options,
        )))
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        let palace = self.open_palace(palace, false)?;
        let dropped = palace.write(PATIENCE, |transaction| {
            let shelf = CollectionShelf::find(transaction, collection)?;
            shelf.drop_collection(transaction)?;
            let text = format!(
                "dropped the collection {:?} with {} drawers",
                collection.as_str(),
                shelf.drawers
            );
            schema::add_note(transaction, clock::now(), &text)
        });
        dropped.map_err(Error::from)
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        let palace = self.open_palace(palace, false)?;
        palace.read(PATIENCE, |connection| {
            let shelves = CollectionShelf::list_all(connection)?;
            shelves
                .iter()
                .map(|shelf| describe_collection(connection, &palace, shelf))
                .collect()
        })
    }

    fn palace_id(&self, palace: &PalaceRef) -> Result<Option<PalaceId>> {
        // Not through the pool, whose first connection would bring a file of an earlier format up to date: asking a
        // backup whose it is must leave it as it is.
        let opened = self.open_palace(palace, false)?;
        let id = match opened.known_identity() {
            Some(id) => id,
            None => peek::read_id(opened.file(), self.base())?,
        };
        Ok(Some(PalaceId(id)))
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
        let looked = match palace {
            None if self.closed.load(Ordering::SeqCst) => Err(palace::closed_error()),
            None => Ok("ready".to_owned()),
            Some(palace) => self
                .collections(palace)
                .map(|all| loci_core::format_count(all.len() as u64, "collection")),
        };
        match looked {
            Ok(detail) => BackendHealth { ok: true, detail },
            Err(error) => BackendHealth {
                ok: false,
                detail: error.to_string(),
            },
        }
    }

    fn list_damage(&self, palace: &PalaceRef) -> Vec<PalaceFinding> {
        let file = palace.local_path.as_deref().map(palace_file);
        let held = file.and_then(|file| self.lock_palaces().files.get(&file).cloned());
        held.map(|held| held.list_damage()).unwrap_or_default()
    }

    fn close_palace(&self, palace: &PalaceRef) {
        let Ok(path) = palace.require_folder() else { return };
        let mut palaces = self.lock_palaces();
        let given = palaces.given.remove(path);
        let file = given.map_or_else(|| palace_file(path), |palace| palace.file().to_path_buf());
        if let Some(palace) = palaces.files.remove(&file) {
            palace.close();
        }
        palaces.given.retain(|_, palace| palace.file() != file);
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        for palace in std::mem::take(&mut *self.lock_palaces()).files.into_values() {
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

fn exists_error(collection: &CollectionName) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the palace already has a collection {:?}", collection.as_str()),
    )
    .with_hint("it was not changed; open it, or choose another name")
}
