//! The corpus: drawers, vectors and questions that follow from a seed.

use loci_core::{
    DrawerId, DrawerPlace, Embedder, EmbedderIdentity, Error, Metadata, MetadataValue, NewDrawer, Result,
    Timestamp,
};
use loci_engine::EmbedderCatalog;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::random::CorpusRandom;

/// The number of different words in the texts.
const VOCABULARY: f64 = 30_000.0;

/// The length of a text in bytes, about 110 words.
const TEXT_BYTES: usize = 790;

/// The streams of numbers, far enough apart that no drawer shares one with a question.
const CENTRES: u64 = 1 << 60;
const QUESTIONS: u64 = 1 << 61;

/// The shape of the vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CorpusShape {
    /// Clouds around two thousand centres, as texts about topics form.
    #[default]
    Clustered,
    /// Twenty nearly identical vectors around each centre, as copies of texts form.
    Duplicates,
    /// No structure at all, the hardest for an approximate index.
    Uniform,
}

/// A corpus that can be made again anywhere.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchmarkCorpus {
    /// The number that everything follows from.
    pub seed: u64,
    /// The number of drawers.
    pub rows: u64,
    /// The number of values in a vector.
    pub dimension: usize,
    /// The shape of the vectors.
    pub shape: CorpusShape,
}

impl BenchmarkCorpus {
    /// Returns drawer number `n`; `filters` are the shares, in per cent, that filters keep.
    pub fn make_drawer(&self, n: u64, filters: &[f64]) -> Result<NewDrawer> {
        let mut drawer = NewDrawer::new(DrawerId::new(format!("bench-{n:08}"))?, self.make_text(n));
        drawer.embedding = Some(self.make_vector(n));
        drawer.place = DrawerPlace {
            wing: Some(format!("wing-{}", n % 20)),
            room: Some(format!("room-{}", n / 20 % 10)),
            source: Some(format!("notes/file-{:06}.md", n / 12)),
            said_at: Some(moment_of(n)?),
            ..DrawerPlace::default()
        };
        let mut metadata = Metadata::new();
        for share in filters {
            let value = MetadataValue::from(i64::from(self.is_kept(n, *share)));
            metadata.insert(filter_key(*share), value);
        }
        drawer.metadata = metadata;
        Ok(drawer)
    }

    /// Returns whether the filter that keeps `share` per cent keeps drawer `n`.
    pub fn is_kept(&self, n: u64, share: f64) -> bool {
        // Not by position: neighbours in a file or cluster must not all pass together.
        let bits = CorpusRandom::new(self.seed, n ^ share.to_bits()).unit();
        bits * 100.0 < share
    }

    /// Returns the vector of drawer `n`, of length one.
    pub fn make_vector(&self, n: u64) -> Vec<f32> {
        let mut random = CorpusRandom::new(self.seed, n);
        let (centre, spread) = match self.shape {
            CorpusShape::Clustered => (random.below(2000), 0.6),
            CorpusShape::Duplicates => (n / 20, 0.01),
            CorpusShape::Uniform => return normalise(self.draw_values(&mut random)),
        };
        self.scatter(centre, spread, &mut random)
    }

    /// Returns the vector of question `n`: near a centre of the corpus, and equal to no drawer.
    pub fn make_question(&self, n: u64) -> Vec<f32> {
        let mut random = CorpusRandom::new(self.seed, QUESTIONS + n);
        let (centre, spread) = match self.shape {
            CorpusShape::Clustered => (random.below(2000), 0.6),
            CorpusShape::Duplicates => (random.below((self.rows / 20).max(1)), 0.1),
            CorpusShape::Uniform => return normalise(self.draw_values(&mut random)),
        };
        self.scatter(centre, spread, &mut random)
    }

    /// Returns the words of question `n`.
    pub fn make_words(&self, n: u64) -> String {
        let mut random = CorpusRandom::new(self.seed, QUESTIONS + n);
        let words: Vec<String> = (0..4).map(|_| draw_word(&mut random)).collect();
        words.join(" ")
    }

    /// Returns the model that vectors of this corpus are recorded under.
    pub fn identity(&self) -> EmbedderIdentity {
        EmbedderIdentity {
            model: "loci-bench".to_owned(),
            revision: format!("{} {:?}", self.seed, self.shape),
            dimension: self.dimension,
        }
    }

    fn make_text(&self, n: u64) -> String {
        let mut random = CorpusRandom::new(self.seed, n ^ (1 << 40));
        let mut text = String::with_capacity(TEXT_BYTES + 30);
        while text.len() < TEXT_BYTES {
            if !text.is_empty() {
                text.push(if random.below(12) == 0 { '\n' } else { ' ' });
            }
            text.push_str(&draw_word(&mut random));
        }
        text
    }

    fn draw_values(&self, random: &mut CorpusRandom) -> Vec<f32> {
        (0..self.dimension).map(|_| random.normal()).collect()
    }

    fn scatter(&self, centre: u64, spread: f32, random: &mut CorpusRandom) -> Vec<f32> {
        let mut vector = self.draw_values(&mut CorpusRandom::new(self.seed, CENTRES + centre));
        vector
            .iter_mut()
            .for_each(|value| *value += spread * random.normal());
        normalise(vector)
    }
}

/// Returns the metadata key of the filter that keeps `share` per cent.
pub(crate) fn filter_key(share: f64) -> String {
    format!("keeps_{share}")
}

fn normalise(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|value| *value /= length);
    vector
}

/// Returns the moment at which drawer `n` was said: a file every quarter of an hour, its drawers half a minute apart.
fn moment_of(n: u64) -> Result<Timestamp> {
    const BEGINNING: u64 = 1_704_067_200;
    let seconds = BEGINNING + n / 12 * 900 + n % 12 * 30;
    Timestamp::from_micros(
        i64::try_from(seconds)
            .unwrap_or(i64::MAX)
            .saturating_mul(1_000_000),
    )
}

/// Draws a word as texts do: common ones often, rare ones seldom.
fn draw_word(random: &mut CorpusRandom) -> String {
    spell_word((VOCABULARY.powf(random.unit()) - 1.0) as u64)
}

/// Returns the `n`-th word: pronounceable, so that a tokeniser takes it for one.
fn spell_word(n: u64) -> String {
    const ONSETS: [&str; 16] = [
        "b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "t", "v", "st", "tr", "br", "kl",
    ];
    const VOWELS: [&str; 5] = ["a", "o", "u", "i", "e"];
    let (mut left, mut word) = (n, String::new());
    loop {
        word.push_str(ONSETS.get((left % 16) as usize).copied().unwrap_or("b"));
        left /= 16;
        word.push_str(VOWELS.get((left % 5) as usize).copied().unwrap_or("a"));
        left /= 5;
        if left == 0 {
            return word;
        }
    }
}

/// An embedder for questions of the corpus, so that whole searches are measured without the cost of a model.
#[derive(Debug)]
pub(crate) struct CorpusEmbedder {
    corpus: BenchmarkCorpus,
    identity: EmbedderIdentity,
}

impl CorpusEmbedder {
    pub(crate) fn new(corpus: &BenchmarkCorpus) -> Self {
        Self {
            identity: corpus.identity(),
            corpus: corpus.clone(),
        }
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        // Any question of the corpus will do, if it is always the same one for a text.
        let number = text.bytes().fold(7_u64, |number, byte| {
            number.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        self.corpus.make_question(number % 1_000_003)
    }
}

impl Embedder for CorpusEmbedder {
    fn identity(&self) -> &EmbedderIdentity {
        &self.identity
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.embed(text)).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        Ok(self.embed(text))
    }
}

/// The catalog that knows the embedder of one corpus.
#[derive(Debug)]
pub(crate) struct CorpusCatalog(pub(crate) Arc<CorpusEmbedder>);

impl EmbedderCatalog for CorpusCatalog {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(Some(self.0.clone()))
    }

    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        if *identity == self.0.identity {
            return Ok(self.0.clone());
        }
        Err(Error::invalid(format!("the corpus was not made by {identity}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(shape: CorpusShape) -> BenchmarkCorpus {
        BenchmarkCorpus {
            seed: 7,
            rows: 4000,
            dimension: 16,
            shape,
        }
    }

    #[test]
    fn a_corpus_can_be_made_again() {
        for shape in [
            CorpusShape::Clustered,
            CorpusShape::Duplicates,
            CorpusShape::Uniform,
        ] {
            let (one, other) = (corpus(shape), corpus(shape));
            assert_eq!(
                one.make_drawer(5, &[5.0]).unwrap(),
                other.make_drawer(5, &[5.0]).unwrap()
            );
            assert_ne!(one.make_vector(5), one.make_vector(6));
            let length: f32 = one.make_question(3).iter().map(|value| value * value).sum();
            assert!((length - 1.0).abs() < 1e-5);
        }
        let other_seed = BenchmarkCorpus {
            seed: 8,
            ..corpus(CorpusShape::Uniform)
        };
        assert_ne!(
            other_seed.make_vector(5),
            corpus(CorpusShape::Uniform).make_vector(5)
        );
    }

    #[test]
    fn filters_keep_about_their_share() {
        let corpus = corpus(CorpusShape::Clustered);
        for share in [0.5, 5.0, 95.0] {
            let kept = (0..corpus.rows).filter(|n| corpus.is_kept(*n, share)).count() as f64;
            let expected = corpus.rows as f64 * share / 100.0;
            assert!(
                (kept - expected).abs() < 4.0 * expected.sqrt() + 4.0,
                "{share} %: {kept}"
            );
        }
    }

    #[test]
    fn copies_are_nearer_to_each_other_than_to_anything_else() {
        let corpus = corpus(CorpusShape::Duplicates);
        let cosine = |a: u64, b: u64| -> f32 {
            let (a, b) = (corpus.make_vector(a), corpus.make_vector(b));
            a.iter().zip(&b).map(|(a, b)| a * b).sum()
        };
        assert!(cosine(0, 19) > 0.99 && cosine(0, 20) < 0.9);
    }
}
