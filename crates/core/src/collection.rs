//! The contract every backend keeps, second half: reading and writing the drawers of one collection.
//!
//! An optional ability is a sub-trait without default bodies that is there or not, so that no wrapper can forget one.
//! Each sentence of promise here is a case of the conformance suite, in the same words.

use std::fmt;

use crate::{
    ApplyRequest, Capability, ChangeFeed, CollectionInfo, Drawer, DrawerCondition, DrawerId,
    EmbedderIdentity, EmbeddingSpaces, Erasure, Error, ErrorKind, Facet, Facets, Get, Hit, IdentityChange,
    IdentityState, Lexical, Maintenance, NewDrawer, Query, Receipt, Result, Selection, SourceLedger, Write,
};

/// Reads the drawers of a collection.
///
/// A reader sees every write acknowledged before it began, from any process. Drawers of another palace, namespace or
/// collection, and drawers that the handle's `visible` filter does not accept, are never seen. Where the order leaves
/// a tie, the byte order of ids breaks it.
pub trait CollectionReader: fmt::Debug + Send + Sync {
    /// Drawers by id or filter, in the order asked for; nothing found is an empty list, never an error.
    fn get(&self, request: &Get) -> Result<Vec<Drawer>>;

    /// For each vector its own list of hits, nearest first, even when all are empty.
    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>>;

    /// The drawers that best match some words, best first. Only drawers that are there and that the filters accept
    /// count, for the scores too; see [`Lexical`].
    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>>;

    /// How many drawers meet the condition.
    fn count(&self, condition: &DrawerCondition) -> Result<u64>;

    /// How many drawers there are by wing, room and the like, from the store, never by paging rows.
    fn facets(&self, request: &Facets) -> Result<Vec<Facet>>;

    /// The collection's size, its model, and how far its indexes reach. Counts only drawers this handle sees.
    fn info(&self) -> Result<CollectionInfo>;
}

/// A named set of drawers in one embedding space.
///
/// Drawers of another palace, namespace or collection are never changed or removed.
///
/// A handle whose `visible` filter leaves drawers out has none of the sub-traits: each of them speaks of the collection
/// as a whole.
pub trait Collection: CollectionReader {
    /// Applies a batch in order and returns once it is durable.
    ///
    /// A batch that [`crate::write::check_batch`] refuses is refused before anything is written. The batch is whole or
    /// nothing where the backend advertises [`Capability::AtomicBatch`]. Idempotency and time budget are described on
    /// [`ApplyRequest`]. On a restricted handle, [`crate::Visibility`] decides each write in the same step as the write
    /// itself.
    fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt>;

    /// The model that the collection recorded when this handle was opened, whatever is recorded later; answered without
    /// a look at the store, also once that is closed.
    fn model(&self) -> IdentityState;

    /// Records which model made this collection's vectors; `Unsupported` on a restricted handle.
    ///
    /// `Confirm` settles an unset or unknown model and is `IdentityMismatch` on one known to be another; `Force`
    /// replaces what is recorded. A dimension other than the stored vectors' is `DimensionMismatch`.
    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()>;

    /// A reader that holds on to this moment: its reads agree with each other whatever is written meanwhile. `None`
    /// where [`Capability::Moment`] is not advertised.
    ///
    /// It sees what this handle sees. It may keep the backend from giving space back, so it is for one operation.
    fn moment(&self) -> Result<Option<Box<dyn CollectionReader + '_>>>;

    /// The embedding spaces; there where [`Capability::Spaces`] is advertised.
    fn spaces(&self) -> Option<&dyn EmbeddingSpaces>;

    /// The records of sources; there where [`Capability::Sources`] is advertised.
    fn sources(&self) -> Option<&dyn SourceLedger>;

    /// The changes in order; there where [`Capability::ChangeFeed`] is advertised.
    fn feed(&self) -> Option<&dyn ChangeFeed>;

    /// Upkeep; there where the descriptor lists any kind of maintenance.
    fn upkeep(&self) -> Option<&dyn Maintenance>;

    /// Forgetting to the last byte; there where [`Capability::Erasure`] is advertised.
    fn eraser(&self) -> Option<&dyn Erasure>;
}

/// Conveniences over [`Collection`] that no backend implements.
pub trait CollectionExt: Collection {
    /// Applies a batch without idempotency key or time budget.
    fn apply_batch(&self, writes: &[Write]) -> Result<Receipt> {
        self.apply(&ApplyRequest::batch(writes))
    }

    /// Files one new drawer.
    fn add(&self, drawer: NewDrawer) -> Result<Receipt> {
        self.apply_batch(&[Write::Add(drawer)])
    }

    /// Files one drawer, replacing what stood under its id.
    fn upsert(&self, drawer: NewDrawer) -> Result<Receipt> {
        self.apply_batch(&[Write::Upsert(drawer)])
    }

    /// Removes one drawer.
    fn delete(&self, id: DrawerId) -> Result<Receipt> {
        self.apply_batch(&[Write::Delete(Selection::Ids(vec![id]))])
    }

    /// The embedding spaces, or an error that says they are not offered.
    fn require_spaces(&self) -> Result<&dyn EmbeddingSpaces> {
        self.spaces()
            .ok_or_else(|| not_offered(Capability::Spaces.name()))
    }

    /// The records of sources, or an error that says they are not offered.
    fn require_sources(&self) -> Result<&dyn SourceLedger> {
        self.sources()
            .ok_or_else(|| not_offered(Capability::Sources.name()))
    }

    /// The change feed, or an error that says it is not offered.
    fn require_feed(&self) -> Result<&dyn ChangeFeed> {
        self.feed()
            .ok_or_else(|| not_offered(Capability::ChangeFeed.name()))
    }

    /// Upkeep, or an error that says it is not offered.
    fn require_upkeep(&self) -> Result<&dyn Maintenance> {
        self.upkeep().ok_or_else(|| not_offered("maintenance"))
    }
}

impl<C: Collection + ?Sized> CollectionExt for C {}

/// Conveniences over [`CollectionReader`] that no backend implements.
pub trait CollectionReaderExt: CollectionReader {
    /// One drawer with its text and metadata, if it is there.
    fn find(&self, id: &DrawerId) -> Result<Option<Drawer>> {
        Ok(self.get(&Get::ids([id.clone()]))?.pop())
    }
}

impl<R: CollectionReader + ?Sized> CollectionReaderExt for R {}

fn not_offered(ability: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("{ability} is not offered for this collection as it was opened"),
    )
}
