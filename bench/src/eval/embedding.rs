//! What embeds while a set is measured: the built-in table, another table, or the full model.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{Embedder, EmbedderIdentity, Error, ErrorKind, Result};
use loci_embed::CheckedEmbedder;
use loci_embed::builtin::BuiltinEmbedder;
use loci_embed::minilm::MinilmEmbedder;
use loci_engine::EmbedderCatalog;

use super::EvalResult;

/// The one embedder of a run.
#[derive(Debug, Clone)]
pub(crate) struct EvalEmbedder(Arc<dyn Embedder>);

impl EvalEmbedder {
    /// The built-in table of this build.
    pub(crate) fn builtin() -> EvalResult<Self> {
        Ok(Self(Arc::new(CheckedEmbedder::new(BuiltinEmbedder::new()?))))
    }

    /// Another table, as `loci-distill` writes it.
    pub(crate) fn table(file: &Path) -> EvalResult<Self> {
        let bytes =
            std::fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
        // Read once for the life of the process.
        let table = BuiltinEmbedder::from_table(Box::leak(bytes.into_boxed_slice()))?;
        Ok(Self(Arc::new(CheckedEmbedder::new(table))))
    }

    /// The full model in a folder; each distinct text is embedded once, because haystacks share most of theirs.
    pub(crate) fn minilm(folder: &Path) -> EvalResult<Self> {
        let model = CheckedEmbedder::new(MinilmEmbedder::open(folder)?);
        Ok(Self(Arc::new(CachingEmbedder::new(model))))
    }

    /// The vector of a question.
    pub(crate) fn embed_question(&self, text: &str) -> Result<Vec<f32>> {
        self.0.embed_query(text)
    }

    /// Its name and revision.
    pub(crate) fn name(&self) -> String {
        self.0.identity().to_string()
    }
}

impl EmbedderCatalog for EvalEmbedder {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(Some(self.0.clone()))
    }

    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        if self.0.identity() == identity {
            Ok(self.0.clone())
        } else {
            Err(Error::new(
                ErrorKind::NotFound,
                format!("nothing makes {identity}"),
            ))
        }
    }
}

/// Remembers the vectors of texts; questions are embedded each time, so that their cost is seen.
#[derive(Debug)]
struct CachingEmbedder<E> {
    inner: E,
    known: Mutex<HashMap<String, Vec<f32>>>,
}

impl<E: Embedder> CachingEmbedder<E> {
    fn new(inner: E) -> Self {
        Self {
            inner,
            known: Mutex::default(),
        }
    }
}

impl<E: Embedder> Embedder for CachingEmbedder<E> {
    fn identity(&self) -> &EmbedderIdentity {
        self.inner.identity()
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new: Vec<&str> = texts
            .iter()
            .copied()
            .filter(|text| !known.contains_key(*text))
            .collect();
        new.sort_unstable();
        new.dedup();
        if !new.is_empty() {
            let vectors = self.inner.embed_passages(&new)?;
            known.extend(new.into_iter().map(str::to_owned).zip(vectors));
        }
        Ok(texts
            .iter()
            .filter_map(|text| known.get(*text).cloned())
            .collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.inner.embed_query(text)
    }

    fn nearness_weight(&self) -> f32 {
        self.inner.nearness_weight()
    }

    fn known_share(&self, query: &str) -> f32 {
        self.inner.known_share(query)
    }

    fn is_pinned(&self) -> bool {
        self.inner.is_pinned()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test: a panic is a red line")]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Debug)]
    struct CallCountingEmbedder(BuiltinEmbedder, Arc<AtomicUsize>);

    impl Embedder for CallCountingEmbedder {
        fn identity(&self) -> &EmbedderIdentity {
            self.0.identity()
        }
        fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
            self.1.fetch_add(texts.len(), Ordering::Relaxed);
            self.0.embed_passages(texts)
        }
        fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
            self.0.embed_query(text)
        }
    }

    #[test]
    fn a_text_is_embedded_once_and_gets_its_own_vector_each_time() {
        let plain = BuiltinEmbedder::new().unwrap();
        let embedded = Arc::new(AtomicUsize::new(0));
        let remembering = CachingEmbedder::new(CallCountingEmbedder(
            BuiltinEmbedder::new().unwrap(),
            embedded.clone(),
        ));
        for texts in [
            ["a boat", "an apple", "a boat"],
            ["an apple", "a boat", "a horse"],
        ] {
            assert_eq!(
                remembering.embed_passages(&texts).unwrap(),
                plain.embed_passages(&texts).unwrap()
            );
        }
        assert_eq!(embedded.load(Ordering::Relaxed), 3);
    }
}
