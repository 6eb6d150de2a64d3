//! A collection of the reference, opened.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use loci_core::write::check_batch;
use loci_core::{
    Capability, Changes, Collection, CollectionInfo, CollectionName, Cursor, Declared, Descriptor, Drawer,
    EmbedderIdentity, Error, ErrorKind, Facet, Facets, Filled, Filling, Filter, Get, Hit, IdentityChange,
    Include, Lexical, MaintenanceKind, MaintenanceReport, MaintenanceState, MaintenanceStatus, OpenOptions,
    PalaceRef, Pending, Query, Receipt, Result, Revised, Revision, Selection, SourceRecord, Sources, Space,
    Switch, Timestamp, Unembedded, Write,
};

use super::apply::{Applying, has_vectors};
use super::storage::{self, SpaceKey, Storage};
use super::table::{Table, no_such_maintenance};
use super::{Watcher, closed, takes_no_writes};

pub(super) struct Handle {
    pub(super) descriptor: Arc<Descriptor>,
    pub(super) storage: Arc<Storage>,
    pub(super) palace: PalaceRef,
    pub(super) key: SpaceKey,
    pub(super) name: CollectionName,
    pub(super) declared: Declared,
    pub(super) backend_closed: Arc<AtomicBool>,
    pub(super) palace_closed: Arc<AtomicBool>,
    pub(super) watcher: Option<Watcher>,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("palace", &self.palace)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Handle {
    pub(super) fn check_options(&self, how: &OpenOptions) -> Result<()> {
        self.table(|table| table.check_options(how))?
    }

    /// Refuses calls after a close, and on a palace whose files are gone or are another's.
    fn check_open(&self) -> Result<()> {
        if self.backend_closed.load(Ordering::SeqCst) || self.palace_closed.load(Ordering::SeqCst) {
            return Err(closed("this collection was closed"));
        }
        let local = self.descriptor.can(&Capability::Local);
        match self.storage.find(&self.palace, local)? {
            Some(key) if key == self.key => Ok(()),
            _ => Err(Error::new(
                ErrorKind::NotFound,
                format!("the files of palace {:?} are gone or replaced", self.palace.id),
            )
            .hint("nothing was changed; open the palace again")),
        }
    }

    fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        match self.descriptor.can(&Capability::ReadOnly) {
            true => Err(takes_no_writes(&self.descriptor)),
            false => Ok(()),
        }
    }

    pub(super) fn space<T>(&self, act: impl FnOnce(&mut storage::Space) -> T) -> Result<T> {
        self.check_open()?;
        let gone = || closed("the storage of this collection is gone");
        self.storage.space(&self.key, act).ok_or_else(gone)
    }

    fn table<T>(&self, act: impl FnOnce(&mut Table) -> T) -> Result<T> {
        let gone = || closed("this collection is gone");
        self.space(|space| space.tables.get_mut(&self.name).map(act))?
            .ok_or_else(gone)
    }

    fn check_include(&self, include: Include) -> Result<()> {
        match include.embedding {
            true => self.descriptor.require(&Capability::EmbeddingsOut),
            false => Ok(()),
        }
    }

    /// Refuses a batch that `table` does not take from this handle.
    pub(super) fn check_writes(&self, table: &Table, batch: &[Write]) -> Result<()> {
        let embedder = self.declared.embedder.as_ref();
        let declared = embedder.map(|embedder| embedder.dimension);
        let (dimension, identity) = (table.dimension.or(declared), table.identity());
        let same_model = identity.check_open(embedder);
        if same_model.is_err() && has_vectors(batch) {
            // Vectors of another model often have another dimension too; that they are of another model says more.
            check_batch(batch, None)?;
            return same_model;
        }
        check_batch(batch, dimension)?;
        if has_vectors(batch) {
            self.descriptor.require(&Capability::EmbeddingsPassthrough)?;
            identity.check_write(&self.declared)?;
        }
        for write in batch {
            if let Write::Delete(Selection::Matching(filter)) = write {
                self.descriptor.check_filter(filter)?;
            }
        }
        Ok(())
    }

    /// One table with what is asked of its spaces; refused where that is not advertised.
    fn spaces_of<T>(&self, act: impl FnOnce(&mut Table) -> Result<T>) -> Result<T> {
        self.check_open()?;
        self.descriptor.require(&Capability::Spaces)?;
        self.table(act)?
    }

    fn run(&self, kind: &MaintenanceKind) -> Result<i64> {
        if let Some(watcher) = &self.watcher {
            watcher(kind);
        }
        self.table(|table| match *kind == MaintenanceKind::COMPACT {
            true => table.compact() as i64,
            false => table.rows.len() as i64,
        })
    }
}

impl Collection for Handle {
    fn apply(&self, batch: &[Write]) -> Result<Receipt> {
        self.check_writable()?;
        let now = now()?;
        self.space(|space| {
            let Some(table) = space.tables.get_mut(&self.name) else {
                return Err(closed("this collection is gone"));
            };
            self.check_writes(table, batch)?;
            let mut applying = Applying::to(table, space.seq, now, self.declared.embedder.as_ref());
            applying.batch(batch)?;
            let (after, seq, receipt) = applying.end();
            *table = after;
            space.seq = seq;
            Ok(receipt)
        })?
    }

    fn get(&self, request: &Get) -> Result<Vec<Drawer>> {
        self.check_open()?;
        request.check()?;
        self.check_include(request.include)?;
        self.descriptor.check_filter(&request.filter)?;
        self.table(|table| table.get(request))
    }

    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        self.check_open()?;
        self.descriptor.require(&Capability::EmbeddingsPassthrough)?;
        self.check_include(request.include)?;
        self.descriptor.check_filter(&request.filter)?;
        self.table(|table| {
            request.check(table.dimension)?;
            Ok(table.query(request))
        })?
    }

    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>> {
        self.check_open()?;
        self.descriptor.require(&Capability::Lexical)?;
        request.check()?;
        self.check_include(request.include)?;
        self.descriptor.check_filter(&request.filter)?;
        self.table(|table| table.lexical(request))
    }

    fn count(&self, filter: &Filter) -> Result<u64> {
        self.check_open()?;
        self.descriptor.check_filter(filter)?;
        self.table(|table| table.count(filter))
    }

    fn facets(&self, request: &Facets) -> Result<Vec<Facet>> {
        self.check_open()?;
        request.check()?;
        self.descriptor.check_filter(&request.filter)?;
        self.table(|table| table.facets(request))
    }

    fn info(&self) -> Result<CollectionInfo> {
        let lexical = self.descriptor.can(&Capability::Lexical);
        self.table(|table| table.info(&self.name, lexical))
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.check_writable()?;
        self.table(|table| table.set_identity(identity, why))?
    }

    fn maintenance(&self) -> Result<MaintenanceState> {
        let advertised = |kind| self.descriptor.maintenance.contains(kind);
        let garbage = self.table(|table| table.garbage)?;
        let mut state = MaintenanceState {
            running: self.space(|space| space.running.iter().cloned().collect())?,
            due: Vec::new(),
        };
        if garbage > 0 && advertised(&MaintenanceKind::COMPACT) {
            let why = format!("{garbage} replaced or removed drawers take space");
            state.due.push((MaintenanceKind::COMPACT, why));
        }
        Ok(state)
    }

    fn maintain(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport> {
        self.check_open()?;
        if !self.descriptor.maintenance.contains(kind) {
            return Err(no_such_maintenance(kind.name()));
        }
        let report = |status, done: Option<i64>| MaintenanceReport {
            kind: kind.clone(),
            status,
            figures: done
                .into_iter()
                .map(|n| ("drawers".to_owned(), n))
                .collect::<BTreeMap<_, _>>(),
        };
        if !self.space(|space| space.running.insert(kind.clone()))? {
            return Ok(report(MaintenanceStatus::AlreadyRunning, None));
        }
        let done = self.run(kind);
        self.space(|space| space.running.remove(kind))?;
        Ok(match done? {
            0 => report(MaintenanceStatus::NothingToDo, Some(0)),
            some => report(MaintenanceStatus::Ran, Some(some)),
        })
    }

    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<Changes> {
        self.check_open()?;
        self.descriptor.require(&Capability::ChangeFeed)?;
        self.table(|table| table.changes_since(&self.name, cursor, limit))
    }

    fn spaces(&self) -> Result<Vec<Space>> {
        self.spaces_of(|table| Ok(table.spaces()))
    }

    fn switch(&self, step: &Switch) -> Result<Vec<Space>> {
        self.spaces_of(|table| table.switch(step).map(|()| table.spaces()))
    }

    fn pending(&self, request: &Pending) -> Result<Vec<Unembedded>> {
        self.spaces_of(|table| table.pending(request))
    }

    fn fill(&self, identity: &EmbedderIdentity, vectors: &[Filling]) -> Result<Filled> {
        self.spaces_of(|table| table.fill(identity, vectors))
    }

    fn sources(&self, request: &Sources) -> Result<Vec<SourceRecord>> {
        self.check_open()?;
        self.descriptor.require(&Capability::Sources)?;
        request.check()?;
        self.table(|table| table.sources(request))
    }

    fn revise(&self, revisions: Vec<Revision<'_>>) -> Result<Vec<Revised>> {
        self.check_open()?;
        self.descriptor.require(&Capability::Sources)?;
        self.check_writable()?;
        self.revise_all(revisions)
    }
}

pub(super) fn now() -> Result<Timestamp> {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_err(|error| Error::new(ErrorKind::Io, "the clock stands before 1970").caused_by(error))?;
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
