//! Switching a collection's model: fills a new embedding space beside the active one, then cuts over atomically.

use std::time::{Duration, Instant};

use loci_core::{
    Collection, CollectionExt, CollectionReader, DrawerContext, DrawerFields, Embedder, EmbedderIdentity,
    EmbeddingSpace, Error, ErrorKind, GetRequest, IdentityState, PendingRequest, Result, SpaceState,
    SwitchStep, UnembeddedDrawer, VectorFill, VectorFillReport,
};

use schemars::JsonSchema;
use serde::Serialize;

use crate::embedder::{SpaceView, serialize_spaces};
use crate::palace::{Palace, cosine_similarity};

/// The target duration of a step: transactions stay short, and a request to pause takes effect soon.
const STEP: Duration = Duration::from_millis(500);

/// The fewest and the most drawers of a step.
const STEPS: (usize, usize) = (4, 1_024);

/// The number of drawers on which an embedder is compared with the stored vectors.
const SAMPLE: usize = 8;

/// The progress of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchProgress {
    /// Drawers with a vector in the new space.
    pub done: u64,
    /// All drawers.
    pub of: u64,
    /// The vectors stored by this run.
    pub filled: u64,
}

/// The way a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwitchOutcome {
    /// The new model is active.
    Switched,
    /// The model was active already; drawers without a vector were embedded.
    WasActive,
    /// Another process asked for a pause.
    Paused,
    /// The caller's `watch` asked to stop.
    #[serde(rename = "paused")]
    #[schemars(skip)]
    Stopped,
    /// The previous model is active again.
    RolledBack,
}

/// The outcome of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SwitchReport {
    /// The way it ended.
    #[serde(rename = "outcome")]
    pub ended: SwitchOutcome,
    /// Vectors stored.
    #[serde(rename = "embedded")]
    pub filled: u64,
    /// Vectors that came too late, because their drawers had changed or another process was faster.
    pub stale: u64,
    /// The spaces afterwards.
    #[serde(serialize_with = "serialize_spaces")]
    #[schemars(with = "Vec<SpaceView>")]
    pub spaces: Vec<EmbeddingSpace>,
}

impl Palace {
    /// Switches the selected collection to `embedder`, or resumes an earlier run; see [`switch_model`].
    pub fn switch_embedder(
        &self,
        embedder: &dyn Embedder,
        watch: &mut dyn FnMut(SwitchProgress) -> bool,
    ) -> Result<SwitchReport> {
        self.access().check_upkeep("a change of model")?;
        self.write(|collection| switch_model(collection, embedder, watch))
    }

    /// Takes one step of a switch: pauses it or rolls it back.
    pub fn step_switch(&self, step: &SwitchStep) -> Result<SwitchReport> {
        self.access().check_upkeep("a change of model")?;
        self.write(|collection| {
            Ok(SwitchReport {
                ended: match step {
                    SwitchStep::Rollback => SwitchOutcome::RolledBack,
                    _ => SwitchOutcome::Paused,
                },
                filled: 0,
                stale: 0,
                spaces: collection.require_spaces()?.take_step(step)?,
            })
        })
    }
}

/// Switches a collection to `embedder`, or resumes an earlier run.
///
/// `watch` is called after every step and returns whether to continue. Reads and writes continue meanwhile;
/// search uses the old space until the new one has a vector for every drawer.
pub fn switch_model(
    collection: &dyn Collection,
    embedder: &dyn Embedder,
    watch: &mut dyn FnMut(SwitchProgress) -> bool,
) -> Result<SwitchReport> {
    let identity = embedder.identity();
    let spaces = collection
        .require_spaces()?
        .take_step(&SwitchStep::Begin(identity.clone()))?;
    let active = is_active(&spaces, identity);
    let mut filler = SpaceFiller {
        collection,
        embedder,
        total: VectorFillReport::default(),
        step: STEPS.0,
    };
    loop {
        if let Some(ended) = filler.fill_all(watch)? {
            return filler.report(ended, collection.require_spaces()?.list_spaces()?);
        }
        if active {
            return filler.report(
                SwitchOutcome::WasActive,
                collection.require_spaces()?.list_spaces()?,
            );
        }
        match collection.require_spaces()?.take_step(&SwitchStep::Finish) {
            Ok(spaces) => return filler.report(SwitchOutcome::Switched, spaces),
            // Another process filed a drawer since the last page, paused the switch or finished it.
            Err(error) if error.kind() == ErrorKind::Conflict => {
                let spaces = collection.require_spaces()?.list_spaces()?;
                match find_space_state(&spaces, identity) {
                    // Only a new drawer: fill it and try again.
                    Some(SpaceState::Building) => {}
                    Some(SpaceState::Paused) => return filler.report(SwitchOutcome::Paused, spaces),
                    Some(SpaceState::Active) => return filler.report(SwitchOutcome::Switched, spaces),
                    _ => return Err(error),
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// Embeds every drawer without a vector in the embedder's space whose version is above `after`.
pub(crate) fn fill_after(
    collection: &dyn Collection,
    embedder: &dyn Embedder,
    after: u64,
    watch: &mut dyn FnMut(SwitchProgress) -> bool,
) -> Result<()> {
    let mut filler = SpaceFiller {
        collection,
        embedder,
        total: VectorFillReport::default(),
        step: STEPS.0,
    };
    filler.fill_after(after, watch).map(drop)
}

/// Fills one embedding space.
struct SpaceFiller<'a> {
    collection: &'a dyn Collection,
    embedder: &'a dyn Embedder,
    total: VectorFillReport,
    step: usize,
}

impl SpaceFiller<'_> {
    /// Embeds all drawers without a vector, in one pass; returns `Some` if it ended before the last.
    fn fill_all(&mut self, watch: &mut dyn FnMut(SwitchProgress) -> bool) -> Result<Option<SwitchOutcome>> {
        self.fill_after(0, watch)
    }

    /// Embeds the drawers without a vector whose version is above `after`.
    fn fill_after(
        &mut self,
        after: u64,
        watch: &mut dyn FnMut(SwitchProgress) -> bool,
    ) -> Result<Option<SwitchOutcome>> {
        let mut after = after;
        loop {
            let request = PendingRequest {
                identity: self.embedder.identity().clone(),
                after,
                limit: self.step,
            };
            let pending = match self.collection.require_spaces()?.list_pending(&request) {
                Err(error) if error.kind() == ErrorKind::IdentityMismatch => {
                    return self.resolve_ended_elsewhere(error);
                }
                pending => pending?,
            };
            let Some(last) = pending.last() else {
                return Ok(None);
            };
            // Continued by version, not by id: a drawer changed in the meantime gets a higher version and is
            // met again.
            after = last.version;
            let begun = Instant::now();
            if let Some(ended) = self.fill_batch(&pending)? {
                return Ok(Some(ended));
            }
            self.adapt_step(begun.elapsed());
            if !watch(self.measure_progress()?) {
                return Ok(Some(SwitchOutcome::Stopped));
            }
        }
    }

    fn fill_batch(&mut self, pending: &[UnembeddedDrawer]) -> Result<Option<SwitchOutcome>> {
        let texts: Vec<&str> = pending.iter().map(|drawer| drawer.text.as_str()).collect();
        let vectors = self.embedder.embed_passages(&texts)?;
        let vectors: Vec<VectorFill> = pending
            .iter()
            .zip(vectors)
            .map(|(drawer, vector)| VectorFill {
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
            Err(error) if error.kind() == ErrorKind::Conflict => Ok(Some(SwitchOutcome::Paused)),
            Err(error) if error.kind() == ErrorKind::IdentityMismatch => self.resolve_ended_elsewhere(error),
            Err(error) => Err(error),
        }
    }

    /// Resolves a space that is no longer being built, because another process finished or abandoned it.
    fn resolve_ended_elsewhere(&self, error: Error) -> Result<Option<SwitchOutcome>> {
        match find_space_state(
            &self.collection.require_spaces()?.list_spaces()?,
            self.embedder.identity(),
        ) {
            Some(SpaceState::Active) => Ok(Some(SwitchOutcome::Switched)),
            Some(SpaceState::Paused | SpaceState::Abandoned) => Ok(Some(SwitchOutcome::Paused)),
            _ => Err(error),
        }
    }

    fn adapt_step(&mut self, took: Duration) {
        // Models differ widely in speed, so the size of a step follows the time the last one took.
        let (fewest, most) = STEPS;
        if took * 2 < STEP {
            self.step = (self.step * 2).min(most);
        } else if took > STEP * 2 {
            self.step = (self.step / 2).max(fewest);
        }
    }

    fn measure_progress(&self) -> Result<SwitchProgress> {
        let spaces = self.collection.require_spaces()?.list_spaces()?;
        let space = spaces
            .iter()
            .find(|space| is_space_of(space, self.embedder.identity()));
        Ok(SwitchProgress {
            done: space.map_or(0, |space| space.vectors),
            of: space.map_or(0, |space| space.drawers),
            filled: self.total.stored,
        })
    }

    fn report(&self, ended: SwitchOutcome, spaces: Vec<EmbeddingSpace>) -> Result<SwitchReport> {
        Ok(SwitchReport {
            ended,
            filled: self.total.stored,
            stale: self.total.stale,
            spaces,
        })
    }
}

fn is_space_of(space: &EmbeddingSpace, identity: &EmbedderIdentity) -> bool {
    matches!(&space.identity, IdentityState::Known(known) if known == identity)
}

fn find_space_state(spaces: &[EmbeddingSpace], identity: &EmbedderIdentity) -> Option<SpaceState> {
    spaces
        .iter()
        .find(|space| is_space_of(space, identity))
        .map(|space| space.state)
}

fn is_active(spaces: &[EmbeddingSpace], identity: &EmbedderIdentity) -> bool {
    find_space_state(spaces, identity) == Some(SpaceState::Active)
}

/// Returns the least cosine between stored vectors and those `embedder` makes of the same texts; `None` if
/// there is nothing to compare.
pub fn measure_agreement(collection: &dyn Collection, embedder: &dyn Embedder) -> Result<Option<f32>> {
    let cosines = compare_sample(collection, embedder)?;
    Ok(cosines.into_iter().reduce(f32::min))
}

/// Returns the cosines between some stored vectors and those `embedder` makes of the same texts.
pub(crate) fn compare_sample(collection: &dyn CollectionReader, embedder: &dyn Embedder) -> Result<Vec<f32>> {
    let request = GetRequest {
        // More than are compared, because some drawers may lack a vector.
        limit: Some(SAMPLE * 4),
        include: DrawerFields::EVERYTHING,
        ..GetRequest::default()
    };
    let drawers = collection.get(&request)?.into_iter();
    let with_vector =
        drawers.filter_map(|drawer| Some((drawer.document?, drawer.context, drawer.embedding?)));
    let compare = |(document, context, vector): (String, Option<DrawerContext>, Vec<f32>)| {
        // Vectors brought by other programs were made of the bare text, so the better of both counts. A context
        // may also have changed since its vector was made.
        let within = DrawerContext::indexed_text(context.as_ref(), &document);
        let made = embedder.embed_passages(&[&within, &document])?;
        let cosines = made.iter().map(|made| cosine_similarity(made, &vector));
        Ok(cosines.fold(f32::MIN, f32::max))
    };
    with_vector.take(SAMPLE).map(compare).collect()
}
