//! A collection of the reference, opened.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use loci_core::write::check_batch;
use loci_core::{
    ApplyRequest, Capability, ChangeFeed, Collection, CollectionName, CollectionReader, Declared, Descriptor,
    EmbedderIdentity, EmbeddingSpaces, Erasure, Error, ErrorKind, IdentityChange, IdentityState, Maintenance,
    PalaceRef, Receipt, Result, Selection, SourceLedger, Timestamp, Visibility, Write,
};

use super::apply::{Applying, has_vectors};
use super::budget::Deadline;
use super::reader::{TableMoment, TableReader};
use super::storage::{self, SpaceKey, Storage};
use super::table::Table;
use super::{Watcher, closed, missing, takes_no_writes};

pub(super) struct Handle {
    pub(super) descriptor: Arc<Descriptor>,
    pub(super) storage: Arc<Storage>,
    pub(super) palace: PalaceRef,
    pub(super) key: SpaceKey,
    pub(super) name: CollectionName,
    /// Which collection of that name it is.
    pub(super) number: u64,
    pub(super) visible: Visibility,
    pub(super) writable: bool,
    /// The model that was recorded when it was opened.
    pub(super) model: IdentityState,
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
    /// Refuses calls after a close, and on a palace whose files are gone or are another's.
    pub(super) fn check_open(&self) -> Result<()> {
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

    pub(super) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.descriptor.can(&Capability::ReadOnly) {
            return Err(takes_no_writes(&self.descriptor));
        }
        if !self.writable {
            let message = format!(
                "the collection {:?} was opened to be read only",
                self.name.as_str()
            );
            return Err(Error::new(ErrorKind::Unsupported, message)
                .hint("nothing was changed; open it to be written"));
        }
        Ok(())
    }

    pub(super) fn space<T>(&self, act: impl FnOnce(&mut storage::Space) -> T) -> Result<T> {
        self.check_open()?;
        let gone = || closed("the storage of this collection is gone");
        self.storage.space(&self.key, act).ok_or_else(gone)
    }

    /// The table this handle was opened on, which one made later under its name is not.
    pub(super) fn own_table<'a>(
        &self,
        tables: &'a mut BTreeMap<CollectionName, Table>,
    ) -> Result<&'a mut Table> {
        let table = tables.get_mut(&self.name);
        let own = table.filter(|table| table.number == self.number);
        own.ok_or_else(|| missing("collection", self.name.as_str()))
    }

    pub(super) fn table<T>(&self, act: impl FnOnce(&mut Table) -> T) -> Result<T> {
        self.space(|space| self.own_table(&mut space.tables).map(act))?
    }

    pub(super) fn reader<'a>(&'a self, table: &'a Table) -> TableReader<'a> {
        TableReader {
            descriptor: &self.descriptor,
            name: &self.name,
            table,
        }
    }

    pub(super) fn ask<T>(&self, question: impl FnOnce(TableReader<'_>) -> Result<T>) -> Result<T> {
        self.table(|table| question(self.reader(&table.seen_through(&self.visible))))?
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
            if let Write::Delete(Selection::Matching(condition)) = write {
                self.descriptor.check_filter(&condition.filter)?;
            }
        }
        Ok(())
    }

    fn apply_to(
        &self,
        space: &mut storage::Space,
        request: &ApplyRequest<'_>,
        deadline: &Deadline,
    ) -> Result<Receipt> {
        let now = now()?;
        let table = self.own_table(&mut space.tables)?;
        if let Some(key) = request.key
            && let Some(receipt) = table.keys.find_receipt(&self.visible, key, request.writes, now)?
        {
            return Ok(receipt);
        }
        self.check_writes(table, request.writes)?;
        let declared = self.declared.embedder.as_ref();
        let mut applying = Applying::to(table, space.seq, now, declared, &self.visible);
        applying.batch(request.writes)?;
        let (mut after, seq, receipt) = applying.end();
        if let Some(key) = request.key {
            after
                .keys
                .remember(&self.visible, key, request.writes, &receipt, now);
        }
        deadline.check()?;
        (*table, space.seq) = (after, seq);
        Ok(receipt)
    }

    /// Whether the handle has an ability that speaks of the collection as a whole.
    fn offers(&self, capability: &Capability) -> bool {
        !self.visible.is_restricted() && self.descriptor.can(capability)
    }
}

impl Collection for Handle {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.check_writable()?;
        let deadline = Deadline::begin(request.budget)?;
        self.space(|space| self.apply_to(space, request, &deadline))?
    }

    fn model(&self) -> IdentityState {
        self.model.clone()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.check_writable()?;
        if self.visible.is_restricted() {
            return Err(Visibility::whole_collection_only("recording a model"));
        }
        self.table(|table| table.set_identity(identity, why))?
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        let table = self.table(|table| table.seen_through(&self.visible).into_owned())?;
        if !self.descriptor.can(&Capability::Moment) {
            return Ok(None);
        }
        Ok(Some(Box::new(TableMoment { handle: self, table })))
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        self.offers(&Capability::Spaces).then_some(self)
    }

    fn sources(&self) -> Option<&dyn SourceLedger> {
        self.offers(&Capability::Sources).then_some(self)
    }

    fn feed(&self) -> Option<&dyn ChangeFeed> {
        self.offers(&Capability::ChangeFeed).then_some(self)
    }

    fn upkeep(&self) -> Option<&dyn Maintenance> {
        let offered = !self.visible.is_restricted() && !self.descriptor.maintenance.is_empty();
        offered.then_some(self)
    }

    fn eraser(&self) -> Option<&dyn Erasure> {
        self.offers(&Capability::Erasure).then_some(self)
    }
}

pub(super) fn now() -> Result<Timestamp> {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_err(|error| Error::new(ErrorKind::Io, "the clock stands before 1970").caused_by(error))?;
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
