//! One writing operation: a collection opened to be written, and the embedder that speaks for its texts.
//!
//! The model a collection records decides what embeds for it. Drawers that bring no vector get one before the store is
//! locked; where the model cannot be had on this machine they are filed without, found by keyword, and get theirs later.
//! Vectors that users bring are taken for the collection's own only where they agree with it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, CollectionReader, Context, DrawerId, Embedder, EmbedderIdentity, Error,
    ErrorKind, Get, IdentityChange, IdentityState, Include, NewDrawer, OpenOptions, Patch, Receipt, Result,
    Write,
};

use super::Palace;

/// How many texts are embedded at once.
const EMBEDDED_AT_ONCE: usize = 256;

/// The least cosine at which a brought vector counts as made by the collection's model.
pub(crate) const AGREES: f32 = 0.9;

/// A collection opened to be written.
#[derive(Debug, Clone)]
pub struct FilingSession {
    collection: Arc<dyn Collection>,
    identity: IdentityState,
    embedder: Option<Arc<dyn Embedder>>,
    /// Why texts get no vectors here, where a model is recorded that should make them.
    lacking: Option<String>,
    /// The palace, where it was made for this session.
    made_palace: Option<String>,
}

impl FilingSession {
    /// Opens the collection meant, making what is missing.
    ///
    /// `brings` is the first drawer that comes with its vector, if one does. A new collection gets the usual embedder, or
    /// becomes a collection of given vectors.
    pub(super) fn open(palace: &Palace, brings: Option<&NewDrawer>) -> Result<Self> {
        let session = match Self::open_existing(palace) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::create(palace, brings),
            opened => opened?,
        };
        match brought_vector(brings) {
            Some((drawer, vector)) => session.accepting(palace, drawer, vector),
            None => Ok(session),
        }
    }

    /// Opens the collection meant with the embedder of its model; a missing one is `NotFound`.
    pub(super) fn open_existing(palace: &Palace) -> Result<Self> {
        let collection = palace.open(&OpenOptions {
            adopts_model: true,
            ..OpenOptions::writable()
        })?;
        let identity = collection.model();
        let (embedder, lacking) = match &identity {
            IdentityState::Known(stored) => match palace.embedders().find(stored) {
                Ok(embedder) => {
                    check_drift(collection.as_ref(), embedder.as_ref())?;
                    (Some(embedder), None)
                }
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
        let embedder = match brought_vector(brings) {
            Some(_) => None,
            None => palace.embedders().usual()?,
        };
        let identity = match (brought_vector(brings), &embedder) {
            (Some((_, vector)), _) => Some(given_identity(vector.len())),
            (None, embedder) => embedder.as_ref().map(|embedder| embedder.identity().clone()),
        };
        let is_new = !palace.exists()?;
        let collection = palace.create(&OpenOptions {
            embedder: identity,
            ..OpenOptions::writable()
        })?;
        Ok(Self {
            identity: collection.model(),
            collection,
            embedder,
            lacking: None,
            made_palace: is_new.then_some(palace.address()?.reference.id),
        })
    }

    /// This session, ready for vectors like that of `drawer`: those of its own model, or, in a collection without
    /// vectors, any.
    fn accepting(self, palace: &Palace, drawer: &NewDrawer, vector: &[f32]) -> Result<Self> {
        let stored = match &self.identity {
            IdentityState::Known(stored) => stored.clone(),
            IdentityState::Unset => return self.declaring_given(palace, vector.len()),
            IdentityState::Unknown => return Ok(self),
        };
        let fits = vector.len() == stored.dimension && loci_core::write::check_vector(vector).is_ok();
        if !fits {
            // A vector that cannot be right is refused by the collection itself, by name.
            let empty = self.collection.info()?.coverage.nearest == 0;
            let usable = empty && loci_core::write::check_vector(vector).is_ok();
            return if usable {
                self.taking_given(palace, vector.len())
            } else {
                Ok(self)
            };
        }
        let agrees = match &self.embedder {
            Some(embedder) => agrees_with(embedder.as_ref(), drawer)?,
            None => true,
        };
        if agrees {
            return Ok(self);
        }
        if self.collection.info()?.coverage.nearest == 0 {
            return self.taking_given(palace, vector.len());
        }
        let message = format!(
            "the vector of {:?} was not made by {stored}, which made this collection's vectors",
            drawer.id.as_str()
        );
        Err(Error::new(ErrorKind::IdentityMismatch, message)
            .hint("nothing was written; leave the vectors out and they are made here, or file into another --collection"))
    }

    /// This session for a collection without vectors, whose vectors users will bring from now on instead of its model.
    fn taking_given(self, palace: &Palace, dimension: usize) -> Result<Self> {
        let given = given_identity(dimension);
        self.collection.set_identity(&given, IdentityChange::Confirm)?;
        self.declaring_given(palace, dimension)
    }

    fn declaring_given(self, palace: &Palace, dimension: usize) -> Result<Self> {
        let given = given_identity(dimension);
        let collection = palace.open(&OpenOptions {
            embedder: Some(given.clone()),
            ..OpenOptions::writable()
        })?;
        Ok(Self {
            collection,
            identity: IdentityState::Known(given),
            embedder: None,
            lacking: None,
            ..self
        })
    }

    /// Whether the collection's model is still the one this session embeds with.
    pub(super) fn is_current(&self) -> bool {
        let info = self.collection.info();
        info.is_ok_and(|info| info.identity == self.identity)
    }

    /// The collection.
    pub fn collection(&self) -> &Arc<dyn Collection> {
        &self.collection
    }

    /// The collection, to be read.
    pub fn reader(&self) -> &dyn CollectionReader {
        self.collection.as_ref()
    }

    /// The embedder of its texts, if it has one.
    pub fn embedder(&self) -> Option<&dyn Embedder> {
        self.embedder.as_deref()
    }

    /// Why texts get no vectors here, where a model is recorded that should make them.
    pub fn lacking(&self) -> Option<&str> {
        self.lacking.as_deref()
    }

    /// The palace, where it was made for this session.
    pub fn made_palace(&self) -> Option<String> {
        self.made_palace.clone()
    }

    /// Gives every drawer that brings no vector one of the collection's model. Drawers that are there already and will
    /// be kept are left alone.
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
        // One new drawer is seldom there already: embedding it costs less than looking each time. An embedder that is not
        // pinned may be a service that charges for each text.
        if batch.len() == 1 && embedder.is_pinned() {
            return embed_batch(embedder.as_ref(), batch, &HashSet::new());
        }
        let request = Get {
            include: Include::NOTHING,
            ..Get::ids(added)
        };
        let there = self.collection.get(&request)?.into_iter().map(|drawer| drawer.id);
        embed_batch(embedder.as_ref(), batch, &there.collect())
    }

    /// Gives every drawer of a batch that brings no vector one, where all of them are known to be new.
    pub(crate) fn embed_new(&self, batch: &mut [Write]) -> Result<()> {
        match &self.embedder {
            Some(embedder) => embed_batch(embedder.as_ref(), batch, &HashSet::new()),
            None => Ok(()),
        }
    }

    /// Embeds drawers that bring no vector and applies the batch.
    pub fn apply(&self, mut batch: Vec<Write>) -> Result<Receipt> {
        self.embed(&mut batch)?;
        self.collection.apply_batch(&batch)
    }

    /// Gives a changed text its vector, by the context it has or is given.
    pub fn embed_patch(&self, patch: &mut Patch) -> Result<()> {
        let (Some(embedder), Some(document), None) = (&self.embedder, &patch.document, &patch.embedding)
        else {
            return Ok(());
        };
        let include = Include {
            context: true,
            ..Include::NOTHING
        };
        let ids = Get::ids([patch.id.clone()]);
        let stored = self.collection.get(&Get { include, ..ids })?.pop();
        let context = patch.context.clone().or(stored.and_then(|drawer| drawer.context));
        let text = Context::indexed(context.as_ref(), document);
        patch.embedding = embedder.passages(&[&text])?.pop();
        Ok(())
    }
}

/// The identity of vectors that a user hands over without an embedder: the user vouches for them.
pub fn given_identity(dimension: usize) -> EmbedderIdentity {
    EmbedderIdentity {
        model: "given".into(),
        revision: "1".into(),
        dimension,
    }
}

/// Asks an embedder for two vectors before a palace relies on it, so that a broken one fails now.
pub fn try_embedder(embedder: &dyn Embedder) -> Result<()> {
    embedder
        .passages(&["The ship leaves at dawn.", "She counts her apples twice."])
        .map(drop)
}

fn brought_vector(brings: Option<&NewDrawer>) -> Option<(&NewDrawer, &[f32])> {
    brings.and_then(|drawer| Some((drawer, drawer.embedding.as_deref()?)))
}

/// Gives every drawer of a batch that brings no vector one, but for those in `kept`, which are there already.
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
        let vectors = embedder.passages(&texts)?;
        for (new, vector) in some.iter_mut().zip(vectors) {
            new.embedding = Some(vector);
        }
    }
    Ok(())
}

fn embedded_text(new: &NewDrawer) -> Cow<'_, str> {
    Context::indexed(new.context.as_ref(), &new.document)
}

/// Whether a drawer's own vector is what the embedder would have made of its text, with or without its context.
fn agrees_with(embedder: &dyn Embedder, drawer: &NewDrawer) -> Result<bool> {
    let Some(vector) = &drawer.embedding else {
        return Ok(true);
    };
    let made = embedder.passages(&[&embedded_text(drawer), &drawer.document])?;
    Ok(made.iter().any(|made| cosine(made, vector) >= AGREES))
}

/// Refuses an embedder whose identity pins too little and that no longer gives the vectors it gave before.
fn check_drift(collection: &dyn Collection, embedder: &dyn Embedder) -> Result<()> {
    if embedder.is_pinned() {
        return Ok(());
    }
    match crate::agreement(collection, embedder)? {
        Some(least) if least < AGREES => {
            let message = format!(
                "{} no longer gives the vectors it gave this collection: cosine {least:.2}",
                embedder.identity()
            );
            Err(Error::new(ErrorKind::IdentityMismatch, message).hint(
                "nothing was written; bring the old model back, or move with `loci embedder switch MODEL`",
            ))
        }
        _ => Ok(()),
    }
}

/// The cosine of the angle between two vectors.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum::<f64>()
    };
    (dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f64::MIN_POSITIVE)) as f32
}
