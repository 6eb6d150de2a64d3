//! The contract every backend keeps, first half: palaces, and creating, opening and dropping their collections.
//!
//! Each promise here is a case of the conformance suite, in the same words.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    BackendDescriptor, Collection, CollectionInfo, CollectionName, DeclaredEmbedder, Doctor,
    EmbedderIdentity, Filter, IdentityState, Metric, PalaceFinding, PalaceId, PalaceRef, Result,
    SnapshotStore,
};

/// A storage engine that holds the collections of palaces.
///
/// Constructing one does no I/O. After [`Backend::close`] every fallible call on it and on its collections is
/// [`crate::ErrorKind::Closed`].
pub trait Backend: fmt::Debug + Send + Sync {
    /// Returns the backend's name and abilities, which never change.
    fn descriptor(&self) -> &BackendDescriptor;

    /// Opens an existing collection.
    ///
    /// A missing palace or collection is `NotFound` and nothing is created, not even a folder. A namespace given to
    /// a backend that does not advertise isolation is `Unsupported`. A declared embedder that is known not to be
    /// the stored one is `IdentityMismatch`; another dimension is `DimensionMismatch`; another metric is `Invalid`.
    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>>;

    /// Creates a collection, and its palace if that is missing, and opens it for writing.
    ///
    /// Local folders are created private to their owner (0700). An existing collection is opened as by
    /// [`Backend::open`], or refused as `Conflict` and left unchanged if `mode` is [`CreateMode::Exclusive`]; of
    /// several concurrent exclusive creations exactly one succeeds.
    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>>;

    /// Drops a collection with everything it holds; a missing palace or collection is `NotFound`.
    ///
    /// Other collections are unchanged. Handles on the dropped collection, in any process, are `NotFound` from then
    /// on, even after a collection of that name is created again.
    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()>;

    /// Lists the collections of a palace by name; a missing palace is `NotFound`.
    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>>;

    /// Returns the id that a palace keeps wherever it is copied or moved, and that no other palace has; `None` if the
    /// backend gives palaces none. A missing palace is `NotFound`.
    fn palace_id(&self, palace: &PalaceRef) -> Result<Option<PalaceId>>;

    /// Reports whether the backend, and `palace` if given, can be used. Never fails and never creates anything.
    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth;

    /// Lists the damage that this process has met in a palace so far, as findings of severity
    /// [`crate::FindingSeverity::Error`]. Reads nothing. A palace that was not opened, or is sound, has no damage to
    /// list.
    fn list_damage(&self, palace: &PalaceRef) -> Vec<PalaceFinding>;

    /// Releases everything held for a palace, which need not have been opened. Its collections become `Closed`.
    fn close_palace(&self, palace: &PalaceRef);

    /// Releases everything. Afterwards every call is `Closed`.
    fn close(&self);

    /// Returns the doctor that examines and repairs its palaces, if they live in files.
    fn doctor(&self) -> Option<&dyn Doctor>;

    /// Returns the store that copies whole palaces out and back in, if the backend can.
    fn snapshots(&self) -> Option<&dyn SnapshotStore>;
}

/// Whether creating a collection may find an existing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// An existing collection is opened.
    OpenExisting,
    /// An existing collection is refused as `Conflict`.
    Exclusive,
}

/// Options for opening a collection. The default reads everything and writes nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenOptions {
    /// The drawers that exist for this handle: every method and sub-trait behaves as if no others existed; see
    /// [`crate::Visibility`].
    pub visible: Filter,
    /// Whether the handle may write. Through a handle that may not, every write is `Unsupported`: batches, the
    /// recorded model, steps and vectors of embedding spaces, revisions of sources, maintenance and erasure. A
    /// backend that advertises [`crate::Capability::ReadOnly`] refuses to open for writing as `Unsupported`.
    /// [`Backend::create`] opens for writing regardless of this field.
    pub writable: bool,
    /// The metric for comparing vectors: given to a new collection (cosine by default), required of an existing
    /// one.
    pub metric: Option<Metric>,
    /// The number of values in a vector: given to a new collection, required of an existing one.
    pub dimension: Option<usize>,
    /// The model that made the vectors this caller will write or ask with.
    pub embedder: Option<EmbedderIdentity>,
    /// Declares that this caller's vectors come from the model recorded when the collection is opened: the handle
    /// behaves as if `embedder` had been given exactly that model. If none is recorded, nothing is declared. If the
    /// recorded model changes later, a write that carries vectors is `IdentityMismatch`. Ignored when `embedder` is
    /// given.
    pub adopts_model: bool,
    /// Marks a writer that moves a whole palace: vectors without a recorded model may be added to a collection
    /// whose model is unknown, and it stays unknown. Ignored if a model is recorded or declared.
    pub carries_unknown: bool,
    /// The time a write waits for other writers before it is `Locked`.
    pub wait: Duration,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            // Reading is the default: a caller that wants to write has to ask for it, so that a forgotten
            // option can never change a palace.
            visible: Filter::All,
            writable: false,
            metric: None,
            dimension: None,
            embedder: None,
            adopts_model: false,
            carries_unknown: false,
            // Long enough for another process to finish a large batch, short enough for a person to keep
            // waiting.
            wait: Duration::from_secs(30),
        }
    }
}

impl OpenOptions {
    /// Returns options for reading and writing.
    pub fn for_writing() -> Self {
        Self {
            writable: true,
            ..Self::default()
        }
    }

    /// Returns the writer's declaration about its vectors, for a collection that records this model.
    pub fn declared_embedder(&self, recorded: &IdentityState) -> DeclaredEmbedder {
        // Adopting settles the model in the same step as opening: a caller that only needs to know which
        // model to load opens once, and a model that changed in between is refused at the write.
        let adopted = match recorded {
            IdentityState::Known(model) if self.adopts_model => Some(model),
            _ => None,
        };
        DeclaredEmbedder {
            // Given both, the explicit embedder wins: two statements about one thing need an order, not
            // an error.
            embedder: self.embedder.as_ref().or(adopted).cloned(),
            carries_unknown: self.carries_unknown,
        }
    }
}

/// A report on whether a backend or palace can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BackendHealth {
    /// True if it can be used.
    pub ok: bool,
    /// The reason if it cannot, else a short description of the state.
    pub detail: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adopted_model_is_declared_unless_another_is_given() {
        let model = |name: &str| EmbedderIdentity {
            model: name.into(),
            revision: "1".into(),
            dimension: 4,
        };
        let declared = |embedder: Option<&str>, adopts_model, recorded: &IdentityState| {
            let options = OpenOptions {
                embedder: embedder.map(model),
                adopts_model,
                ..OpenOptions::default()
            };
            options
                .declared_embedder(recorded)
                .embedder
                .map(|embedder| embedder.model)
        };
        let known = IdentityState::Known(model("a"));
        assert_eq!(declared(None, false, &known), None);
        assert_eq!(declared(None, true, &known).as_deref(), Some("a"));
        assert_eq!(declared(Some("b"), true, &known).as_deref(), Some("b"));
        for none in [IdentityState::Unset, IdentityState::Unknown] {
            assert_eq!(declared(None, true, &none), None, "{none:?}");
        }
    }
}
