//! Embedder: the model behind a collection's vectors, shown and recorded.

use std::sync::Arc;

use loci_core::{
    Collection, Embedder, Error, ErrorKind, Finding, IdentityChange, IdentityState, Result, Space,
};
use serde::{Serialize, Serializer};

use crate::agreement;
use crate::palace::{AGREES, Palace};
use crate::status::{EmbedderStatus, embedder};

/// One embedding space of a collection as scripts see it.
#[derive(Debug, Serialize)]
struct SpaceView {
    model: Option<String>,
    revision: Option<String>,
    dimension: Option<usize>,
    state: &'static str,
    vectors: u64,
    drawers: u64,
}

impl From<&Space> for SpaceView {
    fn from(space: &Space) -> Self {
        let status = embedder(&space.identity, None);
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

/// Serialises embedding spaces, each with its model in fields of its own.
pub(crate) fn serialize_spaces<S: Serializer>(
    spaces: &[Space],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_seq(spaces.iter().map(SpaceView::from))
}

/// The model behind a collection's vectors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EmbedderReport {
    /// The model.
    #[serde(flatten)]
    pub model: EmbedderStatus,
    /// The model as it is recorded.
    #[serde(skip)]
    pub identity: IdentityState,
    /// Whether this machine has it.
    pub available: bool,
    /// Why it does not, where a model is recorded.
    pub why: Option<String>,
    /// How much its vectors count in a search, where it is available.
    pub weight: Option<f32>,
    /// Every embedding space of the collection.
    #[serde(serialize_with = "serialize_spaces")]
    pub spaces: Vec<Space>,
    /// Findings of the collection itself.
    pub warnings: Vec<Finding>,
}

/// A model to record as the maker of a collection's vectors.
#[derive(Debug, Clone)]
pub struct SetEmbedderRequest {
    /// The model.
    pub embedder: Arc<dyn Embedder>,
    /// Record it against what is known.
    pub force: bool,
}

/// The model that is recorded now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetEmbedderReport {
    /// The model.
    pub model: String,
    /// Its revision.
    pub revision: String,
    /// The dimension of its vectors.
    pub dimension: usize,
    /// Whether it was not recorded before.
    pub changed: bool,
    /// Whether it was recorded against what is known.
    pub forced: bool,
    /// The number of drawers without a vector.
    pub missing: u64,
}

impl Palace {
    /// Shows the model behind the vectors of the collection meant.
    pub fn show_embedder(&self) -> Result<EmbedderReport> {
        self.read(|session| {
            let info = session.reader().info()?;
            let found = match &info.identity {
                IdentityState::Known(identity) => Some(session.embedders().find(identity)),
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
                model: embedder(&info.identity, info.dimension),
                identity: info.identity,
                available: found.is_some(),
                why,
                weight: found.map(|found| found.weight()),
                spaces,
                warnings: info.warnings,
            })
        })
    }

    /// Records which model made the vectors of the collection meant. Unless it is forced, some drawers are embedded
    /// again and compared first.
    pub fn set_embedder(&self, request: &SetEmbedderRequest) -> Result<SetEmbedderReport> {
        self.access().check_whole("recording a model")?;
        self.write(|collection| record_embedder(collection, request))
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
            if before.coverage.nearest > 0 {
                known.map_err(|error| hint_at_force(error, &identity.model))?;
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

/// Compares stored vectors with those the model makes of the same texts.
fn check_vectors(collection: &dyn Collection, embedder: &dyn Embedder) -> Result<()> {
    let identity = embedder.identity();
    let stored = collection.info()?.dimension;
    if let Some(stored) = stored.filter(|stored| *stored != identity.dimension) {
        return Err(loci_core::write::dimension_mismatch(stored, identity.dimension));
    }
    match agreement(collection, embedder)? {
        Some(least) if least < AGREES => {
            let message = format!(
                "the stored vectors are not those that {identity} makes of the same texts: cosine {least:.2}"
            );
            let error = Error::new(ErrorKind::IdentityMismatch, message);
            Err(hint_at_force(error, &identity.model))
        }
        _ => Ok(()),
    }
}

fn hint_at_force(error: Error, model: &str) -> Error {
    error.hint(format!(
        "nothing was changed; make new vectors with `loci embedder switch {model}`, or insist with --force-model-swap"
    ))
}
