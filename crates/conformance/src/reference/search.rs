//! Search in the reference: exact distances in double precision, BM25 over plain words, facets by counting.

use std::collections::{BTreeMap, BTreeSet};

use loci_core::{
    Drawer, DrawerContext, DrawerHit, FacetCount, FacetRequest, LexicalRequest, Metric, QueryRequest,
};

use super::table::{ReferenceTable, drawer_text, include_fields};

/// An approximate reference misses every tenth of the nearest: as many as the contract allows.
const MISSED_RANK: usize = 10;

impl ReferenceTable {
    /// Returns the nearest drawers, or nine in ten of them if asked to answer `approximately`.
    pub(super) fn query(&self, request: &QueryRequest, approximately: bool) -> Vec<Vec<DrawerHit>> {
        let near = |vector: &Vec<f32>| {
            let scored = self.rows.values().map(|row| &row.drawer).filter_map(|drawer| {
                let stored = drawer.embedding.as_ref()?;
                let meant = request.filter.accepts(drawer) && request.document.accepts(drawer_text(drawer));
                meant.then(|| (drawer, exact_distance(self.metric, vector, stored)))
            });
            let mut scored: Vec<_> = scored.collect();
            // `total_cmp` is a total order, so that the sort cannot depend on the order of the rows.
            scored.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.id.cmp(&b.0.id)));
            if approximately {
                let mut rank = 0;
                scored.retain(|_| {
                    rank += 1;
                    rank % MISSED_RANK != 0
                });
            }
            take_hits(scored, request.k, |drawer| {
                include_fields(drawer, request.include)
            })
        };
        request.vectors.iter().map(near).collect()
    }

    pub(super) fn lexical(&self, request: &LexicalRequest) -> Vec<DrawerHit> {
        let drawers = self.rows.values().map(|row| &row.drawer);
        let accepted: Vec<(&Drawer, Vec<String>)> = drawers
            .filter(|drawer| request.filter.accepts(drawer) && request.document.accepts(drawer_text(drawer)))
            .map(|drawer| (drawer, indexed_words(drawer)))
            .collect();
        let asked: BTreeSet<String> = split_words(&request.words).into_iter().collect();
        // Over the accepted drawers only: scores must not reveal how often a word occurs in others.
        let bm25 = Bm25Statistics::count_words(&accepted);
        let mut scored: Vec<(&Drawer, f64)> = accepted
            .iter()
            .filter(|(_, held)| asked.iter().any(|word| held.contains(word)))
            .map(|(drawer, held)| (*drawer, bm25.score(&asked, held)))
            .collect();
        scored.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.id.cmp(&b.0.id)));
        take_hits(scored, request.k, |drawer| {
            include_fields(drawer, request.include)
        })
    }

    pub(super) fn facets(&self, request: &FacetRequest) -> Vec<FacetCount> {
        let mut counted: BTreeMap<Vec<Option<String>>, u64> = BTreeMap::new();
        let drawers = self.rows.values().map(|row| &row.drawer);
        for drawer in drawers
            .filter(|drawer| request.filter.accepts(drawer) && request.document.accepts(drawer_text(drawer)))
        {
            let values = request.by.iter().map(|key| key.value_of(drawer));
            *counted.entry(values.collect()).or_default() += 1;
        }
        let facets = counted.into_iter();
        facets
            .map(|(values, drawers)| FacetCount { values, drawers })
            .collect()
    }
}

fn take_hits(scored: Vec<(&Drawer, f64)>, k: usize, show: impl Fn(&Drawer) -> Drawer) -> Vec<DrawerHit> {
    let best = scored.into_iter().take(k);
    best.map(|(drawer, score)| DrawerHit {
        drawer: show(drawer),
        score: score as f32,
    })
    .collect()
}

/// Returns the distance between two vectors, in double precision.
pub(crate) fn exact_distance(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    // In double precision the squares of single-precision values neither overflow nor vanish.
    let pairs = || a.iter().zip(b).map(|(a, b)| (f64::from(*a), f64::from(*b)));
    let dot: f64 = pairs().map(|(a, b)| a * b).sum();
    match metric {
        Metric::Ip => 1.0 - dot,
        Metric::L2 => pairs().map(|(a, b)| (a - b) * (a - b)).sum(),
        Metric::Cosine => {
            let norm = |v: &[f32]| {
                v.iter()
                    .map(|x| f64::from(*x) * f64::from(*x))
                    .sum::<f64>()
                    .sqrt()
            };
            1.0 - dot / norm(a) / norm(b)
        }
    }
}

fn indexed_words(drawer: &Drawer) -> Vec<String> {
    split_words(&DrawerContext::indexed_text(
        drawer.context.as_ref(),
        drawer_text(drawer),
    ))
}

fn split_words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The BM25 statistics of the drawers that are searched.
struct Bm25Statistics {
    drawers: f64,
    average_length: f64,
    held_by: BTreeMap<String, f64>,
}

impl Bm25Statistics {
    fn count_words(indexed: &[(&Drawer, Vec<String>)]) -> Self {
        let drawers = indexed.len() as f64;
        let length: usize = indexed.iter().map(|(_, words)| words.len()).sum();
        let mut held_by = BTreeMap::new();
        for (_, words) in indexed {
            for word in words.iter().collect::<BTreeSet<_>>() {
                *held_by.entry(word.clone()).or_default() += 1.0;
            }
        }
        Self {
            drawers,
            // At least one, so that drawers without any word do not divide by zero.
            average_length: (length as f64 / drawers.max(1.0)).max(1.0),
            held_by,
        }
    }

    fn score(&self, asked: &BTreeSet<String>, held: &[String]) -> f64 {
        const K1: f64 = 1.2;
        const B: f64 = 0.75;
        let length = 1.0 - B + B * held.len() as f64 / self.average_length;
        let one = |word: &String| {
            let often = held.iter().filter(|held| *held == word).count() as f64;
            let with = self.held_by.get(word).copied().unwrap_or_default();
            // One is added inside the logarithm, so that a word held by most drawers never counts against
            // them.
            let rare = (1.0 + (self.drawers - with + 0.5) / (with + 0.5)).ln();
            rare * often * (K1 + 1.0) / (often + K1 * length)
        };
        asked.iter().map(one).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_the_ones_the_contract_names() {
        let (a, b) = ([1.0, 0.0], [0.0, 2.0]);
        assert_eq!(exact_distance(Metric::Cosine, &a, &b), 1.0);
        assert_eq!(exact_distance(Metric::L2, &a, &b), 5.0);
        assert_eq!(exact_distance(Metric::Ip, &a, &b), 1.0);
        assert_eq!(exact_distance(Metric::Cosine, &a, &a), 0.0);
    }
}
