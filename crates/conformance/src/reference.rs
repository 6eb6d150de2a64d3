//! A strict in-memory backend: the contract in its plainest form, with any set of capabilities.

mod apply;
mod budget;
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

pub(crate) use search::distance;
pub use worlds::ReferenceHarness;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use loci_core::{
    Backend, Capability, Collection, CollectionInfo, CollectionName, CreateMode, Descriptor, Doctor, Error,
    ErrorKind, Health, MaintenanceKind, Metric, OpenOptions, PalaceRef, Result, SPEC_VERSION, SnapshotStore,
    SpecVersion, Visibility,
};

use handle::Handle;
use holder::Holder;
use storage::{SpaceKey, Storage};
use table::Table;

/// Called while maintenance runs, so that a test can look at that moment.
type Watcher = Arc<dyn Fn(&MaintenanceKind) + Send + Sync>;

/// A strict in-memory backend. Instances made by [`Reference::again`] share their storage, as processes share a disk.
pub struct Reference {
    descriptor: Arc<Descriptor>,
    storage: Arc<Storage>,
    holder: Holder,
    closed: Arc<AtomicBool>,
    palaces: Mutex<HashMap<PalaceRef, Arc<AtomicBool>>>,
    watcher: Option<Watcher>,
}

impl Reference {
    /// What the full reference advertises: everything it can do in memory.
    pub const FULL: [Capability; 15] = [
        Capability::EmbeddingsPassthrough,
        Capability::EmbeddingsOut,
        Capability::AtomicBatch,
        Capability::AtomicUpdate,
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

    /// A reference with every capability it has, over empty storage.
    pub fn new() -> Self {
        Self::with(Self::FULL)
    }

    /// A reference that advertises just these capabilities, over empty storage.
    pub fn with(capabilities: impl IntoIterator<Item = Capability>) -> Self {
        Self::described(Descriptor {
            name: "reference".into(),
            spec_version: SPEC_VERSION,
            capabilities: capabilities.into_iter().collect(),
            metrics: Metric::ALL.to_vec(),
            maintenance: vec![MaintenanceKind::COMPACT, MaintenanceKind::REINDEX],
        })
    }

    /// A reference that advertises what `other` does, over empty storage that is not in any folder.
    pub fn like(other: &Descriptor) -> Self {
        let mut descriptor = other.clone();
        descriptor.name = "reference".into();
        descriptor.capabilities.remove(&Capability::Local);
        Self::described(descriptor)
    }

    /// This reference, comparing vectors by these metrics only.
    #[must_use]
    pub fn comparing_by(self, metrics: &[Metric]) -> Self {
        self.redescribed(|descriptor| descriptor.metrics = metrics.to_vec())
    }

    /// This reference, running these kinds of maintenance only.
    #[must_use]
    pub fn maintaining(self, kinds: &[MaintenanceKind]) -> Self {
        self.redescribed(|descriptor| descriptor.maintenance = kinds.to_vec())
    }

    /// This reference, built for another version of the contract.
    #[must_use]
    pub fn speaking(self, version: SpecVersion) -> Self {
        self.redescribed(|descriptor| descriptor.spec_version = version)
    }

    /// This reference, calling `watcher` while maintenance runs.
    #[must_use]
    pub fn watched_by(mut self, watcher: impl Fn(&MaintenanceKind) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Arc::new(watcher));
        self
    }

    /// A new instance over the same storage, as another process would make it.
    pub fn again(&self) -> Self {
        Self {
            storage: Arc::clone(&self.storage),
            holder: Holder::new(&self.storage),
            watcher: self.watcher.clone(),
            ..Self::described(self.descriptor.as_ref().clone())
        }
    }

    /// A new instance over the same storage that takes no writes.
    pub fn read_only(&self) -> Self {
        self.again().redescribed(|descriptor| {
            descriptor.capabilities.insert(Capability::ReadOnly);
            descriptor.capabilities.remove(&Capability::Spaces);
            descriptor.capabilities.remove(&Capability::Erasure);
            descriptor.maintenance = Vec::new();
        })
    }

    fn described(descriptor: Descriptor) -> Self {
        let storage = Arc::default();
        Self {
            descriptor: Arc::new(descriptor),
            holder: Holder::new(&storage),
            storage,
            closed: Arc::default(),
            palaces: Mutex::default(),
            watcher: None,
        }
    }

    fn redescribed(mut self, change: impl FnOnce(&mut Descriptor)) -> Self {
        let mut descriptor = self.descriptor.as_ref().clone();
        change(&mut descriptor);
        self.descriptor = Arc::new(descriptor);
        self
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(closed("the backend \"reference\" was closed"));
        }
        Ok(())
    }

    fn key(&self, palace: &PalaceRef) -> Result<Option<SpaceKey>> {
        if palace.namespace.is_some() {
            self.descriptor.require(&Capability::NamespaceIsolation)?;
        }
        self.storage.find(palace, self.descriptor.can(&Capability::Local))
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

    /// The number of a collection, if it is there.
    fn number(&self, key: &SpaceKey, collection: &CollectionName) -> Option<u64> {
        let number = |space: &mut storage::Space| space.tables.get(collection).map(|table| table.number);
        self.storage.space(key, number).flatten()
    }

    /// A handle on the collection of this number.
    fn handle(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        key: SpaceKey,
        number: u64,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let opened = self.storage.space(&key, |space| {
            let table = space.tables.get(collection);
            let own = table.filter(|table| table.number == number);
            let table = own.ok_or_else(|| missing("collection", collection.as_str()))?;
            table.check_options(options)?;
            Ok::<_, Error>(table.identity())
        });
        let model = opened.ok_or_else(|| missing("palace", &palace.id))??;
        let handle = Handle {
            descriptor: Arc::clone(&self.descriptor),
            storage: Arc::clone(&self.storage),
            palace: palace.clone(),
            key,
            name: collection.clone(),
            number,
            visible: Visibility::new(options.visible.clone()),
            writable: options.writable,
            declared: options.declared(&model),
            model,
            backend_closed: Arc::clone(&self.closed),
            palace_closed: self.lease(palace),
            watcher: self.watcher.clone(),
        };
        if !self.descriptor.can(&Capability::MultiProcess) {
            self.holder.hold(&handle.key)?;
        }
        Ok(Arc::new(handle))
    }

    fn check_writable(&self) -> Result<()> {
        if self.descriptor.can(&Capability::ReadOnly) {
            return Err(takes_no_writes(&self.descriptor));
        }
        Ok(())
    }

    /// Whether everything held for `palace` has been let go of; one flag for each time it was opened.
    fn lease(&self, palace: &PalaceRef) -> Arc<AtomicBool> {
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
    fn descriptor(&self) -> &Descriptor {
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
        let key = self.key(palace)?.ok_or_else(|| missing("palace", &palace.id))?;
        let number = self.number(&key, collection);
        let number = number.ok_or_else(|| missing("collection", collection.as_str()))?;
        self.handle(palace, collection, key, number, options)
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
        // Refuses a namespace that is not offered, before a folder is made for it.
        self.key(palace)?;
        let key = self
            .storage
            .make(palace, self.descriptor.can(&Capability::Local))?;
        let number = self.storage.space(&key, |space| {
            if mode == CreateMode::Exclusive && space.tables.contains_key(collection) {
                return Err(exists(collection));
            }
            let table = space.tables.entry(collection.clone());
            Ok(table.or_insert_with(|| Table::new(options)).number)
        });
        let number = number.ok_or_else(|| missing("palace", &palace.id))??;
        let writable = OpenOptions {
            writable: true,
            ..options.clone()
        };
        self.handle(palace, collection, key, number, &writable)
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        self.check_open()?;
        self.check_writable()?;
        let key = self.key(palace)?.ok_or_else(|| missing("palace", &palace.id))?;
        let dropped = self.storage.space(&key, |space| space.tables.remove(collection));
        let dropped = dropped.flatten().map(drop);
        dropped.ok_or_else(|| missing("collection", collection.as_str()))
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.check_open()?;
        let lexical = self.descriptor.can(&Capability::Lexical);
        let key = self.key(palace)?.ok_or_else(|| missing("palace", &palace.id))?;
        self.storage
            .space(&key, |space| {
                let tables = space.tables.iter();
                tables.map(|(name, table)| table.info(name, lexical)).collect()
            })
            .ok_or_else(|| missing("palace", &palace.id))
    }

    fn health(&self, palace: Option<&PalaceRef>) -> Health {
        let seen = self.check_open().and_then(|()| {
            let Some(palace) = palace else { return Ok(()) };
            let key = self.key(palace)?;
            key.map(drop).ok_or_else(|| missing("palace", &palace.id))
        });
        Health {
            ok: seen.is_ok(),
            detail: seen
                .err()
                .map_or_else(|| "ready".into(), |error| error.to_string()),
        }
    }

    fn close_palace(&self, palace: &PalaceRef) {
        let mut palaces = self.palaces.lock().expect("no holder of this lock panics");
        if let Some(lease) = palaces.remove(palace) {
            lease.store(true, Ordering::SeqCst);
            self.holder.release(&self.key(palace).ok().flatten());
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

fn closed(words: &str) -> Error {
    Error::new(ErrorKind::Closed, words).hint("open it again")
}

fn missing(what: &str, called: &str) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("the {what} {called:?} does not exist"),
    )
}

fn exists(collection: &CollectionName) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the collection {:?} exists already", collection.as_str()),
    )
    .hint("nothing was changed; give another name, or open it")
}

/// The refusal of every write to a backend that advertises `read_only`.
fn takes_no_writes(descriptor: &Descriptor) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "the backend {:?} is read_only and takes no writes",
            descriptor.name
        ),
    )
    .hint("nothing was changed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::{CollectionExt, DrawerId, MaintenanceStatus, NewDrawer};

    fn open(backend: &Reference) -> Arc<dyn Collection> {
        let name = CollectionName::new("drawers").unwrap();
        let palace = PalaceRef::named("p");
        let (mode, options) = (CreateMode::OpenExisting, OpenOptions::writable());
        backend.create(&palace, &name, mode, &options).unwrap()
    }

    #[test]
    fn maintenance_started_while_it_runs_is_told_so() {
        let first = Reference::new();
        let other = open(&first.again());
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
            .add(NewDrawer::new(DrawerId::new("a").unwrap(), "text"))
            .unwrap();
        let report = drawers.upkeep().unwrap().run(&MaintenanceKind::REINDEX).unwrap();
        assert_eq!(report.status, MaintenanceStatus::Ran);
        assert_eq!(*seen.lock().unwrap(), [MaintenanceStatus::AlreadyRunning]);
        assert!(drawers.upkeep().unwrap().state().unwrap().running.is_empty());
    }

    #[test]
    fn a_reference_of_another_major_version_is_refused() {
        let other = Reference::new().speaking(SpecVersion { major: 3, minor: 0 });
        assert!(other.descriptor().check_version().is_err());
    }
}
