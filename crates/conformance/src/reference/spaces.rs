//! The spaces of the reference: one answers, the others wait beside it with their vectors by id.

use std::collections::BTreeMap;

use loci_core::write::{check_vector, dimension_mismatch};
use loci_core::{
    Context, DrawerId, EmbedderIdentity, EmbeddingSpaces, Error, ErrorKind, Filled, Filling, Finding,
    IdentityState, Pending, Result, Severity, Space, SpaceState, Switch, Unembedded,
};

use super::handle::Handle;
use super::table::{Table, text};

/// A space that does not answer.
#[derive(Debug, Clone)]
pub(super) struct Aside {
    pub(super) recorded: Option<EmbedderIdentity>,
    pub(super) dimension: Option<usize>,
    pub(super) state: SpaceState,
    pub(super) vectors: BTreeMap<DrawerId, Vec<f32>>,
}

impl Aside {
    fn is_being_built(&self) -> bool {
        matches!(self.state, SpaceState::Building | SpaceState::Paused)
    }

    fn identity(&self) -> IdentityState {
        match &self.recorded {
            Some(identity) => IdentityState::Known(identity.clone()),
            None if self.vectors.is_empty() => IdentityState::Unset,
            None => IdentityState::Unknown,
        }
    }
}

/// Which space of a table is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    Active,
    Built,
}

impl EmbeddingSpaces for Handle {
    fn list_spaces(&self) -> Result<Vec<Space>> {
        self.table(|table| table.spaces())
    }

    fn take_step(&self, step: &Switch) -> Result<Vec<Space>> {
        self.check_writable()?;
        self.table(|table| table.switch(step).map(|()| table.spaces()))?
    }

    fn list_pending(&self, request: &Pending) -> Result<Vec<Unembedded>> {
        self.table(|table| table.pending(request))?
    }

    fn fill_vectors(&self, identity: &EmbedderIdentity, vectors: &[Filling]) -> Result<Filled> {
        self.check_writable()?;
        self.table(|table| table.fill(identity, vectors))?
    }
}

impl Table {
    fn spaces(&self) -> Vec<Space> {
        let drawers = self.rows.len() as u64;
        let active = Space {
            identity: self.identity(),
            state: SpaceState::Active,
            vectors: self.vectors(),
            drawers,
        };
        let aside = |space: &Aside| Space {
            identity: space.identity(),
            state: space.state,
            vectors: space.vectors.len() as u64,
            drawers,
        };
        std::iter::once(active)
            .chain(self.others.iter().map(aside))
            .collect()
    }

    fn switch(&mut self, step: &Switch) -> Result<()> {
        match step {
            Switch::Begin(identity) => self.begin(identity),
            Switch::Pause => {
                self.built()?.state = SpaceState::Paused;
                Ok(())
            }
            Switch::Finish => self.finish(),
            Switch::Rollback => self.roll_back(),
            Switch::DropRetired => {
                self.others.retain(Aside::is_being_built);
                Ok(())
            }
        }
    }

    /// The space being built, which always stands first.
    fn built(&mut self) -> Result<&mut Aside> {
        let first = self.others.first_mut().filter(|space| space.is_being_built());
        first.ok_or_else(|| conflict("no space is being built".into()))
    }

    fn begin(&mut self, identity: &EmbedderIdentity) -> Result<()> {
        if identity.dimension == 0 {
            return Err(Error::invalid(format!("{identity} is no model of vectors")));
        }
        if self.recorded.as_ref() == Some(identity) {
            return Ok(());
        }
        if let Ok(Aside {
            recorded: Some(other),
            ..
        }) = self.built()
            && other != identity
        {
            return Err(conflict(format!(
                "a switch to {other} is under way, so none to {identity} can begin"
            )));
        }
        let known = self
            .others
            .iter()
            .position(|space| space.recorded.as_ref() == Some(identity));
        let mut space = match known {
            Some(at) => self.others.remove(at),
            None => Aside {
                recorded: Some(identity.clone()),
                dimension: Some(identity.dimension),
                state: SpaceState::Building,
                vectors: BTreeMap::new(),
            },
        };
        space.state = SpaceState::Building;
        self.others.insert(0, space);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let drawers = self.rows.len();
        let built = self.built()?;
        let missing = drawers - built.vectors.len();
        if built.state == SpaceState::Paused {
            return Err(conflict("the switch is paused".into()));
        }
        if missing > 0 {
            return Err(conflict(format!(
                "{missing} of {drawers} drawers have no vector yet"
            )));
        }
        self.turn_to(0);
        Ok(())
    }

    fn roll_back(&mut self) -> Result<()> {
        if let Ok(built) = self.built() {
            built.state = SpaceState::Abandoned;
            return Ok(());
        }
        let retired = self
            .others
            .iter()
            .position(|space| space.state == SpaceState::Retired);
        let at = retired.ok_or_else(|| conflict("no model answered before this one".into()))?;
        self.turn_to(at);
        Ok(())
    }

    /// Lets the space at this place answer and sets the active one aside.
    fn turn_to(&mut self, at: usize) {
        let mut next = self.others.remove(at);
        let mut vectors = BTreeMap::new();
        for (id, row) in &mut self.rows {
            let old = std::mem::replace(&mut row.drawer.embedding, next.vectors.remove(id));
            vectors.extend(old.map(|vector| (id.clone(), vector)));
        }
        let old = Aside {
            recorded: std::mem::replace(&mut self.recorded, next.recorded),
            dimension: std::mem::replace(&mut self.dimension, next.dimension),
            state: SpaceState::Retired,
            vectors,
        };
        self.others.insert(0, old);
    }

    /// Forgets what other models made of a drawer's text.
    pub(super) fn forget(&mut self, id: &DrawerId) {
        for space in &mut self.others {
            space.vectors.remove(id);
        }
    }

    fn which(&mut self, identity: &EmbedderIdentity) -> Result<Which> {
        if let Ok(built) = self.built()
            && built.recorded.as_ref() == Some(identity)
        {
            return Ok(Which::Built);
        }
        match self.recorded.as_ref() == Some(identity) {
            true => Ok(Which::Active),
            false => Err(Error::new(
                ErrorKind::IdentityMismatch,
                format!("no space is of {identity}"),
            )),
        }
    }

    fn lacks(&self, which: Which, id: &DrawerId) -> bool {
        match which {
            Which::Active => self.rows[id].drawer.embedding.is_none(),
            Which::Built => !self.others[0].vectors.contains_key(id),
        }
    }

    fn pending(&mut self, request: &Pending) -> Result<Vec<Unembedded>> {
        let which = self.which(&request.identity)?;
        let rows = self.rows.iter();
        let mut lacking: Vec<Unembedded> = rows
            .filter(|(id, row)| row.version > request.after && self.lacks(which, id))
            .map(|(id, row)| Unembedded {
                id: id.clone(),
                version: row.version,
                text: Context::indexed(row.drawer.context.as_ref(), text(&row.drawer)).into_owned(),
            })
            .collect();
        lacking.sort_by_key(|drawer| drawer.version);
        lacking.truncate(request.limit);
        Ok(lacking)
    }

    fn fill(&mut self, identity: &EmbedderIdentity, vectors: &[Filling]) -> Result<Filled> {
        for Filling { vector, .. } in vectors {
            check_vector(vector)?;
            if vector.len() != identity.dimension {
                return Err(dimension_mismatch(identity.dimension, vector.len()));
            }
        }
        let which = self.which(identity)?;
        if which == Which::Built && self.others[0].state == SpaceState::Paused {
            return Err(conflict(format!("the switch to {identity} is paused")));
        }
        let mut filled = Filled::default();
        for Filling { id, version, vector } in vectors {
            let same = self.rows.get(id).is_some_and(|row| row.version == *version);
            if !same || !self.lacks(which, id) {
                filled.stale += 1;
                continue;
            }
            filled.stored += 1;
            match (which, self.rows.get_mut(id)) {
                (Which::Active, Some(row)) => row.drawer.embedding = Some(vector.clone()),
                _ => drop(self.others[0].vectors.insert(id.clone(), vector.clone())),
            }
        }
        Ok(filled)
    }

    /// What a reader should know while a space is being built.
    pub(super) fn under_way(&self) -> Option<Finding> {
        let space = self.others.first().filter(|space| space.is_being_built())?;
        let (model, made) = (&space.recorded.as_ref()?.model, space.vectors.len());
        let words = format!(
            "a switch to {model} is under way: {made} of {} drawers",
            self.rows.len()
        );
        let hint = "loci embedder switch MODEL, or loci embedder switch --rollback";
        Some(Finding::new("switch_under_way", Severity::Note, words).hint(hint))
    }
}

fn conflict(words: String) -> Error {
    Error::new(ErrorKind::Conflict, words).hint("nothing was changed")
}
