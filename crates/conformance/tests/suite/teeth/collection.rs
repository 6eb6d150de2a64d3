//! Collections that are wrong in one way, made of those of the reference.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use loci_core::write::check_vector;
use loci_core::{
    ApplyRequest, ChangeFeed, ChangeKind, Changes, Collection, CollectionExt, CollectionInfo,
    CollectionReader, CollectionReaderExt, Comparison, Cursor, DocumentFilter, Drawer, DrawerCondition,
    DrawerId, DrawerOrder, EmbedderIdentity, EmbeddingSpaces, Erasure, Error, ErrorKind, Facet, Facets,
    Filter, Get, Hit, IdentityChange, IdentityState, Include, Lexical, Maintenance, Metadata, NewDrawer,
    Patch, Query, Receipt, Result, Scalar, Selection, SourceLedger, Value, Write,
};

use super::beyond::Beyond;
use super::keys::Keys;
use super::moving::MovingMoment;
use super::revising::Revising;
use super::sight::Sight;
use super::turning::Turning;
use super::wrong::Flaw;

#[derive(Debug)]
pub(crate) struct WrongCollection {
    inner: Arc<dyn Collection>,
    flaw: Flaw,
    remembered: Mutex<HashMap<DrawerId, Option<Drawer>>>,
    /// How many drawers the pages so far held.
    paged: Mutex<usize>,
    turning: Turning,
    revising: Revising,
    keys: Keys,
    sight: Sight,
    beyond: Beyond,
}

impl WrongCollection {
    pub(crate) fn new(inner: Arc<dyn Collection>, sight: Sight, beyond: Beyond, flaw: Flaw) -> Self {
        Self {
            turning: Turning::new(Arc::clone(&inner), flaw),
            revising: Revising::new(Arc::clone(&inner), flaw),
            keys: Keys::new(Arc::clone(&inner), flaw),
            inner,
            flaw,
            remembered: Mutex::default(),
            paged: Mutex::default(),
            sight,
            beyond,
        }
    }

    /// What a flawed backend makes of one write.
    fn mistaken(&self, write: &Write) -> Write {
        match (self.flaw, write.clone()) {
            (Flaw::OverwritesOnAdd, Write::Add(drawer)) => Write::Upsert(drawer),
            (Flaw::MergesOnUpsert, Write::Upsert(drawer)) if self.has(&drawer.id) => {
                Write::Update(merged(drawer))
            }
            (Flaw::CreatesOnUpdate, Write::Update(patch)) if !self.has(&patch.id) => {
                Write::Add(created(patch))
            }
            (Flaw::ForgetsBadVectors, Write::Add(mut drawer)) => {
                drawer.embedding = drawer.embedding.filter(|vector| check_vector(vector).is_ok());
                Write::Add(drawer)
            }
            (Flaw::GarblesContext, Write::Add(mut drawer)) => {
                if let Some(context) = &mut drawer.context {
                    context.before = context.before.replace(' ', "");
                }
                Write::Add(drawer)
            }
            (Flaw::DeletesWithoutText, Write::Delete(Selection::Matching(condition))) => {
                Write::Delete(Selection::Matching(condition.filter.into()))
            }
            (Flaw::LosesProvenanceOnUpdate, Write::Update(patch)) => self.rewritten(patch),
            (_, write) => write,
        }
    }

    /// The update as a replacement with everything but the provenance.
    fn rewritten(&self, patch: Patch) -> Write {
        let request = Get {
            include: Include::EVERYTHING,
            ..Get::ids([patch.id.clone()])
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
    fn misread_get(&self, request: &Get) -> Get {
        let mut request = Get {
            filter: self.filter(&request.filter),
            ..request.clone()
        };
        match self.flaw {
            Flaw::DropsDocumentFilter => request.document = DocumentFilter::All,
            Flaw::IgnoresOffset => request.offset = 0,
            Flaw::ReturnsEveryField => request.include = Include::EVERYTHING,
            Flaw::IgnoresBudgets => request.budget = None,
            Flaw::IgnoresOrder if request.after.is_none() => request.order = DrawerOrder::Id,
            Flaw::PagesByOffset if request.after.take().is_some() => {
                request.offset += *self.paged.lock().expect("no holder of this lock panics");
            }
            Flaw::PagesByOffset => *self.paged.lock().expect("no holder of this lock panics") = 0,
            _ => {}
        }
        request
    }

    /// The drawers a flawed backend finds.
    fn misfound(&self, request: &Get) -> Result<Vec<Drawer>> {
        match (self.flaw, &request.filter) {
            (Flaw::LeaksById, _) if request.ids.is_some() => return self.sight.whole.get(request),
            (Flaw::FindsMembersByPart, Filter::Compare(key, Comparison::Contains(Scalar::Text(part)))) => {
                let all = self.inner.get(&Get::default())?.into_iter();
                let holds = |drawer: &Drawer| format!("{:?}", drawer.members(key)).contains(part.as_str());
                return Ok(all.filter(holds).collect());
            }
            _ => {}
        }
        let found = self.inner.get(request);
        match (self.flaw, found) {
            (Flaw::AnswersAfterDrop, Err(error)) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            (Flaw::FollowsTheName, Err(error)) if error.kind() == ErrorKind::NotFound => {
                (self.beyond.by_name)()?.get(request)
            }
            (_, found) => found,
        }
    }

    fn has(&self, id: &DrawerId) -> bool {
        self.inner.find(id).is_ok_and(|found| found.is_some())
    }

    fn filter(&self, filter: &Filter) -> Filter {
        match self.flaw {
            Flaw::DropsFilter => Filter::All,
            _ => filter.clone(),
        }
    }

    /// What a flawed backend makes of what it read.
    fn misread(&self, mut drawer: Drawer) -> Drawer {
        match self.flaw {
            Flaw::TrimsText => drawer.document = drawer.document.map(|text| text.trim_end().to_owned()),
            Flaw::TurnsIntegersToFloats => drawer.metadata = drawer.metadata.as_ref().map(floats),
            Flaw::HidesProvenance if drawer.document.is_none() => drawer.provenance = None,
            _ => {}
        }
        drawer
    }
}

impl WrongCollection {
    /// Applies a batch as a flawed backend does.
    fn misapply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        let unhurried = ApplyRequest {
            budget: None,
            ..*request
        };
        match self.flaw {
            Flaw::IgnoresBudgets => self.inner.apply(&unhurried),
            Flaw::WritesThenTimesOut => {
                let receipt = self.inner.apply(&unhurried)?;
                if request.budget.is_some_and(|budget| budget.is_zero()) {
                    return Err(Error::new(ErrorKind::TimedOut, "too late"));
                }
                Ok(receipt)
            }
            Flaw::ChecksSightBeforeTheWrite if self.sight.visible.is_restricted() => {
                self.sight.apply_in_two_steps(request)
            }
            Flaw::NamesHiddenTwins => {
                let applied = self.inner.apply(request);
                applied.map_err(|error| self.sight.name_the_twin(error))
            }
            Flaw::KeepsALogOfTexts => {
                self.beyond.log_texts(request.writes);
                self.inner.apply(request)
            }
            Flaw::AdoptsOnEachWrite => (self.beyond.by_name)()?.apply(request),
            _ => self.keys.apply(request),
        }
    }
}

/// Turns the drawers around that tie in an order.
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

/// Turns the hits around that do equally well.
fn turn_equal_hits(hits: &mut [Hit]) {
    hits.chunk_by_mut(|a, b| a.score == b.score)
        .for_each(<[Hit]>::reverse);
}

fn merged(drawer: NewDrawer) -> Patch {
    let keys = drawer.metadata.iter();
    Patch {
        document: Some(drawer.document.clone()),
        metadata: keys
            .map(|(key, value)| (key.to_owned(), Some(value.clone())))
            .collect(),
        embedding: drawer.embedding.clone(),
        ..Patch::new(drawer.id)
    }
}

fn created(patch: Patch) -> NewDrawer {
    NewDrawer::new(patch.id, patch.document.unwrap_or_default())
}

fn floats(metadata: &Metadata) -> Metadata {
    let float = |value: &Value| match value {
        Value::One(Scalar::Int(int)) => Value::from(*int as f64),
        other => other.clone(),
    };
    metadata
        .iter()
        .map(|(key, value)| (key.to_owned(), float(value)))
        .collect()
}

impl CollectionReader for WrongCollection {
    fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        let request = self.misread_get(request);
        if let (Flaw::RemembersReads, Some([id])) = (self.flaw, request.ids.as_deref()) {
            let mut remembered = self.remembered.lock().expect("no holder of this lock panics");
            if let Some(known) = remembered.get(id) {
                return Ok(known.iter().cloned().collect());
            }
            let found = self.inner.get(&request)?;
            remembered.insert(id.clone(), found.first().cloned());
            return Ok(found);
        }
        let mut found = self.misfound(&request)?;
        *self.paged.lock().expect("no holder of this lock panics") += found.len();
        if self.flaw == Flaw::IgnoresTies {
            turn_ties(&mut found, request.order);
        }
        Ok(found.into_iter().map(|drawer| self.misread(drawer)).collect())
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        let mut mistaken = Query {
            filter: self.filter(&request.filter),
            ..request.clone()
        };
        if self.flaw == Flaw::IgnoresBudgets {
            mistaken.budget = None;
        }
        let mut lists = self.turning.query(&mistaken)?;
        if self.flaw == Flaw::LosesAHit && !request.filter.is_all() {
            lists.iter_mut().for_each(|hits| drop(hits.pop()));
        }
        if self.flaw == Flaw::DropsEmptyLists {
            lists.retain(|hits| !hits.is_empty());
        }
        for hits in &mut lists {
            match self.flaw {
                Flaw::IgnoresTies => turn_equal_hits(hits),
                Flaw::MissesTooMany => hits.truncate(hits.len() * 4 / 5),
                Flaw::GuessesDistances => hits.iter_mut().for_each(|hit| hit.score *= 1.01),
                _ => {}
            }
        }
        Ok(lists)
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        let mut mistaken = Lexical {
            filter: self.filter(&request.filter),
            ..request.clone()
        };
        match self.flaw {
            Flaw::LeaksWordStatistics => return self.sight.lexical_over_everything(request),
            Flaw::IgnoresBudgets => mistaken.budget = None,
            _ => {}
        }
        let mut hits = self.inner.lexical(&mistaken)?;
        if self.flaw == Flaw::IgnoresTies {
            turn_equal_hits(&mut hits);
        }
        Ok(hits)
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        let mut mistaken = DrawerCondition {
            filter: self.filter(&condition.filter),
            ..condition.clone()
        };
        if self.flaw == Flaw::CountsWithoutText {
            mistaken.document = DocumentFilter::All;
        }
        self.inner.count(&mistaken)
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        if self.flaw == Flaw::LeaksFacets {
            return self.sight.whole.facets(request);
        }
        self.inner.facets(request)
    }

    fn info(&self) -> Result<CollectionInfo> {
        let mut info = self.inner.info()?;
        if self.flaw == Flaw::LeaksSeq {
            info.seq = self.sight.whole.info()?.seq;
        }
        Ok(info)
    }
}

impl Collection for WrongCollection {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        let batch: Vec<Write> = request.writes.iter().map(|write| self.mistaken(write)).collect();
        self.turning.before(&batch)?;
        if self.flaw == Flaw::AppliesOneByOne && !batch.is_empty() {
            let mut last = Receipt::default();
            for write in batch {
                last = self.inner.apply_batch(&[write])?;
            }
            return Ok(last);
        }
        let mut receipt = self.misapply(&ApplyRequest {
            writes: &batch,
            ..*request
        })?;
        match self.flaw {
            Flaw::ReportsKeptAsAdded => receipt.added.append(&mut receipt.kept),
            Flaw::ForgetsMissingVectors => receipt.without_vector.clear(),
            Flaw::FilesTwins if !receipt.twins.is_empty() => {
                for write in batch {
                    if let Write::Add(mut drawer) = write {
                        drawer.place.span = None;
                        receipt = self.inner.add(drawer)?;
                    }
                }
            }
            _ => {}
        }
        Ok(receipt)
    }

    fn model(&self) -> IdentityState {
        if self.flaw == Flaw::TellsTheModelOfNow {
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
            Flaw::MomentOfEverything => self.sight.whole.moment(),
            Flaw::MovingMoment => Ok(Some(Box::new(MovingMoment(self.inner.as_ref())))),
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
        if self.flaw == Flaw::OffersTheFeed {
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
    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<Changes> {
        let limit = if self.flaw == Flaw::FeedIgnoresLimit {
            usize::MAX
        } else {
            limit
        };
        let mut page = self.inner.require_feed()?.changes_since(cursor, limit)?;
        match self.flaw {
            Flaw::FeedForgetsDeletes => page.changes.retain(|change| change.op == ChangeKind::Put),
            Flaw::FeedSkips => page.next = Cursor(page.next.0 + 1),
            _ => {}
        }
        Ok(page)
    }
}
