//! A collection of the embedded store: every call is one transaction on the palace's file.

mod access;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use loci_core::{
    ApplyRequest, ChangeFeed, ChangePage, Collection, CollectionInfo, CollectionReader, Cursor, Drawer,
    DrawerCondition, DrawerHit, EmbedderIdentity, EmbeddingSpace, EmbeddingSpaces, Erasure, Error, ErrorKind,
    FacetCount, FacetRequest, FindingSeverity, GetRequest, IdentityChange, IdentityState, LexicalRequest,
    Maintenance, MaintenanceKind, MaintenanceReport, MaintenanceState, Metric, OpenOptions, PalaceFinding,
    PendingRequest, PurgeReport, QueryPrecision, QueryRequest, Receipt, Result, RevisionOutcome,
    SourceLedger, SourceRecord, SourceRecordQuery, SourceRevision, StoredTrace, SwitchStep, UnembeddedDrawer,
    VectorFill, VectorFillReport, Visibility,
};
use rusqlite::{Connection, Transaction};

use access::{CollectionAccess, SettledChange};

use crate::deadline::{BudgetDeadline, CallLimits};
use crate::moment::ReadMoment;
use crate::palace::{PalaceFile, WriteFailure, WriterLine};
use crate::shelf::CollectionShelf;
use crate::switch::{self, SpaceSurvey};
use crate::view::ReadView;
use crate::write::ReadyBatch;
use crate::{clock, erase, feed, fill, maintain, schema, sources, words, write};

/// A handle to one collection of one palace.
#[derive(Debug)]
pub(crate) struct CollectionHandle {
    palace: Arc<PalaceFile>,
    access: Arc<CollectionAccess>,
    /// The model recorded at the time of opening.
    model: IdentityState,
    metric: Metric,
    writable: bool,
    wait: Duration,
    /// Set when a commit failed: the file is consistent, but this handle no longer knows what it holds.
    poisoned: AtomicBool,
}

impl CollectionHandle {
    /// Creates a handle on the collection as seen by the transaction that opened it.
    pub(crate) fn new(
        palace: Arc<PalaceFile>,
        generation: u64,
        opened: &CollectionShelf,
        how: &OpenOptions,
    ) -> Self {
        let model = opened.identity();
        Self {
            palace,
            access: Arc::new(CollectionAccess::new(generation, opened, how)),
            model,
            metric: opened.metric,
            writable: how.writable,
            wait: how.wait,
            poisoned: AtomicBool::new(false),
        }
    }

    /// Runs `answer` in one read transaction.
    fn with_view<T>(
        &self,
        budget: Option<Duration>,
        answer: impl FnOnce(&ReadView<'_>) -> Result<T>,
    ) -> Result<T> {
        let limits = CallLimits::new(self.wait, budget);
        limits.deadline.check()?;
        self.palace.read_within(limits, |opened| {
            let shelf = self.access.find_shelf(opened.connection, opened.generation)?;
            answer(&ReadView {
                connection: opened.connection,
                palace: &self.palace,
                shelf: &shelf,
                visibility: self.access.visibility(),
                deadline: limits.deadline,
            })
        })
    }

    fn read<T>(&self, answer: impl FnOnce(&Connection, &CollectionShelf) -> Result<T>) -> Result<T> {
        self.with_view(None, |view| answer(view.connection, view.shelf))
    }

    /// As `read`, for answers whose pages are scattered over the whole file.
    fn read_strewn<T>(&self, answer: impl FnOnce(&Connection, &CollectionShelf) -> Result<T>) -> Result<T> {
        self.with_view(None, |view| answer(view.connection, view.shelf))
    }

    fn write<T>(&self, change: impl FnOnce(&Transaction<'_>, CollectionShelf) -> Result<T>) -> Result<T> {
        self.write_within(CallLimits::new(self.wait, None), change)
    }

    fn write_within<T>(
        &self,
        limits: CallLimits,
        change: impl FnOnce(&Transaction<'_>, CollectionShelf) -> Result<T>,
    ) -> Result<T> {
        self.check_writable()?;
        let done = self.palace.write_within(limits, |transaction, generation| {
            self.access.change(transaction, generation, change)
        });
        self.settle_write(done)
    }

    /// Returns the answer of a write that has ended, and does what is due after it.
    fn settle_write<T>(&self, done: std::result::Result<SettledChange<T>, WriteFailure>) -> Result<T> {
        let SettledChange { answer, merge_due } = done.map_err(|WriteFailure { error, at_commit }| {
            // Only a failed commit leaves the outcome unknown. Any other error was rolled back.
            if at_commit {
                self.poisoned.store(true, Ordering::SeqCst);
            }
            error
        })?;
        if merge_due {
            self.merge_words();
        }
        Ok(answer)
    }

    /// Refuses to write through a handle that is read-only, or that no longer knows what is stored.
    fn check_writable(&self) -> Result<()> {
        if !self.writable {
            let message = format!(
                "the collection {:?} was opened for reading only",
                self.access.name().as_str()
            );
            return Err(Error::new(ErrorKind::Unsupported, message)
                .with_hint("nothing was written; open it for writing"));
        }
        if self.poisoned.load(Ordering::SeqCst) {
            return Err(poisoned_error());
        }
        Ok(())
    }

    /// Merges small segments of words. The write itself is done, so a failure here is a warning, and the next
    /// writer tries again.
    fn merge_words(&self) {
        let merged = self.palace.write(self.wait, |transaction| {
            let shelf = CollectionShelf::find(transaction, self.access.name())?;
            words::merge_small(transaction, shelf.projection)
        });
        if let Err(WriteFailure { error, .. }) = merged {
            let message = format!("word segments could not be merged: {error}");
            let finding = PalaceFinding::new("full_text_unmerged", FindingSeverity::Warning, message);
            self.palace.warn(
                finding
                    .with_hint("no drawer is lost; rebuild the index with `loci maintain reindex`")
                    .in_collection(self.access.name().as_str()),
            );
        }
    }
}

impl CollectionReader for CollectionHandle {
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>> {
        // Rows lie in the order they were filed, so reading them by id touches pages all over the file.
        self.with_view(request.budget, |view| view.get(request))
    }

    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        self.with_view(request.budget, |view| view.query(request))
    }

    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
        self.with_view(request.budget, |view| view.lexical(request))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.with_view(None, |view| view.count(condition))
    }

    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>> {
        self.with_view(None, |view| view.facets(request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.with_view(None, |view| view.info())
    }
}

impl Collection for CollectionHandle {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.check_writable()?;
        let limits = CallLimits::new(self.wait, request.budget);
        limits.deadline.check()?;
        let prepared = match write::prepare_batch(request.writes, self.metric, limits.deadline) {
            Ok(prepared) => prepared,
            // Of several defects the first in the batch is reported, and a wrong dimension, which only the
            // stored collection can tell, is one of them.
            Err(error) => {
                self.read(|_, shelf| {
                    loci_core::write::check_batch(request.writes, shelf.metric, shelf.space.dimension)
                })?;
                return Err(error);
            }
        };
        let batch = ReadyBatch::new(request, prepared, self.access.visibility());
        if let Some(line) = self.palace.writer_line()
            && request.budget.is_none()
        {
            return self.apply_in_group(line, batch);
        }
        let done = self.palace.write_within(limits, |transaction, generation| {
            self.access
                .apply(&self.palace, transaction, generation, &batch, limits.deadline)
        });
        self.settle_write(done)
    }

    fn model(&self) -> IdentityState {
        self.model.clone()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        if self.access.visibility().is_restricted() {
            return Err(Visibility::whole_collection_error("naming the model"));
        }
        self.write(|transaction, mut shelf| {
            let space = &mut shelf.space;
            if let Some(own) = space
                .dimension
                // Without vectors the dimension is only a declaration, and may change with the model.
                .filter(|own| *own != identity.dimension && space.vectors > 0)
            {
                return Err(loci_core::vector::dimension_mismatch(own, identity.dimension));
            }
            let before = space.identity();
            if why == IdentityChange::Confirm {
                before.check_open(Some(identity))?;
            }
            let note = format!(
                "{why:?}: the embedder of {:?} is {identity} (was {before:?})",
                self.access.name().as_str()
            );
            schema::add_note(transaction, clock::now(), &note)?;
            space.record_embedder(transaction, identity)
        })
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        let find =
            |lease: &crate::palace::ConnectionLease<'_>| self.access.find_shelf(lease, lease.generation());
        let moment = ReadMoment::begin(&self.palace, self.access.visibility(), self.wait, find)?;
        Ok(Some(Box::new(moment)))
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

impl CollectionHandle {
    /// Returns this handle if it sees every drawer: the sub-traits act on the collection as a whole.
    fn unrestricted(&self) -> Option<&Self> {
        (!self.access.visibility().is_restricted()).then_some(self)
    }
}

impl CollectionHandle {
    /// Applies a batch together with those that other threads apply at the same time.
    fn apply_in_group(&self, line: &WriterLine, batch: ReadyBatch<'_>) -> Result<Receipt> {
        let unlimited = BudgetDeadline::default();
        let done = match line.try_turn() {
            // A writer alone copies nothing.
            Some(turn) => self
                .palace
                .lead_group(&turn, self.wait, |transaction, generation| {
                    self.access
                        .apply(&self.palace, transaction, generation, &batch, unlimited)
                }),
            None => {
                let (palace, access) = (Arc::clone(&self.palace), Arc::clone(&self.access));
                let batch = batch.into_owned();
                self.palace
                    .write_in_line(line, self.wait, batch.size(), move |transaction, generation| {
                        access.apply(&palace, transaction, generation, &batch, unlimited)
                    })
            }
        };
        self.settle_write(done)
    }
}

impl EmbeddingSpaces for CollectionHandle {
    fn list_spaces(&self) -> Result<Vec<EmbeddingSpace>> {
        self.read(|_, shelf| Ok(switch::describe_spaces(shelf)))
    }

    fn take_step(&self, step: &SwitchStep) -> Result<Vec<EmbeddingSpace>> {
        self.check_writable()?;
        // Checking every drawer takes long, so it is done before the lock; only later drawers
        // are checked within it.
        let surveyed = match step {
            SwitchStep::Finish => self.read(switch::survey_space)?,
            _ => SpaceSurvey::default(),
        };
        self.write(|transaction, shelf| {
            switch::take_step(transaction, &shelf, step, surveyed)?;
            Ok(switch::describe_spaces(&CollectionShelf::find(
                transaction,
                self.access.name(),
            )?))
        })
    }

    fn list_pending(&self, request: &PendingRequest) -> Result<Vec<UnembeddedDrawer>> {
        self.read_strewn(|connection, shelf| fill::list_pending(connection, shelf, request))
    }

    fn fill_vectors(&self, identity: &EmbedderIdentity, vectors: &[VectorFill]) -> Result<VectorFillReport> {
        fill::check_vectors(self.metric, identity, vectors)?;
        self.write(|transaction, shelf| {
            let palace = self.palace.palace_id(transaction)?;
            fill::fill_space(transaction, palace, shelf, identity, vectors)
        })
    }
}

impl SourceLedger for CollectionHandle {
    fn find_records(&self, request: &SourceRecordQuery) -> Result<Vec<SourceRecord>> {
        request.check_request()?;
        self.read_strewn(|connection, shelf| sources::find_records(connection, shelf.collection, request))
    }

    fn revise(&self, revisions: Vec<SourceRevision<'_>>) -> Result<Vec<RevisionOutcome>> {
        self.check_writable()?;
        if revisions.is_empty() {
            // Nothing to write, yet a collection that was dropped must still be `NotFound`.
            return self.read(|_, _| Ok(Vec::new()));
        }
        let drafts = sources::draft_revisions(revisions, self.metric)?;
        self.write(|transaction, shelf| {
            let palace = self.palace.palace_id(transaction)?;
            sources::revise_sources(
                transaction,
                palace,
                shelf,
                self.access.terms(BudgetDeadline::default()),
                drafts,
            )
        })
    }
}

impl ChangeFeed for CollectionHandle {
    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<ChangePage> {
        self.read(|connection, shelf| feed::changes_since(connection, shelf, cursor, limit))
    }
}

impl Maintenance for CollectionHandle {
    fn state(&self) -> Result<MaintenanceState> {
        self.read(|connection, shelf| maintain::maintenance_state(connection, &self.palace, shelf))
    }

    fn run(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport> {
        self.check_writable()?;
        // A missing palace must fail with `NotFound` before a lock file is created in its folder.
        self.read(|_, _| Ok(()))?;
        maintain::run(&self.palace, self.access.name(), kind, self.wait)
    }

    fn choose_precision(&self, precision: QueryPrecision) -> Result<MaintenanceReport> {
        self.check_writable()?;
        self.read(|_, _| Ok(()))?;
        maintain::choose_precision(precision)
    }
}

impl Erasure for CollectionHandle {
    fn begin(&self) -> Result<()> {
        self.write(|transaction, _| erase::begin(transaction))
    }

    fn is_unfinished(&self) -> Result<bool> {
        self.read(|connection, _| Ok(erase::find_unfinished(connection)?.is_some()))
    }

    fn purge(&self, watch: &mut dyn FnMut(u64, u64)) -> Result<PurgeReport> {
        self.check_writable()?;
        self.read(|_, _| Ok(()))?;
        erase::purge(&self.palace, self.wait, watch)
    }

    fn find_traces(&self, texts: &[String], watch: &mut dyn FnMut(u64, u64)) -> Result<Vec<StoredTrace>> {
        erase::find_traces(&self.palace, self.wait, texts, watch)
    }
}

fn poisoned_error() -> Error {
    Error::new(
        ErrorKind::Poisoned,
        "an earlier commit through this handle failed, so it takes no more writes",
    )
    .with_hint("acknowledged writes are stored; open the palace again to continue")
}
