//! The embedding spaces of the reference: the active one, and inactive ones that keep their vectors by id.

use std::collections::BTreeMap;

use loci_core::vector::{check_vector, dimension_mismatch};
use loci_core::{
    DrawerContext, DrawerId, EmbedderIdentity, EmbeddingSpace, EmbeddingSpaces, Error, ErrorKind,
    FindingSeverity, IdentityState, PalaceFinding, PendingRequest, Result, SpaceState, SwitchStep,
    UnembeddedDrawer, VectorFill, VectorFillReport,
};

use super::handle::ReferenceHandle;
use super::table::{ReferenceTable, drawer_text};

/// A space that does not answer queries.
#[derive(Debug, Clone)]
pub(super) struct InactiveSpace {
    pub(super) recorded: Option<EmbedderIdentity>,
    pub(super) dimension: Option<usize>,
    pub(super) state: SpaceState,
    pub(super) vectors: BTreeMap<DrawerId, Vec<f32>>,
}

impl InactiveSpace {
    fn is_being_built(&self) -> bool {
        matches!(self.state, SpaceState::Building | SpaceState::Paused)
    }

    fn identity(&self) -> IdentityState {
        match &self.recorded {
            Some(identity) => IdentityState::Known(identity.clone()),
            // Without vectors there is nothing whose origin could be unknown.
            None if self.vectors.is_empty() => IdentityState::Unset,
            None => IdentityState::Unknown,
        }
    }
}

/// The space of a table that a request refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpaceChoice {
    Active,
    Built,
}

impl EmbeddingSpaces for ReferenceHandle {
    fn list_spaces(&self) -> Result<Vec<EmbeddingSpace>> {
        self.with_table(|table| table.list_spaces())
    }

    fn take_step(&self, step: &SwitchStep) -> Result<Vec<EmbeddingSpace>> {
        self.check_writable()?;
        self.with_table(|table| table.take_step(step).map(|()| table.list_spaces()))?
    }

    fn list_pending(&self, request: &PendingRequest) -> Result<Vec<UnembeddedDrawer>> {
        self.with_table(|table| table.list_pending(request))?
    }

    fn fill_vectors(&self, identity: &EmbedderIdentity, vectors: &[VectorFill]) -> Result<VectorFillReport> {
        self.check_writable()?;
        self.with_table(|table| table.fill_vectors(identity, vectors))?
    }
}

impl ReferenceTable {
    fn list_spaces(&self) -> Vec<EmbeddingSpace> {
        let drawers = self.rows.len() as u64;
        let active = EmbeddingSpace {
            identity: self.identity(),
            state: SpaceState::Active,
            vectors: self.count_vectors(),
            drawers,
        };
        let aside = |space: &InactiveSpace| EmbeddingSpace {
            identity: space.identity(),
            state: space.state,
            vectors: space.vectors.len() as u64,
            drawers,
        };
        std::iter::once(active)
            .chain(self.inactive_spaces.iter().map(aside))
            .collect()
    }

    fn take_step(&mut self, step: &SwitchStep) -> Result<()> {
        match step {
            SwitchStep::Begin(identity) => self.begin_space(identity),
            SwitchStep::Pause => {
                self.space_being_built()?.state = SpaceState::Paused;
                Ok(())
            }
            SwitchStep::Finish => self.finish_switch(),
            SwitchStep::Rollback => self.roll_back(),
            SwitchStep::DropRetired => {
                self.inactive_spaces.retain(InactiveSpace::is_being_built);
                Ok(())
            }
        }
    }

    /// Returns the space being built, which is always the first of the inactive ones.
    fn space_being_built(&mut self) -> Result<&mut InactiveSpace> {
        let first = self
            .inactive_spaces
            .first_mut()
            .filter(|space| space.is_being_built());
        first.ok_or_else(|| conflict_error("no space is being built".into()))
    }

    fn begin_space(&mut self, identity: &EmbedderIdentity) -> Result<()> {
        if identity.dimension == 0 {
            return Err(Error::invalid(format!("{identity} is not a model of vectors")));
        }
        // The active model needs no space; beginning it is harmless so that a repeated command succeeds.
        if self.recorded.as_ref() == Some(identity) {
            return Ok(());
        }
        if let Ok(InactiveSpace {
            recorded: Some(other),
            ..
        }) = self.space_being_built()
            && other != identity
        {
            return Err(conflict_error(format!(
                "a switch to {other} is under way, so none to {identity} can begin"
            )));
        }
        // A retired or abandoned space of this model is taken up again with the vectors that it has.
        let known = self
            .inactive_spaces
            .iter()
            .position(|space| space.recorded.as_ref() == Some(identity));
        let mut space = match known {
            Some(at) => self.inactive_spaces.remove(at),
            None => InactiveSpace {
                recorded: Some(identity.clone()),
                dimension: Some(identity.dimension),
                state: SpaceState::Building,
                vectors: BTreeMap::new(),
            },
        };
        space.state = SpaceState::Building;
        self.inactive_spaces.insert(0, space);
        Ok(())
    }

    fn finish_switch(&mut self) -> Result<()> {
        let drawers = self.rows.len();
        let built = self.space_being_built()?;
        let missing = drawers - built.vectors.len();
        if built.state == SpaceState::Paused {
            return Err(conflict_error("the switch is paused".into()));
        }
        // Checked in the same step as the turn: no drawer can be filed in between.
        if missing > 0 {
            return Err(conflict_error(format!(
                "{missing} of {drawers} drawers have no vector yet"
            )));
        }
        self.turn_to(0);
        Ok(())
    }

    fn roll_back(&mut self) -> Result<()> {
        if let Ok(built) = self.space_being_built() {
            built.state = SpaceState::Abandoned;
            return Ok(());
        }
        // The first retired one answered last, because `turn_to` puts spaces at the front.
        let retired = self
            .inactive_spaces
            .iter()
            .position(|space| space.state == SpaceState::Retired);
        let at = retired.ok_or_else(|| conflict_error("no model answered before this one".into()))?;
        self.turn_to(at);
        Ok(())
    }

    /// Makes the space at this index active and retires the one that was.
    fn turn_to(&mut self, at: usize) {
        let mut next = self.inactive_spaces.remove(at);
        let mut vectors = BTreeMap::new();
        for (id, row) in &mut self.rows {
            // Vectors of the active space live in the rows, those of the others beside them, so the two are
            // exchanged.
            let old = std::mem::replace(&mut row.drawer.embedding, next.vectors.remove(id));
            vectors.extend(old.map(|vector| (id.clone(), vector)));
        }
        let old = InactiveSpace {
            recorded: std::mem::replace(&mut self.recorded, next.recorded),
            dimension: std::mem::replace(&mut self.dimension, next.dimension),
            state: SpaceState::Retired,
            vectors,
        };
        self.inactive_spaces.insert(0, old);
    }

    /// Removes the vectors of a drawer from the inactive spaces.
    pub(super) fn forget_vectors(&mut self, id: &DrawerId) {
        for space in &mut self.inactive_spaces {
            space.vectors.remove(id);
        }
    }

    fn choose_space(&mut self, identity: &EmbedderIdentity) -> Result<SpaceChoice> {
        if let Ok(built) = self.space_being_built()
            && built.recorded.as_ref() == Some(identity)
        {
            return Ok(SpaceChoice::Built);
        }
        if self.recorded.as_ref() == Some(identity) {
            Ok(SpaceChoice::Active)
        } else {
            Err(Error::new(
                ErrorKind::IdentityMismatch,
                format!("no active or unfinished space belongs to {identity}"),
            ))
        }
    }

    fn lacks_vector(&self, which: SpaceChoice, id: &DrawerId) -> bool {
        match which {
            SpaceChoice::Active => self.rows[id].drawer.embedding.is_none(),
            // Index 0 is safe: `which` returned `Built` only because the first space is being built.
            SpaceChoice::Built => !self.inactive_spaces[0].vectors.contains_key(id),
        }
    }

    fn list_pending(&mut self, request: &PendingRequest) -> Result<Vec<UnembeddedDrawer>> {
        let which = self.choose_space(&request.identity)?;
        let rows = self.rows.iter();
        let mut lacking: Vec<UnembeddedDrawer> = rows
            .filter(|(id, row)| row.version > request.after && self.lacks_vector(which, id))
            .map(|(id, row)| UnembeddedDrawer {
                id: id.clone(),
                version: row.version,
                text: DrawerContext::indexed_text(row.drawer.context.as_ref(), drawer_text(&row.drawer))
                    .into_owned(),
            })
            .collect();
        // Oldest text first, so that paging by version reaches every drawer once.
        lacking.sort_by_key(|drawer| drawer.version);
        lacking.truncate(request.limit);
        Ok(lacking)
    }

    fn fill_vectors(
        &mut self,
        identity: &EmbedderIdentity,
        vectors: &[VectorFill],
    ) -> Result<VectorFillReport> {
        // All are checked before the first is stored.
        for VectorFill { vector, .. } in vectors {
            check_vector(vector, self.metric)?;
            if vector.len() != identity.dimension {
                return Err(dimension_mismatch(identity.dimension, vector.len()));
            }
        }
        let which = self.choose_space(identity)?;
        if which == SpaceChoice::Built && self.inactive_spaces[0].state == SpaceState::Paused {
            return Err(conflict_error(format!("the switch to {identity} is paused")));
        }
        let mut filled = VectorFillReport::default();
        for VectorFill { id, version, vector } in vectors {
            // The text may have changed since it was listed; a vector of the old text must not answer for
            // the new one.
            let same = self.rows.get(id).is_some_and(|row| row.version == *version);
            if !same || !self.lacks_vector(which, id) {
                filled.stale += 1;
                continue;
            }
            filled.stored += 1;
            match (which, self.rows.get_mut(id)) {
                (SpaceChoice::Active, Some(row)) => row.drawer.embedding = Some(vector.clone()),
                _ => drop(self.inactive_spaces[0].vectors.insert(id.clone(), vector.clone())),
            }
        }
        Ok(filled)
    }

    /// Returns the note that `info` carries while a space is being built.
    pub(super) fn under_way(&self) -> Option<PalaceFinding> {
        let space = self
            .inactive_spaces
            .first()
            .filter(|space| space.is_being_built())?;
        let (model, made) = (&space.recorded.as_ref()?.model, space.vectors.len());
        let words = format!(
            "a switch to {model} is under way: {made} of {} drawers",
            self.rows.len()
        );
        let hint = "loci embedder switch MODEL, or loci embedder switch --rollback";
        Some(PalaceFinding::new("switch_under_way", FindingSeverity::Note, words).with_hint(hint))
    }
}

fn conflict_error(words: String) -> Error {
    Error::new(ErrorKind::Conflict, words).with_hint("nothing was changed")
}
