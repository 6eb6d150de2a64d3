//! One embedding space of a collection: the model of its vectors, its state, and its counters.

use loci_core::{EmbedderIdentity, IdentityState, Metric, Result, SpaceState};
use rusqlite::{Transaction, params};

use crate::failure::sqlite_error;

/// A space as one transaction sees it.
#[derive(Debug, Clone)]
pub(crate) struct StoredSpace {
    /// Its number, which names its table of vectors.
    pub(crate) number: i64,
    pub(crate) collection: i64,
    /// The metric of its collection.
    pub(crate) metric: Metric,
    pub(crate) state: SpaceState,
    /// Grows with every space that is set aside: the one with the higher turn was set aside later.
    pub(crate) turn: i64,
    pub(crate) dimension: Option<usize>,
    pub(crate) embedder: Option<EmbedderIdentity>,
    /// The number of drawers that have a vector in it.
    pub(crate) vectors: i64,
    /// The number of those vectors that are not in a sealed segment.
    pub(crate) tail: i64,
    /// The highest row that sealed segments cover.
    pub(crate) sealed: i64,
}

impl StoredSpace {
    /// Returns the recorded model of the vectors.
    pub(crate) fn identity(&self) -> IdentityState {
        match &self.embedder {
            Some(embedder) => IdentityState::Known(embedder.clone()),
            // Without vectors any model may still be named; with vectors of an unnamed model a
            // guess could be wrong.
            None if self.vectors == 0 => IdentityState::Unset,
            None => IdentityState::Unknown,
        }
    }

    /// Returns the model's name, for messages.
    pub(crate) fn model(&self) -> &str {
        self.embedder
            .as_ref()
            .map_or("an unnamed model", |embedder| &embedder.model)
    }

    /// Returns whether it is being filled, or would be if it were not paused.
    pub(crate) fn is_being_built(&self) -> bool {
        matches!(self.state, SpaceState::Building | SpaceState::Paused)
    }

    /// Records the model of the vectors.
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
            .map_err(sqlite_error)?;
        // Kept in step with the stored row, since the same transaction may still check vectors against it.
        self.dimension = Some(embedder.dimension);
        self.embedder = Some(embedder.clone());
        Ok(())
    }

    /// Records the number of values of the vectors.
    pub(crate) fn record_dimension(&mut self, transaction: &Transaction<'_>, dimension: usize) -> Result<()> {
        transaction
            .execute(
                "UPDATE spaces SET dimension = ?2 WHERE space = ?1",
                params![self.number, dimension as i64],
            )
            .map_err(sqlite_error)?;
        self.dimension = Some(dimension);
        Ok(())
    }

    /// Records its new state.
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
            .map_err(sqlite_error)
    }

    /// Writes the counters back.
    pub(crate) fn store_counters(&self, transaction: &Transaction<'_>) -> Result<()> {
        transaction
            .prepare_cached("UPDATE spaces SET vectors = ?2, tail = ?3, sealed = ?4 WHERE space = ?1")
            .and_then(|mut statement| {
                statement.execute(params![self.number, self.vectors, self.tail, self.sealed])
            })
            .map(drop)
            .map_err(sqlite_error)
    }
}

/// Returns a state as its column stores it: the active space has none, since its collection names it.
pub(crate) fn state_text(state: SpaceState) -> Option<&'static str> {
    (state != SpaceState::Active).then(|| state.name())
}

/// Returns the state of a space that is not active; `None` if no release ever wrote this text.
pub(crate) fn state_from(text: Option<&str>) -> Option<SpaceState> {
    use SpaceState::{Abandoned, Building, Paused, Retired};
    [Building, Paused, Retired, Abandoned]
        .into_iter()
        .find(|state| text == Some(state.name()))
}
