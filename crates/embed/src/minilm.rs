//! The full model all-MiniLM-L6-v2 on the processor, from a folder with its weights.
//!
//! A text is cut by [`wordpiece`] and run through the six layers of the model; its vector is the normalised mean of
//! all last rows, those of the two special tokens included. Nothing is padded and nothing is truncated: a text
//! longer than the model's window is embedded in consecutive windows of even size, whose vectors are averaged by
//! their number of tokens.

mod batch;
mod cores;
mod curves;
mod forward;
mod kernel;
mod known;
mod mapping;
mod tensors;
#[cfg(test)]
mod tests;
mod weights;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use loci_core::{Embedder, EmbedderIdentity, Error, Result};

use crate::wordpiece;
use kernel::SimdLevel;
use weights::{MINILM, ModelWeights};

/// The number of tokens the model sees at once, besides the two special ones.
pub const WINDOW: usize = 254;

/// The most memory per core while embedding, in bytes, besides the weights, the tokens and the vectors.
pub const SPACE_PER_CORE: usize = 6 << 20;

/// The name of the model.
pub const NAME: &str = "minilm";

/// The weights by the beginning of their SHA-256, the tokeniser, the pooling, and the window.
pub const REVISION: &str = "all-MiniLM-L6-v2/53aa5117/wordpiece-mean-256";

/// The file in the folder that holds the weights.
const FILE: &str = "model.safetensors";

/// The model all-MiniLM-L6-v2. Its folder is first read when something is embedded.
#[derive(Debug)]
pub struct MinilmEmbedder {
    folder: PathBuf,
    identity: EmbedderIdentity,
    weights: OnceLock<ModelWeights>,
    opening: Mutex<()>,
}

impl MinilmEmbedder {
    /// Names the folder that holds `model.safetensors`; reads nothing yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            identity: EmbedderIdentity {
                model: NAME.to_owned(),
                revision: REVISION.to_owned(),
                dimension: MINILM.hidden,
            },
            weights: OnceLock::new(),
            opening: Mutex::new(()),
        }
    }

    /// Names the folder and opens the weights at once.
    pub fn open(folder: &Path) -> Result<Self> {
        let minilm = Self::new(folder);
        minilm.weights()?;
        Ok(minilm)
    }

    /// Embeds tokenised texts, in order; the tokens come without the special ones at both ends.
    pub fn embed_ids(&self, texts: &[&[u16]]) -> Result<Vec<Vec<f32>>> {
        // An id beyond the table would find no embedding, and its row would keep the values of an earlier
        // run.
        let known = |id: &&u16| usize::from(**id) < MINILM.vocabulary;
        if let Some(id) = texts.iter().copied().flatten().find(|id| !known(id)) {
            return Err(Error::invalid(format!("the model has no token {id}"))
                .with_hint("nothing was embedded; cut texts with the model's own tokeniser"));
        }
        Ok(batch::embed_texts(self.weights()?, texts, cores::core_count()))
    }

    /// Embeds a sentence whose vector is known, and refuses weights that give another. Opening does this too.
    pub fn self_test(&self) -> Result<()> {
        known::check_weights(self.weights()?, &self.folder)
    }

    /// Returns the weights; the first caller opens and tests them.
    fn weights(&self) -> Result<&ModelWeights> {
        if let Some(weights) = self.weights.get() {
            return Ok(weights);
        }
        // One opens while the others wait: packing takes every core and some forty megabytes, which two
        // threads must not pay twice. After the wait, the weights may be there.
        let _turn = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(weights) = self.weights.get() {
            return Ok(weights);
        }
        let weights = ModelWeights::open(&self.folder.join(FILE), MINILM, SimdLevel::widest_level())?;
        known::check_weights(&weights, &self.folder)?;
        Ok(self.weights.get_or_init(|| weights))
    }
}

impl Embedder for MinilmEmbedder {
    fn identity(&self) -> &EmbedderIdentity {
        &self.identity
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let mut ids = Vec::new();
        let mut ends = Vec::with_capacity(texts.len());
        for text in texts {
            wordpiece::encode(text, &mut ids);
            ends.push(ids.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let texts: Vec<&[u16]> = starts
            .zip(&ends)
            .map(|(start, end)| ids.get(start..*end).unwrap_or_default())
            .collect();
        self.embed_ids(&texts)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        let mut ids = Vec::new();
        wordpiece::encode(text, &mut ids);
        Ok(self.embed_ids(&[&ids])?.pop().unwrap_or_default())
    }
}
