//! Embedder: shows and records the model behind a collection's vectors.

use std::sync::Arc;

use loci_core::{
    Collection, Embedder, EmbeddingSpace, Error, ErrorKind, IdentityChange, IdentityState, PalaceFinding,
    Result,
};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::measure_agreement;
use crate::palace::{LEAST_AGREEMENT, Palace};
use crate::status::{EmbedderStatus, describe_embedder};

/// An embedding space of a collection as JSON.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SpaceView {
    /// The name of its model, if known.
    model: Option<String>,
    /// The revision of its model, if known.
    revision: Option<String>,
    /// The dimension of its vectors, once it is fixed.
    dimension: Option<usize>,
    /// `active`, `building`, `paused`, `retired` or `abandoned`.
    state: &'static str,
    /// The number of its vectors.
    vectors: u64,
    /// The number of drawers in the collection.
    drawers: u64,
}

impl From<&EmbeddingSpace> for SpaceView {
    fn from(space: &EmbeddingSpace) -> Self {
        let status = describe_embedder(&space.identity, None);
        Self {
            model: status.model,
            revision: status.revision,
            dimension: status.dimension,
            state: space.state.name(),
            vectors: space.vectors,
            drawers: space.drawers,
        }
    }
}

/// Serialises embedding spaces, each with its model in separate fields.
pub(crate) fn serialize_spaces<S: Serializer>(
    spaces: &[EmbeddingSpace],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(spaces.iter().map(SpaceView::from))
}

/// The model behind a collection's vectors.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EmbedderReport {
    /// The model.
    #[serde(flatten)]
    pub model: EmbedderStatus,
    /// The recorded identity.
    #[serde(skip)]
    pub identity: IdentityState,
    /// Whether the model is available on this machine.
    pub available: bool,
    /// The reason it is not available, if a model is recorded.
    pub why: Option<String>,
    /// The weight of its vectors in a search, if it is available.
    pub weight: Option<f32>,
    /// Every embedding space of the collection.
    #[serde(serialize_with = "serialize_spaces")]
    #[schemars(with = "Vec<SpaceView>")]
    pub spaces: Vec<EmbeddingSpace>,
    /// Findings of the collection itself.
    pub warnings: Vec<PalaceFinding>,
}

/// A model to record as the maker of a collection's vectors.
#[derive(Debug, Clone)]
pub struct SetEmbedderRequest {
    /// The model.
    pub embedder: Arc<dyn Embedder>,
    /// Record it even if the stored vectors contradict it.
    pub force: bool,
}

/// The model that is recorded now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SetEmbedderReport {
    /// The model.
    pub model: String,
    /// Its revision.
    pub revision: String,
    /// The dimension of its vectors.
    pub dimension: usize,
    /// Whether this call changed the record.
    pub changed: bool,
    /// Whether it was recorded without a check.
    pub forced: bool,
    /// The number of drawers without a vector.
    pub missing: u64,
}

impl Palace {
    /// Shows the model behind the vectors of the selected collection.
    pub fn show_embedder(&self) -> Result<EmbedderReport> {
        self.read(|session| {
            let info = session.reader().info()?;
            let found = match &info.identity {
                IdentityState::Known(identity) => Some(session.embedders().find_embedder(identity)),
                IdentityState::Unset | IdentityState::Unknown => None,
            };
            let spaces = match session.collection().spaces() {
                Some(spaces) => spaces.list_spaces()?,
                None => Vec::new(),
            };
            let (found, why) = match found {
                Some(Ok(found)) => (Some(found), None),
                Some(Err(error)) => (None, Some(error.to_string())),
                None => (None, None),
            };
            Ok(EmbedderReport {
                model: describe_embedder(&info.identity, info.dimension),
                identity: info.identity,
                available: found.is_some(),
                why,
                weight: found.map(|found| found.nearness_weight()),
                spaces,
                warnings: info.warnings,
            })
        })
    }

    /// Records the model that made the vectors of the selected collection. Unless forced, some drawers are
    /// embedded again and compared first.
    pub fn set_embedder(&self, request: &SetEmbedderRequest) -> Result<SetEmbedderReport> {
        self.access().check_upkeep("recording a model")?;
        self.write(|collection| record_embedder(collection, request))
    }
}

impl Palace {
    /// Records a model as the maker of the vectors of the selected collection, if no model is recorded and it makes the
    /// same vectors of some of the texts. Returns whether it was recorded.
    pub fn recognise_embedder(&self, embedder: &dyn Embedder) -> Result<bool> {
        self.access().check_upkeep("recording a model")?;
        self.write(|collection| {
            let info = collection.info()?;
            let fits = info.dimension == Some(embedder.identity().dimension);
            if info.identity != IdentityState::Unknown || !fits {
                return Ok(false);
            }
            // Without a text to compare by, nothing speaks for the model.
            let agreement = measure_agreement(collection, embedder)?;
            let is_same = agreement.is_some_and(|least| least >= LEAST_AGREEMENT);
            if is_same {
                collection.set_identity(embedder.identity(), IdentityChange::Confirm)?;
            }
            Ok(is_same)
        })
    }
}

fn record_embedder(collection: &dyn Collection, request: &SetEmbedderRequest) -> Result<SetEmbedderReport> {
    let before = collection.info()?;
    let identity = request.embedder.identity();
    let is_recorded = matches!(&before.identity, IdentityState::Known(known) if known == identity);
    if !is_recorded {
        let mut change = IdentityChange::Force;
        if !request.force {
            let known = before.identity.check_open(Some(identity));
            // Without vectors there is nothing that another model could have made.
            if before.coverage.nearest > 0 {
                known.map_err(|error| with_force_hint(error, &identity.model))?;
            }
            check_vectors(collection, request.embedder.as_ref())?;
            change = IdentityChange::Confirm;
        }
        collection.set_identity(identity, change)?;
    }
    Ok(SetEmbedderReport {
        model: identity.model.clone(),
        revision: identity.revision.clone(),
        dimension: identity.dimension,
        changed: !is_recorded,
        forced: !is_recorded && request.force,
        missing: before.drawers.saturating_sub(before.coverage.nearest),
    })
}

/// Refuses a model that does not reproduce the stored vectors.
fn check_vectors(collection: &dyn Collection, embedder: &dyn Embedder) -> Result<()> {
    let identity = embedder.identity();
    let stored = collection.info()?.dimension;
    if let Some(stored) = stored.filter(|stored| *stored != identity.dimension) {
        return Err(loci_core::vector::dimension_mismatch(stored, identity.dimension));
    }
    match measure_agreement(collection, embedder)? {
        Some(least) if least < LEAST_AGREEMENT => {
            let message = format!(
                "the stored vectors differ from those {identity} makes of the same texts: cosine {least:.2}"
            );
            let error = Error::new(ErrorKind::IdentityMismatch, message);
            Err(with_force_hint(error, &identity.model))
        }
        _ => Ok(()),
    }
}

fn with_force_hint(error: Error, model: &str) -> Error {
    error.with_hint(format!(
        "nothing was changed; make new vectors with `loci embedder switch {model}`, or override the check with --force-model-swap"
    ))
}
