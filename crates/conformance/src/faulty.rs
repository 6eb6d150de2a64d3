//! A backend whose n-th call fails, for testing the layers above a backend.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{
    ApplyRequest, Backend, BackendDescriptor, BackendHealth, ChangeFeed, ChangePage, Collection,
    CollectionExt, CollectionInfo, CollectionName, CollectionReader, CreateMode, Cursor, Doctor, Drawer,
    DrawerCondition, DrawerHit, EmbedderIdentity, EmbeddingSpace, EmbeddingSpaces, Erasure, Error, ErrorKind,
    FacetCount, FacetRequest, GetRequest, IdentityChange, IdentityState, LexicalRequest, Maintenance,
    MaintenanceKind, MaintenanceReport, MaintenanceState, OpenOptions, PalaceFinding, PalaceId, PalaceRef,
    PendingRequest, PurgeReport, QueryPrecision, QueryRequest, Receipt, Result, RevisionOutcome,
    SnapshotStore, SourceLedger, SourceRecord, SourceRecordQuery, SourceRevision, StoredTrace, SwitchStep,
    UnembeddedDrawer, VectorFill, VectorFillReport, Visibility,
};

/// Whether the failing call still takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultTiming {
    /// The call fails without any effect.
    Before,
    /// The call takes effect and then fails, as when a response is lost.
    After,
}

/// The call that fails, and its error.
#[derive(Debug, Clone, Copy)]
pub struct InjectedFault {
    /// The call that fails, counted from 1 over the backend and all its collections.
    pub call: u64,
    /// Whether the call still takes effect.
    pub when: FaultTiming,
    /// The kind of the error.
    pub kind: ErrorKind,
}

/// Forwards every call to a backend and fails one of them. Calls that cannot fail are not counted.
#[derive(Debug)]
pub struct FaultyBackend {
    inner: Arc<dyn Backend>,
    counter: Arc<CallCounter>,
}

#[derive(Debug)]
struct CallCounter {
    fault: InjectedFault,
    calls: AtomicU64,
}

impl CallCounter {
    fn count_call<T>(&self, name: &str, call: impl FnOnce() -> Result<T>) -> Result<T> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if number != self.fault.call {
            return call();
        }
        // The real error wins if the call itself fails; the injected one stands for a lost response.
        if self.fault.when == FaultTiming::After {
            call()?;
        }
        Err(Error::new(
            self.fault.kind,
            format!("call {number} ({name}) was made to fail"),
        ))
    }
}

impl FaultyBackend {
    /// Wraps `inner` so that one call fails.
    pub fn new(inner: Arc<dyn Backend>, fault: InjectedFault) -> Self {
        Self {
            inner,
            counter: Arc::new(CallCounter {
                fault,
                calls: AtomicU64::new(0),
            }),
        }
    }

    fn wrap_collection(&self, inner: Arc<dyn Collection>) -> Arc<dyn Collection> {
        Arc::new(FaultyCollection {
            inner,
            counter: Arc::clone(&self.counter),
        })
    }

    /// Returns the number of calls counted so far.
    pub fn call_count(&self) -> u64 {
        self.counter.calls.load(Ordering::SeqCst)
    }
}

impl Backend for FaultyBackend {
    fn descriptor(&self) -> &BackendDescriptor {
        self.inner.descriptor()
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let open = || self.inner.open(palace, collection, options);
        Ok(self.wrap_collection(self.counter.count_call("open", open)?))
    }

    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let create = || self.inner.create(palace, collection, mode, options);
        Ok(self.wrap_collection(self.counter.count_call("create", create)?))
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        let drop = || self.inner.drop_collection(palace, collection);
        self.counter.count_call("drop_collection", drop)
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.counter
            .count_call("collections", || self.inner.collections(palace))
    }

    fn palace_id(&self, palace: &PalaceRef) -> Result<Option<PalaceId>> {
        self.counter
            .count_call("palace_id", || self.inner.palace_id(palace))
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
        // Not counted: it returns no `Result`, so it cannot be made to fail.
        self.inner.health(palace)
    }

    fn list_damage(&self, palace: &PalaceRef) -> Vec<PalaceFinding> {
        self.inner.list_damage(palace)
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
    counter: Arc<CallCounter>,
}

/// A moment of a faulty collection, whose reads are counted too.
#[derive(Debug)]
struct FaultyMoment<'a> {
    inner: Box<dyn CollectionReader + 'a>,
    counter: Arc<CallCounter>,
}

/// Counts each call and forwards it to the target of the expression.
macro_rules! forward_counted {
    ($($trait:ident for $wrapper:ty, to |$own:ident| $inner:expr => {
        $($method:ident($($argument:ident: $type:ty),*) -> $answer:ty;)+
    })+) => {
        $(impl $trait for $wrapper {
            $(fn $method(&self, $($argument: $type),*) -> Result<$answer> {
                let $own = self;
                self.counter.count_call(stringify!($method), || $inner.$method($($argument),*))
            })+
        })+
    };
}

forward_counted! {
    CollectionReader for FaultyCollection, to |own| own.inner => {
        get(request: &GetRequest) -> Vec<Drawer>;
        query(request: &QueryRequest) -> Vec<Vec<DrawerHit>>;
        lexical(request: &LexicalRequest) -> Vec<DrawerHit>;
        count(condition: &DrawerCondition) -> u64;
        facets(request: &FacetRequest) -> Vec<FacetCount>;
        info() -> CollectionInfo;
    }
    CollectionReader for FaultyMoment<'_>, to |own| own.inner => {
        get(request: &GetRequest) -> Vec<Drawer>;
        query(request: &QueryRequest) -> Vec<Vec<DrawerHit>>;
        lexical(request: &LexicalRequest) -> Vec<DrawerHit>;
        count(condition: &DrawerCondition) -> u64;
        facets(request: &FacetRequest) -> Vec<FacetCount>;
        info() -> CollectionInfo;
    }
    EmbeddingSpaces for FaultyCollection, to |own| own.inner.require_spaces()? => {
        list_spaces() -> Vec<EmbeddingSpace>;
        take_step(step: &SwitchStep) -> Vec<EmbeddingSpace>;
        list_pending(request: &PendingRequest) -> Vec<UnembeddedDrawer>;
        fill_vectors(identity: &EmbedderIdentity, vectors: &[VectorFill]) -> VectorFillReport;
    }
    SourceLedger for FaultyCollection, to |own| own.inner.require_sources()? => {
        find_records(request: &SourceRecordQuery) -> Vec<SourceRecord>;
        revise(revisions: Vec<SourceRevision<'_>>) -> Vec<RevisionOutcome>;
    }
    ChangeFeed for FaultyCollection, to |own| own.inner.require_feed()? => {
        changes_since(cursor: Cursor, limit: usize) -> ChangePage;
    }
    Maintenance for FaultyCollection, to |own| own.inner.require_upkeep()? => {
        state() -> MaintenanceState;
        run(kind: &MaintenanceKind) -> MaintenanceReport;
        choose_precision(precision: QueryPrecision) -> MaintenanceReport;
    }
    Erasure for FaultyCollection, to |own| own.inner.eraser().ok_or_else(no_eraser)? => {
        begin() -> ();
        is_unfinished() -> bool;
        purge(watch: &mut dyn FnMut(u64, u64)) -> PurgeReport;
        find_traces(texts: &[String], watch: &mut dyn FnMut(u64, u64)) -> Vec<StoredTrace>;
    }
}

impl Collection for FaultyCollection {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.counter.count_call("apply", || self.inner.apply(request))
    }

    fn model(&self) -> IdentityState {
        self.inner.model()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.counter
            .count_call("set_identity", || self.inner.set_identity(identity, why))
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        let inner = self.counter.count_call("moment", || self.inner.moment())?;
        let wrap = |inner| -> Box<dyn CollectionReader + '_> {
            let counter = Arc::clone(&self.counter);
            Box::new(FaultyMoment { inner, counter })
        };
        Ok(inner.map(wrap))
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        // Offered exactly if the inner collection offers it, but through this wrapper, so that its calls
        // are counted.
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
    // Never reached in practice: `eraser` hands this wrapper out only where the inner one exists.
    Visibility::whole_collection_error("erasure")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reference;
    use loci_core::{CollectionExt, DrawerId, NewDrawer};

    fn faulty(call: u64, when: FaultTiming) -> FaultyBackend {
        let kind = ErrorKind::Unavailable;
        FaultyBackend::new(Arc::new(Reference::new()), InjectedFault { call, when, kind })
    }

    fn open(backend: &FaultyBackend) -> Result<Arc<dyn Collection>> {
        let name = CollectionName::new("drawers")?;
        let mode = CreateMode::OpenExisting;
        backend.create(&PalaceRef::from_id("p"), &name, mode, &OpenOptions::for_writing())
    }

    #[test]
    fn the_named_call_fails_and_the_others_go_through() {
        for (when, left) in [(FaultTiming::Before, 0), (FaultTiming::After, 1)] {
            let backend = faulty(2, when);
            let collection = open(&backend).unwrap();
            let drawer = NewDrawer::new(DrawerId::new("a").unwrap(), "text");
            let error = collection.add_drawer(drawer).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert_eq!(
                collection.count(&DrawerCondition::default()).unwrap(),
                left,
                "{when:?}"
            );
            assert_eq!(backend.call_count(), 3);
        }
    }

    #[test]
    fn opening_can_be_the_call_that_fails() {
        let backend = faulty(1, FaultTiming::Before);
        assert_eq!(open(&backend).unwrap_err().kind(), ErrorKind::Unavailable);
        assert!(open(&backend).is_ok());
    }
}
