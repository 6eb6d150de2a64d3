//! Filing: a collection opened to be written, and the embedder that speaks for its texts.
//!
//! The model a collection records decides what embeds for it. Drawers that bring no vector get one before the
//! store is locked; where the model cannot be had on this machine they are filed without, found by keyword, and
//! get theirs later. Vectors that users bring are taken for the collection's own only where they agree with it.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use loci_core::{
    Backend, Collection, CollectionExt, CollectionInfo, CollectionName, Context, CreateMode, DrawerId,
    Embedder, EmbedderIdentity, Error, ErrorKind, Filter, Get, IdentityChange, IdentityState, Include,
    NewDrawer, OpenOptions, PalaceRef, Patch, Receipt, Result, Write,
};

/// Finds embedders by what a collection records.
pub trait Embedders: fmt::Debug + Send + Sync {
    /// What embeds for a collection nobody chose for; `None` leaves it to keywords.
    fn usual(&self) -> Result<Option<Arc<dyn Embedder>>>;

    /// The embedder whose vectors are interchangeable with those of `identity`; the error says why there is none.
    fn find(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>>;
}

/// How many texts are embedded at once.
const BATCH: usize = 256;

/// The least cosine at which a brought vector counts as made by the collection's model.
const AGREES: f32 = 0.9;

/// Who made vectors that a user hands over without an embedder: the user vouches for them.
pub fn given(dimension: usize) -> EmbedderIdentity {
    EmbedderIdentity {
        model: "given".into(),
        revision: "1".into(),
        dimension,
    }
}

/// The vector of a question, by the model that made a collection's vectors.
pub fn embed_question(
    collection: &dyn Collection,
    embedders: &dyn Embedders,
    text: &str,
) -> Result<Vec<f32>> {
    question_embedder(&collection.info()?, embedders)?.query(text)
}

/// What embeds questions for a collection: the model that made its vectors, or why there is none.
pub(crate) fn question_embedder(
    info: &CollectionInfo,
    embedders: &dyn Embedders,
) -> Result<Arc<dyn Embedder>> {
    match &info.identity {
        IdentityState::Known(identity) => embedders.find(identity),
        IdentityState::Unset => Err(Error::new(
            ErrorKind::Unsupported,
            "this collection has no model, so a text cannot be compared with its vectors",
        )
        .hint("search by keyword with `loci match`, or give it a model with `loci embedder switch builtin`")),
        IdentityState::Unknown => Err(Error::new(
            ErrorKind::IdentityMismatch,
            "nobody recorded which model made this collection's vectors",
        )
        .hint(
            "say which with `loci embedder set MODEL`, or make new ones with `loci embedder switch MODEL`; a palace that \
             takes no writes is moved with `loci migrate` first",
        )),
    }
}

/// Asks an embedder for two vectors before a palace relies on it; one that is broken says so now.
pub fn try_out(embedder: &dyn Embedder) -> Result<()> {
    embedder
        .passages(&["The ship leaves at dawn.", "She counts her apples twice."])
        .map(drop)
}

/// Where to file.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The backend.
    pub backend: &'a dyn Backend,
    /// The palace.
    pub palace: &'a PalaceRef,
    /// The collection.
    pub collection: &'a CollectionName,
    /// What may embed.
    pub embedders: &'a dyn Embedders,
    /// The drawers that exist for this caller.
    pub visible: &'a Filter,
}

/// A collection opened to be written.
#[derive(Debug, Clone)]
pub struct Filing {
    collection: Arc<dyn Collection>,
    embedder: Option<Arc<dyn Embedder>>,
    /// Why texts get no vectors here, where a model is recorded that should make them.
    pub lacking: Option<String>,
}

impl Filing {
    /// Opens a collection, making what is missing.
    ///
    /// `brings` is the first drawer that comes with its vector, if one does. A new collection gets the usual
    /// embedder, or becomes a collection of given vectors.
    pub fn open(place: &Place<'_>, brings: Option<&NewDrawer>) -> Result<Self> {
        let there = place
            .backend
            .open(place.palace, place.collection, &options_for(place));
        let collection = match there {
            Err(error) if error.kind() == ErrorKind::NotFound => return Self::create(place, brings),
            there => there?,
        };
        let info = collection.info()?;
        let Some(stored) = known(&info) else {
            let declared = match info.identity {
                IdentityState::Unset => brought(brings).map(|vector| given(vector.len())),
                _ => None,
            };
            return reopened(place, declared, None, None);
        };
        let (embedder, lacking) = match place.embedders.find(&stored) {
            Ok(embedder) => {
                prove(collection.as_ref(), embedder.as_ref())?;
                (Some(embedder), None)
            }
            Err(why) => (None, Some(why.to_string())),
        };
        let Some(vector) = brought(brings) else {
            return reopened(place, Some(stored), embedder, lacking);
        };
        let fits = vector.len() == stored.dimension;
        let speaks = match (&embedder, brings) {
            (Some(embedder), Some(drawer)) if fits => agrees(embedder.as_ref(), drawer)?,
            _ => fits,
        };
        let is_vector = loci_core::write::check_vector(vector).is_ok();
        if !speaks && is_vector && info.coverage.nearest == 0 {
            let given = given(vector.len());
            collection.set_identity(&given, IdentityChange::Confirm)?;
            return reopened(place, Some(given), None, None);
        }
        if fits && is_vector && !speaks {
            return Err(foreign(&stored, brings));
        }
        // What is no vector, or of another length, the collection itself refuses by name.
        reopened(place, Some(stored), embedder, lacking)
    }

    fn create(place: &Place<'_>, brings: Option<&NewDrawer>) -> Result<Self> {
        match brought(brings) {
            Some(vector) => reopened(place, Some(given(vector.len())), None, None),
            None => {
                let usual = place.embedders.usual()?;
                let identity = usual.as_ref().map(|usual| usual.identity().clone());
                reopened(place, identity, usual, None)
            }
        }
    }

    /// The collection.
    pub fn collection(&self) -> &Arc<dyn Collection> {
        &self.collection
    }

    /// Gives every drawer that brings no vector one of the collection's model. What is there already and will be
    /// kept is left alone.
    pub fn embed(&self, batch: &mut [Write]) -> Result<()> {
        let Some(embedder) = &self.embedder else {
            return Ok(());
        };
        let added = batch.iter().filter_map(|write| match write {
            Write::Add(new) if new.embedding.is_none() => Some(new.id.clone()),
            _ => None,
        });
        let request = Get {
            include: Include::NOTHING,
            ..Get::ids(added)
        };
        let there = self.collection.get(&request)?.into_iter().map(|drawer| drawer.id);
        embed(embedder.as_ref(), batch, &there.collect())
    }

    /// Gives every drawer of a batch that brings no vector one, where all of them are known to be new.
    pub(crate) fn embed_new(&self, batch: &mut [Write]) -> Result<()> {
        match &self.embedder {
            Some(embedder) => embed(embedder.as_ref(), batch, &HashSet::new()),
            None => Ok(()),
        }
    }

    /// What embeds here, if anything does.
    pub(crate) fn embedder(&self) -> Option<&dyn Embedder> {
        self.embedder.as_deref()
    }

    /// Embeds what brings no vector and applies the batch.
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

pub(crate) fn embed(embedder: &dyn Embedder, batch: &mut [Write], kept: &HashSet<DrawerId>) -> Result<()> {
    let mut new: Vec<&mut NewDrawer> = batch
        .iter_mut()
        .filter_map(|write| match write {
            Write::Add(new) if new.embedding.is_none() && !kept.contains(&new.id) => Some(new),
            Write::Upsert(new) if new.embedding.is_none() => Some(new),
            _ => None,
        })
        .collect();
    for some in new.chunks_mut(BATCH) {
        let texts: Vec<_> = some.iter().map(|new| text_of(new)).collect();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        let vectors = embedder.passages(&texts)?;
        for (new, vector) in some.iter_mut().zip(vectors) {
            new.embedding = Some(vector);
        }
    }
    Ok(())
}

fn text_of(new: &NewDrawer) -> std::borrow::Cow<'_, str> {
    Context::indexed(new.context.as_ref(), &new.document)
}

/// Whether a drawer's own vector is what the embedder would have made of its text, with or without its context.
fn agrees(embedder: &dyn Embedder, drawer: &NewDrawer) -> Result<bool> {
    let Some(vector) = &drawer.embedding else {
        return Ok(true);
    };
    let made = embedder.passages(&[&text_of(drawer), &drawer.document])?;
    Ok(made.iter().any(|made| cosine(made, vector) >= AGREES))
}

/// Compares an embedder whose identity pins too little with what it made before.
fn prove(collection: &dyn Collection, embedder: &dyn Embedder) -> Result<()> {
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
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| f64::from(*a) * f64::from(*b))
            .sum::<f64>()
    };
    (dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f64::MIN_POSITIVE)) as f32
}

fn known(info: &CollectionInfo) -> Option<EmbedderIdentity> {
    match &info.identity {
        IdentityState::Known(identity) => Some(identity.clone()),
        IdentityState::Unset | IdentityState::Unknown => None,
    }
}

fn brought(brings: Option<&NewDrawer>) -> Option<&[f32]> {
    brings.and_then(|drawer| drawer.embedding.as_deref())
}

fn reopened(
    place: &Place<'_>,
    declared: Option<EmbedderIdentity>,
    embedder: Option<Arc<dyn Embedder>>,
    lacking: Option<String>,
) -> Result<Filing> {
    let options = OpenOptions {
        embedder: declared,
        ..options_for(place)
    };
    let mode = CreateMode::OpenExisting;
    Ok(Filing {
        collection: place
            .backend
            .create(place.palace, place.collection, mode, &options)?,
        embedder,
        lacking,
    })
}

fn options_for(place: &Place<'_>) -> OpenOptions {
    OpenOptions {
        visible: place.visible.clone(),
        ..OpenOptions::writable()
    }
}

fn foreign(stored: &EmbedderIdentity, brings: Option<&NewDrawer>) -> Error {
    let id = brings.map_or("", |drawer| drawer.id.as_str());
    let message =
        format!("the vector of {id:?} was not made by {stored}, which made this collection's vectors");
    Error::new(ErrorKind::IdentityMismatch, message)
        .hint("nothing was written; leave the vectors out and they are made here, or file into another --collection")
}
