//! A look at whether a server's vectors mean anything, with texts whose order is known.

use loci_core::{Embedder, Error, ErrorKind, Result};

use super::{Api, Server, wire};

const SENTENCE: &str = "The cat sleeps on the warm kitchen floor.";
const PARAPHRASE: &str = "A cat is sleeping on the warm floor of the kitchen.";
const UNRELATED: &str = "Quarterly tax forms must reach the office before Friday.";

impl Server {
    /// Embeds a sentence, its paraphrase and an unrelated sentence; returns what is doubtful.
    ///
    /// Refused: vectors of the wrong length, of zeros, or the same for different sentences, and a model whose digest
    /// is no longer the registered one. That the unrelated sentence is nearer than the paraphrase is only a doubt:
    /// small models err.
    pub fn self_check(&self) -> Result<Vec<String>> {
        let vectors = self.passages(&[SENTENCE, PARAPHRASE, UNRELATED])?;
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
            return Err(self.useless("a sentence got a vector of zeros"));
        }
        if sentence == unrelated {
            return Err(self.useless("sentences about different things got one and the same vector"));
        }
        self.check_digest()?;
        let near = cosine(sentence, paraphrase);
        let far = cosine(sentence, unrelated);
        if near > far {
            return Ok(Vec::new());
        }
        Ok(vec![format!(
            "{} finds an unrelated sentence ({far:.3}) no farther than a paraphrase ({near:.3}); its answers may be poor",
            self.who()
        )])
    }

    /// Refuses a model that was exchanged under its name, where the server lists digests.
    fn check_digest(&self) -> Result<()> {
        let pinned = self
            .config
            .revision
            .as_deref()
            .filter(|revision| wire::is_digest(revision));
        let (Api::Ollama, Some(pinned)) = (self.config.api, pinned) else {
            return Ok(());
        };
        let Ok(list) = self.client.get(&self.client.address.tags()) else {
            // Not every server of this kind lists its models; the vectors are still looked at.
            return Ok(());
        };
        match wire::digest(&list, &self.config.model).flatten() {
            Some(now) if now != pinned => Err(Error::new(
                ErrorKind::IdentityMismatch,
                format!("{} now has {now}, not the registered {pinned}", self.who()),
            )
            .hint("nothing was stored; register the server anew and switch to it, so that vectors are not mixed")),
            _ => Ok(()),
        }
    }

    fn useless(&self, what: &str) -> Error {
        Error::new(
            ErrorKind::Unavailable,
            format!("{} is of no use: {what}", self.who()),
        )
        .hint("nothing was stored; see that the server has an embedding model under that name")
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot =
        |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum() };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
