//! A collection of the embedded store: every call is one transaction on the palace's file.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use loci_core::{
    Changes, Collection, CollectionInfo, CollectionName, Coverage, Cursor, Declared, Drawer,
    EmbedderIdentity, Error, ErrorKind, Facet, Facets, Filled, Filling, Filter, Finding, Get, Hit,
    IdentityChange, IdentityState, Lexical, MaintenanceKind, MaintenanceReport, MaintenanceState, Pending,
    Query, Receipt, Result, Revised, Revision, Severity, SourceRecord, Sources, Space, Switch, Unembedded,
    Write,
};
use rusqlite::{Connection, Transaction};

use crate::failure::sqlite;
use crate::palace::{Palace, WriteFailure};
use crate::shelf::Shelf;
use crate::switch::{self, Surveyed};
use crate::{clock, feed, fill, lexical, maintain, nearest, read, schema, sources, tally, words, write};

/// A handle to one collection of one palace.
#[derive(Debug)]
pub(crate) struct Handle {
    palace: Arc<Palace>,
    name: CollectionName,
    declared: Declared,
    wait: Duration,
    /// Set when a commit failed: what is on disk is whole, but this handle no longer claims to know it.
    poisoned: AtomicBool,
}

impl Handle {
    pub(crate) fn new(palace: Arc<Palace>, name: CollectionName, declared: Declared, wait: Duration) -> Self {
        Self {
            palace,
            name,
            declared,
            wait,
            poisoned: AtomicBool::new(false),
        }
    }

    fn read<T>(&self, answer: impl FnOnce(&Transaction<'_>, &Shelf) -> Result<T>) -> Result<T> {
        self.palace.read(self.wait, |transaction| {
            let shelf = Shelf::find(transaction, &self.name)?;
            answer(transaction, &shelf)
        })
    }

    /// The same for answers that are strewn over the whole file.
    fn read_strewn<T>(&self, answer: impl FnOnce(&Transaction<'_>, &Shelf) -> Result<T>) -> Result<T> {
        self.palace.read_strewn(self.wait, |transaction| {
            let shelf = Shelf::find(transaction, &self.name)?;
            answer(transaction, &shelf)
        })
    }

    fn write<T>(&self, change: impl FnOnce(&Transaction<'_>, Shelf) -> Result<T>) -> Result<T> {
        if self.poisoned.load(Ordering::SeqCst) {
            return Err(poisoned());
        }
        let done = self.palace.write(self.wait, |transaction| {
            let shelf = Shelf::find(transaction, &self.name)?;
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

impl Collection for Handle {
    fn apply(&self, batch: &[Write]) -> Result<Receipt> {
        let prepared = match write::prepare(batch) {
            Ok(prepared) => prepared,
            // Of several defects the first in the batch is named, and a wrong dimension is one of them.
            Err(error) => {
                self.read(|_, shelf| loci_core::write::check_batch(batch, shelf.space.dimension))?;
                return Err(error);
            }
        };
        self.write(|transaction, shelf| {
            let palace = self.palace.palace_id(transaction)?;
            write::apply(transaction, palace, shelf, &self.declared, batch, &prepared)
        })
    }

    fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        // By id or in order of ids, rows are strewn over the file: they lie in the order they were filed.
        self.read_strewn(|transaction, shelf| read::get(transaction, shelf, request))
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        self.palace.read_scanning(self.wait, |transaction, strewn| {
            let shelf = Shelf::find(transaction, &self.name)?;
            nearest::query(transaction, &self.palace, &shelf, request, strewn)
        })
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        self.read_strewn(|transaction, shelf| lexical::search(transaction, &self.palace, shelf, request))
    }

    fn count(&self, filter: &Filter) -> Result<u64> {
        self.read(|transaction, shelf| tally::count(transaction, shelf, filter))
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        self.read(|transaction, shelf| tally::facets(transaction, shelf, request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        self.read(|transaction, shelf| describe(transaction, &self.palace, shelf))
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
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

    fn maintenance(&self) -> Result<MaintenanceState> {
        self.read(|transaction, shelf| maintain::state(transaction, &self.palace, shelf))
    }

    fn maintain(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport> {
        if self.poisoned.load(Ordering::SeqCst) {
            return Err(poisoned());
        }
        maintain::run(&self.palace, &self.name, kind, self.wait)
    }

    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<Changes> {
        self.read(|transaction, shelf| feed::since(transaction, shelf, cursor, limit))
    }

    fn spaces(&self) -> Result<Vec<Space>> {
        self.read(|_, shelf| Ok(switch::spaces(shelf)))
    }

    fn switch(&self, step: &Switch) -> Result<Vec<Space>> {
        // Looking at every drawer takes long, so it is done before the lock; what came since is looked at within.
        let surveyed = match step {
            Switch::Finish => self.read(|transaction, shelf| switch::survey(transaction, shelf))?,
            _ => Surveyed::default(),
        };
        self.write(|transaction, shelf| {
            switch::step(transaction, &shelf, step, surveyed)?;
            Ok(switch::spaces(&Shelf::find(transaction, &self.name)?))
        })
    }

    fn pending(&self, request: &Pending) -> Result<Vec<Unembedded>> {
        self.read_strewn(|transaction, shelf| fill::pending(transaction, shelf, request))
    }

    fn fill(&self, identity: &EmbedderIdentity, vectors: &[Filling]) -> Result<Filled> {
        fill::check(identity, vectors)?;
        self.write(|transaction, shelf| {
            let palace = self.palace.palace_id(transaction)?;
            fill::fill(transaction, palace, shelf, identity, vectors)
        })
    }

    fn sources(&self, request: &Sources) -> Result<Vec<SourceRecord>> {
        request.check()?;
        self.read_strewn(|transaction, shelf| sources::find(transaction, shelf.collection, request))
    }

    fn revise(&self, revisions: Vec<Revision<'_>>) -> Result<Vec<Revised>> {
        if revisions.is_empty() {
            return self.read(|_, _| Ok(Vec::new()));
        }
        let drafts = sources::draft(revisions)?;
        self.write(|transaction, shelf| {
            let palace = self.palace.palace_id(transaction)?;
            sources::revise(transaction, palace, shelf, &self.declared, drafts)
        })
    }
}

/// What a collection says of itself.
pub(crate) fn describe(connection: &Connection, palace: &Palace, shelf: &Shelf) -> Result<CollectionInfo> {
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    let mut warnings = palace.warnings();
    if shelf.identity() == IdentityState::Unknown {
        warnings.push(unknown_model(&shelf.name));
    }
    warnings.extend(switch::under_way(shelf));
    let packed: i64 = connection
        .prepare_cached(
            "SELECT coalesce((SELECT sum(rows) FROM segments INDEXED BY segments_space WHERE space = ?1), 0)
                - (SELECT count(*) FROM dead WHERE space = ?1)",
        )
        .and_then(|mut statement| statement.query_row([shelf.space.number], |row| row.get(0)))
        .map_err(sqlite)?;
    let reached = lexical::reached(connection, palace, shelf)?;
    Ok(CollectionInfo {
        name: shelf.name.clone(),
        metric: shelf.metric,
        dimension: shelf.space.dimension,
        identity: shelf.identity(),
        drawers: number(shelf.drawers),
        coverage: Coverage {
            nearest: number(shelf.space.vectors),
            packed: number(packed),
            lexical: number(reached),
        },
        seq: feed::newest(connection, shelf)?,
        warnings,
    })
}

fn unknown_model(name: &CollectionName) -> Finding {
    Finding::new(
        "embedder_unknown",
        Severity::Warning,
        format!(
            "nobody recorded which model made the vectors of {:?}",
            name.as_str()
        ),
    )
    .hint("say which with `loci embedder set MODEL`")
    .collection(name.as_str())
}

fn poisoned() -> Error {
    Error::new(
        ErrorKind::Poisoned,
        "an earlier commit through this handle failed, so it takes no more writes",
    )
    .hint("what was acknowledged is stored; open the palace again to go on")
}
