//! The contract every backend keeps: two object-safe traits, what they advertise, and conveniences on top.
//!
//! Each sentence of promise here is a case of the conformance suite, in the same words.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::{
    Changes, CollectionInfo, CollectionName, Cursor, Declared, Drawer, DrawerId, EmbedderIdentity, Error,
    ErrorKind, Facet, Facets, Filled, Filling, Filter, Get, Hit, IdentityChange, Lexical, MaintenanceKind,
    MaintenanceReport, MaintenanceState, Metric, NewDrawer, PalaceRef, Pending, Query, Receipt, Result,
    Revised, Revision, Selection, SourceRecord, Sources, Space, Switch, Unembedded, Write,
};

/// The version of this contract.
pub const SPEC_VERSION: SpecVersion = SpecVersion { major: 1, minor: 4 };

/// An engine that holds the collections of palaces.
///
/// Making one does no I/O. After [`Backend::close`] every call on it and on its collections is [`ErrorKind::Closed`].
pub trait Backend: fmt::Debug + Send + Sync {
    /// What it is called and what it can do. Never changes.
    fn descriptor(&self) -> &Descriptor;

    /// Opens a collection.
    ///
    /// Without `how.create`, a missing palace or collection is `NotFound` and nothing is created, not even a folder.
    /// With it, opening is idempotent and makes local folders private to their owner (0700). A namespace given to
    /// a backend that does not advertise isolation is `Unsupported`. A declared embedder that is known not to be
    /// the stored one is `IdentityMismatch`; another dimension is `DimensionMismatch`; another metric is `Invalid`.
    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        how: &OpenOptions,
    ) -> Result<Arc<dyn Collection>>;

    /// The collections of a palace, by name; a missing palace is `NotFound`.
    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>>;

    /// Whether the backend, and `palace` if given, can be used. Never fails and never creates anything.
    fn health(&self, palace: Option<&PalaceRef>) -> Health;

    /// Lets go of everything held for a palace; fine for one that was never opened. Its collections are `Closed`.
    fn close_palace(&self, palace: &PalaceRef);

    /// Lets go of everything. Afterwards every call is `Closed`.
    fn close(&self);
}

/// A named set of drawers in one embedding space.
///
/// A reader sees every write acknowledged before it began, from any process. Drawers of another palace,
/// namespace or collection are never seen, changed or removed.
pub trait Collection: fmt::Debug + Send + Sync {
    /// Applies a batch in order and returns once it is durable.
    ///
    /// What [`crate::write::check_batch`] refuses is refused before anything is written. The batch is whole or
    /// nothing where the backend advertises [`Capability::AtomicBatch`].
    fn apply(&self, batch: &[Write]) -> Result<Receipt>;

    /// Drawers by id or filter; nothing found is an empty list, never an error.
    fn get(&self, request: &Get) -> Result<Vec<Drawer>>;

    /// For each vector its own list of hits, nearest first, even when all are empty.
    fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>>;

    /// The drawers that best match some words, best first. Only drawers that are there and that the filters accept
    /// count, for the scores too; see [`Lexical`].
    fn lexical(&self, request: &Lexical) -> Result<Vec<Hit>>;

    /// How many drawers the filter accepts.
    fn count(&self, filter: &Filter) -> Result<u64>;

    /// How many drawers there are by wing, room and the like, from the store, never by paging rows.
    fn facets(&self, request: &Facets) -> Result<Vec<Facet>>;

    /// What the collection holds, whose vectors, and how far its indexes reach.
    fn info(&self) -> Result<CollectionInfo>;

    /// Records what made this collection's vectors.
    ///
    /// `Confirm` settles an unset or unknown model and is `IdentityMismatch` on one known to be another; `Force`
    /// replaces what is recorded. A dimension other than the stored vectors' is `DimensionMismatch`.
    fn set_identity(&self, identity: &EmbedderIdentity, why: IdentityChange) -> Result<()>;

    /// Which maintenance is running or due.
    fn maintenance(&self) -> Result<MaintenanceState>;

    /// Runs one kind of maintenance; a kind that is not advertised is `Unsupported`. The same kind started
    /// twice at once runs once, and the second caller is told that it is already running.
    fn maintain(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport>;

    /// At most `limit` changes after `cursor`, oldest first, complete and without repeats.
    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<Changes>;

    /// The embedding spaces: the active one first, then the one being built, then older ones, newest first.
    ///
    /// This and the three calls below are `Unsupported` where [`Capability::Spaces`] is not advertised.
    fn spaces(&self) -> Result<Vec<Space>> {
        Err(no_spaces())
    }

    /// Takes one step of a change of model and says how the spaces are afterwards.
    ///
    /// `get`, `query` and `info` speak of the active space only, before, during and after. Removing a drawer or
    /// changing its text removes its vectors from every space.
    fn switch(&self, _step: &Switch) -> Result<Vec<Space>> {
        Err(no_spaces())
    }

    /// Drawers that lack a vector in the active space or the one being built, oldest version first; a model that
    /// neither is of is `IdentityMismatch`.
    fn pending(&self, _request: &Pending) -> Result<Vec<Unembedded>> {
        Err(no_spaces())
    }

    /// Stores vectors for drawers that lack one in the space of `identity`, which is active or being built.
    ///
    /// A vector whose drawer is gone, has another version by now, or has a vector there already, is counted as stale
    /// and nothing is stored for it. What [`crate::write::check_vector`] refuses is refused before anything is
    /// written; a paused space takes no vectors (`Conflict`). No drawer counts as changed by it.
    fn fill(&self, _identity: &EmbedderIdentity, _vectors: &[Filling]) -> Result<Filled> {
        Err(no_spaces())
    }

    /// The records of some sources, in byte order of their names; names without a record are left out.
    ///
    /// This and the call below are `Unsupported` where [`Capability::Sources`] is not advertised. A record is no
    /// drawer: it is not counted, found, exported or listed among the changes.
    fn sources(&self, _request: &Sources) -> Result<Vec<SourceRecord>> {
        Err(not_offered(&Capability::Sources))
    }

    /// Applies revisions in order, all in one durable step, and says what became of each.
    ///
    /// A revision whose source has another record by now than the one it expects is `Overtaken`: nothing of it is
    /// written, and the others go on. Parts are applied as [`Collection::apply`] applies batches. An error leaves
    /// every drawer and record as it was; so does a list without revisions, which is empty in return.
    fn revise(&self, _revisions: Vec<Revision<'_>>) -> Result<Vec<Revised>> {
        Err(not_offered(&Capability::Sources))
    }
}

fn no_spaces() -> Error {
    not_offered(&Capability::Spaces)
}

fn not_offered(capability: &Capability) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("this backend does not offer {capability}"),
    )
}

/// What a backend is called and what it can do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Descriptor {
    /// Its name, as users type it.
    pub name: String,
    /// The version of this contract it was built for.
    pub spec_version: SpecVersion,
    /// What it can do; what is not listed is refused.
    pub capabilities: BTreeSet<Capability>,
    /// The metrics it compares vectors by.
    pub metrics: Vec<Metric>,
    /// The kinds of maintenance that do something.
    pub maintenance: Vec<MaintenanceKind>,
}

impl Descriptor {
    /// Whether `capability` is advertised.
    pub fn can(&self, capability: &Capability) -> bool {
        self.capabilities.contains(capability)
    }

    /// Refuses a backend built for another major version of the contract, by name and version.
    pub fn check_version(&self) -> Result<()> {
        if self.spec_version.major == SPEC_VERSION.major {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the backend {:?} keeps contract {}, this build speaks {SPEC_VERSION}",
                self.name, self.spec_version
            ),
        ))
    }

    /// Refuses what is not advertised, by name.
    pub fn require(&self, capability: &Capability) -> Result<()> {
        if self.can(capability) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("the backend {:?} does not offer {capability}", self.name),
        ))
    }

    /// Refuses a filter that compares by order where that is not advertised.
    pub fn check_filter(&self, filter: &Filter) -> Result<()> {
        if filter.uses_ranges() && !self.can(&Capability::RangeFilters) {
            return Err(Error::new(
                ErrorKind::UnsupportedFilter,
                format!("the backend {:?} does not compare by order: {filter}", self.name),
            ));
        }
        Ok(())
    }
}

/// A version of the contract: another major is refused, another minor is fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SpecVersion {
    /// Changes when a promise changes.
    pub major: u32,
    /// Changes when a promise is added.
    pub minor: u32,
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Something a backend can do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// Takes vectors as given.
    EmbeddingsPassthrough,
    /// Gives the exact vectors back.
    EmbeddingsOut,
    /// A batch is whole or nothing.
    AtomicBatch,
    /// An update is one step that no other writer comes between.
    AtomicUpdate,
    /// Compares by order in filters.
    RangeFilters,
    /// Answers document filters from an index.
    ContainsFast,
    /// Matches words by BM25.
    Lexical,
    /// Counts may be estimates.
    EstimatedCount,
    /// Keeps namespaces apart.
    NamespaceIsolation,
    /// Lists changes in order.
    ChangeFeed,
    /// Can be exported whole.
    Export,
    /// Lives in local files.
    Local,
    /// Lives in a server.
    Server,
    /// Calls a service outside this machine.
    ExternalService,
    /// Embeds by itself.
    ServerEmbedder,
    /// Takes no writes.
    ReadOnly,
    /// Holds a second embedding space while it is being built, and turns over to it in one step.
    Spaces,
    /// Remembers what each source looked like, and files a new state of it in one step.
    Sources,
    /// What a plug-in brings, by name.
    Other(String),
}

impl Capability {
    /// Every capability this contract knows.
    pub const KNOWN: [Self; 18] = [
        Self::EmbeddingsPassthrough,
        Self::EmbeddingsOut,
        Self::AtomicBatch,
        Self::AtomicUpdate,
        Self::RangeFilters,
        Self::ContainsFast,
        Self::Lexical,
        Self::EstimatedCount,
        Self::NamespaceIsolation,
        Self::ChangeFeed,
        Self::Export,
        Self::Local,
        Self::Server,
        Self::ExternalService,
        Self::ServerEmbedder,
        Self::ReadOnly,
        Self::Spaces,
        Self::Sources,
    ];

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::EmbeddingsPassthrough => "embeddings_passthrough",
            Self::EmbeddingsOut => "embeddings_out",
            Self::AtomicBatch => "atomic_batch",
            Self::AtomicUpdate => "atomic_update",
            Self::RangeFilters => "range_filters",
            Self::ContainsFast => "contains_fast",
            Self::Lexical => "lexical",
            Self::EstimatedCount => "estimated_count",
            Self::NamespaceIsolation => "namespace_isolation",
            Self::ChangeFeed => "change_feed",
            Self::Export => "export",
            Self::Local => "local",
            Self::Server => "server",
            Self::ExternalService => "external_service",
            Self::ServerEmbedder => "server_embedder",
            Self::ReadOnly => "read_only",
            Self::Spaces => "spaces",
            Self::Sources => "sources",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Capability {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// How to open a collection.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenOptions {
    /// Make what is missing.
    pub create: bool,
    /// How vectors are compared: for a new collection (cosine if not given), or what an existing one must have.
    pub metric: Option<Metric>,
    /// How many values vectors have: for a new collection, or what an existing one must have.
    pub dimension: Option<usize>,
    /// What made the vectors this caller will write or ask with.
    pub embedder: Option<EmbedderIdentity>,
    /// This writer moves a whole palace: vectors of a model nobody recorded may be added to a collection whose model
    /// is unknown, and it stays unknown. Counts for nothing where a model is recorded or declared.
    pub carries_unknown: bool,
    /// How long a write waits for other writers before it is `Locked`.
    pub wait: Duration,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            create: false,
            metric: None,
            dimension: None,
            embedder: None,
            carries_unknown: false,
            wait: Duration::from_secs(30),
        }
    }
}

impl OpenOptions {
    /// Open, making what is missing.
    pub fn create() -> Self {
        Self {
            create: true,
            ..Self::default()
        }
    }

    /// What a handle opened so says of the vectors it will write.
    pub fn declared(&self) -> Declared {
        Declared {
            embedder: self.embedder.clone(),
            carries_unknown: self.carries_unknown,
        }
    }
}

/// Whether a backend or palace can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Health {
    /// It can.
    pub ok: bool,
    /// Why not, or what was seen.
    pub detail: String,
}

/// Conveniences over [`Collection`] that nobody implements.
pub trait CollectionExt: Collection {
    /// Files one new drawer.
    fn add(&self, drawer: NewDrawer) -> Result<Receipt> {
        self.apply(&[Write::Add(drawer)])
    }

    /// Files one drawer, replacing what stood under its id.
    fn upsert(&self, drawer: NewDrawer) -> Result<Receipt> {
        self.apply(&[Write::Upsert(drawer)])
    }

    /// Removes one drawer.
    fn delete(&self, id: DrawerId) -> Result<Receipt> {
        self.apply(&[Write::Delete(Selection::Ids(vec![id]))])
    }

    /// One drawer with its text and metadata, if it is there.
    fn find(&self, id: &DrawerId) -> Result<Option<Drawer>> {
        Ok(self.get(&Get::ids([id.clone()]))?.pop())
    }
}

impl<C: Collection + ?Sized> CollectionExt for C {}
