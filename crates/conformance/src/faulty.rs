//! A backend whose n-th call fails, to see what those above make of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{
    ApplyRequest, Backend, ChangeFeed, Changes, Collection, CollectionExt, CollectionInfo, CollectionName,
    CollectionReader, CreateMode, Cursor, Descriptor, Doctor, Drawer, DrawerCondition, DrawerId,
    EmbedderIdentity, EmbeddingSpaces, Erasure, ErasureReport, Error, ErrorKind, Facet, Facets, Filled,
    Filling, Get, Health, Hit, IdentityChange, IdentityState, Lexical, Maintenance, MaintenanceKind,
    MaintenanceReport, MaintenanceState, OpenOptions, PalaceRef, Pending, Query, Receipt, Result, Revised,
    Revision, SnapshotStore, SourceLedger, SourceRecord, Sources, Space, Switch, Unembedded, Visibility,
};

/// Whether the failing call still happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The call fails and nothing happens.
    Before,
    /// What was asked happens, and the call fails all the same, as when an answer is lost on its way.
    After,
}

/// Which call fails, and how.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The call that fails, counted from 1 over the backend and all its collections.
    pub call: u64,
    /// Whether the call still happens.
    pub when: When,
    /// The kind of the error.
    pub kind: ErrorKind,
}

/// Forwards every call to a backend and fails one of them. Calls that cannot fail are not counted.
#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn Backend>,
    counter: Arc<Counter>,
}

#[derive(Debug)]
struct Counter {
    fault: Fault,
    calls: AtomicU64,
}

impl Counter {
    fn through<T>(&self, name: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if number != self.fault.call {
            return call();
        }
        if self.fault.when == When::After {
            call()?;
        }
        Err(Error::new(
            self.fault.kind,
            format!("call {number} ({name}) was made to fail"),
        ))
    }
}

impl Faulty {
    /// Wraps `inner` so that one call fails.
    pub fn new(inner: Arc<dyn Backend>, fault: Fault) -> Self {
        Self {
            inner,
            counter: Arc::new(Counter {
                fault,
                calls: AtomicU64::new(0),
            }),
        }
    }

    fn wrap(&self, inner: Arc<dyn Collection>) -> Arc<dyn Collection> {
        Arc::new(FaultyCollection {
            inner,
            counter: Arc::clone(&self.counter),
        })
    }

    /// How many calls were counted so far.
    pub fn calls(&self) -> u64 {
        self.counter.calls.load(Ordering::SeqCst)
    }
}

impl Backend for Faulty {
    fn descriptor(&self) -> &Descriptor {
        self.inner.descriptor()
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let open = || self.inner.open(palace, collection, options);
        Ok(self.wrap(self.counter.through("open", open)?))
    }

    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let create = || self.inner.create(palace, collection, mode, options);
        Ok(self.wrap(self.counter.through("create", create)?))
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        let drop = || self.inner.drop_collection(palace, collection);
        self.counter.through("drop_collection", drop)
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.counter
            .through("collections", || self.inner.collections(palace))
    }

    fn health(&self, palace: Option<&PalaceRef>) -> Health {
        self.inner.health(palace)
    }

    fn close_palace(&self, palace: &PalaceRef) {
        self.inner.close_palace(palace);
    }

    fn close(&self) {
        self.inner.close();
    }

    fn doctor(&self) -> Option<&dyn Doctor> {
        self.inner.doctor()
    }

    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        self.inner.snapshots()
    }
}

#[derive(Debug)]
struct FaultyCollection {
    inner: Arc<dyn Collection>,
    counter: Arc<Counter>,
}

/// A moment of a faulty collection, whose reads are counted too.
#[derive(Debug)]
struct FaultyMoment<'a> {
    inner: Box<dyn CollectionReader + 'a>,
    counter: Arc<Counter>,
}

/// Counts each call and forwards it; the expression finds what it is forwarded to.
macro_rules! forward_counted {
    ($($trait:ident for $wrapper:ty, to |$own:ident| $inner:expr => {
        $($method:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+
    })+) => {
        $(impl $trait for $wrapper {
            $(fn $method(&self, $($argument: $type),*) -> Result<$answer> {
                let $own = self;
                self.counter.through(stringify!($method), || $inner.$method($($argument),*))
            })+
        })+
    };
}

forward_counted! {
    CollectionReader for FaultyCollection, to |own| own.inner => {
        get(request: &Get) -> Vec<Drawer>;
        query(request: &Query) -> Vec<Vec<Hit>>;
        lexical(request: &Lexical) -> Vec<Hit>;
        count(condition: &DrawerCondition) -> u64;
        facets(request: &Facets) -> Vec<Facet>;
        info() -> CollectionInfo;
    }
    CollectionReader for FaultyMoment<'_>, to |own| own.inner => {
        get(request: &Get) -> Vec<Drawer>;
        query(request: &Query) -> Vec<Vec<Hit>>;
        lexical(request: &Lexical) -> Vec<Hit>;
        count(condition: &DrawerCondition) -> u64;
        facets(request: &Facets) -> Vec<Facet>;
        info() -> CollectionInfo;
    }
    EmbeddingSpaces for FaultyCollection, to |own| own.inner.require_spaces()? => {
        list_spaces() -> Vec<Space>;
        take_step(step: &Switch) -> Vec<Space>;
        list_pending(request: &Pending) -> Vec<Unembedded>;
        fill_vectors(identity: &EmbedderIdentity, vectors: &[Filling]) -> Filled;
    }
    SourceLedger for FaultyCollection, to |own| own.inner.require_sources()? => {
        find_records(request: &Sources) -> Vec<SourceRecord>;
        revise(revisions: Vec<Revision<'_>>) -> Vec<Revised>;
    }
    ChangeFeed for FaultyCollection, to |own| own.inner.require_feed()? => {
        changes_since(cursor: Cursor, limit: usize) -> Changes;
    }
    Maintenance for FaultyCollection, to |own| own.inner.require_upkeep()? => {
        state() -> MaintenanceState;
        run(kind: &MaintenanceKind) -> MaintenanceReport;
    }
    Erasure for FaultyCollection, to |own| own.inner.eraser().ok_or_else(no_eraser)? => {
        erase(ids: &[DrawerId]) -> ErasureReport;
    }
}

impl Collection for FaultyCollection {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.counter.through("apply", || self.inner.apply(request))
    }

    fn model(&self) -> IdentityState {
        self.inner.model()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.counter
            .through("set_identity", || self.inner.set_identity(identity, why))
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        let inner = self.counter.through("moment", || self.inner.moment())?;
        let wrap = |inner| -> Box<dyn CollectionReader + '_> {
            let counter = Arc::clone(&self.counter);
            Box::new(FaultyMoment { inner, counter })
        };
        Ok(inner.map(wrap))
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        self.inner.spaces().map(|_| self as &dyn EmbeddingSpaces)
    }

    fn sources(&self) -> Option<&dyn SourceLedger> {
        self.inner.sources().map(|_| self as &dyn SourceLedger)
    }

    fn feed(&self) -> Option<&dyn ChangeFeed> {
        self.inner.feed().map(|_| self as &dyn ChangeFeed)
    }

    fn upkeep(&self) -> Option<&dyn Maintenance> {
        self.inner.upkeep().map(|_| self as &dyn Maintenance)
    }

    fn eraser(&self) -> Option<&dyn Erasure> {
        self.inner.eraser().map(|_| self as &dyn Erasure)
    }
}

fn no_eraser() -> Error {
    Visibility::whole_collection_only("erasure")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reference;
    use loci_core::{CollectionExt, DrawerId, NewDrawer};

    fn faulty(call: u64, when: When) -> Faulty {
        let kind = ErrorKind::Unavailable;
        Faulty::new(Arc::new(Reference::new()), Fault { call, when, kind })
    }

    fn open(backend: &Faulty) -> Result<Arc<dyn Collection>> {
        let name = CollectionName::new("drawers")?;
        let mode = CreateMode::OpenExisting;
        backend.create(&PalaceRef::named("p"), &name, mode, &OpenOptions::writable())
    }

    #[test]
    fn the_named_call_fails_and_the_others_go_through() {
        for (when, left) in [(When::Before, 0), (When::After, 1)] {
            let backend = faulty(2, when);
            let collection = open(&backend).unwrap();
            let drawer = NewDrawer::new(DrawerId::new("a").unwrap(), "text");
            let error = collection.add(drawer).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert_eq!(
                collection.count(&DrawerCondition::default()).unwrap(),
                left,
                "{when:?}"
            );
            assert_eq!(backend.calls(), 3);
        }
    }

    #[test]
    fn opening_can_be_the_call_that_fails() {
        let backend = faulty(1, When::Before);
        assert_eq!(open(&backend).unwrap_err().kind(), ErrorKind::Unavailable);
        assert!(open(&backend).is_ok());
    }
}
