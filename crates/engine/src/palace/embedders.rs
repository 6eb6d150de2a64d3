//! Embedders by the identity a collection records; each is loaded once.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{Embedder, EmbedderIdentity, Result};

/// Finds embedders by the identity a collection records.
pub trait EmbedderCatalog: fmt::Debug + Send + Sync {
    /// The embedder of a collection for which none was chosen; `None` leaves it to keywords.
    fn usual(&self) -> Result<Option<Arc<dyn Embedder>>>;

    /// The embedder whose vectors are interchangeable with those of `identity`; the error says why there is none.
    fn find(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>>;
}

/// A catalog that keeps what it found: a model is loaded once for each palace.
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
    fn usual(&self) -> Result<Option<Arc<dyn Embedder>>> {
        self.catalog.usual()
    }

    fn find(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        let found = || self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(embedder) = found().get(identity) {
            return Ok(embedder.clone());
        }
        // Loading may take seconds, so it happens outside the lock; two loaders at once are wasteful, not wrong.
        let embedder = self.catalog.find(identity)?;
        found().insert(identity.clone(), embedder.clone());
        Ok(embedder)
    }
}
