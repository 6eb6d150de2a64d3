//! Embedders for the tests: bags of hashed words, of any name and dimension.

use std::sync::Arc;

use loci_core::{Embedder, EmbedderIdentity, Error, ErrorKind, Result};
use loci_engine::EmbedderCatalog;

/// Counts words in buckets.
#[derive(Debug, Clone)]
pub(crate) struct Bag(pub(crate) EmbedderIdentity);

impl Bag {
    pub(crate) fn new(model: &str, dimension: usize) -> Self {
        Self(EmbedderIdentity {
            model: model.into(),
            revision: "1".into(),
            dimension,
        })
    }

    pub(crate) fn of(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.01; self.0.dimension];
        for word in text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            let salted = self.0.model.bytes().chain(word.bytes());
            let hash = salted.fold(7_usize, |hash, byte| {
                hash.wrapping_mul(31).wrapping_add(byte.into())
            });
            vector[hash % self.0.dimension] += 1.0;
        }
        vector
    }
}

impl Embedder for Bag {
    fn identity(&self) -> &EmbedderIdentity {
        &self.0
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.of(text)).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        Ok(self.of(text))
    }
}

/// The embedders of a machine; the first is the usual one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine(pub(crate) Vec<Bag>);

impl EmbedderCatalog for Machine {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(self.0.first().map(|bag| Arc::new(bag.clone()) as _))
    }

    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        let found = self.0.iter().find(|bag| bag.0 == *identity);
        found.map(|bag| Arc::new(bag.clone()) as _).ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("{} is not installed", identity.model),
            )
        })
    }
}
