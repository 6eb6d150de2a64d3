//! Collections that are wrong in one way, made of those of the reference.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use loci_core::write::check_vector;
use loci_core::{
    ChangeKind, Changes, Collection, CollectionExt, CollectionInfo, Cursor, DocumentFilter, Drawer, DrawerId,
    EmbedderIdentity, Facet, Facets, Filled, Filling, Filter, Get, Hit, IdentityChange, Include, Lexical,
    MaintenanceKind, MaintenanceReport, MaintenanceState, Metadata, NewDrawer, Patch, Pending, Query,
    Receipt, Result, Revised, Revision, Scalar, SourceRecord, Sources, Space, Switch, Unembedded, Value,
    Write,
};

use super::revising::Revising;
use super::turning::Turning;
use super::wrong::Flaw;

#[derive(Debug)]
pub(crate) struct WrongCollection {
    inner: Arc<dyn Collection>,
    flaw: Flaw,
    remembered: Mutex<HashMap<DrawerId, Option<Drawer>>>,
    turning: Turning,
    revising: Revising,
}

impl WrongCollection {
    pub(crate) fn new(inner: Arc<dyn Collection>, flaw: Flaw) -> Self {
        Self {
            turning: Turning::new(Arc::clone(&inner), flaw),
            revising: Revising::new(Arc::clone(&inner), flaw),
            inner,
            flaw,
            remembered: Mutex::default(),
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
            (_, write) => write,
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
            _ => {}
        }
        drawer
    }
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

impl Collection for WrongCollection {
    fn apply(&self, batch: &[Write]) -> Result<Receipt> {
        let batch: Vec<Write> = batch.iter().map(|write| self.mistaken(write)).collect();
        self.turning.before(&batch)?;
        if self.flaw == Flaw::AppliesOneByOne && !batch.is_empty() {
            let mut last = Receipt::default();
            for write in batch {
                last = self.inner.apply(&[write])?;
            }
            return Ok(last);
        }
        let mut receipt = self.inner.apply(&batch)?;
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

    fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        let mut request = Get {
            filter: self.filter(&request.filter),
            ..request.clone()
        };
        match self.flaw {
            Flaw::DropsDocumentFilter => request.document = DocumentFilter::All,
            Flaw::IgnoresOffset => request.offset = 0,
            Flaw::ReturnsEveryField => request.include = Include::EVERYTHING,
            _ => {}
        }
        if let (Flaw::RemembersReads, Some([id])) = (self.flaw, request.ids.as_deref()) {
            let mut remembered = self.remembered.lock().expect("no holder of this lock panics");
            if let Some(known) = remembered.get(id) {
                return Ok(known.iter().cloned().collect());
            }
            let found = self.inner.get(&request)?;
            remembered.insert(id.clone(), found.first().cloned());
            return Ok(found);
        }
        let found = self.inner.get(&request)?.into_iter();
        Ok(found.map(|drawer| self.misread(drawer)).collect())
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        let mistaken = Query {
            filter: self.filter(&request.filter),
            ..request.clone()
        };
        let mut lists = self.turning.query(&mistaken)?;
        if self.flaw == Flaw::LosesAHit && !request.filter.is_all() {
            lists.iter_mut().for_each(|hits| drop(hits.pop()));
        }
        if self.flaw == Flaw::DropsEmptyLists {
            lists.retain(|hits| !hits.is_empty());
        }
        Ok(lists)
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        self.inner.lexical(&Lexical {
            filter: self.filter(&request.filter),
            ..request.clone()
        })
    }

    fn count(&self, filter: &Filter) -> Result<u64> {
        self.inner.count(&self.filter(filter))
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        self.inner.facets(request)
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.inner.info()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.inner.set_identity(identity, why)
    }

    fn maintenance(&self) -> Result<MaintenanceState> {
        self.inner.maintenance()
    }

    fn maintain(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport> {
        self.inner.maintain(kind)
    }

    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<Changes> {
        let limit = match self.flaw {
            Flaw::FeedIgnoresLimit => usize::MAX,
            _ => limit,
        };
        let mut page = self.inner.changes_since(cursor, limit)?;
        match self.flaw {
            Flaw::FeedForgetsDeletes => page.changes.retain(|change| change.op == ChangeKind::Put),
            Flaw::FeedSkips => page.next = Cursor(page.next.0 + 1),
            _ => {}
        }
        Ok(page)
    }

    fn spaces(&self) -> Result<Vec<Space>> {
        self.inner.spaces()
    }

    fn switch(&self, step: &Switch) -> Result<Vec<Space>> {
        self.turning.switch(step)
    }

    fn pending(&self, request: &Pending) -> Result<Vec<Unembedded>> {
        self.inner.pending(request)
    }

    fn fill(&self, identity: &EmbedderIdentity, vectors: &[Filling]) -> Result<Filled> {
        self.turning.fill(identity, vectors)
    }

    fn sources(&self, request: &Sources) -> Result<Vec<SourceRecord>> {
        self.revising.sources(request)
    }

    fn revise(&self, revisions: Vec<Revision<'_>>) -> Result<Vec<Revised>> {
        self.revising.revise(revisions)
    }
}
