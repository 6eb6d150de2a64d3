//! The plan for each collection's vectors, decided before anything is created.

use std::sync::Arc;

use loci_core::{
    Capability, CollectionExt, CollectionInfo, Embedder, EmbedderIdentity, Error, ErrorKind, FindingSeverity,
    IdentityState, OpenOptions, PalaceFinding, Result, SpaceState,
};

use super::MigrateRequest;
use loci_engine::palace::BorrowedAddress;

/// The treatment of a collection's vectors.
#[derive(Debug, Clone)]
pub(super) enum VectorPlan {
    /// They are carried bit for bit. Drawers without one get it from this embedder, if there is one.
    Carried(Option<Arc<dyn Embedder>>),
    /// All texts are re-embedded, because one side cannot return or keep vectors.
    ReEmbedded(Arc<dyn Embedder>),
    /// All texts are re-embedded, because the user asked for another model.
    Swapped(Arc<dyn Embedder>),
    /// The target makes its own vectors.
    MadeByTarget,
}

/// The plan for one collection.
#[derive(Debug, Clone)]
pub(super) struct CollectionPlan {
    /// The source's description of it.
    pub(super) info: CollectionInfo,
    /// The treatment of its vectors.
    pub(super) vectors: VectorPlan,
    /// The model the target records.
    pub(super) identity: Option<EmbedderIdentity>,
}

impl CollectionPlan {
    /// Decides on a plan, or refuses and names the flag that would allow one.
    pub(super) fn decide(request: &MigrateRequest<'_>, info: &CollectionInfo) -> Result<Self> {
        let (from, to) = (request.from.backend.descriptor(), request.to.backend.descriptor());
        if !to.metrics.contains(&info.metric) {
            let message = format!(
                "the collection {} uses the metric {}, which the backend {:?} does not support",
                info.name,
                info.metric.name(),
                to.name
            );
            return Err(Error::new(ErrorKind::Unsupported, message)
                .with_hint("nothing was changed; name another target"));
        }
        let hands_over = from.has_capability(&Capability::EmbeddingsOut);
        let keeps = to.has_capability(&Capability::EmbeddingsPassthrough);
        let (vectors, identity) = if hands_over && keeps {
            plan_carried(request, info)?
        } else {
            plan_re_embedding(request, info, hands_over, keeps)?
        };
        Ok(Self {
            info: info.clone(),
            vectors,
            identity,
        })
    }

    /// Returns the options to create the target's collection with: its metric, dimension and model.
    pub(super) fn open_options(&self) -> OpenOptions {
        let dimension = match self.vectors {
            VectorPlan::Carried(_) => self.info.dimension,
            _ => None,
        };
        OpenOptions {
            metric: Some(self.info.metric),
            dimension: self.identity.as_ref().map(|known| known.dimension).or(dimension),
            embedder: self.identity.clone(),
            // An unknown model stays unknown. A guess here would be recorded for good; the user can name it
            // later.
            carries_unknown: self.identity.is_none(),
            ..OpenOptions::for_writing()
        }
    }

    /// Returns the embedder for texts without a vector.
    pub(super) fn embedder(&self) -> Option<&dyn Embedder> {
        match &self.vectors {
            VectorPlan::Carried(embedder) => embedder.as_deref(),
            VectorPlan::ReEmbedded(embedder) | VectorPlan::Swapped(embedder) => Some(embedder.as_ref()),
            VectorPlan::MadeByTarget => None,
        }
    }

    /// Returns whether the source's vectors become the target's.
    pub(super) fn carries_vectors(&self) -> bool {
        matches!(self.vectors, VectorPlan::Carried(_))
    }

    /// Returns the finding for a source that gave fewer or more drawers, or fewer vectors, than it counts.
    pub(super) fn find_missing(&self, drawers: u64, vectors: u64) -> Option<PalaceFinding> {
        let stored = self.info.coverage.nearest;
        let message = if drawers != self.info.drawers {
            format!(
                "the collection {} of the source counts {} drawers, but {drawers} can be read",
                self.info.name, self.info.drawers
            )
        } else if self.carries_vectors() && vectors < stored {
            format!(
                "the collection {} of the source counts {stored} vectors, but {vectors} can be read",
                self.info.name
            )
        } else {
            return None;
        };
        let hint = "look for the others with `loci rescue PATH --to REF`, or in a backup";
        let finding = PalaceFinding::new("source_incomplete", FindingSeverity::Error, message);
        Some(finding.with_hint(hint).in_collection(self.info.name.as_str()))
    }

    /// Returns a note about inactive embedding spaces, which are not carried.
    pub(super) fn note_spaces_left(
        &self,
        BorrowedAddress {
            backend,
            reference: palace,
        }: BorrowedAddress<'_>,
    ) -> Result<Option<PalaceFinding>> {
        if !backend.descriptor().has_capability(&Capability::Spaces) {
            return Ok(None);
        }
        let opened = backend.open(palace, &self.info.name, &OpenOptions::default())?;
        let spaces = opened.require_spaces()?.list_spaces()?.into_iter();
        let left = spaces.filter(|space| space.state != SpaceState::Active).count();
        if left == 0 {
            return Ok(None);
        }
        let message = format!(
            "{left} inactive embedding space(s) of {} were not carried",
            self.info.name
        );
        Ok(Some(
            PalaceFinding::new("spaces_left", FindingSeverity::Note, message)
                .in_collection(self.info.name.as_str()),
        ))
    }
}

/// Returns the kind of the migration, in one word for the record.
pub(super) fn migration_kind(plans: &[CollectionPlan]) -> &'static str {
    let any = |is: fn(&VectorPlan) -> bool| plans.iter().any(|plan| is(&plan.vectors));
    if any(|vectors| matches!(vectors, VectorPlan::Swapped(_))) {
        "model_swap"
    } else if any(|vectors| !matches!(vectors, VectorPlan::Carried(_))) {
        "re_embedded"
    } else {
        "carried"
    }
}

type VectorDecision = (VectorPlan, Option<EmbedderIdentity>);

/// Plans a collection whose vectors both sides can handle: they are carried unless the user asked for another
/// model.
fn plan_carried(request: &MigrateRequest<'_>, info: &CollectionInfo) -> Result<VectorDecision> {
    let known = match &info.identity {
        IdentityState::Known(known) => Some(known.clone()),
        IdentityState::Unset | IdentityState::Unknown => None,
    };
    let Some(asked) = &request.embedder else {
        let missing = find_missing_embedder(request, info, known.as_ref())?;
        return Ok((VectorPlan::Carried(missing), known));
    };
    let identity = asked.identity().clone();
    let fills = request.flags.embed_missing.then(|| Arc::clone(asked));
    // Without vectors there is nothing to lose, so naming a model then needs no flag.
    if known.as_ref() == Some(&identity) || info.coverage.nearest == 0 {
        return Ok((VectorPlan::Carried(fills), Some(identity)));
    }
    if request.flags.force_model_swap {
        Ok((VectorPlan::Swapped(Arc::clone(asked)), Some(identity)))
    } else {
        Err(model_swap_error(request, info, &identity))
    }
}

/// Finds the embedder for drawers without a vector, if the user asked for that and there are any.
fn find_missing_embedder(
    request: &MigrateRequest<'_>,
    info: &CollectionInfo,
    known: Option<&EmbedderIdentity>,
) -> Result<Option<Arc<dyn Embedder>>> {
    // A collection without vectors and model is searched by words on purpose; it lacks nothing.
    let wordy = info.identity == IdentityState::Unset && info.coverage.nearest == 0;
    if !request.flags.embed_missing || wordy || info.coverage.nearest >= info.drawers {
        return Ok(None);
    }
    let lacking = info.drawers.saturating_sub(info.coverage.nearest);
    let Some(known) = known else {
        let message = format!(
            "{lacking} drawers of {} have no vector, and no model is recorded that could make them",
            info.name
        );
        return Err(Error::new(ErrorKind::IdentityMismatch, message).with_hint(
            match info.coverage.nearest {
                0 => "nothing was changed; name a model with --embedder NAME",
                _ => {
                    "nothing was changed; omit --embed-missing, then name the model of the others with \
                  `loci embedder set MODEL` and fill the rest with `loci embedder switch MODEL`"
                }
            },
        ));
    };
    let found = request.embedders.find_embedder(known).map_err(|error| {
        let message = format!("{lacking} drawers of {} have no vector, and {known} is not available here", info.name);
        Error::new(error.kind(), message).caused_by(error).with_hint(
            "nothing was changed; omit --embed-missing and embed them later with `loci embedder switch MODEL`, \
             or install the model: see `loci model list`",
        )
    })?;
    Ok(Some(found))
}

/// Plans a collection whose vectors one side cannot return or keep: all texts are re-embedded, if that is
/// accepted.
fn plan_re_embedding(
    request: &MigrateRequest<'_>,
    info: &CollectionInfo,
    hands_over: bool,
    keeps: bool,
) -> Result<VectorDecision> {
    if !request.flags.accept_re_embed && info.drawers > 0 {
        return Err(re_embedding_error(request, info, hands_over));
    }
    // A target that embeds by itself gets the texts only.
    if !keeps {
        return Ok((VectorPlan::MadeByTarget, None));
    }
    // The model the user named, else the recorded one, else the usual one: vectors are new in any case.
    let embedder = match (&request.embedder, &info.identity) {
        (Some(asked), _) => Some(Arc::clone(asked)),
        (None, IdentityState::Known(known)) => match request.embedders.find_embedder(known) {
            Ok(found) => Some(found),
            // The recorded model is not installed here; the user has accepted new vectors, so another model
            // will do.
            Err(_) => request.embedders.usual_embedder()?,
        },
        (None, _) => request.embedders.usual_embedder()?,
    };
    let embedder = embedder.ok_or_else(|| {
        Error::new(ErrorKind::NotFound, "this machine has no embedder")
            .with_hint("nothing was changed; name a model with --embedder NAME")
    })?;
    let identity = embedder.identity().clone();
    Ok((VectorPlan::ReEmbedded(embedder), Some(identity)))
}

fn re_embedding_error(request: &MigrateRequest<'_>, info: &CollectionInfo, hands_over: bool) -> Error {
    let (from, to) = (request.from.backend.descriptor(), request.to.backend.descriptor());
    let why = if hands_over {
        format!(
            "the backend {:?} of {} does not keep vectors as they are",
            to.name, request.to.reference.id
        )
    } else {
        format!(
            "the backend {:?} of {} does not return vectors",
            from.name, request.from.reference.id
        )
    };
    let message = format!(
        "{} cannot be carried from {} to {} without loss: {why}",
        info.name, from.name, to.name
    );
    Error::new(ErrorKind::Unsupported, message).with_hint(
        "nothing was changed; add --accept-re-embed to re-embed every text with the target's embedder",
    )
}

fn model_swap_error(request: &MigrateRequest<'_>, info: &CollectionInfo, asked: &EmbedderIdentity) -> Error {
    let made_by = match &info.identity {
        IdentityState::Known(known) => format!("were made by {known}"),
        IdentityState::Unset | IdentityState::Unknown => "were made by an unrecorded model".to_owned(),
    };
    let message = format!(
        "the vectors of {} in {} {made_by}, but {} is to use {asked}",
        info.name, request.from.reference.id, request.to.reference.id
    );
    Error::new(ErrorKind::IdentityMismatch, message).with_hint(
        "nothing was changed; omit --embedder to carry the vectors as they are, or add --force-model-swap to re-embed \
         every text",
    )
}
