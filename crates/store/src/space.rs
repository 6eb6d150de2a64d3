//! One embedding space of a collection: whose vectors it holds, what it is to the collection, and its counters.

use loci_core::{EmbedderIdentity, IdentityState, Metric, Result, SpaceState};
use rusqlite::{Transaction, params};

use crate::failure::sqlite;

/// A space as one transaction sees it.
#[derive(Debug, Clone)]
pub(crate) struct Space {
    /// Its number, which names its table of vectors.
    pub(crate) number: i64,
    pub(crate) collection: i64,
    /// How its vectors are compared, as its collection says.
    pub(crate) metric: Metric,
    pub(crate) state: SpaceState,
    /// Grows with every space that is set aside: of two, the higher was set aside later.
    pub(crate) turn: i64,
    pub(crate) dimension: Option<usize>,
    pub(crate) embedder: Option<EmbedderIdentity>,
    /// How many drawers have a vector in it.
    pub(crate) vectors: i64,
    /// How many of those are not in a sealed segment.
    pub(crate) tail: i64,
    /// The highest row that sealed segments reach.
    pub(crate) sealed: i64,
}

impl Space {
    /// What is known of the model behind the vectors.
    pub(crate) fn identity(&self) -> IdentityState {
        match &self.embedder {
            Some(embedder) => IdentityState::Known(embedder.clone()),
            None if self.vectors == 0 => IdentityState::Unset,
            None => IdentityState::Unknown,
        }
    }

    /// The model's name, for messages.
    pub(crate) fn model(&self) -> &str {
        self.embedder
            .as_ref()
            .map_or("an unnamed model", |embedder| &embedder.model)
    }

    /// Whether it is being filled, or would be but for a pause.
    pub(crate) fn is_being_built(&self) -> bool {
        matches!(self.state, SpaceState::Building | SpaceState::Paused)
    }

    /// Records which model the vectors are of.
    pub(crate) fn record_embedder(
        &mut self,
        transaction: &Transaction<'_>,
        embedder: &EmbedderIdentity,
    ) -> Result<()> {
        transaction
            .execute(
                "UPDATE spaces SET model = ?2, revision = ?3, dimension = ?4 WHERE space = ?1",
                params![
                    self.number,
                    embedder.model,
                    embedder.revision,
                    embedder.dimension as i64
                ],
            )
            .map_err(sqlite)?;
        self.dimension = Some(embedder.dimension);
        self.embedder = Some(embedder.clone());
        Ok(())
    }

    /// Records how many values the vectors have.
    pub(crate) fn record_dimension(&mut self, transaction: &Transaction<'_>, dimension: usize) -> Result<()> {
        transaction
            .execute(
                "UPDATE spaces SET dimension = ?2 WHERE space = ?1",
                params![self.number, dimension as i64],
            )
            .map_err(sqlite)?;
        self.dimension = Some(dimension);
        Ok(())
    }

    /// Records what it is to the collection from now on.
    pub(crate) fn record_state(
        &self,
        transaction: &Transaction<'_>,
        state: SpaceState,
        turn: i64,
    ) -> Result<()> {
        transaction
            .execute(
                "UPDATE spaces SET state = ?2, turn = ?3 WHERE space = ?1",
                params![self.number, state_text(state), turn],
            )
            .map(drop)
            .map_err(sqlite)
    }

    /// Writes the counters back.
    pub(crate) fn store_counters(&self, transaction: &Transaction<'_>) -> Result<()> {
        transaction
            .prepare_cached("UPDATE spaces SET vectors = ?2, tail = ?3, sealed = ?4 WHERE space = ?1")
            .and_then(|mut statement| {
                statement.execute(params![self.number, self.vectors, self.tail, self.sealed])
            })
            .map(drop)
            .map_err(sqlite)
    }
}

/// A state as its column holds it: the active space has none, for its collection names it.
pub(crate) fn state_text(state: SpaceState) -> Option<&'static str> {
    (state != SpaceState::Active).then(|| state.name())
}

/// The state of a space that is not the active one; `None` if no release ever wrote that.
pub(crate) fn state_from(text: Option<&str>) -> Option<SpaceState> {
    use SpaceState::{Abandoned, Building, Paused, Retired};
    [Building, Paused, Retired, Abandoned]
        .into_iter()
        .find(|state| text == Some(state.name()))
}
