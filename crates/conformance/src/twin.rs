//! A twin that writes for a backend that only reads: a reference takes the writes, and after each the files are made
//! anew from it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{
    ApplyRequest, Backend, BackendDescriptor, BackendHealth, Capability, ChangeFeed, Collection,
    CollectionInfo, CollectionName, CollectionReader, CreateMode, Doctor, Drawer, DrawerCondition,
    DrawerFields, DrawerHit, EmbedderIdentity, EmbeddingSpaces, Erasure, FacetCount, FacetRequest,
    GetRequest, IdentityChange, IdentityState, LexicalRequest, Maintenance, OpenOptions, PalaceFinding,
    PalaceId, PalaceRef, QueryRequest, Receipt, Result, SnapshotStore, SourceLedger,
};

use crate::Reference;

/// Writes all collections of a palace into a folder, in the place of those before; the number is new each time.
pub type TwinOutput = fn(&Path, u64, &[(CollectionInfo, Vec<Drawer>)]);

/// A backend that keeps what it is given in memory and writes it out as files of another program.
#[derive(Debug)]
pub struct TwinWriter {
    reference: Reference,
    written: Arc<AtomicU64>,
    output: TwinOutput,
}

impl TwinWriter {
    /// Creates a writer of the files that `output` writes.
    pub fn new(output: TwinOutput) -> Self {
        Self {
            output,
            reference: Reference::with_capabilities([
                Capability::EmbeddingsPassthrough,
                Capability::EmbeddingsOut,
                Capability::AtomicBatch,
                Capability::RangeFilters,
                Capability::Lexical,
                Capability::MultiProcess,
            ]),
            written: Arc::default(),
        }
    }

    fn twin(&self, palace: &PalaceRef, inner: Arc<dyn Collection>) -> Arc<TwinCollection> {
        Arc::new(TwinCollection {
            output: self.output,
            inner,
            reference: self.reference.reopened(),
            palace: palace.clone(),
            written: Arc::clone(&self.written),
        })
    }
}

#[derive(Debug)]
struct TwinCollection {
    output: TwinOutput,
    inner: Arc<dyn Collection>,
    reference: Reference,
    palace: PalaceRef,
    written: Arc<AtomicU64>,
}

impl Backend for TwinWriter {
    fn descriptor(&self) -> &BackendDescriptor {
        self.reference.descriptor()
    }

    fn open(
        &self,
        palace: &PalaceRef,
        name: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        Ok(self.twin(palace, self.reference.open(palace, name, options)?))
    }

    fn create(
        &self,
        palace: &PalaceRef,
        name: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let twin = self.twin(palace, self.reference.create(palace, name, mode, options)?);
        twin.write_out()?;
        Ok(twin)
    }

    fn drop_collection(&self, palace: &PalaceRef, name: &CollectionName) -> Result<()> {
        self.reference.drop_collection(palace, name)
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        self.reference.collections(palace)
    }

    fn palace_id(&self, palace: &PalaceRef) -> Result<Option<PalaceId>> {
        self.reference.palace_id(palace)
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
        self.reference.health(palace)
    }

    fn list_damage(&self, palace: &PalaceRef) -> Vec<PalaceFinding> {
        self.reference.list_damage(palace)
    }

    fn close_palace(&self, palace: &PalaceRef) {
        self.reference.close_palace(palace);
    }

    fn close(&self) {
        self.reference.close();
    }

    fn doctor(&self) -> Option<&dyn Doctor> {
        None
    }

    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        None
    }
}

impl CollectionReader for TwinCollection {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        self.inner.get(request)
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
}

impl Collection for TwinCollection {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        let receipt = self.inner.apply(request)?;
        self.write_out()?;
        Ok(receipt)
    }

    fn model(&self) -> IdentityState {
        self.inner.model()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.inner.set_identity(identity, why)
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        self.inner.moment()
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        None
    }

    fn sources(&self) -> Option<&dyn SourceLedger> {
        None
    }

    fn feed(&self) -> Option<&dyn ChangeFeed> {
        None
    }

    fn upkeep(&self) -> Option<&dyn Maintenance> {
        None
    }

    fn eraser(&self) -> Option<&dyn Erasure> {
        None
    }
}

impl TwinCollection {
    /// Writes out everything that the palace holds now.
    fn write_out(&self) -> Result<()> {
        let everything = GetRequest {
            include: DrawerFields::EVERYTHING,
            ..GetRequest::default()
        };
        let infos = self.reference.collections(&self.palace)?.into_iter();
        let all = infos.map(|info| {
            let options = OpenOptions::default();
            let opened = self.reference.open(&self.palace, &info.name, &options)?;
            Ok((info, opened.get(&everything)?))
        });
        let all = all.collect::<Result<Vec<_>>>()?;
        let number = self.written.fetch_add(1, Ordering::SeqCst);
        (self.output)(self.palace.require_folder()?, number, &all);
        Ok(())
    }
}
