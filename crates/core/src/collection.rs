//! The contract every backend keeps, second half: reading and writing the drawers of one collection.
//!
//! An optional ability is a sub-trait without default bodies that a handle returns or not, so that no wrapper can
//! forget one. Each promise here is a case of the conformance suite, in the same words.

use std::fmt;

use crate::{
    ApplyRequest, Capability, ChangeFeed, CollectionInfo, DeleteSelection, Drawer, DrawerCondition,
    DrawerHit, DrawerId, EmbedderIdentity, EmbeddingSpaces, Erasure, Error, ErrorKind, FacetCount,
    FacetRequest, ForeseenRead, GetRequest, IdentityChange, IdentityState, LexicalRequest, Maintenance,
    NewDrawer, QueryRequest, Receipt, Result, SourceLedger, Write,
};

/// Reads the drawers of a collection.
///
/// A reader sees every write acknowledged before it began, from any process. Drawers of another palace, namespace
/// or collection, and drawers that the handle's `visible` filter does not accept, are never seen. The byte order of
/// ids breaks every tie.
pub trait CollectionReader: fmt::Debug + Send + Sync {
    /// Returns drawers by id or filter, in the requested order; no match is an empty list, never an error.
    fn get(&self, request: &GetRequest) -> Result<Vec<Drawer>>;

    /// Returns one list of hits per vector, nearest first, even if all lists are empty.
    fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>>;

    /// Returns the drawers that best match some words, best first. Only live drawers that the filters accept count,
    /// for the scores too; see [`LexicalRequest`].
    fn lexical(&self, request: &LexicalRequest) -> Result<Vec<DrawerHit>>;

    /// Counts the drawers that meet the condition.
    fn count(&self, condition: &DrawerCondition) -> Result<u64>;

    /// Counts drawers by wing, room and similar keys, inside the store and never by paging through rows.
    fn facets(&self, request: &FacetRequest) -> Result<Vec<FacetCount>>;

    /// Returns the collection's size, its model and the coverage of its indexes. Counts only drawers this handle
    /// sees.
    fn info(&self) -> Result<CollectionInfo>;
}

/// A named set of drawers in one embedding space.
///
/// Drawers of another palace, namespace or collection are never changed or removed.
///
/// A handle whose `visible` filter excludes drawers has none of the sub-traits: each of them concerns the
/// collection as a whole.
pub trait Collection: CollectionReader {
    /// Applies a batch in order and returns once it is durable.
    ///
    /// A batch that [`crate::write::check_batch`] refuses is refused before anything is written. The batch is whole
    /// or nothing if the backend advertises [`Capability::AtomicBatch`]. Idempotency and time budget are described
    /// on [`ApplyRequest`]. On a restricted handle, [`crate::Visibility`] decides each write in the same step as
    /// the write itself.
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt>;

    /// Returns the model that was recorded when this handle was opened, whatever is recorded later. Does not read
    /// the store, and works after it is closed.
    fn model(&self) -> IdentityState;

    /// Records which model made this collection's vectors; `Unsupported` on a restricted handle.
    ///
    /// `Confirm` settles an unset or unknown model and is `IdentityMismatch` if another model is recorded; `Force`
    /// replaces the recorded one. A dimension other than that of the stored vectors is `DimensionMismatch`.
    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()>;

    /// Returns a reader of the current moment: its reads agree with each other regardless of concurrent writes.
    /// `None` if [`Capability::Moment`] is not advertised.
    ///
    /// It sees what this handle sees. It may keep the backend from reclaiming space, so use it for one operation
    /// only.
    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>>;

    /// Like [`Collection::moment`], for an operation that is going to make these reads. A backend that asks a server may
    /// make them together with the beginning of the moment, to wait for the server once. The moment answers every read as
    /// if none had been foreseen.
    // A default is safe here: a wrapper that does not forward it is only slower.
    fn moment_for(&self, foreseen: &[ForeseenRead]) -> Result<Option<Box<dyn CollectionReader + '_>>> {
        let _ = foreseen;
        self.moment()
    }

    /// Returns the info that this handle has seen last, if it keeps that. Does not read the store; whatever is decided by
    /// it must be checked by a read.
    fn last_info(&self) -> Option<CollectionInfo> {
        None
    }

    /// Returns the embedding spaces if [`Capability::Spaces`] is advertised.
    // Accessors without default bodies: a wrapper that forgets to forward one does not compile. With
    // defaults, three of five wrappers had lost abilities unnoticed (decision 019).
    fn spaces(&self) -> Option<&dyn EmbeddingSpaces>;

    /// Returns the records of sources if [`Capability::Sources`] is advertised.
    fn sources(&self) -> Option<&dyn SourceLedger>;

    /// Returns the change feed if [`Capability::ChangeFeed`] is advertised.
    fn feed(&self) -> Option<&dyn ChangeFeed>;

    /// Returns maintenance if the descriptor lists any kind of it.
    fn upkeep(&self) -> Option<&dyn Maintenance>;

    /// Returns erasure to the last byte if [`Capability::Erasure`] is advertised.
    fn eraser(&self) -> Option<&dyn Erasure>;
}

/// Conveniences over [`Collection`] that no backend implements.
pub trait CollectionExt: Collection {
    /// Applies a batch without idempotency key or time budget.
    fn apply_batch(&self, writes: &[Write]) -> Result<Receipt> {
        self.apply(&ApplyRequest::from_writes(writes))
    }

    /// Files one new drawer.
    fn add_drawer(&self, drawer: NewDrawer) -> Result<Receipt> {
        self.apply_batch(&[Write::Add(drawer)])
    }

    /// Files one drawer, replacing any drawer with its id.
    fn upsert_drawer(&self, drawer: NewDrawer) -> Result<Receipt> {
        self.apply_batch(&[Write::Upsert(drawer)])
    }

    /// Removes one drawer.
    fn delete_drawer(&self, id: DrawerId) -> Result<Receipt> {
        self.apply_batch(&[Write::Delete(DeleteSelection::Ids(vec![id]))])
    }

    /// Returns the embedding spaces, or an error if they are not offered.
    fn require_spaces(&self) -> Result<&dyn EmbeddingSpaces> {
        self.spaces()
            .ok_or_else(|| not_offered_error(Capability::Spaces.name()))
    }

    /// Returns the records of sources, or an error if they are not offered.
    fn require_sources(&self) -> Result<&dyn SourceLedger> {
        self.sources()
            .ok_or_else(|| not_offered_error(Capability::Sources.name()))
    }

    /// Returns the change feed, or an error if it is not offered.
    fn require_feed(&self) -> Result<&dyn ChangeFeed> {
        self.feed()
            .ok_or_else(|| not_offered_error(Capability::ChangeFeed.name()))
    }

    /// Returns erasure, or an error if it is not offered.
    fn require_eraser(&self) -> Result<&dyn Erasure> {
        self.eraser()
            .ok_or_else(|| not_offered_error(Capability::Erasure.name()))
    }

    /// Returns maintenance, or an error if it is not offered.
    fn require_upkeep(&self) -> Result<&dyn Maintenance> {
        // Maintenance has no capability of its own: the descriptor lists the kinds that do something.
        self.upkeep().ok_or_else(|| not_offered_error("maintenance"))
    }
}

impl<C: Collection + ?Sized> CollectionExt for C {}

/// Conveniences over [`CollectionReader`] that no backend implements.
pub trait CollectionReaderExt: CollectionReader {
    /// Returns one drawer with its text and metadata, if it exists.
    fn find_drawer(&self, id: &DrawerId) -> Result<Option<Drawer>> {
        Ok(self.get(&GetRequest::by_ids([id.clone()]))?.pop())
    }
}

impl<R: CollectionReader + ?Sized> CollectionReaderExt for R {}

// Says "as it was opened" because the backend may well have the ability: a restricted handle hides it.
fn not_offered_error(ability: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("{ability} is not offered for this collection as it was opened"),
    )
}
