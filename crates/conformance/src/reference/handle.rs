//! An open handle on a collection of the reference.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use loci_core::write::{check_batch, check_expected};
use loci_core::{
    ApplyRequest, BackendDescriptor, Capability, ChangeFeed, Collection, CollectionName, CollectionReader,
    DeclaredEmbedder, DeleteSelection, Drawer, EmbedderIdentity, EmbeddingSpaces, Erasure, Error, ErrorKind,
    IdentityChange, IdentityState, Maintenance, PalaceRef, Receipt, Result, SourceLedger, Timestamp,
    Visibility, Write,
};

use super::apply::{BatchApplier, has_vectors};
use super::budget::CallDeadline;
use super::reader::{TableMoment, TableReader};
use super::storage::{self, ReferencePlace, ReferenceStorage};
use super::table::ReferenceTable;
use super::{MaintenanceWatcher, another_error, closed_error, missing_error, read_only_error};

pub(super) struct ReferenceHandle {
    pub(super) descriptor: Arc<BackendDescriptor>,
    pub(super) storage: Arc<ReferenceStorage>,
    pub(super) palace: PalaceRef,
    pub(super) key: ReferencePlace,
    pub(super) name: CollectionName,
    /// Identifies the collection among those that had this name over time.
    pub(super) number: u64,
    pub(super) visible: Visibility,
    pub(super) writable: bool,
    /// The model that was recorded when it was opened.
    pub(super) model: IdentityState,
    pub(super) declared: DeclaredEmbedder,
    pub(super) backend_closed: Arc<AtomicBool>,
    pub(super) palace_closed: Arc<AtomicBool>,
    pub(super) watcher: Option<MaintenanceWatcher>,
}

impl fmt::Debug for ReferenceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("palace", &self.palace)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl ReferenceHandle {
    /// Refuses calls after a close, and on a palace whose files are gone or were replaced.
    pub(super) fn check_open(&self) -> Result<()> {
        if self.backend_closed.load(Ordering::SeqCst) || self.palace_closed.load(Ordering::SeqCst) {
            return Err(closed_error("this collection was closed"));
        }
        // Looked up on each call: the files may vanish or be replaced under an open handle.
        let local = self.descriptor.has_capability(&Capability::Local);
        match self.storage.find_palace(&self.palace, local)? {
            Some(key) if key == self.key => Ok(()),
            Some(_) => Err(another_error(&self.palace)),
            None => Err(Error::new(
                ErrorKind::NotFound,
                format!("the files of palace {:?} are gone", self.palace.id),
            )
            .with_hint("nothing was changed; open the palace again")),
        }
    }

    pub(super) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.descriptor.has_capability(&Capability::ReadOnly) {
            return Err(read_only_error(&self.descriptor));
        }
        if !self.writable {
            let message = format!(
                "the collection {:?} was opened to be read only",
                self.name.as_str()
            );
            return Err(Error::new(ErrorKind::Unsupported, message)
                .with_hint("nothing was changed; open it to be written"));
        }
        Ok(())
    }

    pub(super) fn with_palace<T>(&self, act: impl FnOnce(&mut storage::PalaceTables) -> T) -> Result<T> {
        self.check_open()?;
        let gone = || closed_error("the storage of this collection is gone");
        self.storage.with_palace(&self.key, act).ok_or_else(gone)
    }

    /// Returns the table this handle was opened on, never one created later under the same name.
    pub(super) fn own_table<'a>(
        &self,
        tables: &'a mut BTreeMap<CollectionName, ReferenceTable>,
    ) -> Result<&'a mut ReferenceTable> {
        let table = tables.get_mut(&self.name);
        let own = table.filter(|table| table.number == self.number);
        own.ok_or_else(|| missing_error("collection", self.name.as_str()))
    }

    pub(super) fn with_table<T>(&self, act: impl FnOnce(&mut ReferenceTable) -> T) -> Result<T> {
        self.with_palace(|space| self.own_table(&mut space.tables).map(act))?
    }

    pub(super) fn make_reader<'a>(&'a self, table: &'a ReferenceTable) -> TableReader<'a> {
        TableReader {
            descriptor: &self.descriptor,
            name: &self.name,
            table,
        }
    }

    pub(super) fn ask_table<T>(&self, question: impl FnOnce(TableReader<'_>) -> Result<T>) -> Result<T> {
        self.with_table(|table| question(self.make_reader(&table.seen_through(&self.visible))))?
    }

    /// Refuses a batch that this handle may not write to `table`.
    pub(super) fn check_writes(&self, table: &ReferenceTable, batch: &[Write]) -> Result<()> {
        let embedder = self.declared.embedder.as_ref();
        let declared = embedder.map(|embedder| embedder.dimension);
        let (dimension, identity) = (table.dimension.or(declared), table.identity());
        let same_model = identity.check_open(embedder);
        if same_model.is_err() && has_vectors(batch) {
            // Vectors of another model often have another dimension too; that they are of another model says more.
            check_batch(batch, table.metric, None)?;
            return same_model;
        }
        check_batch(batch, table.metric, dimension)?;
        if has_vectors(batch) {
            self.descriptor
                .require_capability(&Capability::EmbeddingsPassthrough)?;
            identity.check_write(&self.declared)?;
        }
        for write in batch {
            if let Write::Delete(DeleteSelection::Matching(condition)) = write {
                self.descriptor.check_filter(&condition.filter)?;
            }
        }
        Ok(())
    }

    /// Refuses a batch that expects drawers which are not stored as they were read.
    fn check_expected(&self, table: &ReferenceTable, expects: &[Drawer]) -> Result<()> {
        if !expects.is_empty() {
            self.descriptor
                .require_capability(&Capability::ConditionalBatch)?;
        }
        let seen = table.seen_through(&self.visible);
        let stored = |expected: &Drawer| seen.rows.get(&expected.id).map(|row| &row.drawer);
        expects
            .iter()
            .try_for_each(|expected| check_expected(expected, stored(expected)))
    }

    fn apply_to(
        &self,
        space: &mut storage::PalaceTables,
        request: &ApplyRequest<'_>,
        deadline: &CallDeadline,
    ) -> Result<Receipt> {
        let now = current_time()?;
        let table = self.own_table(&mut space.tables)?;
        // Before any check: a repetition returns its receipt even if the batch would be refused by now.
        if let Some(key) = request.key
            && let Some(receipt) = table.keys.find_receipt(&self.visible, key, request.writes, now)?
        {
            return Ok(receipt);
        }
        self.check_expected(table, request.expects)?;
        self.check_writes(table, request.writes)?;
        let declared = self.declared.embedder.as_ref();
        // On a copy, so that an error anywhere leaves the table as it was.
        let mut applying = BatchApplier::on_copy(table, space.seq, now, declared, &self.visible);
        applying.apply_batch(request.writes)?;
        let (mut after, seq, receipt) = applying.into_result();
        if let Some(key) = request.key {
            // Into the copy as well: batch and key become durable together or not at all.
            after
                .keys
                .remember_batch(&self.visible, key, request.writes, &receipt, now);
        }
        // The last moment at which nothing has been written yet.
        deadline.check()?;
        (*table, space.seq) = (after, seq);
        Ok(receipt)
    }

    /// Returns whether the handle offers a sub-trait. Each concerns the whole collection, so a restricted handle has none.
    fn offers_ability(&self, capability: &Capability) -> bool {
        !self.visible.is_restricted() && self.descriptor.has_capability(capability)
    }
}

impl Collection for ReferenceHandle {
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        self.check_writable()?;
        let deadline = CallDeadline::begin(request.budget)?;
        self.with_palace(|space| self.apply_to(space, request, &deadline))?
    }

    fn model(&self) -> IdentityState {
        self.model.clone()
    }

    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()> {
        self.check_writable()?;
        if self.visible.is_restricted() {
            return Err(Visibility::whole_collection_error("recording a model"));
        }
        self.with_table(|table| table.set_identity(identity, why))?
    }

    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        let table = self.with_table(|table| table.seen_through(&self.visible).into_owned())?;
        // After the table was read, so that a closed or dropped collection is an error and not an absent
        // ability.
        if !self.descriptor.has_capability(&Capability::Moment) {
            return Ok(None);
        }
        Ok(Some(Box::new(TableMoment { handle: self, table })))
    }

    fn spaces(&self) -> Option<&dyn EmbeddingSpaces> {
        self.offers_ability(&Capability::Spaces).then_some(self)
    }

    fn sources(&self) -> Option<&dyn SourceLedger> {
        self.offers_ability(&Capability::Sources).then_some(self)
    }

    fn feed(&self) -> Option<&dyn ChangeFeed> {
        self.offers_ability(&Capability::ChangeFeed).then_some(self)
    }

    fn upkeep(&self) -> Option<&dyn Maintenance> {
        let offered = !self.visible.is_restricted() && !self.descriptor.maintenance.is_empty();
        offered.then_some(self)
    }

    fn eraser(&self) -> Option<&dyn Erasure> {
        self.offers_ability(&Capability::Erasure).then_some(self)
    }
}

pub(super) fn current_time() -> Result<Timestamp> {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_err(|error| Error::new(ErrorKind::Io, "the system clock is before 1970").caused_by(error))?;
    Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
