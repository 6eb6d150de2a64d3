//! A self-check of a server's vectors, with texts whose similarity is known.

use loci_core::{Embedder, Error, ErrorKind, Result};

use super::{EmbeddingApi, EmbeddingServer, wire};

const SENTENCE: &str = "The cat sleeps on the warm kitchen floor.";
const PARAPHRASE: &str = "A cat is sleeping on the warm floor of the kitchen.";
const UNRELATED: &str = "Quarterly tax forms must reach the office before Friday.";

impl EmbeddingServer {
    /// Embeds a sentence, its paraphrase and an unrelated sentence; returns doubts.
    ///
    /// Refuses vectors of the wrong length, vectors of zeros, equal vectors for different sentences, and a model
    /// whose digest is no longer the registered one. An unrelated sentence nearer than the paraphrase is only a
    /// doubt: small models err.
    pub fn self_check(&self) -> Result<Vec<String>> {
        let vectors = self.embed_passages(&[SENTENCE, PARAPHRASE, UNRELATED])?;
        let [sentence, paraphrase, unrelated] = vectors.as_slice() else {
            return Err(Error::new(
                ErrorKind::Internal,
                "three texts gave other than three vectors",
            ));
        };
        if vectors
            .iter()
            .any(|vector| vector.iter().all(|value| *value == 0.0))
        {
            return Err(self.useless_error("a sentence got a vector of zeros"));
        }
        if sentence == unrelated {
            return Err(self.useless_error("sentences about different things got the same vector"));
        }
        self.check_digest()?;
        let near = cosine_similarity(sentence, paraphrase);
        let far = cosine_similarity(sentence, unrelated);
        if near > far {
            return Ok(Vec::new());
        }
        Ok(vec![format!(
            "{} ranks an unrelated sentence ({far:.3}) at least as near as a paraphrase ({near:.3}); its answers may be poor",
            self.describe_server()
        )])
    }

    /// Refuses a model that was replaced under its name, if the server lists digests.
    fn check_digest(&self) -> Result<()> {
        let pinned = self
            .config
            .revision
            .as_deref()
            .filter(|revision| wire::is_digest(revision));
        let (EmbeddingApi::Ollama, Some(pinned)) = (self.config.api, pinned) else {
            return Ok(());
        };
        let Ok(list) = self.client.get(&self.client.address.tags_url()) else {
            // Not every server of this kind lists its models; its vectors were still checked.
            return Ok(());
        };
        match wire::find_digest(&list, &self.config.model).flatten() {
            Some(now) if now != pinned => Err(Error::new(
                ErrorKind::IdentityMismatch,
                format!("{} now has {now}, not the registered {pinned}", self.describe_server()),
            )
            .with_hint("nothing was stored; register the server again and switch to it, so that vectors are not mixed")),
            _ => Ok(()),
        }
    }

    fn useless_error(&self, what: &str) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!("{} cannot be used: {what}", self.describe_server()),
        )
        .with_hint("nothing was stored; check that the server has an embedding model of that name")
    }
}

fn cosine_similarity(a: &[f32], b: &[f32]) -> f64 {
    let dot =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum() };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
