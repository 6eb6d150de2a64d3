//! The ways of scoring pieces for a question: BM25 over words, nearness of vectors, and both together.

use std::collections::HashMap;

use loci_index::tokenise;

const K1: f32 = 1.2;
const B: f32 = 0.75;

/// Texts as counted terms.
#[derive(Debug)]
pub(crate) struct Words {
    texts: Vec<Counted>,
}

#[derive(Debug)]
struct Counted {
    length: f32,
    counts: HashMap<String, f32>,
}

impl Words {
    /// Counts the terms of each text.
    pub(crate) fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut indexer = tokenise::Indexer::default();
        let counted = texts.map(|text| {
            let mut counts = HashMap::new();
            let indexed = indexer.indexed(text);
            let mut length = 0.0;
            for token in indexed.split(' ') {
                *counts.entry(token.to_owned()).or_insert(0.0) += 1.0;
                length += 1.0;
            }
            Counted { length, counts }
        });
        Self {
            texts: counted.collect(),
        }
    }

    /// The BM25 score of each of `among` for a question, with their statistics alone.
    pub(crate) fn score(&self, question: &str, among: &[usize]) -> Vec<f32> {
        let texts: Vec<&Counted> = among.iter().filter_map(|at| self.texts.get(*at)).collect();
        let total = texts.len() as f32;
        let mean = texts.iter().map(|text| text.length).sum::<f32>() / total.max(1.0);
        let mut scores = vec![0.0; texts.len()];
        for term in tokenise::query_tokens(question) {
            let holding = texts
                .iter()
                .filter(|text| text.counts.contains_key(&term))
                .count() as f32;
            let weight = (1.0 + (total - holding + 0.5) / (holding + 0.5)).ln();
            for (score, text) in scores.iter_mut().zip(&texts) {
                let count = text.counts.get(&term).copied().unwrap_or(0.0);
                *score += weight * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * text.length / mean));
            }
        }
        scores
    }
}

/// The cosine of each of `among` with the question's vector; all vectors have length one.
pub(crate) fn nearness(vectors: &[Vec<f32>], question: &[f32], among: &[usize]) -> Vec<f32> {
    let dot = |at: &usize| -> f32 {
        vectors.get(*at).map_or(0.0, |vector| {
            vector.iter().zip(question).map(|(a, b)| a * b).sum()
        })
    };
    among.iter().map(dot).collect()
}

/// Scores as deviations from their mean, so that legs of different units can be added.
pub(crate) fn standard(scores: &[f32]) -> Vec<f32> {
    let n = scores.len().max(1) as f32;
    let mean = scores.iter().sum::<f32>() / n;
    let spread = (scores.iter().map(|score| (score - mean).powi(2)).sum::<f32>() / n).sqrt();
    scores
        .iter()
        .map(|score| (score - mean) / spread.max(1e-6))
        .collect()
}

/// The weighted sum of several legs.
pub(crate) fn sum(legs: &[(f32, &[f32])]) -> Vec<f32> {
    let longest = legs.iter().map(|(_, leg)| leg.len()).max().unwrap_or(0);
    let mut total = vec![0.0; longest];
    for (weight, leg) in legs {
        for (total, score) in total.iter_mut().zip(*leg) {
            *total += weight * score;
        }
    }
    total
}
