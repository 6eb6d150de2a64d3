//! The readable drawers of a damaged palace behind the contract: listed by id, read from their pages on demand.

use std::collections::BTreeSet;
use std::sync::Arc;

use loci_core::{
    ApplyRequest, Backend, BackendDescriptor, BackendHealth, Capability, ChangeFeed, Collection,
    CollectionInfo, CollectionName, CollectionReader, CreateMode, Doctor, Drawer, DrawerCondition,
    DrawerFields, DrawerHit, DrawerOrder, DrawerPosition, EmbedderIdentity, EmbeddingSpaces, Erasure, Error,
    ErrorKind, FacetCount, FacetRequest, GetRequest, IdentityChange, IdentityState, LexicalRequest,
    Maintenance, Metric, OpenOptions, PalaceFinding, PalaceId, PalaceRef, QueryRequest, Receipt, Result,
    RevisionOutcome, SPEC_VERSION, SnapshotStore, SourceLedger, SourceRecord, SourceRecordQuery,
    SourceRevision, Timestamp,
};

use super::image::PageImage;
use super::node::TreeNode;
use super::payload::read_payload;
use super::record::{RecordValue, decode_record};
use super::rows;
use super::survey::{CellSpot, FoundDrawer};
use crate::failure::corrupt_error;

/// The drawers of one collection that can be read, in the order of their ids.
#[derive(Debug)]
pub(super) struct RemainingDrawers {
    pub(super) info: CollectionInfo,
    pub(super) drawers: Vec<FoundDrawer>,
    /// The records of sources, in the order of their names.
    pub(super) records: Vec<(String, CellSpot)>,
}

/// A palace that is read from its pages.
#[derive(Debug)]
pub(super) struct RemainsBackend {
    descriptor: BackendDescriptor,
    image: Arc<PageImage>,
    collections: Vec<Arc<RemainingDrawers>>,
}

impl RemainsBackend {
    pub(super) fn new(image: PageImage, collections: Vec<RemainingDrawers>) -> Self {
        let capabilities = [
            Capability::EmbeddingsOut,
            Capability::Local,
            Capability::ReadOnly,
            Capability::Sources,
        ];
        Self {
            descriptor: BackendDescriptor {
                name: "rescue".to_owned(),
                spec_version: SPEC_VERSION,
                capabilities: capabilities.into(),
                metrics: Metric::ALL.to_vec(),
                maintenance: Vec::new(),
            },
            image: Arc::new(image),
            collections: collections.into_iter().map(Arc::new).collect(),
        }
    }
}

impl Backend for RemainsBackend {
    fn descriptor(&self) -> &BackendDescriptor {
        &self.descriptor
    }

    fn open(
        &self,
        _palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        if options.writable || !options.visible.is_all() {
            return Err(refuse_use("anything but reading all of it"));
        }
        let found = self
            .collections
            .iter()
            .find(|found| found.info.name == *collection);
        let content = found.ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("nothing is left of the collection {:?}", collection.as_str()),
            )
        })?;
        Ok(Arc::new(RemainsCollection {
            image: Arc::clone(&self.image),
            content: Arc::clone(content),
        }))
    }

    fn create(
        &self,
        _palace: &PalaceRef,
        _collection: &CollectionName,
        _mode: CreateMode,
        _options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        Err(refuse_use("writing"))
    }

    fn drop_collection(&self, _palace: &PalaceRef, _collection: &CollectionName) -> Result<()> {
        Err(refuse_use("writing"))
    }

    fn collections(&self, _palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        Ok(self.collections.iter().map(|found| found.info.clone()).collect())
    }

    fn palace_id(&self, _palace: &PalaceRef) -> Result<Option<PalaceId>> {
        Ok(None)
    }

    fn health(&self, _palace: Option<&PalaceRef>) -> BackendHealth {
        BackendHealth {
            ok: true,
            detail: "the remains of a damaged palace".to_owned(),
        }
    }

    /// None: everything that is missing is listed by the rescue itself, once.
    fn list_damage(&self, _palace: &PalaceRef) -> Vec<PalaceFinding> {
        Vec::new()
    }

    fn close_palace(&self, _palace: &PalaceRef) {}

    fn close(&self) {}

    fn doctor(&self) -> Option<&dyn Doctor> {
        None
    }

    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        None
    }
}

/// A handle on the readable drawers of one collection.
#[derive(Debug)]
struct RemainsCollection {
    image: Arc<PageImage>,
    content: Arc<RemainingDrawers>,
}

impl RemainsCollection {
    /// Calls `read` with the columns of the cell at `spot`.
    fn with_cell<T>(&self, spot: CellSpot, read: impl FnOnce(&[RecordValue<'_>]) -> Option<T>) -> Result<T> {
        let (mut page, mut payload) = (Vec::new(), Vec::new());
        let found = self.image.load(spot.page, spot.version, &mut page).then(|| {
            let node = TreeNode::parse(spot.page, &page)?;
            let cell = node.payload(usize::from(spot.cell))?;
            read_payload(&self.image, cell, &mut payload).ok()?;
            read(&decode_record(&payload, cell.total)?)
        });
        // It was readable a moment ago, so the disk is failing or another process writes to the file.
        found
            .flatten()
            .ok_or_else(|| corrupt_error(format!("page {} changed while it was read", spot.page)))
    }

    fn read_drawer(&self, found: &FoundDrawer, include: DrawerFields) -> Result<Drawer> {
        let mut drawer = self.with_cell(found.spot, |values| rows::read_drawer(values, include))?;
        if let Some(spot) = found.vector.filter(|_| include.embedding) {
            let mut vector = Vec::new();
            self.with_cell(spot, |values| rows::read_vector(found.row, values, &mut vector))?;
            drawer.embedding = Some(vector);
        }
        Ok(drawer)
    }

    /// Reads a drawer if the request asks for it.
    fn read_asked(&self, found: &FoundDrawer, request: &GetRequest) -> Result<Option<Drawer>> {
        let everything = request.filter.is_all() && request.document.is_all();
        if !everything {
            let fields = DrawerFields {
                embedding: false,
                ..DrawerFields::EVERYTHING
            };
            let drawer = self.read_drawer(found, fields)?;
            let text = drawer.document.as_deref().unwrap_or_default();
            if !request.filter.accepts(&drawer) || !request.document.accepts(text) {
                return Ok(None);
            }
        }
        self.read_drawer(found, request.include).map(Some)
    }

    fn find(&self, id: &str) -> Option<&FoundDrawer> {
        let drawers = &self.content.drawers;
        let place = drawers.binary_search_by(|drawer| (*drawer.id).cmp(id)).ok()?;
        drawers.get(place)
    }

    /// Returns the drawers that a request selects by id or position.
    fn select(&self, request: &GetRequest) -> Result<Vec<&FoundDrawer>> {
        request.check_request()?;
        if let Some(ids) = &request.ids {
            let mut seen = BTreeSet::new();
            let once = ids.iter().filter(|id| seen.insert(id.as_str()));
            return Ok(once.filter_map(|id| self.find(id.as_str())).collect());
        }
        if request.order != DrawerOrder::Id {
            return Err(refuse_use("any order but that of ids"));
        }
        let start = match &request.after {
            Some(DrawerPosition::Id(after)) => self
                .content
                .drawers
                .partition_point(|drawer| *drawer.id <= *after.as_str()),
            _ => 0,
        };
        Ok(self.content.drawers.iter().skip(start).collect())
    }
}

impl CollectionReader for RemainsCollection {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        let mut drawers = Vec::new();
        let (mut skipped, limit) = (0, request.limit.unwrap_or(usize::MAX));
        for found in self.select(request)? {
            if drawers.len() >= limit {
                break;
            }
            match self.read_asked(found, request)? {
                Some(_) if skipped < request.offset => skipped += 1,
                Some(drawer) => drawers.push(drawer),
                None => {}
            }
        }
        Ok(drawers)
    }

    fn query(&self, _request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        Err(refuse_use("searching"))
    }

    fn lexical(&self, _request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        Err(refuse_use("searching"))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        let request = GetRequest {
            filter: condition.filter.clone(),
            document: condition.document.clone(),
            include: DrawerFields::NOTHING,
            ..GetRequest::default()
        };
        Ok(self.get(&request)?.len() as u64)
    }

    fn facets(&self, _request: &FacetRequest) -> Result<Vec<FacetCount>> {
        Err(refuse_use("counting by place"))
    }

    fn info(&self) -> Result<CollectionInfo> {
        Ok(self.content.info.clone())
    }
}

impl Collection for RemainsCollection {
    fn apply(&self, _request: &ApplyRequest<'_>) -> Result<Receipt> {
        Err(refuse_use("writing"))
    }

    fn model(&self) -> IdentityState {
        self.content.info.identity.clone()
    }

    fn set_identity(&self, _identity: &EmbedderIdentity, _why: IdentityChange) -> Result<()> {
        Err(refuse_use("writing"))
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        Ok(None)
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        None
    }

    fn sources(&self) -> Option<&dyn SourceLedger> {
        Some(self)
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

impl SourceLedger for RemainsCollection {
    fn find_records(&self, request: &SourceRecordQuery) -> Result<Vec<SourceRecord>> {
        request.check_request()?;
        let records = &self.content.records;
        let found: Vec<CellSpot> = match request {
            SourceRecordQuery::Named(names) => {
                let names: BTreeSet<&String> = names.iter().collect();
                let named = records.iter().filter(|(name, _)| names.contains(name));
                named.map(|(_, spot)| *spot).collect()
            }
            SourceRecordQuery::Under { prefix, after, limit } => {
                let is_before = |name: &str| {
                    name < prefix.as_str() || after.as_deref().is_some_and(|after| name <= after)
                };
                let start = records.partition_point(|(name, _)| is_before(name));
                let under = records.iter().skip(start);
                let under = under.take_while(|(name, _)| name.starts_with(prefix.as_str()));
                under.take(*limit).map(|(_, spot)| *spot).collect()
            }
        };
        found
            .into_iter()
            .map(|spot| self.with_cell(spot, read_record))
            .collect()
    }

    fn revise(&self, _revisions: Vec<SourceRevision<'_>>) -> Result<Vec<RevisionOutcome>> {
        Err(refuse_use("writing"))
    }
}

fn read_record(values: &[RecordValue<'_>]) -> Option<SourceRecord> {
    let [_, source, revision, revised_at, stamp] = values else {
        return None;
    };
    Some(SourceRecord {
        source: source.as_text()?.to_owned(),
        stamp: stamp.as_text()?.to_owned(),
        revision: u64::try_from(revision.as_int()?).ok()?,
        revised_at: Timestamp::from_micros(revised_at.as_int()?).ok()?,
    })
}

fn refuse_use(what: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("the remains of a damaged palace do not support {what}"),
    )
    .with_hint("bring them into a new palace with `loci rescue PATH --to NEW`")
}
