//! One writing operation: a collection opened for writing, and the embedder of its texts.
//!
//! The recorded model of a collection determines its embedder. Drawers without a vector are embedded before the
//! store is locked; if the model is not available on this machine they are filed without a vector, found by
//! keyword, and embedded later. Vectors that callers bring are accepted only if they agree with the
//! collection's model.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use loci_core::vector::check_vector;
use loci_core::{
    Collection, CollectionExt, CollectionReader, DrawerContext, DrawerFields, DrawerId, DrawerPatch,
    Embedder, EmbedderIdentity, Error, ErrorKind, GetRequest, IdentityChange, IdentityState, Metric,
    NewDrawer, OpenOptions, Receipt, Result, Write,
};

use super::Palace;

/// The number of texts passed to the embedder in one call.
const EMBEDDED_AT_ONCE: usize = 256;

/// The least cosine at which a brought vector counts as made by the collection's model.
pub(crate) const LEAST_AGREEMENT: f32 = 0.9;

/// The same for a drawer with a context, which may have changed since its vector was made. Vectors of other models are
/// far below it.
const LEAST_AGREEMENT_IN_CONTEXT: f32 = 0.6;

/// A collection opened for writing.
#[derive(Debug, Clone)]
pub struct FilingSession {
    collection: Arc<dyn Collection>,
    identity: IdentityState,
    embedder: Option<Arc<dyn Embedder>>,
    /// The reason texts get no vectors although a model is recorded.
    lacking: Option<String>,
    /// The palace, if it was created for this session.
    made_palace: Option<String>,
}

impl FilingSession {
    /// Opens the selected collection, creating it if it does not exist.
    ///
    /// `brings` is the first drawer that comes with a vector, if there is one. A new collection then holds
    /// given vectors; otherwise it gets the default embedder.
    pub(super) fn open(palace: &Palace, brings: Option<&NewDrawer>) -> Result<Self> {
        let session = match Self::open_existing(palace) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::create(palace, brings),
            opened => opened?,
        };
        match find_brought_vector(brings) {
            Some((drawer, vector)) => session.accept_vectors_like(palace, drawer, vector),
            None => Ok(session),
        }
    }

    /// Opens the selected collection with the embedder of its model; a missing collection is `NotFound`.
    pub(super) fn open_existing(palace: &Palace) -> Result<Self> {
        let mut opened = 0;
        loop {
            let session = Self::open_as_recorded(palace)?;
            let drifted = match &session.embedder {
                Some(embedder) => check_drift(session.collection.as_ref(), embedder.as_ref()),
                None => Ok(()),
            };
            // A switch that ended between opening and comparing is no drift: the vectors are those of the new model.
            if drifted.is_err() && !session.is_current() && opened < super::MODEL_CHANGES {
                opened += 1;
                continue;
            }
            return drifted.map(|()| session);
        }
    }

    fn open_as_recorded(palace: &Palace) -> Result<Self> {
        // Adopting the recorded model tells which embedder to load without a second read; a model that changes
        // after this is refused at the write.
        let collection = palace.open(&OpenOptions {
            adopts_model: true,
            ..OpenOptions::for_writing()
        })?;
        let identity = collection.model();
        let (embedder, lacking) = match &identity {
            IdentityState::Known(stored) => match palace.embedders().find_embedder(stored) {
                Ok(embedder) => (Some(embedder), None),
                // A missing model must not keep words from being filed; the reason goes into the report.
                Err(why) => (None, Some(why.to_string())),
            },
            IdentityState::Unset | IdentityState::Unknown => (None, None),
        };
        Ok(Self {
            collection,
            identity,
            embedder,
            lacking,
            made_palace: None,
        })
    }

    fn create(palace: &Palace, brings: Option<&NewDrawer>) -> Result<Self> {
        let embedder = match find_brought_vector(brings) {
            // Before anything is created: a new collection compares by the usual metric.
            Some((drawer, vector)) => {
                check_vector(vector, Metric::default())
                    .map_err(|error| error.with_context("id", &drawer.id))?;
                None
            }
            None => palace.embedders().usual_embedder()?,
        };
        let identity = match (find_brought_vector(brings), &embedder) {
            (Some((_, vector)), _) => Some(given_identity(vector.len())),
            (None, embedder) => embedder.as_ref().map(|embedder| embedder.identity().clone()),
        };
        let is_new = !palace.exists()?;
        let collection = palace.create(&OpenOptions {
            embedder: identity,
            ..OpenOptions::for_writing()
        })?;
        Ok(Self {
            identity: collection.model(),
            collection,
            embedder,
            lacking: None,
            made_palace: is_new.then_some(palace.address()?.reference.id),
        })
    }

    /// Prepares the session for vectors like the one of `drawer`: vectors of its own model, or any vectors if the
    /// collection has none yet.
    fn accept_vectors_like(self, palace: &Palace, drawer: &NewDrawer, vector: &[f32]) -> Result<Self> {
        let stored = match &self.identity {
            IdentityState::Known(stored) => stored.clone(),
            IdentityState::Unset => return self.reopen_for_given_vectors(palace, vector.len()),
            // Nothing is known to compare with; the store checks the dimension.
            IdentityState::Unknown => return Ok(self),
        };
        let info = self.collection.info()?;
        let sound = check_vector(vector, info.metric).is_ok();
        if !sound || vector.len() != stored.dimension {
            // A vector that is broken in itself is left to the collection, which refuses it and names the drawer.
            let usable = sound && info.coverage.nearest == 0;
            return if usable {
                self.switch_to_given_vectors(palace, vector.len())
            } else {
                Ok(self)
            };
        }
        let agrees = match &self.embedder {
            Some(embedder) => vectors_agree(embedder.as_ref(), &[drawer])? == [true],
            None => true,
        };
        if agrees {
            return Ok(self);
        }
        // Without stored vectors there is nothing the brought ones could contradict.
        if self.collection.info()?.coverage.nearest == 0 {
            return self.switch_to_given_vectors(palace, vector.len());
        }
        let message = format!(
            "the vector of {:?} was not made by {stored}, which made this collection's vectors",
            drawer.id.as_str()
        );
        Err(Error::new(ErrorKind::IdentityMismatch, message).with_hint(
            "nothing was written; omit the vectors and they are made here, or use another --collection",
        ))
    }

    /// Switches a collection without vectors from its model to vectors that callers bring.
    fn switch_to_given_vectors(self, palace: &Palace, dimension: usize) -> Result<Self> {
        let given = given_identity(dimension);
        record_first_model(self.collection.as_ref(), &given)?;
        self.reopen_for_given_vectors(palace, dimension)
    }

    fn reopen_for_given_vectors(self, palace: &Palace, dimension: usize) -> Result<Self> {
        let given = given_identity(dimension);
        let collection = palace.open(&OpenOptions {
            embedder: Some(given.clone()),
            ..OpenOptions::for_writing()
        })?;
        Ok(Self {
            collection,
            identity: IdentityState::Known(given),
            embedder: None,
            lacking: None,
            ..self
        })
    }

    /// Returns whether the collection's model is still the one this session embeds with.
    pub(super) fn is_current(&self) -> bool {
        let info = self.collection.info();
        info.is_ok_and(|info| info.identity == self.identity)
    }

    /// Returns the session for later operations, none of which has created the palace.
    pub(super) fn for_later(mut self) -> Self {
        self.made_palace = None;
        self
    }

    /// Returns whether texts get vectors, under the name of the model that was recorded when the collection was opened.
    pub(super) fn embeds(&self) -> bool {
        self.embedder.is_some()
    }

    /// Returns whether vectors that were brought for `earlier` may go into this collection: its model is the same, or
    /// it is here and has been compared with them.
    pub(crate) fn takes_vectors_of(&self, earlier: &Self) -> bool {
        self.identity == earlier.identity || self.embedder.is_some()
    }

    /// Returns the collection.
    pub fn collection(&self) -> &Arc<dyn Collection> {
        &self.collection
    }

    /// Returns the collection for reading.
    pub fn reader(&self) -> &dyn CollectionReader {
        self.collection.as_ref()
    }

    /// Returns the embedder of its texts, if there is one.
    pub fn embedder(&self) -> Option<&dyn Embedder> {
        self.embedder.as_deref()
    }

    /// Returns the reason texts get no vectors although a model is recorded.
    pub fn lacking(&self) -> Option<&str> {
        self.lacking.as_deref()
    }

    /// Returns the palace, if it was created for this session.
    pub fn made_palace(&self) -> Option<String> {
        self.made_palace.clone()
    }

    /// Embeds every drawer of a batch that has no vector. Drawers that exist already and will be kept are
    /// skipped.
    pub fn embed(&self, batch: &mut [Write]) -> Result<()> {
        let Some(embedder) = &self.embedder else {
            return Ok(());
        };
        let added: Vec<DrawerId> = batch
            .iter()
            .filter_map(|write| match write {
                Write::Add(new) if new.embedding.is_none() => Some(new.id.clone()),
                _ => None,
            })
            .collect();
        // A single new drawer rarely exists already, so embedding it costs less than a lookup each time. An
        // embedder that is not pinned may be a service that charges per text; then the lookup is worth it.
        if batch.len() == 1 && embedder.is_pinned() {
            return embed_batch(embedder.as_ref(), batch, &HashSet::new());
        }
        let request = GetRequest {
            include: DrawerFields::NOTHING,
            ..GetRequest::by_ids(added)
        };
        let there = self.collection.get(&request)?.into_iter().map(|drawer| drawer.id);
        embed_batch(embedder.as_ref(), batch, &there.collect())
    }

    /// Embeds every drawer of a batch that has no vector, all of them known to be new.
    pub(crate) fn embed_new(&self, batch: &mut [Write]) -> Result<()> {
        match &self.embedder {
            Some(embedder) => embed_batch(embedder.as_ref(), batch, &HashSet::new()),
            None => Ok(()),
        }
    }

    /// Embeds the drawers without a vector and applies the batch.
    pub fn apply(&self, mut batch: Vec<Write>) -> Result<Receipt> {
        self.embed(&mut batch)?;
        self.collection.apply_batch(&batch)
    }

    /// Embeds the new text of a patch together with its context, stored or new.
    pub fn embed_patch(&self, patch: &mut DrawerPatch) -> Result<()> {
        let (Some(embedder), Some(document), None) = (&self.embedder, &patch.document, &patch.embedding)
        else {
            return Ok(());
        };
        // A patch without a context keeps the stored one, which is part of the embedded text.
        let include = DrawerFields {
            context: true,
            ..DrawerFields::NOTHING
        };
        let ids = GetRequest::by_ids([patch.id.clone()]);
        let stored = self.collection.get(&GetRequest { include, ..ids })?.pop();
        let context = patch.context.clone().or(stored.and_then(|drawer| drawer.context));
        let text = DrawerContext::indexed_text(context.as_ref(), document);
        patch.embedding = embedder.embed_passages(&[&text])?.pop();
        Ok(())
    }
}

/// Returns the identity recorded for vectors that a caller brings without naming an embedder.
pub fn given_identity(dimension: usize) -> EmbedderIdentity {
    EmbedderIdentity {
        model: "given".into(),
        revision: "1".into(),
        dimension,
    }
}

/// Records the model of the first vectors of a collection, in place of one that made none.
pub(crate) fn record_first_model(collection: &dyn Collection, model: &EmbedderIdentity) -> Result<()> {
    let before = collection.info()?;
    let old = match before.identity {
        IdentityState::Known(old) if before.coverage.nearest == 0 && old != *model => old,
        _ => return collection.set_identity(model, IdentityChange::Confirm),
    };
    collection.set_identity(model, IdentityChange::Force)?;
    // Another process may have stored the first vectors meanwhile; then the old model is no longer without any.
    if collection.info()?.coverage.nearest > 0 {
        collection.set_identity(&old, IdentityChange::Force)?;
        return collection.set_identity(model, IdentityChange::Confirm);
    }
    Ok(())
}

/// Embeds two texts before a palace relies on an embedder, so that a broken embedder fails early.
pub fn try_embedder(embedder: &dyn Embedder) -> Result<()> {
    embedder
        .embed_passages(&["The ship leaves at dawn.", "She counts her apples twice."])
        .map(drop)
}

fn find_brought_vector(brings: Option<&NewDrawer>) -> Option<(&NewDrawer, &[f32])> {
    brings.and_then(|drawer| Some((drawer, drawer.embedding.as_deref()?)))
}

/// Embeds every drawer of a batch that has no vector, except additions whose id is in `kept`: they exist
/// already and will not be written.
pub fn embed_batch(embedder: &dyn Embedder, batch: &mut [Write], kept: &HashSet<DrawerId>) -> Result<()> {
    let mut new: Vec<&mut NewDrawer> = batch
        .iter_mut()
        .filter_map(|write| match write {
            Write::Add(new) if new.embedding.is_none() && !kept.contains(&new.id) => Some(new),
            Write::Upsert(new) if new.embedding.is_none() => Some(new),
            _ => None,
        })
        .collect();
    for some in new.chunks_mut(EMBEDDED_AT_ONCE) {
        let texts: Vec<_> = some.iter().map(|new| embedded_text(new)).collect();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let vectors = embedder.embed_passages(&texts)?;
        for (new, vector) in some.iter_mut().zip(vectors) {
            new.embedding = Some(vector);
        }
    }
    Ok(())
}

fn embedded_text(new: &NewDrawer) -> Cow<'_, str> {
    DrawerContext::indexed_text(new.context.as_ref(), &new.document)
}

/// Returns for each drawer whether its vector matches what the embedder makes of its text, with or without its context.
pub(crate) fn vectors_agree(embedder: &dyn Embedder, drawers: &[&NewDrawer]) -> Result<Vec<bool>> {
    let variants: Vec<Vec<Cow<'_, str>>> = drawers.iter().map(|drawer| embedded_variants(drawer)).collect();
    let texts: Vec<&str> = variants.iter().flatten().map(AsRef::as_ref).collect();
    let mut made = Vec::with_capacity(texts.len());
    for some in texts.chunks(EMBEDDED_AT_ONCE) {
        made.extend(embedder.embed_passages(some)?);
    }
    let mut made = made.into_iter();
    let agrees = |(drawer, variants): (&&NewDrawer, &Vec<Cow<'_, str>>)| {
        let vectors: Vec<Vec<f32>> = made.by_ref().take(variants.len()).collect();
        let Some(brought) = &drawer.embedding else {
            return true;
        };
        let least = match variants.len() {
            1 => LEAST_AGREEMENT,
            _ => LEAST_AGREEMENT_IN_CONTEXT,
        };
        vectors
            .iter()
            .any(|made| cosine_similarity(made, brought) >= least)
    };
    Ok(drawers.iter().zip(&variants).map(agrees).collect())
}

/// Returns the texts that a drawer's vector may have been made of.
fn embedded_variants(drawer: &NewDrawer) -> Vec<Cow<'_, str>> {
    let mut variants = vec![embedded_text(drawer)];
    if let Some(context) = &drawer.context {
        // A conversation that grew gave its last message a context after it, but no new vector.
        let grown = DrawerContext {
            before: context.before.clone(),
            after: String::new(),
        };
        variants.push(Cow::Owned(
            DrawerContext::indexed_text(Some(&grown), &drawer.document).into_owned(),
        ));
        // Other programs embed the bare text.
        variants.push(Cow::Borrowed(&drawer.document));
        variants.dedup();
    }
    variants
}

/// Refuses an embedder whose identity does not pin its weights and whose vectors have changed.
fn check_drift(collection: &dyn Collection, embedder: &dyn Embedder) -> Result<()> {
    if embedder.is_pinned() {
        return Ok(());
    }
    // A server may serve other weights under the same model name; only comparing vectors reveals that.
    match crate::measure_agreement(collection, embedder)? {
        Some(least) if least < LEAST_AGREEMENT => {
            let message = format!(
                "{} no longer makes the vectors stored in this collection: cosine {least:.2}",
                embedder.identity()
            );
            Err(Error::new(ErrorKind::IdentityMismatch, message).with_hint(
                "nothing was written; restore the old model, or re-embed with `loci embedder switch MODEL`",
            ))
        }
        _ => Ok(()),
    }
}

/// Returns the cosine of the angle between two vectors; 0 if either is zero.
pub fn cosine_similarity(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum::<f64>()
    };
    // The floor keeps zero vectors from dividing by zero: their dot product is 0 as well.
    (dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f64::MIN_POSITIVE)) as f32
}
