//! A strict in-memory backend: the contract in its plainest form, with any set of capabilities.

mod apply;
mod handle;
mod search;
mod sources;
mod spaces;
mod storage;
mod table;
mod worlds;

pub(crate) use search::distance;
pub use worlds::ReferenceHarness;

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use loci_core::{
    Backend, Capability, Collection, CollectionInfo, CollectionName, Descriptor, Error, ErrorKind, Health,
    MaintenanceKind, Metric, OpenOptions, PalaceRef, Result, SPEC_VERSION, SpecVersion,
};

use handle::Handle;
use storage::{SpaceKey, Storage};
use table::Table;

/// Called while maintenance runs, so that a test can look at that moment.
type Watcher = Arc<dyn Fn(&MaintenanceKind) + Send + Sync>;

/// A strict in-memory backend. Instances made by [`Reference::again`] share their storage, as processes share a disk.
pub struct Reference {
    descriptor: Arc<Descriptor>,
    storage: Arc<Storage>,
    closed: Arc<AtomicBool>,
    palaces: Mutex<HashMap<PalaceRef, Arc<AtomicBool>>>,
    watcher: Option<Watcher>,
}

impl Reference {
    /// What the full reference advertises: everything it can do in memory.
    pub const FULL: [Capability; 12] = [
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
            watcher: self.watcher.clone(),
            ..Self::described(self.descriptor.as_ref().clone())
        }
    }

    /// A new instance over the same storage that takes no writes.
    pub fn read_only(&self) -> Self {
        self.again().redescribed(|descriptor| {
            descriptor.capabilities.insert(Capability::ReadOnly);
            descriptor.capabilities.remove(&Capability::Spaces);
            descriptor.maintenance = Vec::new();
        })
    }

    fn described(descriptor: Descriptor) -> Self {
        Self {
            descriptor: Arc::new(descriptor),
            storage: Arc::default(),
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
        match self.closed.load(Ordering::SeqCst) {
            true => Err(closed("the backend \"reference\" was closed")),
            false => Ok(()),
        }
    }

    fn key(&self, palace: &PalaceRef) -> Result<Option<SpaceKey>> {
        if palace.namespace.is_some() {
            self.descriptor.require(&Capability::NamespaceIsolation)?;
        }
        self.storage.find(palace, self.descriptor.can(&Capability::Local))
    }

    fn check_options(&self, how: &OpenOptions) -> Result<()> {
        match how.metric {
            Some(metric) if !self.descriptor.metrics.contains(&metric) => Err(Error::new(
                ErrorKind::Unsupported,
                format!("the backend \"reference\" does not compare by {}", metric.name()),
            )),
            _ => Ok(()),
        }
    }

    fn make(&self, palace: &PalaceRef, collection: &CollectionName, how: &OpenOptions) -> Result<SpaceKey> {
        if self.descriptor.can(&Capability::ReadOnly) {
            return Err(takes_no_writes(&self.descriptor));
        }
        let key = self
            .storage
            .make(palace, self.descriptor.can(&Capability::Local))?;
        self.storage.space(&key, |space| {
            space
                .tables
                .entry(collection.clone())
                .or_insert_with(|| Table::new(how));
        });
        Ok(key)
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
        how: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.check_open()?;
        self.check_options(how)?;
        let found = self.key(palace)?;
        let there = |key: &SpaceKey| {
            self.storage
                .space(key, |space| space.tables.contains_key(collection))
        };
        let key = match found {
            Some(key) if there(&key) == Some(true) => key,
            _ if how.create => self.make(palace, collection, how)?,
            Some(_) => return Err(missing("collection", collection.as_str())),
            None => return Err(missing("palace", &palace.id)),
        };
        let handle = Handle {
            descriptor: Arc::clone(&self.descriptor),
            storage: Arc::clone(&self.storage),
            palace: palace.clone(),
            key,
            name: collection.clone(),
            declared: how.declared(),
            backend_closed: Arc::clone(&self.closed),
            palace_closed: self.lease(palace),
            watcher: self.watcher.clone(),
        };
        handle.check_options(how)?;
        Ok(Arc::new(handle))
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
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
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
        backend.open(&palace, &name, &OpenOptions::create()).unwrap()
    }

    #[test]
    fn maintenance_started_while_it_runs_is_told_so() {
        let first = Reference::new();
        let other = open(&first.again());
        let seen: Arc<Mutex<Vec<MaintenanceStatus>>> = Arc::default();
        let told = Arc::clone(&seen);
        let watched = first.watched_by(move |kind| {
            assert_eq!(other.maintenance().unwrap().running, std::slice::from_ref(kind));
            told.lock().unwrap().push(other.maintain(kind).unwrap().status);
        });
        let drawers = open(&watched);
        drawers
            .add(NewDrawer::new(DrawerId::new("a").unwrap(), "text"))
            .unwrap();
        let report = drawers.maintain(&MaintenanceKind::REINDEX).unwrap();
        assert_eq!(report.status, MaintenanceStatus::Ran);
        assert_eq!(*seen.lock().unwrap(), [MaintenanceStatus::AlreadyRunning]);
        assert!(drawers.maintenance().unwrap().running.is_empty());
    }

    #[test]
    fn a_reference_of_another_major_version_is_refused() {
        let other = Reference::new().speaking(SpecVersion { major: 2, minor: 0 });
        assert!(other.descriptor().check_version().is_err());
    }
}
