//! Capabilities: promises of a backend beyond the contract that every backend keeps.

use std::fmt;

use serde::Serialize;

/// One optional ability of a backend.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// Accepts vectors from the caller.
    EmbeddingsPassthrough,
    /// Returns the exact vectors that were stored.
    EmbeddingsOut,
    /// Applies a batch whole or not at all.
    AtomicBatch,
    /// Applies an update atomically, with no other writer in between.
    AtomicUpdate,
    /// Applies a batch only while given drawers are as they were read: see [`crate::ApplyRequest::expects`].
    ConditionalBatch,
    /// Supports comparisons by order in filters.
    RangeFilters,
    /// Answers document filters from an index.
    ContainsFast,
    /// Matches words by BM25.
    Lexical,
    /// May return estimated counts.
    EstimatedCount,
    /// Keeps namespaces apart.
    NamespaceIsolation,
    /// Lists changes in order: every unrestricted collection has a [`crate::ChangeFeed`].
    ChangeFeed,
    /// Can be exported whole.
    Export,
    /// Lives in local files. A palace that vanished under an instance is not made anew by it, and another palace in the
    /// place of one that an instance has used is refused by it: either was done by hand, and the caller must know.
    Local,
    /// Lives in a server. Relaxes "no byte remains in anything the backend stores": copies that the server or its owner
    /// keeps beside the tables (logs, standbys, dumps) may be out of reach of an erasure, which then lists them.
    Server,
    /// Calls a service outside this machine.
    ExternalService,
    /// Embeds by itself.
    ServerEmbedder,
    /// Takes no writes.
    ReadOnly,
    /// Builds a second embedding space and switches to it atomically: every unrestricted collection has
    /// [`crate::EmbeddingSpaces`].
    Spaces,
    /// Remembers sources and files a new state of one atomically: every unrestricted collection has a
    /// [`crate::SourceLedger`].
    Sources,
    /// May miss nearest drawers. Relaxes "the answer equals an exact comparison with every vector": of the true
    /// nearest, at least nine in ten are found, and no hit is reported with a wrong distance. A backend that does not
    /// advertise it answers so only where [`crate::CollectionInfo::approximate`] says so.
    ApproximateQuery,
    /// Lets several processes use one palace at once. Without it, promises about other processes ("a reader sees
    /// every write acknowledged before it began, from any process") hold within one process only.
    MultiProcess,
    /// Reads of one [`crate::Collection::moment`] agree with each other regardless of concurrent writes. Without it
    /// no moment is offered, and two reads may see two states.
    Moment,
    /// Erases to the last byte: every unrestricted collection has an [`crate::Erasure`].
    Erasure,
    /// A capability of a plug-in, by name.
    Other(String),
}

impl Capability {
    /// Every capability this contract knows.
    // `Other` is absent: a plug-in's capability promises nothing that this contract could test.
    pub const KNOWN: [Self; 23] = [
        Self::EmbeddingsPassthrough,
        Self::EmbeddingsOut,
        Self::AtomicBatch,
        Self::AtomicUpdate,
        Self::ConditionalBatch,
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
        Self::ApproximateQuery,
        Self::MultiProcess,
        Self::Moment,
        Self::Erasure,
    ];

    /// Returns the name that descriptors and messages show.
    pub fn name(&self) -> &str {
        match self {
            Self::EmbeddingsPassthrough => "embeddings_passthrough",
            Self::EmbeddingsOut => "embeddings_out",
            Self::AtomicBatch => "atomic_batch",
            Self::AtomicUpdate => "atomic_update",
            Self::ConditionalBatch => "conditional_batch",
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
            Self::ApproximateQuery => "approximate_query",
            Self::MultiProcess => "multi_process",
            Self::Moment => "moment",
            Self::Erasure => "erasure",
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
        // A plain string for every variant, `Other` included: a derived enum would nest that one as an
        // object.
        serializer.serialize_str(self.name())
    }
}
