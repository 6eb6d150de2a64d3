//! A backend that counts the drawers and the bytes of text that are read from it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loci_core::{
    ApplyRequest, Backend, BackendDescriptor, BackendHealth, ChangeFeed, Collection, CollectionInfo,
    CollectionName, CollectionReader, CreateMode, Doctor, Drawer, DrawerCondition, DrawerHit,
    EmbedderIdentity, EmbeddingSpaces, Erasure, FacetCount, FacetRequest, GetRequest, IdentityChange,
    IdentityState, LexicalRequest, Maintenance, OpenOptions, PalaceFinding, PalaceId, PalaceRef,
    QueryRequest, Receipt, Result, SnapshotStore, SourceLedger,
};

/// What was read so far.
#[derive(Debug, Default)]
pub(crate) struct ReadCount {
    drawers: AtomicUsize,
    bytes: AtomicUsize,
}

impl ReadCount {
    /// Returns the drawers and the bytes of text that were read since the last call.
    pub(crate) fn take(&self) -> (usize, usize) {
        (
            self.drawers.swap(0, Ordering::SeqCst),
            self.bytes.swap(0, Ordering::SeqCst),
        )
    }

    fn count(&self, read: Result<Vec<Drawer>>) -> Result<Vec<Drawer>> {
        let found = read?;
        let bytes = found
            .iter()
            .filter_map(|drawer| Some(drawer.document.as_ref()?.len()));
        self.drawers.fetch_add(found.len(), Ordering::SeqCst);
        self.bytes.fetch_add(bytes.sum(), Ordering::SeqCst);
        Ok(found)
    }
}

/// Forwards every call to a backend, and counts what is read.
#[derive(Debug)]
pub(crate) struct CountedBackend {
    pub(crate) inner: Arc<dyn Backend>,
    pub(crate) count: Arc<ReadCount>,
}

impl CountedBackend {
    fn wrap_collection(&self, inner: Arc<dyn Collection>) -> Arc<dyn Collection> {
        let count = Arc::clone(&self.count);
        Arc::new(CountedCollection { inner, count })
    }
}

impl Backend for CountedBackend {
    fn descriptor(&self) -> &BackendDescriptor {
        self.inner.descriptor()
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let opened = self.inner.open(palace, collection, options)?;
        Ok(self.wrap_collection(opened))
    }

    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let created = self.inner.create(palace, collection, mode, options)?;
        Ok(self.wrap_collection(created))
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        self.inner.drop_collection(palace, collection)
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.inner.collections(palace)
    }

    fn palace_id(&self, palace: &PalaceRef) -> Result<Option<PalaceId>> {
        self.inner.palace_id(palace)
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
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
struct CountedCollection {
    inner: Arc<dyn Collection>,
    count: Arc<ReadCount>,
}

#[derive(Debug)]
struct CountedMoment<'a> {
    inner: Box<dyn CollectionReader + 'a>,
    count: Arc<ReadCount>,
}

macro_rules! forward_reads {
    ($($wrapper:ty),+) => {
        $(impl CollectionReader for $wrapper {
            fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
                self.count.count(self.inner.get(request))
            }

            fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
                self.inner.query(request)
            }

            fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
                self.inner.lexical(request)
            }

            fn count(&self, condition: &DrawerCondition) -> Result<u64> {
                self.inner.count(condition)
            }

            fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
                self.inner.facets(request)
            }

            fn info(&self) -> Result<CollectionInfo> {
                self.inner.info()
            }
        })+
    };
}

forward_reads!(CountedCollection, CountedMoment<'_>);

impl Collection for CountedCollection {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.inner.apply(request)
    }

    fn model(&self) -> IdentityState {
        self.inner.model()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.inner.set_identity(identity, why)
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        let wrap = |inner| -> Box<dyn CollectionReader + '_> {
            let count = Arc::clone(&self.count);
            Box::new(CountedMoment { inner, count })
        };
        Ok(self.inner.moment()?.map(wrap))
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        self.inner.spaces()
    }

    fn sources(&self) -> Option<&dyn SourceLedger> {
        self.inner.sources()
    }

    fn feed(&self) -> Option<&dyn ChangeFeed> {
        self.inner.feed()
    }

    fn upkeep(&self) -> Option<&dyn Maintenance> {
        self.inner.upkeep()
    }

    fn eraser(&self) -> Option<&dyn Erasure> {
        self.inner.eraser()
    }
}
