//! A strict in-memory backend: the simplest implementation of the contract, with any set of capabilities.

mod apply;
mod budget;
mod errors;
mod handle;
mod holder;
mod keys;
mod reader;
mod search;
mod sources;
mod spaces;
mod storage;
mod table;
mod upkeep;
mod worlds;

pub(crate) use search::exact_distance;
pub use worlds::ReferenceHarness;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use loci_core::{
    Backend, BackendDescriptor, BackendHealth, Capability, Collection, CollectionInfo, CollectionName,
    CreateMode, Doctor, Error, ErrorKind, MaintenanceKind, Metric, OpenOptions, PalaceFinding, PalaceId,
    PalaceRef, Result, SPEC_VERSION, SnapshotStore, SpecVersion, Visibility,
};

use errors::{another_error, closed_error, exists_error, missing_error, read_only_error};
use handle::ReferenceHandle;
use holder::ReferenceHolder;
use storage::{ReferencePlace, ReferenceStorage};
use table::ReferenceTable;

/// A callback that runs during maintenance, so that a test can observe that moment.
type MaintenanceWatcher = Arc<dyn Fn(&MaintenanceKind) + Send + Sync>;

/// A strict in-memory backend. Instances made by [`Reference::reopened`] share their storage, as processes share a disk.
pub struct Reference {
    descriptor: Arc<BackendDescriptor>,
    storage: Arc<ReferenceStorage>,
    holder: ReferenceHolder,
    closed: Arc<AtomicBool>,
    palaces: Mutex<HashMap<PalaceRef, Arc<AtomicBool>>>,
    /// The palace that this instance has found under each reference; another in its place is refused.
    seen: Mutex<HashMap<PalaceRef, ReferencePlace>>,
    watcher: Option<MaintenanceWatcher>,
}

impl Reference {
    /// The capabilities of the full reference: everything it can do in memory.
    pub const FULL: [Capability; 16] = [
        Capability::EmbeddingsPassthrough,
        Capability::EmbeddingsOut,
        Capability::AtomicBatch,
        Capability::AtomicUpdate,
        Capability::ConditionalBatch,
        Capability::RangeFilters,
        Capability::ContainsFast,
        Capability::Lexical,
        Capability::NamespaceIsolation,
        Capability::ChangeFeed,
        Capability::Local,
        Capability::Spaces,
        Capability::Sources,
        Capability::MultiProcess,
        Capability::Moment,
        Capability::Erasure,
    ];

    /// Returns a reference with all its capabilities, over empty storage.
    pub fn new() -> Self {
        Self::with_capabilities(Self::FULL)
    }

    /// Returns a reference that advertises exactly these capabilities, over empty storage.
    pub fn with_capabilities(capabilities: impl IntoIterator<Item = Capability>) -> Self {
        Self::from_descriptor(BackendDescriptor {
            name: "reference".into(),
            spec_version: SPEC_VERSION,
            capabilities: capabilities.into_iter().collect(),
            metrics: Metric::ALL.to_vec(),
            maintenance: vec![MaintenanceKind::COMPACT, MaintenanceKind::REINDEX],
        })
    }

    /// Returns a reference that advertises the same as `other`, over empty storage without a folder.
    pub fn described_like(other: &BackendDescriptor) -> Self {
        let mut descriptor = other.clone();
        descriptor.name = "reference".into();
        // The model palace has no folder of its own to live in.
        descriptor.capabilities.remove(&Capability::Local);
        Self::from_descriptor(descriptor)
    }

    /// Restricts this reference to these metrics.
    #[must_use]
    pub fn comparing_by(self, metrics: &[Metric]) -> Self {
        self.change_descriptor(|descriptor| descriptor.metrics = metrics.to_vec())
    }

    /// Restricts this reference to these kinds of maintenance.
    #[must_use]
    pub fn maintaining_only(self, kinds: &[MaintenanceKind]) -> Self {
        self.change_descriptor(|descriptor| descriptor.maintenance = kinds.to_vec())
    }

    /// Makes this reference advertise another version of the contract.
    #[must_use]
    pub fn speaking_version(self, version: SpecVersion) -> Self {
        self.change_descriptor(|descriptor| descriptor.spec_version = version)
    }

    /// Makes this reference call `watcher` while maintenance runs.
    #[must_use]
    pub fn watched_by(mut self, watcher: impl Fn(&MaintenanceKind) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Arc::new(watcher));
        self
    }

    /// Returns a new instance over the same storage, as another process would make it.
    pub fn reopened(&self) -> Self {
        Self {
            // Storage is shared, but not the closed flags and the hold on palaces: those belong to a
            // process.
            storage: Arc::clone(&self.storage),
            holder: ReferenceHolder::new(&self.storage),
            watcher: self.watcher.clone(),
            ..Self::from_descriptor(self.descriptor.as_ref().clone())
        }
    }

    /// Returns a new instance over the same storage that refuses writes.
    pub fn read_only(&self) -> Self {
        self.reopened().change_descriptor(|descriptor| {
            descriptor.capabilities.insert(Capability::ReadOnly);
            // Abilities that only write make no sense without writes.
            descriptor.capabilities.remove(&Capability::Spaces);
            descriptor.capabilities.remove(&Capability::Erasure);
            descriptor.maintenance = Vec::new();
        })
    }

    fn from_descriptor(descriptor: BackendDescriptor) -> Self {
        let storage = Arc::default();
        Self {
            descriptor: Arc::new(descriptor),
            holder: ReferenceHolder::new(&storage),
            storage,
            closed: Arc::default(),
            palaces: Mutex::default(),
            seen: Mutex::default(),
            watcher: None,
        }
    }

    fn change_descriptor(mut self, change: impl FnOnce(&mut BackendDescriptor)) -> Self {
        let mut descriptor = self.descriptor.as_ref().clone();
        change(&mut descriptor);
        self.descriptor = Arc::new(descriptor);
        self
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(closed_error("the backend \"reference\" was closed"));
        }
        Ok(())
    }

    fn find_key(&self, palace: &PalaceRef) -> Result<Option<ReferencePlace>> {
        // Ignoring a namespace would mix the drawers of tenants.
        if palace.namespace.is_some() {
            self.descriptor
                .require_capability(&Capability::NamespaceIsolation)?;
        }
        let found = self
            .storage
            .find_palace(palace, self.descriptor.has_capability(&Capability::Local))?;
        let seen = self.seen.lock().expect("no holder of this lock panics");
        match (&found, seen.get(palace)) {
            (Some(found), Some(seen)) if found != seen => Err(another_error(palace)),
            _ => Ok(found),
        }
    }

    fn require_key(&self, palace: &PalaceRef) -> Result<ReferencePlace> {
        self.find_key(palace)?
            .ok_or_else(|| missing_error("palace", &palace.id))
    }

    fn remember_key(&self, palace: &PalaceRef, key: &ReferencePlace) {
        let mut seen = self.seen.lock().expect("no holder of this lock panics");
        seen.insert(palace.clone(), key.clone());
    }

    fn has_seen(&self, palace: &PalaceRef) -> bool {
        let seen = self.seen.lock().expect("no holder of this lock panics");
        seen.contains_key(palace)
    }

    fn check_options(&self, options: &OpenOptions) -> Result<()> {
        self.descriptor.check_filter(&options.visible)?;
        match options.metric {
            Some(metric) if !self.descriptor.metrics.contains(&metric) => Err(Error::new(
                ErrorKind::Unsupported,
                format!("the backend \"reference\" does not compare by {}", metric.name()),
            )),
            _ => Ok(()),
        }
    }

    /// Returns the number of a collection, if it exists.
    fn find_number(&self, key: &ReferencePlace, collection: &CollectionName) -> Option<u64> {
        let number =
            |space: &mut storage::PalaceTables| space.tables.get(collection).map(|table| table.number);
        self.storage.with_palace(key, number).flatten()
    }

    /// Returns a handle on the collection with this number.
    fn open_handle(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        key: ReferencePlace,
        number: u64,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.remember_key(palace, &key);
        let opened = self.storage.with_palace(&key, |space| {
            let table = space.tables.get(collection);
            // The collection may have been dropped and made again since the number was read.
            let own = table.filter(|table| table.number == number);
            let table = own.ok_or_else(|| missing_error("collection", collection.as_str()))?;
            table.check_options(options)?;
            Ok::<_, Error>(table.identity())
        });
        let model = opened.ok_or_else(|| missing_error("palace", &palace.id))??;
        let handle = ReferenceHandle {
            descriptor: Arc::clone(&self.descriptor),
            storage: Arc::clone(&self.storage),
            palace: palace.clone(),
            key,
            name: collection.clone(),
            number,
            visible: Visibility::new(options.visible.clone()),
            writable: options.writable,
            declared: options.declared_embedder(&model),
            model,
            backend_closed: Arc::clone(&self.closed),
            palace_closed: self.lease_palace(palace),
            watcher: self.watcher.clone(),
        };
        // Last, so that a refused open does not take hold of the palace.
        if !self.descriptor.has_capability(&Capability::MultiProcess) {
            self.holder.hold_palace(&handle.key)?;
        }
        Ok(Arc::new(handle))
    }

    fn check_writable(&self) -> Result<()> {
        if self.descriptor.has_capability(&Capability::ReadOnly) {
            return Err(read_only_error(&self.descriptor));
        }
        Ok(())
    }

    /// Returns the flag that closes the open handles on `palace`; a palace opened again after a close gets a new one.
    fn lease_palace(&self, palace: &PalaceRef) -> Arc<AtomicBool> {
        let mut palaces = self.palaces.lock().expect("no holder of this lock panics");
        Arc::clone(palaces.entry(palace.clone()).or_default())
    }
}

impl Default for Reference {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reference")
            .field("capabilities", &self.descriptor.capabilities)
            .finish_non_exhaustive()
    }
}

impl Backend for Reference {
    fn descriptor(&self) -> &BackendDescriptor {
        &self.descriptor
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.check_open()?;
        self.check_options(options)?;
        if options.writable {
            self.check_writable()?;
        }
        let key = self.require_key(palace)?;
        let number = self.find_number(&key, collection);
        let number = number.ok_or_else(|| missing_error("collection", collection.as_str()))?;
        self.open_handle(palace, collection, key, number, options)
    }

    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.check_open()?;
        self.check_options(options)?;
        self.check_writable()?;
        // Asked before the palace is looked for: another thread may be making it right now.
        let seen = self.has_seen(palace);
        // Refuses a namespace that is not offered, before a folder is made for it.
        if self.find_key(palace)?.is_none() && seen {
            return Err(missing_error("palace", &palace.id));
        }
        let key = self
            .storage
            .make_palace(palace, self.descriptor.has_capability(&Capability::Local))?;
        // Checked and inserted under one lock: of two exclusive creations at once, one must lose.
        let number = self.storage.with_palace(&key, |space| {
            if mode == CreateMode::Exclusive && space.tables.contains_key(collection) {
                return Err(exists_error(collection));
            }
            let table = space.tables.entry(collection.clone());
            Ok(table.or_insert_with(|| ReferenceTable::new(options)).number)
        });
        let number = number.ok_or_else(|| missing_error("palace", &palace.id))??;
        let writable = OpenOptions {
            writable: true,
            ..options.clone()
        };
        self.open_handle(palace, collection, key, number, &writable)
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        self.check_open()?;
        self.check_writable()?;
        let key = self.require_key(palace)?;
        let dropped = self
            .storage
            .with_palace(&key, |space| space.tables.remove(collection));
        let dropped = dropped.flatten().map(drop);
        dropped.ok_or_else(|| missing_error("collection", collection.as_str()))
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.check_open()?;
        let lexical = self.descriptor.has_capability(&Capability::Lexical);
        let key = self.require_key(palace)?;
        self.storage
            .with_palace(&key, |space| {
                let tables = space.tables.iter();
                tables.map(|(name, table)| table.info(name, lexical)).collect()
            })
            .ok_or_else(|| missing_error("palace", &palace.id))
    }

    fn palace_id(&self, palace: &PalaceRef) -> Result<Option<PalaceId>> {
        self.check_open()?;
        let key = self.require_key(palace)?;
        Ok(Some(key.palace_id()))
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
        let seen = self.check_open().and_then(|()| {
            let Some(palace) = palace else { return Ok(()) };
            // Only looked up; a health check never creates anything.
            let key = self.find_key(palace)?;
            key.map(drop).ok_or_else(|| missing_error("palace", &palace.id))
        });
        BackendHealth {
            ok: seen.is_ok(),
            detail: seen
                .err()
                .map_or_else(|| "ready".into(), |error| error.to_string()),
        }
    }

    fn list_damage(&self, _palace: &PalaceRef) -> Vec<PalaceFinding> {
        // Memory is not damaged.
        Vec::new()
    }

    fn close_palace(&self, palace: &PalaceRef) {
        let key = self.find_key(palace).ok().flatten();
        self.seen
            .lock()
            .expect("no holder of this lock panics")
            .remove(palace);
        let mut palaces = self.palaces.lock().expect("no holder of this lock panics");
        // Removed, so that the next open gets a new flag and is not closed from the start.
        if let Some(lease) = palaces.remove(palace) {
            lease.store(true, Ordering::SeqCst);
            self.holder.release_palace(&key);
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.holder.release_all();
    }

    fn doctor(&self) -> Option<&dyn Doctor> {
        None
    }

    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::{CollectionExt, DrawerId, MaintenanceStatus, NewDrawer};

    fn open(backend: &Reference) -> Arc<dyn Collection> {
        let name = CollectionName::new("drawers").unwrap();
        let palace = PalaceRef::from_id("p");
        let (mode, options) = (CreateMode::OpenExisting, OpenOptions::for_writing());
        backend.create(&palace, &name, mode, &options).unwrap()
    }

    #[test]
    fn maintenance_started_while_it_runs_is_told_so() {
        let first = Reference::new();
        let other = open(&first.reopened());
        let seen: Arc<Mutex<Vec<MaintenanceStatus>>> = Arc::default();
        let told = Arc::clone(&seen);
        let watched = first.watched_by(move |kind| {
            assert_eq!(
                other.upkeep().unwrap().state().unwrap().running,
                std::slice::from_ref(kind)
            );
            told.lock()
                .unwrap()
                .push(other.upkeep().unwrap().run(kind).unwrap().status);
        });
        let drawers = open(&watched);
        drawers
            .add_drawer(NewDrawer::new(DrawerId::new("a").unwrap(), "text"))
            .unwrap();
        let report = drawers.upkeep().unwrap().run(&MaintenanceKind::REINDEX).unwrap();
        assert_eq!(report.status, MaintenanceStatus::Ran);
        assert_eq!(*seen.lock().unwrap(), [MaintenanceStatus::AlreadyRunning]);
        assert!(drawers.upkeep().unwrap().state().unwrap().running.is_empty());
    }

    #[test]
    fn a_reference_of_another_major_version_is_refused() {
        let other = Reference::new().speaking_version(SpecVersion { major: 3, minor: 0 });
        assert!(other.descriptor().check_version().is_err());
    }
}
