//! The full model all-MiniLM-L6-v2 on the processor, from a folder with its weights.
//!
//! A text is cut by [`wordpiece`], runs through the six layers of the model, and its vector is the mean of all last
//! rows, those of the two special tokens included, at length one. Nothing is padded and nothing is cut off: a text
//! beyond the model's window is embedded in consecutive windows of even size, whose vectors are averaged by how many
//! tokens each has.

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
use kernel::Level;
use weights::{MINILM, Weights};

/// How many tokens of a text the model sees at once, besides the two special ones.
pub const WINDOW: usize = 254;

/// What embedding holds at most for each core, in bytes, besides the weights, the tokens and the vectors.
pub const SPACE_PER_CORE: usize = 6 << 20;

/// What the model is called.
pub const NAME: &str = "minilm";

/// The weights by the beginning of their SHA-256, the tokeniser, the pooling, and the window.
pub const REVISION: &str = "all-MiniLM-L6-v2/53aa5117/wordpiece-mean-256";

/// The file in the folder that holds the weights.
const FILE: &str = "model.safetensors";

/// The model all-MiniLM-L6-v2. Its folder is first touched when something is embedded.
#[derive(Debug)]
pub struct Minilm {
    folder: PathBuf,
    identity: EmbedderIdentity,
    weights: OnceLock<Weights>,
    opening: Mutex<()>,
}

impl Minilm {
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

    /// Embeds texts that are cut into tokens already, without the special ones at their ends, in order.
    pub fn embed_ids(&self, texts: &[&[u16]]) -> Result<Vec<Vec<f32>>> {
        let known = |id: &&u16| usize::from(**id) < MINILM.vocabulary;
        if let Some(id) = texts.iter().copied().flatten().find(|id| !known(id)) {
            return Err(Error::invalid(format!("the model has no token {id}"))
                .hint("nothing was embedded; cut texts with the model's own tokeniser"));
        }
        Ok(batch::embed(self.weights()?, texts, cores::all()))
    }

    /// Embeds a sentence whose vector is known, and refuses weights that give another. Opening does so by itself.
    pub fn self_test(&self) -> Result<()> {
        known::check(self.weights()?, &self.folder)
    }

    /// The weights, opened and tried by whoever needs them first.
    fn weights(&self) -> Result<&Weights> {
        if let Some(weights) = self.weights.get() {
            return Ok(weights);
        }
        let _turn = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(weights) = self.weights.get() {
            return Ok(weights);
        }
        let weights = Weights::open(&self.folder.join(FILE), MINILM, Level::best())?;
        known::check(&weights, &self.folder)?;
        Ok(self.weights.get_or_init(|| weights))
    }
}

impl Embedder for Minilm {
    fn identity(&self) -> &EmbedderIdentity {
        &self.identity
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
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

    fn query(&self, text: &str) -> Result<Vec<f32>> {
        let mut ids = Vec::new();
        wordpiece::encode(text, &mut ids);
        Ok(self.embed_ids(&[&ids])?.pop().unwrap_or_default())
    }
}
