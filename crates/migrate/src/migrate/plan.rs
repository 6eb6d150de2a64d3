//! What becomes of each collection's vectors, decided before anything is made.

use std::sync::Arc;

use loci_core::{
    Capability, CollectionExt, CollectionInfo, Embedder, EmbedderIdentity, Error, ErrorKind, Finding,
    IdentityState, OpenOptions, Result, Severity, SpaceState,
};

use super::MigrateRequest;
use loci_engine::palace::BorrowedAddress;

/// What becomes of a collection's vectors.
#[derive(Debug, Clone)]
pub(super) enum Vectors {
    /// They are carried bit for bit; drawers without one get it from this embedder, if there is one.
    Carried(Option<Arc<dyn Embedder>>),
    /// All texts are embedded anew, because a side cannot hand vectors over.
    Anew(Arc<dyn Embedder>),
    /// All texts are embedded anew, because another model was asked for.
    Swapped(Arc<dyn Embedder>),
    /// The target makes its own.
    OfTheTarget,
}

/// How one collection is carried.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// What the source says of it.
    pub(super) info: CollectionInfo,
    /// What becomes of its vectors.
    pub(super) vectors: Vectors,
    /// The model the target records.
    pub(super) identity: Option<EmbedderIdentity>,
}

impl Plan {
    /// Decides, or refuses and names the flag that allows it.
    pub(super) fn of(request: &MigrateRequest<'_>, info: &CollectionInfo) -> Result<Self> {
        let (from, to) = (request.from.backend.descriptor(), request.to.backend.descriptor());
        if !to.metrics.contains(&info.metric) {
            let message = format!(
                "the collection {} compares by {}, which the backend {:?} does not",
                info.name,
                info.metric.name(),
                to.name
            );
            return Err(
                Error::new(ErrorKind::Unsupported, message).hint("nothing was changed; name another target")
            );
        }
        let hands_over = from.can(&Capability::EmbeddingsOut);
        let keeps = to.can(&Capability::EmbeddingsPassthrough);
        let (vectors, identity) = match hands_over && keeps {
            true => carried(request, info)?,
            false => anew(request, info, hands_over, keeps)?,
        };
        Ok(Self {
            info: info.clone(),
            vectors,
            identity,
        })
    }

    /// How the target's collection is opened: with the metric, dimension and model it shall have.
    pub(super) fn open_options(&self) -> OpenOptions {
        let dimension = match self.vectors {
            Vectors::Carried(_) => self.info.dimension,
            _ => None,
        };
        OpenOptions {
            metric: Some(self.info.metric),
            dimension: self.identity.as_ref().map(|known| known.dimension).or(dimension),
            embedder: self.identity.clone(),
            carries_unknown: self.identity.is_none(),
            ..OpenOptions::writable()
        }
    }

    /// What embeds texts that bring no vector.
    pub(super) fn embedder(&self) -> Option<&dyn Embedder> {
        match &self.vectors {
            Vectors::Carried(embedder) => embedder.as_deref(),
            Vectors::Anew(embedder) | Vectors::Swapped(embedder) => Some(embedder.as_ref()),
            Vectors::OfTheTarget => None,
        }
    }

    /// Whether the source's vectors are those of the target.
    pub(super) fn carries_vectors(&self) -> bool {
        matches!(self.vectors, Vectors::Carried(_))
    }

    /// A note on embedding spaces that stay behind.
    pub(super) fn spaces_left(
        &self,
        BorrowedAddress {
            backend,
            reference: palace,
        }: BorrowedAddress<'_>,
    ) -> Result<Option<Finding>> {
        if !backend.descriptor().can(&Capability::Spaces) {
            return Ok(None);
        }
        let opened = backend.open(palace, &self.info.name, &OpenOptions::default())?;
        let spaces = opened.require_spaces()?.list_spaces()?.into_iter();
        let left = spaces.filter(|space| space.state != SpaceState::Active).count();
        if left == 0 {
            return Ok(None);
        }
        let message = format!(
            "{left} embedding space(s) of {} that do not answer were not carried",
            self.info.name
        );
        Ok(Some(
            Finding::new("spaces_left", Severity::Note, message).collection(self.info.name.as_str()),
        ))
    }
}

/// What the whole was, in one word for the record.
pub(super) fn kind(plans: &[Plan]) -> &'static str {
    let any = |is: fn(&Vectors) -> bool| plans.iter().any(|plan| is(&plan.vectors));
    if any(|vectors| matches!(vectors, Vectors::Swapped(_))) {
        "model_swap"
    } else if any(|vectors| !matches!(vectors, Vectors::Carried(_))) {
        "re_embedded"
    } else {
        "carried"
    }
}

type Decided = (Vectors, Option<EmbedderIdentity>);

/// Both sides speak vectors: they are carried unless another model was asked for.
fn carried(request: &MigrateRequest<'_>, info: &CollectionInfo) -> Result<Decided> {
    let known = match &info.identity {
        IdentityState::Known(known) => Some(known.clone()),
        IdentityState::Unset | IdentityState::Unknown => None,
    };
    let Some(asked) = &request.embedder else {
        let missing = missing(request, info, known.as_ref())?;
        return Ok((Vectors::Carried(missing), known));
    };
    let identity = asked.identity().clone();
    let fills = request.flags.embed_missing.then(|| Arc::clone(asked));
    if known.as_ref() == Some(&identity) || info.coverage.nearest == 0 {
        return Ok((Vectors::Carried(fills), Some(identity)));
    }
    match request.flags.force_model_swap {
        true => Ok((Vectors::Swapped(Arc::clone(asked)), Some(identity))),
        false => Err(swap_refused(request, info, &identity)),
    }
}

/// What embeds drawers without a vector, where that is asked for and there are any.
fn missing(
    request: &MigrateRequest<'_>,
    info: &CollectionInfo,
    known: Option<&EmbedderIdentity>,
) -> Result<Option<Arc<dyn Embedder>>> {
    // A collection without vectors and without a model is one that is found by words; it lacks nothing.
    let wordy = info.identity == IdentityState::Unset && info.coverage.nearest == 0;
    if !request.flags.embed_missing || wordy || info.coverage.nearest >= info.drawers {
        return Ok(None);
    }
    let lacking = info.drawers.saturating_sub(info.coverage.nearest);
    let Some(known) = known else {
        let message = format!(
            "{lacking} drawers of {} have no vector, and nobody recorded which model should make them",
            info.name
        );
        return Err(Error::new(ErrorKind::IdentityMismatch, message).hint(match info.coverage.nearest {
            0 => "nothing was changed; name a model with --embedder NAME",
            _ => "nothing was changed; leave --embed-missing out, then say which model made the others with \
                  `loci embedder set MODEL` and fill with `loci embedder switch MODEL`",
        }));
    };
    let found = request.embedders.find(known).map_err(|error| {
        let message = format!("{lacking} drawers of {} have no vector, and {known} cannot make them here", info.name);
        Error::new(error.kind(), message).caused_by(error).hint(
            "nothing was changed; leave --embed-missing out and make them later with `loci embedder switch MODEL`, \
             or install the model: see `loci model list`",
        )
    })?;
    Ok(Some(found))
}

/// A side cannot hand vectors over or keep them: all texts are embedded anew, if that is accepted.
fn anew(
    request: &MigrateRequest<'_>,
    info: &CollectionInfo,
    hands_over: bool,
    keeps: bool,
) -> Result<Decided> {
    if !request.flags.accept_re_embed && info.drawers > 0 {
        return Err(anew_refused(request, info, hands_over));
    }
    if !keeps {
        return Ok((Vectors::OfTheTarget, None));
    }
    let embedder = match (&request.embedder, &info.identity) {
        (Some(asked), _) => Some(Arc::clone(asked)),
        (None, IdentityState::Known(known)) => match request.embedders.find(known) {
            Ok(found) => Some(found),
            Err(_) => request.embedders.usual()?,
        },
        (None, _) => request.embedders.usual()?,
    };
    let embedder = embedder.ok_or_else(|| {
        Error::new(ErrorKind::NotFound, "nothing on this machine embeds texts")
            .hint("nothing was changed; name a model with --embedder NAME")
    })?;
    let identity = embedder.identity().clone();
    Ok((Vectors::Anew(embedder), Some(identity)))
}

fn anew_refused(request: &MigrateRequest<'_>, info: &CollectionInfo, hands_over: bool) -> Error {
    let (from, to) = (request.from.backend.descriptor(), request.to.backend.descriptor());
    let why = match hands_over {
        false => format!(
            "the backend {:?} of {} does not hand vectors over",
            from.name, request.from.reference.id
        ),
        true => format!(
            "the backend {:?} of {} does not keep vectors as they are",
            to.name, request.to.reference.id
        ),
    };
    let message = format!(
        "{} cannot be carried from {} to {} without loss: {why}",
        info.name, from.name, to.name
    );
    Error::new(ErrorKind::Unsupported, message).hint(
        "nothing was changed; add --accept-re-embed and every text is embedded anew by the target's embedder",
    )
}

fn swap_refused(request: &MigrateRequest<'_>, info: &CollectionInfo, asked: &EmbedderIdentity) -> Error {
    let made_by = match &info.identity {
        IdentityState::Known(known) => format!("were made by {known}"),
        IdentityState::Unset | IdentityState::Unknown => "were made by a model nobody recorded".to_owned(),
    };
    let message = format!(
        "the vectors of {} in {} {made_by}, and {} shall have those of {asked}",
        info.name, request.from.reference.id, request.to.reference.id
    );
    Error::new(ErrorKind::IdentityMismatch, message).hint(
        "nothing was changed; leave --embedder out to carry the vectors as they are, or add --force-model-swap and \
         every text is embedded anew",
    )
}
