//! Collections with one flaw, wrapped around those of the reference.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use loci_core::vector::check_vector;
use loci_core::{
    ApplyRequest, ChangeFeed, ChangeKind, ChangePage, Collection, CollectionExt, CollectionInfo,
    CollectionReader, CollectionReaderExt, Cursor, DeleteSelection, DocumentFilter, Drawer, DrawerCondition,
    DrawerFields, DrawerHit, DrawerId, DrawerOrder, DrawerPatch, EmbedderIdentity, EmbeddingSpaces, Erasure,
    Error, ErrorKind, FacetCount, FacetRequest, Filter, FilterComparison, GetRequest, IdentityChange,
    IdentityState, LexicalRequest, Maintenance, Metadata, MetadataScalar, MetadataValue, Metric, NewDrawer,
    QueryRequest, Receipt, Result, SourceLedger, Write,
};

use super::beyond::BeyondHandle;
use super::keys::WrongKeys;
use super::moving::MovingMoment;
use super::revising::WrongRevisions;
use super::sight::HandleSight;
use super::turning::WrongSwitches;
use super::wrong::BackendFlaw;

#[derive(Debug)]
pub(crate) struct WrongCollection {
    inner: Arc<dyn Collection>,
    flaw: BackendFlaw,
    remembered: Mutex<HashMap<DrawerId, Option<Drawer>>>,
    /// The number of drawers on the pages so far.
    paged: Mutex<usize>,
    turning: WrongSwitches,
    revising: WrongRevisions,
    keys: WrongKeys,
    sight: HandleSight,
    beyond: BeyondHandle,
}

impl WrongCollection {
    pub(crate) fn new(
        inner: Arc<dyn Collection>,
        sight: HandleSight,
        beyond: BeyondHandle,
        flaw: BackendFlaw,
    ) -> Self {
        Self {
            turning: WrongSwitches::new(Arc::clone(&inner), flaw),
            revising: WrongRevisions::new(Arc::clone(&inner), flaw),
            keys: WrongKeys::new(Arc::clone(&inner), flaw),
            inner,
            flaw,
            remembered: Mutex::default(),
            paged: Mutex::default(),
            sight,
            beyond,
        }
    }

    /// Returns the write that a flawed backend applies instead.
    fn mistake_write(&self, write: &Write) -> Write {
        match (self.flaw, write.clone()) {
            (BackendFlaw::OverwritesOnAdd, Write::Add(drawer)) => Write::Upsert(drawer),
            (BackendFlaw::MergesOnUpsert, Write::Upsert(drawer)) if self.has_drawer(&drawer.id) => {
                Write::Update(merge_into_patch(drawer))
            }
            (BackendFlaw::CreatesOnUpdate, Write::Update(patch)) if !self.has_drawer(&patch.id) => {
                Write::Add(create_from_patch(patch))
            }
            (BackendFlaw::ForgetsBadVectors, Write::Add(mut drawer)) => {
                drawer.embedding = drawer
                    .embedding
                    .filter(|vector| check_vector(vector, Metric::Cosine).is_ok());
                Write::Add(drawer)
            }
            (BackendFlaw::GarblesContext, Write::Add(mut drawer)) => {
                if let Some(context) = &mut drawer.context {
                    context.before = context.before.replace(' ', "");
                }
                Write::Add(drawer)
            }
            (BackendFlaw::DeletesWithoutText, Write::Delete(DeleteSelection::Matching(condition))) => {
                Write::Delete(DeleteSelection::Matching(condition.filter.into()))
            }
            (BackendFlaw::LosesProvenanceOnUpdate, Write::Update(patch)) => self.rewrite_update(patch),
            (_, write) => write,
        }
    }

    /// The update as a replacement with everything but the provenance.
    fn rewrite_update(&self, patch: DrawerPatch) -> Write {
        let request = GetRequest {
            include: DrawerFields::EVERYTHING,
            ..GetRequest::by_ids([patch.id.clone()])
        };
        let Some(mut drawer) = self.inner.get(&request).ok().and_then(|mut found| found.pop()) else {
            return Write::Update(patch);
        };
        patch.apply_to(&mut drawer);
        Write::Upsert(NewDrawer {
            metadata: drawer.metadata.unwrap_or_default(),
            place: drawer.place,
            filed_at: drawer.filed_at,
            embedding: drawer.embedding,
            provenance: patch.provenance,
            ..NewDrawer::new(drawer.id, drawer.document.unwrap_or_default())
        })
    }

    /// The request as a flawed backend reads it.
    fn misread_get(&self, request: &GetRequest) -> GetRequest {
        let mut request = GetRequest {
            filter: self.misread_filter(&request.filter),
            ..request.clone()
        };
        match self.flaw {
            BackendFlaw::DropsDocumentFilter => request.document = DocumentFilter::All,
            BackendFlaw::IgnoresOffset => request.offset = 0,
            BackendFlaw::ReturnsEveryField => request.include = DrawerFields::EVERYTHING,
            BackendFlaw::IgnoresBudgets => request.budget = None,
            BackendFlaw::IgnoresOrder if request.after.is_none() => request.order = DrawerOrder::Id,
            BackendFlaw::PagesByOffset if request.after.take().is_some() => {
                request.offset += *self.paged.lock().expect("no holder of this lock panics");
            }
            BackendFlaw::PagesByOffset => *self.paged.lock().expect("no holder of this lock panics") = 0,
            _ => {}
        }
        request
    }

    /// The drawers a flawed backend finds.
    fn misfind_drawers(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        match (self.flaw, &request.filter) {
            (BackendFlaw::LeaksById, _) if request.ids.is_some() => return self.sight.whole.get(request),
            (
                BackendFlaw::FindsMembersByPart,
                Filter::Compare(key, FilterComparison::Contains(MetadataScalar::Text(part))),
            ) => {
                let all = self.inner.get(&GetRequest::default())?.into_iter();
                let holds =
                    |drawer: &Drawer| format!("{:?}", drawer.list_members(key)).contains(part.as_str());
                return Ok(all.filter(holds).collect());
            }
            _ => {}
        }
        let found = self.inner.get(request);
        match (self.flaw, found) {
            (BackendFlaw::AnswersAfterDrop, Err(error)) if error.kind() == ErrorKind::NotFound => {
                Ok(Vec::new())
            }
            (BackendFlaw::FollowsTheName, Err(error)) if error.kind() == ErrorKind::NotFound => {
                (self.beyond.by_name)()?.get(request)
            }
            (_, found) => found,
        }
    }

    fn has_drawer(&self, id: &DrawerId) -> bool {
        self.inner.find_drawer(id).is_ok_and(|found| found.is_some())
    }

    fn misread_filter(&self, filter: &Filter) -> Filter {
        match self.flaw {
            BackendFlaw::DropsFilter => Filter::All,
            _ => filter.clone(),
        }
    }

    /// Returns the drawer as a flawed backend shows it.
    fn misread_drawer(&self, mut drawer: Drawer) -> Drawer {
        match self.flaw {
            BackendFlaw::TrimsText => {
                drawer.document = drawer.document.map(|text| text.trim_end().to_owned())
            }
            BackendFlaw::TurnsIntegersToFloats => {
                drawer.metadata = drawer.metadata.as_ref().map(turn_to_floats)
            }
            BackendFlaw::HidesProvenance if drawer.document.is_none() => drawer.provenance = None,
            _ => {}
        }
        drawer
    }
}

impl WrongCollection {
    /// Applies a batch as a flawed backend does.
    fn misapply_batch(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        let unhurried = ApplyRequest {
            budget: None,
            ..*request
        };
        match self.flaw {
            BackendFlaw::IgnoresBudgets => self.inner.apply(&unhurried),
            BackendFlaw::WritesThenTimesOut => {
                let receipt = self.inner.apply(&unhurried)?;
                if request.budget.is_some_and(|budget| budget.is_zero()) {
                    return Err(Error::new(ErrorKind::TimedOut, "too late"));
                }
                Ok(receipt)
            }
            BackendFlaw::ChecksSightBeforeTheWrite if self.sight.visible.is_restricted() => {
                self.sight.apply_in_two_steps(request)
            }
            BackendFlaw::NamesHiddenTwins => {
                let applied = self.inner.apply(request);
                applied.map_err(|error| self.sight.name_the_twin(error))
            }
            BackendFlaw::KeepsALogOfTexts => {
                self.beyond.log_texts(request.writes);
                self.inner.apply(request)
            }
            BackendFlaw::OverwritesTheUnexpected => self.inner.apply(&ApplyRequest {
                expects: &[],
                ..*request
            }),
            BackendFlaw::ComparesVectorsToo => {
                let stored = self.inner.get(&GetRequest {
                    include: DrawerFields::EVERYTHING,
                    ..GetRequest::by_ids(request.expects.iter().map(|drawer| drawer.id.clone()))
                })?;
                if !request.expects.is_empty() && stored != request.expects {
                    return Err(Error::new(ErrorKind::Conflict, "it was changed"));
                }
                self.inner.apply(request)
            }
            BackendFlaw::AdoptsOnEachWrite => (self.beyond.by_name)()?.apply(request),
            _ => self.keys.apply(request),
        }
    }
}

/// Reverses the drawers that tie in an order.
fn turn_ties(drawers: &mut [Drawer], order: DrawerOrder) {
    let key = |drawer: &Drawer| match order {
        DrawerOrder::Id => (Some(drawer.id.to_string()), None),
        DrawerOrder::NewestFiled => (drawer.filed_at.map(|time| time.to_string()), None),
        DrawerOrder::NewestSaid => (drawer.place.said_at.map(|time| time.to_string()), None),
        DrawerOrder::Source => (
            drawer.place.source.clone(),
            drawer.place.span.map(|span| span.start),
        ),
    };
    drawers
        .chunk_by_mut(|a, b| key(a) == key(b))
        .for_each(<[Drawer]>::reverse);
}

/// Reverses the hits with equal scores.
fn turn_equal_hits(hits: &mut [DrawerHit]) {
    hits.chunk_by_mut(|a, b| a.score == b.score)
        .for_each(<[DrawerHit]>::reverse);
}

fn merge_into_patch(drawer: NewDrawer) -> DrawerPatch {
    let keys = drawer.metadata.iter();
    DrawerPatch {
        document: Some(drawer.document.clone()),
        metadata: keys
            .map(|(key, value)| (key.to_owned(), Some(value.clone())))
            .collect(),
        embedding: drawer.embedding.clone(),
        ..DrawerPatch::new(drawer.id)
    }
}

fn create_from_patch(patch: DrawerPatch) -> NewDrawer {
    NewDrawer::new(patch.id, patch.document.unwrap_or_default())
}

fn turn_to_floats(metadata: &Metadata) -> Metadata {
    let float = |value: &MetadataValue| match value {
        MetadataValue::One(MetadataScalar::Int(int)) => MetadataValue::from(*int as f64),
        other => other.clone(),
    };
    metadata
        .iter()
        .map(|(key, value)| (key.to_owned(), float(value)))
        .collect()
}

impl CollectionReader for WrongCollection {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        let request = self.misread_get(request);
        if let (BackendFlaw::RemembersReads, Some([id])) = (self.flaw, request.ids.as_deref()) {
            let mut remembered = self.remembered.lock().expect("no holder of this lock panics");
            if let Some(known) = remembered.get(id) {
                return Ok(known.iter().cloned().collect());
            }
            let found = self.inner.get(&request)?;
            remembered.insert(id.clone(), found.first().cloned());
            return Ok(found);
        }
        let mut found = self.misfind_drawers(&request)?;
        *self.paged.lock().expect("no holder of this lock panics") += found.len();
        if self.flaw == BackendFlaw::IgnoresTies {
            turn_ties(&mut found, request.order);
        }
        Ok(found
            .into_iter()
            .map(|drawer| self.misread_drawer(drawer))
            .collect())
    }

    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        let mut mistaken = QueryRequest {
            filter: self.misread_filter(&request.filter),
            ..request.clone()
        };
        if self.flaw == BackendFlaw::IgnoresBudgets {
            mistaken.budget = None;
        }
        let mut lists = self.turning.query(&mistaken)?;
        if self.flaw == BackendFlaw::LosesAHit && !request.filter.is_all() {
            lists.iter_mut().for_each(|hits| drop(hits.pop()));
        }
        if self.flaw == BackendFlaw::DropsEmptyLists {
            lists.retain(|hits| !hits.is_empty());
        }
        for hits in &mut lists {
            match self.flaw {
                BackendFlaw::IgnoresTies => turn_equal_hits(hits),
                BackendFlaw::MissesTooMany => hits.truncate(hits.len() * 4 / 5),
                BackendFlaw::GuessesDistances => hits.iter_mut().for_each(|hit| hit.score *= 1.01),
                _ => {}
            }
        }
        Ok(lists)
    }

    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        let mut mistaken = LexicalRequest {
            filter: self.misread_filter(&request.filter),
            ..request.clone()
        };
        match self.flaw {
            BackendFlaw::LeaksWordStatistics => return self.sight.lexical_over_everything(request),
            BackendFlaw::IgnoresBudgets => mistaken.budget = None,
            _ => {}
        }
        let mut hits = self.inner.lexical(&mistaken)?;
        if self.flaw == BackendFlaw::IgnoresTies {
            turn_equal_hits(&mut hits);
        }
        Ok(hits)
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        let mut mistaken = DrawerCondition {
            filter: self.misread_filter(&condition.filter),
            ..condition.clone()
        };
        if self.flaw == BackendFlaw::CountsWithoutText {
            mistaken.document = DocumentFilter::All;
        }
        self.inner.count(&mistaken)
    }

    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        if self.flaw == BackendFlaw::LeaksFacets {
            return self.sight.whole.facets(request);
        }
        self.inner.facets(request)
    }

    fn info(&self) -> Result<CollectionInfo> {
        let mut info = self.inner.info()?;
        info.approximate &= self.flaw != BackendFlaw::HidesApproximation;
        if self.flaw == BackendFlaw::LeaksSeq {
            info.seq = self.sight.whole.info()?.seq;
        }
        Ok(info)
    }
}

impl Collection for WrongCollection {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        let batch: Vec<Write> = request
            .writes
            .iter()
            .map(|write| self.mistake_write(write))
            .collect();
        self.turning.spoil_before_write(&batch)?;
        if self.flaw == BackendFlaw::AppliesOneByOne && !batch.is_empty() {
            let mut last = Receipt::default();
            for write in batch {
                last = self.inner.apply_batch(&[write])?;
            }
            return Ok(last);
        }
        let mut receipt = self.misapply_batch(&ApplyRequest {
            writes: &batch,
            ..*request
        })?;
        match self.flaw {
            BackendFlaw::ReportsKeptAsAdded => receipt.added.append(&mut receipt.kept),
            BackendFlaw::ForgetsMissingVectors => receipt.without_vector.clear(),
            BackendFlaw::FilesTwins if !receipt.twins.is_empty() => {
                for write in batch {
                    if let Write::Add(mut drawer) = write {
                        drawer.place.span = None;
                        receipt = self.inner.add_drawer(drawer)?;
                    }
                }
            }
            _ => {}
        }
        Ok(receipt)
    }

    fn model(&self) -> IdentityState {
        if self.flaw == BackendFlaw::TellsTheModelOfNow {
            return self
                .inner
                .info()
                .map_or(IdentityState::Unset, |info| info.identity);
        }
        self.inner.model()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.inner.set_identity(identity, why)
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        match self.flaw {
            BackendFlaw::MomentOfEverything => self.sight.whole.moment(),
            BackendFlaw::MovingMoment => Ok(Some(Box::new(MovingMoment(self.inner.as_ref())))),
            _ => self.inner.moment(),
        }
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        let turning: &dyn EmbeddingSpaces = &self.turning;
        self.inner.spaces().map(|_| turning)
    }

    fn sources(&self) -> Option<&dyn SourceLedger> {
        let revising: &dyn SourceLedger = &self.revising;
        self.inner.sources().map(|_| revising)
    }

    fn feed(&self) -> Option<&dyn ChangeFeed> {
        if self.flaw == BackendFlaw::OffersTheFeed {
            return self.sight.whole.feed();
        }
        let own: &dyn ChangeFeed = self;
        self.inner.feed().map(|_| own)
    }

    fn upkeep(&self) -> Option<&dyn Maintenance> {
        self.inner.upkeep()
    }

    fn eraser(&self) -> Option<&dyn Erasure> {
        self.inner.eraser()
    }
}

impl ChangeFeed for WrongCollection {
    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<ChangePage> {
        let limit = if self.flaw == BackendFlaw::FeedIgnoresLimit {
            usize::MAX
        } else {
            limit
        };
        let mut page = self.inner.require_feed()?.changes_since(cursor, limit)?;
        match self.flaw {
            BackendFlaw::FeedForgetsDeletes => page.changes.retain(|change| change.op == ChangeKind::Put),
            BackendFlaw::FeedSkips => page.next = Cursor(page.next.0 + 1),
            _ => {}
        }
        Ok(page)
    }
}
