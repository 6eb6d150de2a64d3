//! A collection of the embedded store: every call is one transaction on the palace's file.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use loci_core::{
    ApplyRequest, ChangeFeed, Changes, Collection, CollectionInfo, CollectionName, CollectionReader, Cursor,
    Declared, Drawer, DrawerCondition, EmbedderIdentity, EmbeddingSpaces, Erasure, Error, ErrorKind, Facet,
    Facets, Filled, Filling, Finding, Get, Hit, IdentityChange, IdentityState, Lexical, Maintenance,
    MaintenanceKind, MaintenanceReport, MaintenanceState, OpenOptions, Pending, Query, Receipt, Result,
    Revised, Revision, Severity, SourceLedger, SourceRecord, Sources, Space, Switch, Unembedded, Visibility,
};
use rusqlite::{Connection, Transaction};

use crate::deadline::{CallLimits, Deadline};
use crate::moment::Moment;
use crate::palace::{PageSpread, Palace, WriteFailure};
use crate::receipts::KeyedBatch;
use crate::shelf::Shelf;
use crate::switch::{self, Surveyed};
use crate::view::ReadView;
use crate::write::WriteTerms;
use crate::{clock, feed, fill, maintain, schema, sources, words, write};

/// A handle to one collection of one palace.
#[derive(Debug)]
pub(crate) struct Handle {
    palace: Arc<Palace>,
    name: CollectionName,
    bound: Mutex<Binding>,
    /// The model that was recorded when it was opened.
    model: IdentityState,
    declared: Declared,
    visibility: Visibility,
    writable: bool,
    wait: Duration,
    /// Set when a commit failed: what is on disk is whole, but this handle no longer claims to know it.
    poisoned: AtomicBool,
}

/// The collection that a handle was opened on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Binding {
    /// Which of the files that stood at the palace's path it lies in.
    generation: u64,
    /// Its number there.
    collection: i64,
}

impl Handle {
    /// A handle on the collection as the transaction that opened it saw it.
    pub(crate) fn new(palace: Arc<Palace>, generation: u64, opened: &Shelf, how: &OpenOptions) -> Self {
        let model = opened.identity();
        Self {
            palace,
            name: opened.name.clone(),
            bound: Mutex::new(Binding {
                generation,
                collection: opened.collection,
            }),
            declared: how.declared(&model),
            model,
            visibility: Visibility::new(how.visible.clone()),
            writable: how.writable,
            wait: how.wait,
            poisoned: AtomicBool::new(false),
        }
    }

    /// The collection as it is in an open transaction; `NotFound` once it was dropped, though another may have its name.
    fn find(&self, connection: &Connection, generation: u64) -> Result<Shelf> {
        let shelf = Shelf::find(connection, &self.name)?;
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if bound.generation != generation {
            // The file was replaced, and is served with its new content.
            *bound = Binding {
                generation,
                collection: shelf.collection,
            };
        } else if bound.collection != shelf.collection {
            return Err(Shelf::missing(&self.name));
        }
        Ok(shelf)
    }

    /// Answers from one read transaction.
    fn view<T>(
        &self,
        spread: PageSpread,
        budget: Option<Duration>,
        answer: impl FnOnce(&ReadView<'_>) -> Result<T>,
    ) -> Result<T> {
        let limits = CallLimits::new(self.wait, budget);
        limits.deadline.check()?;
        self.palace.read_within(limits, spread, |opened| {
            let shelf = self.find(opened.connection, opened.generation)?;
            answer(&ReadView {
                connection: opened.connection,
                palace: &self.palace,
                shelf: &shelf,
                visibility: &self.visibility,
                deadline: limits.deadline,
                strewn: opened.strewn,
            })
        })
    }

    fn read<T>(&self, answer: impl FnOnce(&Connection, &Shelf) -> Result<T>) -> Result<T> {
        self.view(PageSpread::Near, None, |view| answer(view.connection, view.shelf))
    }

    /// The same for answers that are strewn over the whole file.
    fn read_strewn<T>(&self, answer: impl FnOnce(&Connection, &Shelf) -> Result<T>) -> Result<T> {
        self.view(PageSpread::Strewn, None, |view| {
            answer(view.connection, view.shelf)
        })
    }

    fn write<T>(&self, change: impl FnOnce(&Transaction<'_>, Shelf) -> Result<T>) -> Result<T> {
        self.write_within(CallLimits::new(self.wait, None), change)
    }

    fn write_within<T>(
        &self,
        limits: CallLimits,
        change: impl FnOnce(&Transaction<'_>, Shelf) -> Result<T>,
    ) -> Result<T> {
        self.check_writable()?;
        let done = self.palace.write_within(limits, |transaction, generation| {
            let shelf = self.find(transaction, generation)?;
            let projection = shelf.projection;
            let answer = change(transaction, shelf)?;
            Ok((answer, words::merge_is_due(transaction, projection)?))
        });
        let (answer, due) = done.map_err(|WriteFailure { error, at_commit }| {
            if at_commit {
                self.poisoned.store(true, Ordering::SeqCst);
            }
            error
        })?;
        if due {
            self.merge_words();
        }
        Ok(answer)
    }

    /// Refuses to write through a handle that may not, or that no longer knows what is stored.
    fn check_writable(&self) -> Result<()> {
        if !self.writable {
            let message = format!(
                "the collection {:?} was opened for reading only",
                self.name.as_str()
            );
            return Err(
                Error::new(ErrorKind::Unsupported, message).hint("nothing was written; open it for writing")
            );
        }
        if self.poisoned.load(Ordering::SeqCst) {
            return Err(poisoned());
        }
        Ok(())
    }

    fn terms(&self, deadline: Deadline) -> WriteTerms<'_> {
        WriteTerms {
            declared: &self.declared,
            visibility: &self.visibility,
            deadline,
        }
    }

    /// Puts small segments of words together. What was asked for is done, so a failure here is a warning, and the next
    /// writer tries again.
    fn merge_words(&self) {
        let merged = self.palace.write(self.wait, |transaction| {
            let shelf = Shelf::find(transaction, &self.name)?;
            words::merge(transaction, shelf.projection)
        });
        if let Err(WriteFailure { error, .. }) = merged {
            let message = format!("segments of words could not be put together: {error}");
            let finding = Finding::new("full_text_unmerged", Severity::Warning, message);
            self.palace.warn(
                finding
                    .hint("no drawer is lost; rebuild the index with `loci maintain reindex`")
                    .collection(self.name.as_str()),
            );
        }
    }
}

impl CollectionReader for Handle {
    fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        // By id or in order of ids, rows are strewn over the file: they lie in the order they were filed.
        self.view(PageSpread::Strewn, request.budget, |view| view.get(request))
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        self.view(PageSpread::ScannedFirst, request.budget, |view| {
            view.query(request)
        })
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        self.view(PageSpread::Strewn, request.budget, |view| view.lexical(request))
    }

    fn count(&self, condition: &DrawerCondition) -> Result<u64> {
        self.view(PageSpread::Near, None, |view| view.count(condition))
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        self.view(PageSpread::Near, None, |view| view.facets(request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.view(PageSpread::Near, None, |view| view.info())
    }
}

impl Collection for Handle {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.check_writable()?;
        let limits = CallLimits::new(self.wait, request.budget);
        limits.deadline.check()?;
        let batch = request.writes;
        let prepared = match write::prepare(batch, limits.deadline) {
            Ok(prepared) => prepared,
            // Of several defects the first in the batch is named, and a wrong dimension is one of them.
            Err(error) => {
                self.read(|_, shelf| loci_core::write::check_batch(batch, shelf.space.dimension))?;
                return Err(error);
            }
        };
        let keyed = request
            .key
            .map(|key| KeyedBatch::new(key, &self.visibility, batch));
        self.write_within(limits, |transaction, shelf| {
            let palace = self.palace.palace_id(transaction)?;
            let terms = self.terms(limits.deadline);
            write::apply(
                transaction,
                palace,
                shelf,
                terms,
                batch,
                &prepared,
                keyed.as_ref(),
            )
        })
    }

    fn model(&self) -> IdentityState {
        self.model.clone()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        if self.visibility.is_restricted() {
            return Err(Visibility::whole_collection_only("naming the model"));
        }
        self.write(|transaction, mut shelf| {
            let space = &mut shelf.space;
            if let Some(own) = space
                .dimension
                .filter(|own| *own != identity.dimension && space.vectors > 0)
            {
                return Err(loci_core::write::dimension_mismatch(own, identity.dimension));
            }
            let before = space.identity();
            if why == IdentityChange::Confirm {
                before.check_open(Some(identity))?;
            }
            let note = format!(
                "{why:?}: the embedder of {:?} is {identity} (was {before:?})",
                self.name.as_str()
            );
            schema::note(transaction, clock::now(), &note)?;
            space.record_embedder(transaction, identity)
        })
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        let find = |lease: &crate::palace::Lease<'_>| self.find(lease, lease.generation());
        let moment = Moment::begin(&self.palace, &self.visibility, self.wait, find)?;
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
        None
    }
}

impl Handle {
    /// This handle, if it sees every drawer: the sub-traits speak of the collection as a whole.
    fn unrestricted(&self) -> Option<&Self> {
        (!self.visibility.is_restricted()).then_some(self)
    }
}

impl EmbeddingSpaces for Handle {
    fn list_spaces(&self) -> Result<Vec<Space>> {
        self.read(|_, shelf| Ok(switch::spaces(shelf)))
    }

    fn take_step(&self, step: &Switch) -> Result<Vec<Space>> {
        self.check_writable()?;
        // Looking at every drawer takes long, so it is done before the lock; what came since is looked at within.
        let surveyed = match step {
            Switch::Finish => self.read(switch::survey)?,
            _ => Surveyed::default(),
        };
        self.write(|transaction, shelf| {
            switch::step(transaction, &shelf, step, surveyed)?;
            Ok(switch::spaces(&Shelf::find(transaction, &self.name)?))
        })
    }

    fn list_pending(&self, request: &Pending) -> Result<Vec<Unembedded>> {
        self.read_strewn(|connection, shelf| fill::pending(connection, shelf, request))
    }

    fn fill_vectors(&self, identity: &EmbedderIdentity, vectors: &[Filling]) -> Result<Filled> {
        fill::check(identity, vectors)?;
        self.write(|transaction, shelf| {
            let palace = self.palace.palace_id(transaction)?;
            fill::fill(transaction, palace, shelf, identity, vectors)
        })
    }
}

impl SourceLedger for Handle {
    fn find_records(&self, request: &Sources) -> Result<Vec<SourceRecord>> {
        request.check()?;
        self.read_strewn(|connection, shelf| sources::find(connection, shelf.collection, request))
    }

    fn revise(&self, revisions: Vec<Revision<'_>>) -> Result<Vec<Revised>> {
        self.check_writable()?;
        if revisions.is_empty() {
            return self.read(|_, _| Ok(Vec::new()));
        }
        let drafts = sources::draft(revisions)?;
        self.write(|transaction, shelf| {
            let palace = self.palace.palace_id(transaction)?;
            sources::revise(
                transaction,
                palace,
                shelf,
                self.terms(Deadline::default()),
                drafts,
            )
        })
    }
}

impl ChangeFeed for Handle {
    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<Changes> {
        self.read(|connection, shelf| feed::since(connection, shelf, cursor, limit))
    }
}

impl Maintenance for Handle {
    fn state(&self) -> Result<MaintenanceState> {
        self.read(|connection, shelf| maintain::state(connection, &self.palace, shelf))
    }

    fn run(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport> {
        self.check_writable()?;
        // A palace that is not there is said so, not given a lock file.
        self.read(|_, _| Ok(()))?;
        maintain::run(&self.palace, &self.name, kind, self.wait)
    }
}

fn poisoned() -> Error {
    Error::new(
        ErrorKind::Poisoned,
        "an earlier commit through this handle failed, so it takes no more writes",
    )
    .hint("what was acknowledged is stored; open the palace again to go on")
}
