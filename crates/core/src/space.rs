//! Embedding spaces: the active one, one being built beside it, and earlier ones.
//!
//! A change of model never touches the active vectors. It begins a second space, fills it while reads and writes
//! continue, and cuts over atomically once every drawer has a vector in it. The old space stays until it is
//! dropped, so that rolling back is one step too.

use std::fmt;

use serde::Serialize;

use crate::{DrawerId, EmbedderIdentity, IdentityState, Result};

/// Changes the model of a collection while reads and writes continue.
///
/// `get`, `query` and `info` concern the active space only, before, during and after. Removing a drawer or changing
/// its text removes its vectors from every space.
pub trait EmbeddingSpaces: fmt::Debug + Send + Sync {
    /// Lists the embedding spaces: the active one first, then the one being built, then older ones, newest first.
    fn list_spaces(&self) -> Result<Vec<EmbeddingSpace>>;

    /// Takes one step of a change of model and returns the resulting spaces.
    fn take_step(&self, step: &SwitchStep) -> Result<Vec<EmbeddingSpace>>;

    /// Lists drawers that lack a vector in the active space or the one being built, oldest version first; a model
    /// that belongs to neither is `IdentityMismatch`.
    fn list_pending(&self, request: &PendingRequest) -> Result<Vec<UnembeddedDrawer>>;

    /// Stores vectors for drawers that lack one in the space of `identity`, which is active or being built.
    ///
    /// A vector whose drawer is gone, has a newer version, or already has a vector there, is counted as stale and
    /// not stored. A vector that [`crate::vector::check_vector`] refuses is refused before anything is written; a
    /// paused space accepts no vectors (`Conflict`). No drawer counts as changed.
    fn fill_vectors(&self, identity: &EmbedderIdentity, vectors: &[VectorFill]) -> Result<VectorFillReport>;
}

/// One embedding space of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingSpace {
    /// The model of its vectors, as far as it is known.
    pub identity: IdentityState,
    /// Its role in the collection.
    pub state: SpaceState,
    /// The number of drawers that have a vector in it.
    pub vectors: u64,
    /// The number of drawers in the collection.
    pub drawers: u64,
}

impl EmbeddingSpace {
    /// Returns the number of drawers that still lack a vector in it.
    pub fn missing_vectors(&self) -> u64 {
        // A damaged file may count more vectors than drawers; the difference must not wrap around.
        self.drawers.saturating_sub(self.vectors)
    }
}

/// The role of a space in its collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SpaceState {
    /// Answers queries and receives the vectors of new drawers. There is always exactly one.
    Active,
    /// Being filled. At most one space is building or paused.
    Building,
    /// Filling was paused on request; processes that fill it stop.
    Paused,
    /// Was active before and can be made active again.
    Retired,
    /// Given up before it was complete; beginning again continues from there.
    Abandoned,
}

impl SpaceState {
    /// Returns the name that scripts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Building => "building",
            Self::Paused => "paused",
            Self::Retired => "retired",
            Self::Abandoned => "abandoned",
        }
    }
}

/// One step of a change of model; each is one transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchStep {
    /// Begins a space for this model, or resumes one that is paused, abandoned or retired. Has no effect if the
    /// space is already active or building. `Conflict` while another model's space is building or paused.
    Begin(EmbedderIdentity),
    /// Asks processes that fill the space to stop, which may already have happened; `Conflict` if none is being
    /// built.
    Pause,
    /// Makes the space being built active and retires the old one. `Conflict`, with nothing changed, while a drawer
    /// lacks a vector in it, it is paused, or none is being built.
    Finish,
    /// Gives up the space being built; if there is none, makes the previously active space active again and retires
    /// the current one, so that a second rollback undoes the first. `Conflict` if there is neither.
    Rollback,
    /// Drops retired and abandoned spaces and their vectors for good.
    DropRetired,
}

/// Asks for drawers that lack a vector in a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingRequest {
    /// The model of the active space or the one being built; the latter if both have it.
    pub identity: EmbedderIdentity,
    /// Only drawers with a version above this one; start with 0 and continue with the last one returned.
    pub after: u64,
    /// The most drawers to return.
    pub limit: usize,
}

/// A drawer that lacks a vector, oldest version first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnembeddedDrawer {
    /// Its id.
    pub id: DrawerId,
    /// The version of its text. A new text gets a version above the collection's previous `seq`. If a backend
    /// renumbers the drawer for internal reasons, it is pending under the new number.
    pub version: u64,
    /// The text to embed: the document within its context.
    pub text: String,
}

/// A vector for a drawer that lacked one.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorFill {
    /// The drawer.
    pub id: DrawerId,
    /// The version of the text that the vector was made from.
    pub version: u64,
    /// The vector.
    pub vector: Vec<f32>,
}

/// The outcome of storing vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct VectorFillReport {
    /// The number stored.
    pub stored: u64,
    /// The number not stored, because the drawer is gone, has a newer version, or already has a vector.
    pub stale: u64,
}
