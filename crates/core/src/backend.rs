//! The contract every backend keeps, first half: palaces and how their collections are made, opened and dropped.
//!
//! Each sentence of promise here is a case of the conformance suite, in the same words.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::{
    Collection, CollectionInfo, CollectionName, Declared, Descriptor, Doctor, EmbedderIdentity, Filter,
    IdentityState, Metric, PalaceRef, Result, SnapshotStore,
};

/// An engine that holds the collections of palaces.
///
/// Making one does no I/O. After [`Backend::close`] every call on it and on its collections that can fail is
/// [`crate::ErrorKind::Closed`].
pub trait Backend: fmt::Debug + Send + Sync {
    /// Its name and abilities. Never changes.
    fn descriptor(&self) -> &Descriptor;

    /// Opens a collection that exists.
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

    /// Makes a collection, and its palace where that is missing, and opens it to be written.
    ///
    /// Local folders are made private to their owner (0700). A collection that exists is opened as [`Backend::open`]
    /// opens it, or refused as `Conflict` and left unchanged where `mode` is [`CreateMode::Exclusive`]; of several
    /// exclusive creations at once exactly one succeeds.
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
    /// on, also after a collection of that name was made again.
    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()>;

    /// The collections of a palace, by name; a missing palace is `NotFound`.
    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>>;

    /// Whether the backend, and `palace` if given, can be used. Never fails and never creates anything.
    fn health(&self, palace: Option<&PalaceRef>) -> Health;

    /// Lets go of everything held for a palace; fine for one that was never opened. Its collections are `Closed`.
    fn close_palace(&self, palace: &PalaceRef);

    /// Lets go of everything. Afterwards every call is `Closed`.
    fn close(&self);

    /// Examines and mends its palaces, where they live in files.
    fn doctor(&self) -> Option<&dyn Doctor>;

    /// Copies whole palaces out and back in, where it can.
    fn snapshots(&self) -> Option<&dyn SnapshotStore>;
}

/// Whether making a collection may find one that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateMode {
    /// One that exists is opened.
    OpenExisting,
    /// One that exists is refused as `Conflict`.
    Exclusive,
}

/// How to open a collection. The default reads everything and writes nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenOptions {
    /// The drawers that exist for this handle: every method and sub-trait behaves as if there were no others; see
    /// [`crate::Visibility`].
    pub visible: Filter,
    /// Whether the handle may write. Through one that may not, every write is `Unsupported`: batches, the recorded model,
    /// steps and vectors of embedding spaces, revisions of sources, upkeep and erasure. A backend that advertises
    /// [`crate::Capability::ReadOnly`] refuses to open for writing as `Unsupported`. [`Backend::create`] opens to be
    /// written whatever this says.
    pub writable: bool,
    /// How vectors are compared: for a new collection (cosine if not given), or what an existing one must have.
    pub metric: Option<Metric>,
    /// How many values vectors have: for a new collection, or what an existing one must have.
    pub dimension: Option<usize>,
    /// The model that made the vectors this caller will write or ask with.
    pub embedder: Option<EmbedderIdentity>,
    /// The vectors this caller writes are made by the model that the collection records when it is opened: the handle
    /// behaves as if `embedder` had been given with exactly that model. Where none is recorded it declares nothing. If
    /// the recorded model changes later, a write that carries vectors is `IdentityMismatch`. A given `embedder` wins:
    /// this is then ignored.
    pub adopts_model: bool,
    /// This writer moves a whole palace: vectors without a recorded model may be added to a collection whose model
    /// is unknown, and it stays unknown. Ignored where a model is recorded or declared.
    pub carries_unknown: bool,
    /// How long a write waits for other writers before it is `Locked`.
    pub wait: Duration,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            visible: Filter::All,
            writable: false,
            metric: None,
            dimension: None,
            embedder: None,
            adopts_model: false,
            carries_unknown: false,
            wait: Duration::from_secs(30),
        }
    }
}

impl OpenOptions {
    /// Opens to be read and written.
    pub fn writable() -> Self {
        Self {
            writable: true,
            ..Self::default()
        }
    }

    /// The writer's word about the vectors it will write to a collection that records this model.
    pub fn declared(&self, recorded: &IdentityState) -> Declared {
        let adopted = match recorded {
            IdentityState::Known(model) if self.adopts_model => Some(model),
            _ => None,
        };
        Declared {
            embedder: self.embedder.as_ref().or(adopted).cloned(),
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
            options.declared(recorded).embedder.map(|embedder| embedder.model)
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
