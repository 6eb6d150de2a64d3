//! Embedders, found by the identity a collection records and loaded once each.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{Embedder, EmbedderIdentity, Result};

/// Finds embedders by the identity a collection records.
pub trait EmbedderCatalog: fmt::Debug + Send + Sync {
    /// Returns the embedder for new collections; `None` leaves them to keyword search.
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>>;

    /// Returns the embedder whose vectors are interchangeable with those of `identity`, or an error that
    /// explains why none is available.
    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>>;
}

/// A catalog that caches embedders: each model is loaded once per palace.
#[derive(Debug)]
pub(super) struct EmbedderCache {
    catalog: Arc<dyn EmbedderCatalog>,
    found: Mutex<HashMap<EmbedderIdentity, Arc<dyn Embedder>>>,
}

impl EmbedderCache {
    pub(super) fn new(catalog: Arc<dyn EmbedderCatalog>) -> Self {
        Self {
            catalog,
            found: Mutex::default(),
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
}
