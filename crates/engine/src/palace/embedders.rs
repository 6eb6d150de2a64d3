//! Embedders, found by the identity a collection records and loaded once each.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{CollectionReader, Embedder, EmbedderIdentity, Error, ErrorKind, IdentityState, Result};

use super::{LEAST_AGREEMENT, Palace};
use crate::switch::compare_sample;

/// Finds embedders by the identity a collection records.
pub trait EmbedderCatalog: fmt::Debug + Send + Sync {
    /// Returns the embedder for new collections; `None` leaves them to keyword search.
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>>;

    /// Returns the embedder whose vectors are interchangeable with those of `identity`, or an error that
    /// explains why none is available.
    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>>;

    /// Returns the model that the caller names for queries, in place of the recorded one.
    fn named_embedder(&self) -> Option<Arc<dyn Embedder>> {
        None
    }
}

/// A catalog that caches embedders: each model is loaded once per palace.
#[derive(Debug)]
pub(super) struct EmbedderCache {
    catalog: Arc<dyn EmbedderCatalog>,
    found: Mutex<HashMap<EmbedderIdentity, Arc<dyn Embedder>>>,
    named: Option<Arc<dyn Embedder>>,
}

impl EmbedderCache {
    pub(super) fn new(catalog: Arc<dyn EmbedderCatalog>) -> Self {
        Self {
            catalog,
            found: Mutex::default(),
            named: None,
        }
    }
}

impl EmbedderCatalog for EmbedderCache {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        self.catalog.usual_embedder()
    }

    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(embedder) = found().get(identity) {
            return Ok(embedder.clone());
        }
        // Loading may take seconds, so it happens outside the lock; two threads loading at once is wasteful,
        // not wrong.
        let embedder = self.catalog.find_embedder(identity)?;
        found().insert(identity.clone(), embedder.clone());
        Ok(embedder)
    }
    fn named_embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.named.clone()
    }
}

impl Palace {
    /// Names the model for queries, for collections whose model is not recorded. A search refuses it unless it makes the
    /// vectors that the collection holds.
    #[must_use]
    pub fn asking_with(mut self, embedder: Option<Arc<dyn Embedder>>) -> Self {
        self.embedders = Arc::new(EmbedderCache {
            named: embedder,
            ..EmbedderCache::new(Arc::clone(&self.embedders.catalog))
        });
        self
    }
}

/// Refuses the model that the caller names for queries unless it makes the vectors of the collection.
pub(crate) fn check_named_embedder(
    collection: &dyn CollectionReader,
    embedders: &dyn EmbedderCatalog,
) -> Result<()> {
    let Some(named) = embedders.named_embedder() else {
        return Ok(());
    };
    let info = collection.info()?;
    let identity = named.identity();
    if let IdentityState::Known(recorded) = &info.identity {
        // Another program may record the same model by a name of its own.
        let own = embedders.find_embedder(recorded);
        if recorded == identity || own.is_ok_and(|own| own.identity() == identity) {
            return Ok(());
        }
    }
    let stored = info.dimension.filter(|stored| *stored != identity.dimension);
    if let Some(stored) = stored {
        let message =
            format!("{identity} did not make the vectors of this collection, which have {stored} dimensions");
        return Err(Error::new(ErrorKind::DimensionMismatch, message).with_hint(UNSEARCHED));
    }
    let cosines = compare_sample(collection, named.as_ref())?;
    let agreeing = cosines
        .iter()
        .filter(|cosine| **cosine >= LEAST_AGREEMENT)
        .count();
    // Most, not all: a damaged palace may hold a wrong vector, and a text may have changed after it was embedded.
    // Without a vector to compare, only a record speaks against the model.
    let is_maker = match &info.identity {
        IdentityState::Known(_) if cosines.is_empty() => false,
        _ => 2 * agreeing >= cosines.len(),
    };
    if is_maker {
        return Ok(());
    }
    let message = format!(
        "{identity} did not make the vectors of this collection: of {} texts, it makes the stored vectors of {agreeing}",
        cosines.len()
    );
    Err(Error::new(ErrorKind::IdentityMismatch, message).with_hint(UNSEARCHED))
}

/// The hint for a model that cannot answer.
const UNSEARCHED: &str =
    "nothing was searched; name another model with --embedder, or leave it out to search by keyword";
