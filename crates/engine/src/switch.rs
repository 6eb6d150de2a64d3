//! Changing a collection's model: fill a space beside the one that answers, then turn over.

use std::time::{Duration, Instant};

use loci_core::{
    Collection, CollectionExt, Embedder, EmbedderIdentity, Error, ErrorKind, Filled, Filling, Get,
    IdentityState, Include, Pending, Result, Space, SpaceState, Switch, Unembedded,
};

use serde::Serialize;

use crate::embedder::serialize_spaces;
use crate::palace::{Palace, cosine};

/// How long a step should take: short transactions, and somebody who asks for a pause is soon heard.
const STEP: Duration = Duration::from_millis(500);

/// The fewest and the most drawers of a step.
const STEPS: (usize, usize) = (4, 1_024);

/// How often an embedder is compared with what it is said to have made.
const SAMPLE: usize = 8;

/// How far a switch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Drawers with a vector in the new space.
    pub done: u64,
    /// All drawers.
    pub of: u64,
    /// Of those done, how many by this run.
    pub filled: u64,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The new model answers.
    Switched,
    /// It answered already; drawers that lacked a vector have one.
    WasActive,
    /// Somebody asked for a pause.
    Paused,
    /// Its watcher asked to stop.
    #[serde(rename = "paused")]
    Stopped,
    /// The model before answers again.
    RolledBack,
}

/// What a run did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SwitchReport {
    /// How it ended.
    #[serde(rename = "outcome")]
    pub ended: Ended,
    /// Vectors stored.
    #[serde(rename = "embedded")]
    pub filled: u64,
    /// Vectors that came too late: their drawers had changed or somebody else was faster.
    pub stale: u64,
    /// The spaces afterwards.
    #[serde(serialize_with = "serialize_spaces")]
    pub spaces: Vec<Space>,
}

impl Palace {
    /// Moves the collection meant to `embedder`, or goes on where an earlier run stopped; see [`switch`].
    pub fn switch_embedder(
        &self,
        embedder: &dyn Embedder,
        watch: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<SwitchReport> {
        self.access().check_whole("a change of model")?;
        self.write(|collection| switch(collection, embedder, watch))
    }

    /// Takes one step of a change of model: pauses it, or rolls it back.
    pub fn step_switch(&self, step: &Switch) -> Result<SwitchReport> {
        self.access().check_whole("a change of model")?;
        self.write(|collection| {
            Ok(SwitchReport {
                ended: match step {
                    Switch::Rollback => Ended::RolledBack,
                    _ => Ended::Paused,
                },
                filled: 0,
                stale: 0,
                spaces: collection.require_spaces()?.take_step(step)?,
            })
        })
    }
}

/// Moves a collection to `embedder`, or goes on where an earlier run stopped.
///
/// `watch` hears of every step and says whether to go on. Everybody else reads and writes as before; search
/// answers from the old space until the new one has a vector for every drawer.
pub fn switch(
    collection: &dyn Collection,
    embedder: &dyn Embedder,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<SwitchReport> {
    let identity = embedder.identity();
    let spaces = collection
        .require_spaces()?
        .take_step(&Switch::Begin(identity.clone()))?;
    let active = is_active(&spaces, identity);
    let mut filler = Filler {
        collection,
        embedder,
        total: Filled::default(),
        step: STEPS.0,
    };
    loop {
        if let Some(ended) = filler.fill_all(watch)? {
            return filler.report(ended, collection.require_spaces()?.list_spaces()?);
        }
        if active {
            return filler.report(Ended::WasActive, collection.require_spaces()?.list_spaces()?);
        }
        match collection.require_spaces()?.take_step(&Switch::Finish) {
            Ok(spaces) => return filler.report(Ended::Switched, spaces),
            // Somebody filed a drawer in between, paused it, or finished it.
            Err(error) if error.kind() == ErrorKind::Conflict => {
                let spaces = collection.require_spaces()?.list_spaces()?;
                match state_of(&spaces, identity) {
                    Some(SpaceState::Building) => {}
                    Some(SpaceState::Paused) => return filler.report(Ended::Paused, spaces),
                    Some(SpaceState::Active) => return filler.report(Ended::Switched, spaces),
                    _ => return Err(error),
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// Gives a vector to every drawer of the active space that lacks one and whose version is above `after`.
pub(crate) fn fill_after(
    collection: &dyn Collection,
    embedder: &dyn Embedder,
    after: u64,
    watch: &mut dyn FnMut(Progress) -> bool,
) -> Result<()> {
    let mut filler = Filler {
        collection,
        embedder,
        total: Filled::default(),
        step: STEPS.0,
    };
    filler.fill_after(after, watch).map(drop)
}

/// Fills one space.
struct Filler<'a> {
    collection: &'a dyn Collection,
    embedder: &'a dyn Embedder,
    total: Filled,
    step: usize,
}

impl Filler<'_> {
    /// Goes once through all drawers that lack a vector; `Some` if it must end before the last.
    fn fill_all(&mut self, watch: &mut dyn FnMut(Progress) -> bool) -> Result<Option<Ended>> {
        self.fill_after(0, watch)
    }

    /// The same for drawers whose version is above `after`.
    fn fill_after(&mut self, after: u64, watch: &mut dyn FnMut(Progress) -> bool) -> Result<Option<Ended>> {
        let mut after = after;
        loop {
            let request = Pending {
                identity: self.embedder.identity().clone(),
                after,
                limit: self.step,
            };
            let pending = match self.collection.require_spaces()?.list_pending(&request) {
                Err(error) if error.kind() == ErrorKind::IdentityMismatch => {
                    return self.ended_elsewhere(error);
                }
                pending => pending?,
            };
            let Some(last) = pending.last() else {
                return Ok(None);
            };
            after = last.version;
            let begun = Instant::now();
            if let Some(ended) = self.fill(&pending)? {
                return Ok(Some(ended));
            }
            self.pace(begun.elapsed());
            if !watch(self.progress()?) {
                return Ok(Some(Ended::Stopped));
            }
        }
    }

    fn fill(&mut self, pending: &[Unembedded]) -> Result<Option<Ended>> {
        let texts: Vec<&str> = pending.iter().map(|drawer| drawer.text.as_str()).collect();
        let vectors = self.embedder.passages(&texts)?;
        let vectors: Vec<Filling> = pending
            .iter()
            .zip(vectors)
            .map(|(drawer, vector)| Filling {
                id: drawer.id.clone(),
                version: drawer.version,
                vector,
            })
            .collect();
        match self
            .collection
            .require_spaces()?
            .fill_vectors(self.embedder.identity(), &vectors)
        {
            Ok(filled) => {
                self.total.stored += filled.stored;
                self.total.stale += filled.stale;
                Ok(None)
            }
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(Some(Ended::Paused)),
            Err(error) if error.kind() == ErrorKind::IdentityMismatch => self.ended_elsewhere(error),
            Err(error) => Err(error),
        }
    }

    /// The space is no longer being built: another process finished it, or gave it up.
    fn ended_elsewhere(&self, error: Error) -> Result<Option<Ended>> {
        match state_of(
            &self.collection.require_spaces()?.list_spaces()?,
            self.embedder.identity(),
        ) {
            Some(SpaceState::Active) => Ok(Some(Ended::Switched)),
            Some(SpaceState::Paused | SpaceState::Abandoned) => Ok(Some(Ended::Paused)),
            _ => Err(error),
        }
    }

    fn pace(&mut self, took: Duration) {
        let (fewest, most) = STEPS;
        if took * 2 < STEP {
            self.step = (self.step * 2).min(most);
        } else if took > STEP * 2 {
            self.step = (self.step / 2).max(fewest);
        }
    }

    fn progress(&self) -> Result<Progress> {
        let spaces = self.collection.require_spaces()?.list_spaces()?;
        let space = spaces.iter().find(|space| is_of(space, self.embedder.identity()));
        Ok(Progress {
            done: space.map_or(0, |space| space.vectors),
            of: space.map_or(0, |space| space.drawers),
            filled: self.total.stored,
        })
    }

    fn report(&self, ended: Ended, spaces: Vec<Space>) -> Result<SwitchReport> {
        Ok(SwitchReport {
            ended,
            filled: self.total.stored,
            stale: self.total.stale,
            spaces,
        })
    }
}

fn is_of(space: &Space, identity: &EmbedderIdentity) -> bool {
    matches!(&space.identity, IdentityState::Known(known) if known == identity)
}

fn state_of(spaces: &[Space], identity: &EmbedderIdentity) -> Option<SpaceState> {
    spaces
        .iter()
        .find(|space| is_of(space, identity))
        .map(|space| space.state)
}

fn is_active(spaces: &[Space], identity: &EmbedderIdentity) -> bool {
    state_of(spaces, identity) == Some(SpaceState::Active)
}

/// The least cosine between vectors a collection holds and what `embedder` makes of the same texts; `None` where
/// there is nothing to compare.
pub fn agreement(collection: &dyn Collection, embedder: &dyn Embedder) -> Result<Option<f32>> {
    let request = Get {
        limit: Some(SAMPLE * 4),
        include: Include::EVERYTHING,
        ..Get::default()
    };
    let mut least: Option<f32> = None;
    let drawers = collection.get(&request)?.into_iter();
    let with_vector =
        drawers.filter_map(|drawer| Some((drawer.document?, drawer.context, drawer.embedding?)));
    for (document, context, vector) in with_vector.take(SAMPLE) {
        let within = loci_core::Context::indexed(context.as_ref(), &document);
        let made = embedder.passages(&[&within, &document])?;
        let best = made
            .iter()
            .map(|made| cosine(made, &vector))
            .fold(f32::MIN, f32::max);
        least = Some(least.map_or(best, |least| least.min(best)));
    }
    Ok(least)
}
