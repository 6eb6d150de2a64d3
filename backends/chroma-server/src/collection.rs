//! An open handle on a collection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use loci_core::write::{check_batch, check_expected};
use loci_core::{
    ApplyRequest, BackendDescriptor, ChangeFeed, Collection, CollectionInfo, CollectionReader,
    DeclaredEmbedder, DeleteSelection, Drawer, DrawerCondition, DrawerFields, DrawerHit, DrawerId,
    EmbedderIdentity, EmbeddingSpaces, Erasure, Error, ErrorKind, FacetCount, FacetRequest, GetRequest,
    IdentityChange, IdentityState, LexicalRequest, Maintenance, OpenOptions, QueryRequest, Receipt, Result,
    SourceLedger, Timestamp, Visibility, Write,
};

use crate::apply::{BatchPlanner, PlannedChange};
use crate::deadline::ChromaDeadline;
use crate::failure::closed_error;
use crate::nearest::CandidateSearch;
use crate::send::BatchSender;
use crate::shelf::ChromaShelf;
use crate::side::{ChromaKeyedBatch, ShelfFacts};
use crate::{read, words};

/// A handle on one collection of a Chroma server.
#[derive(Debug)]
pub(crate) struct ChromaCollection {
    shelf: ChromaShelf,
    visible: Visibility,
    writable: bool,
    declared: DeclaredEmbedder,
    /// The model that was recorded when the handle was opened.
    model: IdentityState,
    scan_limit: u64,
    closed: [Arc<AtomicBool>; 2],
}

impl ChromaCollection {
    /// Opens a collection, unless the options contradict it. `closed` are the flags that close the handle.
    pub(crate) fn open(
        shelf: ChromaShelf,
        options: &OpenOptions,
        scan_limit: u64,
        closed: [Arc<AtomicBool>; 2],
    ) -> Result<Self> {
        let facts = ShelfFacts::read(&shelf, ChromaDeadline::default())?;
        let model = facts.identity();
        check_options(&facts, options)?;
        Ok(Self {
            visible: Visibility::new(options.visible.clone()),
            writable: options.writable,
            declared: options.declared_embedder(&model),
            model,
            shelf,
            scan_limit,
            closed,
        })
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.iter().any(|flag| flag.load(Ordering::SeqCst)) {
            return Err(closed_error("this collection"));
        }
        Ok(())
    }

    fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.writable {
            return Ok(());
        }
        let message = format!(
            "the collection {:?} was opened to be read only",
            self.shelf.name.as_str()
        );
        Err(Error::new(ErrorKind::Unsupported, message)
            .with_hint("nothing was changed; open it to be written"))
    }

    /// Refuses a batch that this handle may not write.
    fn check_writes(&self, facts: &ShelfFacts, batch: &[Write]) -> Result<()> {
        let embedder = self.declared.embedder.as_ref();
        let identity = facts.identity();
        let dimension = facts.dimension.or(embedder.map(|embedder| embedder.dimension));
        let same_model = identity.check_open(embedder);
        if same_model.is_err() && has_vectors(batch) {
            // Vectors of another model often have another length too; that they are of another model says more.
            check_batch(batch, facts.metric, None)?;
            return same_model;
        }
        check_batch(batch, facts.metric, dimension)?;
        if has_vectors(batch) {
            identity.check_write(&self.declared)?;
        }
        Ok(())
    }

    /// Refuses a batch that expects drawers which are not stored as they were read.
    fn check_expected(&self, expects: &[Drawer], deadline: ChromaDeadline) -> Result<()> {
        let ids: Vec<&DrawerId> = expects.iter().map(|expected| &expected.id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let stored = self.shelf.load_by_ids(&ids, DrawerFields::EVERYTHING, deadline)?;
        let seen = |id: &DrawerId| {
            let stored = stored.get(id).map(|recorded| &recorded.drawer);
            stored.filter(|drawer| self.visible.sees_drawer(drawer))
        };
        expects
            .iter()
            .try_for_each(|expected| check_expected(expected, seen(&expected.id)))
    }

    fn apply_within(&self, request: &ApplyRequest<'_>, deadline: ChromaDeadline) -> Result<Receipt> {
        let now = current_time()?;
        let facts = ShelfFacts::read(&self.shelf, deadline)?;
        let keyed = request
            .key
            .map(|key| ChromaKeyedBatch::new(key, &self.visible, request.writes));
        // Before any check: a repetition returns its receipt even if the batch would be refused by now.
        if let Some(keyed) = &keyed
            && let Some(receipt) = keyed.find_receipt(&self.shelf, now, deadline)?
        {
            return Ok(receipt);
        }
        self.check_expected(request.expects, deadline)?;
        self.check_writes(&facts, request.writes)?;
        let planner = BatchPlanner::load(&self.shelf, &self.visible, now, request.writes, deadline)?;
        let planned = planner.plan(request.writes)?;
        // The last moment at which nothing has been written yet.
        deadline.check()?;
        let files_vectors = planned.changes.iter().any(|change| {
            change
                .after
                .as_ref()
                .is_some_and(|after| after.embedding.is_some())
        });
        if files_vectors
            && facts.model.model.is_none()
            && let Some(model) = &self.declared.embedder
            && facts.vectors == 0
        {
            // Before the vectors: an interrupted batch must not leave vectors whose model nobody recorded.
            let mut fact = facts.model.clone();
            fact.model = Some(model.clone());
            fact.store(&self.shelf)?;
        }
        let mut receipt = planned.receipt;
        receipt.seq = self.send_changes(&planned.changes, &facts, now)?;
        if let Some(keyed) = keyed {
            keyed.store_receipt(&self.shelf, now, &receipt)?;
        }
        Ok(receipt)
    }
}

impl ChromaCollection {
    /// Writes the changes; returns the number of the write, or that of the last one if there is nothing to change.
    fn send_changes(&self, changes: &[PlannedChange], facts: &ShelfFacts, now: Timestamp) -> Result<u64> {
        if changes.is_empty() {
            return read::last_change(&self.shelf, &self.visible);
        }
        let gate = &self.shelf.gate;
        let sender = BatchSender {
            shelf: &self.shelf,
            metric: facts.metric,
            seq: gate.number_write(now),
            limits: self.shelf.client.limits()?,
        };
        // Also for a write that fails: it may have changed something.
        gate.note_write(sender.seq);
        sender.send(changes).map(|()| sender.seq)
    }
}

fn check_options(facts: &ShelfFacts, options: &OpenOptions) -> Result<()> {
    facts.identity().check_open(options.embedder.as_ref())?;
    let declared = options.embedder.as_ref().map(|embedder| embedder.dimension);
    for given in [options.dimension, declared].into_iter().flatten() {
        check_dimension(facts, given)?;
    }
    match options.metric {
        Some(metric) if metric != facts.metric => Err(Error::invalid(format!(
            "this collection compares by {}, not by {}",
            facts.metric.name(),
            metric.name()
        ))),
        _ => Ok(()),
    }
}

fn check_dimension(facts: &ShelfFacts, given: usize) -> Result<()> {
    match facts.dimension {
        Some(stored) if stored != given => Err(loci_core::vector::dimension_mismatch(stored, given)),
        _ => Ok(()),
    }
}

fn has_vectors(batch: &[Write]) -> bool {
    batch.iter().any(|write| match write {
        Write::Add(drawer) | Write::Upsert(drawer) => drawer.embedding.is_some(),
        Write::Update(patch) => patch.embedding.is_some(),
        Write::Delete(DeleteSelection::Ids(_) | DeleteSelection::Matching(_)) => false,
    })
}

fn current_time() -> Result<Timestamp> {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_err(|error| Error::new(ErrorKind::Io, "the system clock is before 1970").caused_by(error))?;
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Refuses filters that this backend does not know; it knows all.
pub(crate) fn check_filter(descriptor: &BackendDescriptor, options: &OpenOptions) -> Result<()> {
    descriptor.check_filter(&options.visible)?;
    match options.metric {
        Some(metric) if !descriptor.metrics.contains(&metric) => Err(Error::new(
            ErrorKind::Unsupported,
            format!("Chroma does not compare by {}", metric.name()),
        )),
        _ => Ok(()),
    }
}

impl CollectionReader for ChromaCollection {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        self.check_open()?;
        let deadline = ChromaDeadline::begin(request.budget)?;
        request.check_request()?;
        let _gate = self.shelf.gate.enter_to_read();
        read::get_drawers(&self.shelf, &self.visible, request, deadline)
    }

    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        self.check_open()?;
        let deadline = ChromaDeadline::begin(request.budget)?;
        let _gate = self.shelf.gate.enter_to_read();
        let facts = ShelfFacts::read(&self.shelf, deadline)?;
        request.check_request(facts.metric, facts.dimension)?;
        let search = CandidateSearch {
            shelf: &self.shelf,
            visible: &self.visible,
            request,
            deadline,
            scan_limit: self.scan_limit,
        };
        search.run(&facts)
    }

    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        self.check_open()?;
        let deadline = ChromaDeadline::begin(request.budget)?;
        request.check_request()?;
        let _gate = self.shelf.gate.enter_to_read();
        words::find_words(&self.shelf, &self.visible, request, deadline)
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.check_open()?;
        let _gate = self.shelf.gate.enter_to_read();
        read::count_drawers(&self.shelf, &self.visible, condition)
    }

    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        self.check_open()?;
        request.check_request()?;
        let _gate = self.shelf.gate.enter_to_read();
        read::count_facets(&self.shelf, &self.visible, request)
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.check_open()?;
        let _gate = self.shelf.gate.enter_to_read();
        read::describe_collection(&self.shelf, &self.visible)
    }
}

impl Collection for ChromaCollection {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.check_writable()?;
        let deadline = ChromaDeadline::begin(request.budget)?;
        let _gate = self.shelf.gate.enter_to_write();
        self.apply_within(request, deadline)
    }

    fn model(&self) -> IdentityState {
        self.model.clone()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.check_writable()?;
        if self.visible.is_restricted() {
            return Err(Visibility::whole_collection_error("recording a model"));
        }
        let _gate = self.shelf.gate.enter_to_write();
        let facts = ShelfFacts::read(&self.shelf, ChromaDeadline::default())?;
        // Even by force: vectors of another length cannot be of this model.
        check_dimension(&facts, identity.dimension)?;
        let identity_now = facts.identity();
        let mut fact = facts.model;
        match why {
            IdentityChange::Confirm => identity_now.check_open(Some(identity))?,
            IdentityChange::Force => fact.forced.push(identity.clone()),
        }
        fact.model = Some(identity.clone());
        fact.store(&self.shelf)
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        self.check_open()?;
        // A dropped collection is an error and not an absent ability.
        self.shelf.describe(ChromaDeadline::default())?;
        Ok(None)
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
