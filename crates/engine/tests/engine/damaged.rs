//! A backend over another that cannot read some drawers, or shows them damaged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use loci_core::*;

/// The kinds of damage of a drawer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harm {
    /// It is read with damage.
    Shown,
    /// Its text cannot be read, its id can.
    Text,
    /// Nothing of it can be read.
    Whole,
    /// Nothing can be read that comes in order after an id before it, as when a page of an index is torn.
    Index,
    /// It is not found by walking.
    Unlisted,
    /// It is not found by its id.
    Unnamed,
    /// It is not among the hits of any vector.
    Unindexed,
    /// It has no text and no time of filing, as records of other software may.
    Bare,
    /// Its vector is all zero.
    Zero,
    /// Its wing is another than its metadata says.
    Elsewhere,
    /// It is the beginning of `book`, whatever else is.
    Begins,
    /// A number in its metadata is not finite.
    Infinite,
    /// Its vector has one value only.
    Short,
    /// Every collection refuses to file it.
    Refused,
}

/// A backend some of whose drawers are damaged.
#[derive(Debug)]
pub(crate) struct Damaged<B> {
    pub(crate) inner: B,
    pub(crate) harms: Arc<BTreeMap<&'static str, Harm>>,
    /// Whether its collections offer moments.
    pub(crate) has_moments: bool,
}

impl<B> Damaged<B> {
    pub(crate) fn new(inner: B, harms: impl IntoIterator<Item = (&'static str, Harm)>) -> Self {
        Self {
            inner,
            harms: Arc::new(harms.into_iter().collect()),
            has_moments: false,
        }
    }

    fn harm(&self, inner: Arc<dyn Collection>) -> Arc<dyn Collection> {
        Arc::new(Handle {
            inner,
            harms: Arc::clone(&self.harms),
            has_moments: self.has_moments,
        })
    }
}

#[derive(Debug)]
struct Handle {
    inner: Arc<dyn Collection>,
    harms: Arc<BTreeMap<&'static str, Harm>>,
    has_moments: bool,
}

/// A moment of a damaged collection, which damage ends, as it does in the store.
#[derive(Debug)]
struct EndingMoment<'a> {
    handle: &'a Handle,
    has_ended: AtomicBool,
}

impl EndingMoment<'_> {
    fn read<T>(&self, read: impl FnOnce(&Handle) -> Result<T>) -> Result<T> {
        if self.has_ended.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Corrupt, "this moment has ended"));
        }
        let answer = read(self.handle);
        let is_damage = |error: &Error| error.kind() == ErrorKind::Corrupt;
        self.has_ended
            .store(answer.as_ref().is_err_and(is_damage), Ordering::Relaxed);
        answer
    }
}

impl CollectionReader for EndingMoment<'_> {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        self.read(|handle| handle.get(request))
    }
    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        self.read(|handle| handle.query(request))
    }
    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        self.read(|handle| handle.lexical(request))
    }
    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.read(|handle| handle.count(condition))
    }
    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        self.read(|handle| handle.facets(request))
    }
    fn info(&self) -> Result<CollectionInfo> {
        self.read(CollectionReader::info)
    }
}

impl Handle {
    /// Whether the request has to pass over a torn page, even if only to leave it out.
    fn meets_torn_index(&self, request: &GetRequest) -> Result<bool> {
        let passed = GetRequest {
            offset: 0,
            limit: request.limit.map(|limit| limit + request.offset),
            include: DrawerFields::NOTHING,
            ..request.clone()
        };
        let passed = self.inner.get(&passed)?;
        Ok(passed.iter().any(|drawer| self.harm(drawer) == Some(Harm::Index)))
    }

    fn harm(&self, drawer: &Drawer) -> Option<Harm> {
        self.harms.get(drawer.id.as_str()).copied()
    }
}

impl<B: Backend> Backend for Damaged<B> {
    fn descriptor(&self) -> &BackendDescriptor {
        self.inner.descriptor()
    }
    fn open(
        &self,
        palace: &PalaceRef,
        name: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        Ok(self.harm(self.inner.open(palace, name, options)?))
    }
    fn create(
        &self,
        palace: &PalaceRef,
        name: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        Ok(self.harm(self.inner.create(palace, name, mode, options)?))
    }
    fn drop_collection(&self, palace: &PalaceRef, name: &CollectionName) -> Result<()> {
        self.inner.drop_collection(palace, name)
    }
    fn doctor(&self) -> Option<&dyn Doctor> {
        self.inner.doctor()
    }
    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        self.inner.snapshots()
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
}

impl CollectionReader for Handle {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        if self.meets_torn_index(request)? {
            return Err(Error::new(ErrorKind::Corrupt, "a page of the index is torn"));
        }
        let mut drawers = self.inner.get(request)?;
        let gone = if request.ids.is_some() {
            Harm::Unnamed
        } else {
            Harm::Unlisted
        };
        drawers.retain(|drawer| self.harm(drawer) != Some(gone));
        for drawer in &mut drawers {
            match self.harm(drawer) {
                Some(Harm::Shown) => drawer.damage.push("its hash differs".into()),
                Some(Harm::Text) if request.include.document => {
                    return Err(Error::new(ErrorKind::Corrupt, "a page is torn"));
                }
                Some(Harm::Bare) => (drawer.document, drawer.filed_at) = (None, None),
                Some(Harm::Zero) => {
                    drawer.embedding = drawer.embedding.take().map(|vector| vec![0.0; vector.len()])
                }
                Some(Harm::Short) => drawer.embedding = drawer.embedding.take().map(|_| vec![1.0]),
                Some(Harm::Elsewhere) => drawer.place.wing = Some("elsewhere".into()),
                Some(Harm::Begins) => {
                    drawer.place.source = Some("book".into());
                    drawer.place.span = Some(SourceSpan {
                        start: 0,
                        end: 4,
                        line_start: 1,
                        line_end: 1,
                    });
                }
                Some(Harm::Infinite) => {
                    let metadata = drawer.metadata.take().unwrap_or_default();
                    drawer.metadata = Some(metadata.with_entry("n", f64::INFINITY));
                }
                Some(Harm::Whole) => return Err(Error::new(ErrorKind::Corrupt, "a row is torn")),
                _ => {}
            }
        }
        Ok(drawers)
    }
    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        let mut lists = self.inner.query(request)?;
        for hits in &mut lists {
            hits.retain(|hit| self.harm(&hit.drawer) != Some(Harm::Unindexed));
        }
        Ok(lists)
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

impl Collection for Handle {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        let refused = |write: &Write| match write {
            Write::Add(new) => self.harms.get(new.id.as_str()) == Some(&Harm::Refused),
            _ => false,
        };
        if request.writes.iter().any(refused) {
            return Err(Error::invalid("there is no room for this one"));
        }
        self.inner.apply(request)
    }
    fn model(&self) -> IdentityState {
        self.inner.model()
    }
    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.inner.set_identity(identity, why)
    }
    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        let moment = self.has_moments.then(|| EndingMoment {
            handle: self,
            has_ended: AtomicBool::new(false),
        });
        Ok(moment.map(|moment| Box::new(moment) as Box<dyn CollectionReader>))
    }
    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        None
    }
    fn sources(&self) -> Option<&dyn SourceLedger> {
        None
    }
    fn feed(&self) -> Option<&dyn ChangeFeed> {
        self.inner.feed()
    }
    fn upkeep(&self) -> Option<&dyn Maintenance> {
        self.inner.upkeep()
    }
    fn eraser(&self) -> Option<&dyn Erasure> {
        None
    }
}
