//! Embedding spaces: the one that answers, one being built beside it, and those that answered before.
//!
//! A change of model never touches the vectors that answer. It begins a second space, fills it while everybody
//! goes on reading and writing, and turns over in one step once every drawer has its vector there. The old space
//! stays until somebody drops it, so that turning back is one step too.

use std::fmt;

use serde::Serialize;

use crate::{DrawerId, EmbedderIdentity, IdentityState, Result};

/// Changes the model of a collection while reads and writes continue.
///
/// `get`, `query` and `info` speak of the active space only, before, during and after. Removing a drawer or changing
/// its text removes its vectors from every space.
pub trait EmbeddingSpaces: fmt::Debug + Send + Sync {
    /// The embedding spaces: the active one first, then the one being built, then older ones, newest first.
    fn list_spaces(&self) -> Result<Vec<Space>>;

    /// Takes one step of a change of model and returns the spaces as they are afterwards.
    fn take_step(&self, step: &Switch) -> Result<Vec<Space>>;

    /// Drawers that lack a vector in the active space or the one being built, oldest version first; a model that
    /// neither is of is `IdentityMismatch`.
    fn list_pending(&self, request: &Pending) -> Result<Vec<Unembedded>>;

    /// Stores vectors for drawers that lack one in the space of `identity`, which is active or being built.
    ///
    /// A vector whose drawer is gone, has another version by now, or has a vector there already, is counted as stale
    /// and nothing is stored for it. A vector that [`crate::write::check_vector`] refuses is refused before anything is
    /// written; a paused space takes no vectors (`Conflict`). No drawer counts as changed by it.
    fn fill_vectors(&self, identity: &EmbedderIdentity, vectors: &[Filling]) -> Result<Filled>;
}

/// One embedding space of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Space {
    /// What is known of the model whose vectors it holds.
    pub identity: IdentityState,
    /// What it is to the collection.
    pub state: SpaceState,
    /// How many of the collection's drawers have a vector in it.
    pub vectors: u64,
    /// How many drawers the collection holds.
    pub drawers: u64,
}

impl Space {
    /// How many drawers still lack a vector in it.
    pub fn missing(&self) -> u64 {
        self.drawers.saturating_sub(self.vectors)
    }
}

/// What a space is to its collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SpaceState {
    /// It answers queries and takes the vectors of new drawers. There is always exactly one.
    Active,
    /// It is being filled. There is at most one that is building or paused.
    Building,
    /// It was being filled and somebody asked for a pause; whoever fills it stops.
    Paused,
    /// It answered before the active one did and can answer again.
    Retired,
    /// It was given up before it had every vector; beginning again goes on from there.
    Abandoned,
}

impl SpaceState {
    /// The name scripts use.
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
pub enum Switch {
    /// Begins a space for this model, or goes on with the one that is paused, abandoned or retired. Nothing
    /// happens where it is active or building already. While another model's space is building or paused it is
    /// `Conflict`.
    Begin(EmbedderIdentity),
    /// Asks whoever fills the space to stop, which may have happened already; `Conflict` where none is being built.
    Pause,
    /// Makes the space being built the active one and retires the old. While a drawer lacks a vector in it, it is
    /// paused, or none is being built, this is `Conflict` and nothing changes.
    Finish,
    /// Gives up the space being built; or else makes the space that answered last before this one active again and
    /// retires this one, so that the same step turns forth again. `Conflict` where there is neither.
    Rollback,
    /// Drops retired and abandoned spaces and their vectors for good.
    DropRetired,
}

/// Asks for drawers that lack a vector in a space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pending {
    /// The model of the space: the active one or one being built; the latter where both are of it.
    pub identity: EmbedderIdentity,
    /// Only drawers whose version is above this one; start with 0 and go on with the last one's.
    pub after: u64,
    /// At most this many.
    pub limit: usize,
}

/// A drawer that lacks a vector, oldest version first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unembedded {
    /// Its id.
    pub id: DrawerId,
    /// Changes whenever its text does, and is then above the collection's `seq` of before. Where a backend gives it another one for reasons of its own, the drawer is
    /// pending under that one.
    pub version: u64,
    /// What is to be embedded: its text within its context.
    pub text: String,
}

/// A vector for a drawer that lacked one.
#[derive(Debug, Clone, PartialEq)]
pub struct Filling {
    /// The drawer.
    pub id: DrawerId,
    /// The version of the text this vector was made of.
    pub version: u64,
    /// The vector.
    pub vector: Vec<f32>,
}

/// What became of some vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Filled {
    /// How many were stored.
    pub stored: u64,
    /// How many were not, because the drawer is gone, has another version by now, or has a vector already.
    pub stale: u64,
}
