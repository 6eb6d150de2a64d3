//! A collection on a server: every call is one transaction.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use loci_core::write::check_batch;
use loci_core::{
    ApplyRequest, ChangeFeed, ChangePage, Collection, CollectionInfo, CollectionName, CollectionReader,
    Cursor, DeclaredEmbedder, Drawer, DrawerCondition, DrawerHit, EmbedderIdentity, EmbeddingSpace,
    EmbeddingSpaces, Erasure, Error, ErrorKind, FacetCount, FacetRequest, ForeseenRead, GetRequest,
    IdentityChange, IdentityState, LexicalRequest, Maintenance, MaintenanceKind, MaintenanceReport,
    MaintenanceState, Metric, OpenOptions, PendingRequest, PurgeReport, QueryPrecision, QueryRequest,
    Receipt, Result, RevisionOutcome, SourceLedger, SourceRecord, SourceRecordQuery, SourceRevision,
    StoredTrace, SwitchStep, UnembeddedDrawer, VectorFill, VectorFillReport, Visibility,
};

use crate::deadline::ServerDeadline;
use crate::moment::{MomentAddress, MomentView, ServerMoment};
use crate::palace::ServerPalace;
use crate::receipts::ServerKeyedBatch;
use crate::session::PipelineRows;
use crate::shelf::ServerShelf;
use crate::statement::SqlStatement;
use crate::write::{self, PackedWords, ServerBatchWork, ServerWriteTerms, WriteLimits, WriteTransaction};
use crate::{erase, feed, fill, maintain, sources, switch, vectors, words};

/// A handle to one collection of one palace.
#[derive(Debug)]
pub(crate) struct ServerCollection {
    palace: ServerPalace,
    name: CollectionName,
    /// Its number; a collection that is made again under this name has another.
    collection: i64,
    metric: Metric,
    /// The model recorded at the time of opening.
    model: IdentityState,
    declared: DeclaredEmbedder,
    visibility: Visibility,
    writable: bool,
    wait: Duration,
    /// The collection as a read of this handle saw it last, by which the next reads are foreseen.
    seen: Mutex<ServerShelf>,
}

impl ServerCollection {
    /// Creates a handle on a collection as it was when it was opened.
    pub(crate) fn new(palace: ServerPalace, opened: &ServerShelf, options: &OpenOptions) -> Self {
        let model = opened.space.identity();
        Self {
            palace,
            name: opened.name.clone(),
            collection: opened.collection,
            metric: opened.metric,
            declared: options.declared_embedder(&model),
            model,
            visibility: Visibility::new(options.visible.clone()),
            writable: options.writable,
            wait: options.wait,
            seen: Mutex::new(opened.clone()),
        }
    }

    fn lock_seen(&self) -> MutexGuard<'_, ServerShelf> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_moment(&self, deadline: ServerDeadline) -> Result<ServerMoment<'_>> {
        let address = MomentAddress {
            palace: &self.palace,
            visibility: &self.visibility,
            name: &self.name,
            collection: self.collection,
        };
        ServerMoment::begin(address, deadline)
    }

    /// Answers one question in a transaction of its own.
    fn read<T>(
        &self,
        budget: Option<Duration>,
        answer: impl FnOnce(&MomentView<'_>) -> Result<T>,
    ) -> Result<T> {
        let deadline = ServerDeadline::begin(budget)?;
        let moment = self.begin_moment(deadline)?;
        answer(&moment.view(deadline))
    }

    fn check_writable(&self) -> Result<()> {
        self.palace.check_open()?;
        if self.writable {
            return Ok(());
        }
        let message = format!(
            "the collection {:?} was opened for reading only",
            self.name.as_str()
        );
        Err(Error::new(ErrorKind::Unsupported, message).with_hint("nothing was written; open it for writing"))
    }

    fn limits(&self, deadline: ServerDeadline) -> WriteLimits {
        WriteLimits {
            wait: self.wait,
            deadline,
        }
    }

    fn begin_write(
        &self,
        deadline: ServerDeadline,
        questions: impl Fn() -> Vec<SqlStatement>,
    ) -> Result<(WriteTransaction<'_>, PipelineRows)> {
        self.check_writable()?;
        let limits = self.limits(deadline);
        WriteTransaction::begin(&self.palace, (&self.name, self.collection), limits, questions)
    }

    fn batch_work<'h>(&'h self, transaction: WriteTransaction<'h>) -> ServerBatchWork<'h, 'h> {
        let terms = ServerWriteTerms {
            declared: &self.declared,
            visibility: &self.visibility,
        };
        ServerBatchWork::new(transaction, terms)
    }

    /// Returns this handle if it sees every drawer: the sub-traits act on the collection as a whole.
    fn unrestricted(&self) -> Option<&Self> {
        (!self.visibility.is_restricted()).then_some(self)
    }
}

impl CollectionReader for ServerCollection {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        self.read(request.budget, |view| view.get(request))
    }

    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        self.read(request.budget, |view| view.query(request))
    }

    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        self.read(request.budget, |view| view.lexical(request))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.read(None, |view| view.count(condition))
    }

    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        self.read(None, |view| view.facets(request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.read(None, |view| view.info())
    }
}

impl Collection for ServerCollection {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.check_writable()?;
        let deadline = ServerDeadline::begin(request.budget)?;
        let batch = request.writes;
        if let Err(error) = check_batch(batch, self.metric, None) {
            // Of several defects the first in the batch is reported, and a wrong dimension, which only the stored
            // collection can tell, is one of them.
            self.read(request.budget, |view| {
                check_batch(batch, self.metric, view.shelf.space.dimension)
            })?;
            return Err(error);
        }
        let packed = PackedWords::of_batch(batch);
        let keyed = request
            .key
            .map(|key| ServerKeyedBatch::new(key, &self.visibility, batch));
        let (transaction, mut answers) = self.begin_write(deadline, || {
            let lookup = write::lookup_question(self.collection, batch, &self.visibility);
            let key = keyed.as_ref().map(|keyed| keyed.question(self.collection));
            let due = words::select_due(self.collection, self.palace.word_limits);
            std::iter::once(lookup).chain(key).chain([due]).collect()
        })?;
        let due = answers.pop().unwrap_or_default();
        if let Some(keyed) = &keyed {
            let rows = answers.pop().unwrap_or_default();
            // Before any check: a repetition returns its receipt even if the batch would be refused by now.
            if let Some(receipt) = keyed.read_receipt(&rows, transaction.now)? {
                return Ok(receipt);
            }
        }
        let now = transaction.now;
        let mut work = self.batch_work(transaction);
        work.seal_words(&due)?;
        work.check_expected(request.expects)?;
        work.apply(batch, &packed, Some(&answers.pop().unwrap_or_default()))?;
        let receipt = work.take_receipt()?;
        if let Some(keyed) = &keyed {
            let stored = keyed.store_receipt(self.collection, now, &receipt);
            stored.into_iter().for_each(|statement| work.push(statement));
        }
        work.commit()?;
        Ok(receipt)
    }

    fn model(&self) -> IdentityState {
        self.model.clone()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        if self.visibility.is_restricted() {
            return Err(Visibility::whole_collection_error("naming the model"));
        }
        let (transaction, _) = self.begin_write(ServerDeadline::default(), Vec::new)?;
        let space = &transaction.shelf.space;
        // Without vectors the dimension is only a declaration, and may change with the model.
        match space.dimension {
            Some(own) if own != identity.dimension && space.vectors > 0 => {
                return Err(loci_core::vector::dimension_mismatch(own, identity.dimension));
            }
            _ => {}
        }
        let before = space.identity();
        if why == IdentityChange::Confirm {
            before.check_open(Some(identity))?;
        }
        let note = format!(
            "{why:?}: the embedder of {:?} is {identity} (was {before:?})",
            self.name.as_str()
        );
        let statements = vec![
            vectors::record_model(space.number, identity.dimension, Some(identity)),
            switch::note_statement(self.palace.number, transaction.now, &note),
        ];
        transaction.commit(statements)
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        self.moment_for(&[])
    }

    fn moment_for(&self, foreseen: &[ForeseenRead]) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        let seen = self.lock_seen().clone();
        let address = MomentAddress {
            palace: &self.palace,
            visibility: &self.visibility,
            name: &self.name,
            collection: self.collection,
        };
        let moment = match ServerMoment::begin_foreseeing(address, &seen, foreseen) {
            Ok(moment) => moment,
            // A read that the server refuses is refused when it is made, not before.
            Err(_) => self.begin_moment(ServerDeadline::default())?,
        };
        *self.lock_seen() = moment.shelf().clone();
        Ok(Some(Box::new(moment)))
    }

    fn last_info(&self) -> Option<CollectionInfo> {
        (!self.visibility.is_restricted()).then(|| self.lock_seen().info())
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        self.unrestricted().map(|handle| handle as _)
    }

    fn sources(&self) -> Option<&dyn SourceLedger> {
        self.unrestricted().map(|handle| handle as _)
    }

    fn feed(&self) -> Option<&dyn ChangeFeed> {
        self.unrestricted().map(|handle| handle as _)
    }

    fn upkeep(&self) -> Option<&dyn Maintenance> {
        self.unrestricted().map(|handle| handle as _)
    }

    fn eraser(&self) -> Option<&dyn Erasure> {
        self.unrestricted().map(|handle| handle as _)
    }
}

impl EmbeddingSpaces for ServerCollection {
    fn list_spaces(&self) -> Result<Vec<EmbeddingSpace>> {
        self.read(None, |view| Ok(switch::describe_spaces(view.shelf)))
    }

    fn take_step(&self, step: &SwitchStep) -> Result<Vec<EmbeddingSpace>> {
        let (transaction, _) = self.begin_write(ServerDeadline::default(), Vec::new)?;
        switch::take_step(transaction, self.palace.number, step)
    }

    fn list_pending(&self, request: &PendingRequest) -> Result<Vec<UnembeddedDrawer>> {
        self.read(None, |view| fill::list_pending(view, request))
    }

    fn fill_vectors(&self, identity: &EmbedderIdentity, vectors: &[VectorFill]) -> Result<VectorFillReport> {
        fill::check_vectors(identity, self.metric, vectors)?;
        let (transaction, _) = self.begin_write(ServerDeadline::default(), Vec::new)?;
        fill::fill_space(transaction, identity, vectors)
    }
}

impl SourceLedger for ServerCollection {
    fn find_records(&self, request: &SourceRecordQuery) -> Result<Vec<SourceRecord>> {
        request.check_request()?;
        self.read(None, |view| sources::find_records(view, request))
    }

    fn revise(&self, revisions: Vec<SourceRevision<'_>>) -> Result<Vec<RevisionOutcome>> {
        self.check_writable()?;
        if revisions.is_empty() {
            // Nothing to write, yet a collection that was dropped must still be `NotFound`.
            return self.read(None, |_| Ok(Vec::new()));
        }
        let drafts = sources::draft_revisions(revisions)?;
        let (transaction, answers) = self.begin_write(ServerDeadline::default(), || {
            let records = sources::records_question(self.collection, &drafts);
            vec![
                records,
                words::select_due(self.collection, self.palace.word_limits),
            ]
        })?;
        let mut work = self.batch_work(transaction);
        work.seal_words(answers.get(1).map(Vec::as_slice).unwrap_or_default())?;
        let records = answers.first().map(Vec::as_slice).unwrap_or_default();
        let outcomes = sources::revise_sources(&mut work, records, drafts)?;
        work.commit()?;
        Ok(outcomes)
    }
}

impl ChangeFeed for ServerCollection {
    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<ChangePage> {
        self.read(None, |view| feed::changes_since(view, cursor, limit))
    }
}

impl Maintenance for ServerCollection {
    fn state(&self) -> Result<MaintenanceState> {
        self.read(None, |view| maintain::maintenance_state(view, self.palace.number))
    }

    fn run(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport> {
        self.check_writable()?;
        self.read(None, |_| Ok(()))?;
        maintain::run(&self.palace, kind, self.limits(ServerDeadline::default()))
    }

    fn choose_precision(&self, precision: QueryPrecision) -> Result<MaintenanceReport> {
        self.check_writable()?;
        self.read(None, |_| Ok(()))?;
        maintain::choose_precision(&self.palace, precision, self.limits(ServerDeadline::default()))
    }
}

impl Erasure for ServerCollection {
    fn begin(&self) -> Result<()> {
        let (transaction, _) = self.begin_write(ServerDeadline::default(), Vec::new)?;
        transaction.commit(vec![erase::begin_statement(self.palace.number)])
    }

    fn is_unfinished(&self) -> Result<bool> {
        self.read(None, |view| {
            let question = erase::unfinished_question(self.palace.number);
            let found = view.session.ask(question, view.deadline)?;
            Ok(found.first().is_some_and(|row| row.get(0)))
        })
    }

    fn purge(&self, watch: &mut dyn FnMut(u64, u64)) -> Result<PurgeReport> {
        self.check_writable()?;
        self.read(None, |_| Ok(()))?;
        erase::purge(&self.palace, self.limits(ServerDeadline::default()), watch)
    }

    fn find_traces(&self, texts: &[String], watch: &mut dyn FnMut(u64, u64)) -> Result<Vec<StoredTrace>> {
        self.read(None, |view| erase::find_traces(view, texts, watch))
    }
}
