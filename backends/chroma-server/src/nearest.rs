//! Search by vector: small collections are compared whole, large ones are asked for candidates.

use loci_core::{Drawer, DrawerFields, DrawerHit, DrawerId, QueryRequest, Result, Visibility};
use loci_index::measure_distance;
use serde_json::Value as Json;

use crate::deadline::ChromaDeadline;
use crate::load::{RecordScope, RecordedDrawers, strip_drawer};
use crate::shelf::ChromaShelf;
use crate::side::ShelfFacts;
use crate::wire::{ExactVector, NearestAnswer, NearestQuestion};

/// The number of candidates that are asked for at least.
const FEWEST: usize = 64;

/// A search by vector in one state of a collection.
#[derive(Debug)]
pub(crate) struct CandidateSearch<'a> {
    pub(crate) shelf: &'a ChromaShelf,
    pub(crate) visible: &'a Visibility,
    pub(crate) request: &'a QueryRequest,
    pub(crate) deadline: ChromaDeadline,
    /// The most vectors that are compared one by one.
    pub(crate) scan_limit: u64,
}

impl CandidateSearch<'_> {
    /// Returns the nearest drawers to each vector, nearest first; ties are ordered by id.
    pub(crate) fn run(&self, facts: &ShelfFacts) -> Result<Vec<Vec<DrawerHit>>> {
        let scope = RecordScope::narrow(self.visible, &self.request.filter, &self.request.document);
        if facts.vectors <= self.scan_limit {
            return self.scan(&scope, facts);
        }
        let condition = scope.condition();
        let mut lists = Vec::new();
        for vector in &self.request.vectors {
            match self.ask_server(vector, &scope, condition.as_ref(), facts)? {
                Some(hits) => lists.push(hits),
                // Too few of the candidates are in scope, so all drawers are compared.
                None => return self.scan(&scope, facts),
            }
        }
        Ok(lists)
    }

    fn required_fields(&self) -> DrawerFields {
        DrawerFields {
            embedding: true,
            ..self.request.include
        }
    }

    /// Compares every drawer in scope.
    fn scan(&self, scope: &RecordScope<'_>, facts: &ShelfFacts) -> Result<Vec<Vec<DrawerHit>>> {
        let drawers = self
            .shelf
            .load_scope(scope, self.required_fields(), self.deadline)?;
        let lists = self.request.vectors.iter().map(|vector| {
            let scored = self.measure(drawers.values().map(|stored| &stored.drawer), vector, facts);
            scored
                .into_iter()
                .map(|(drawer, score)| DrawerHit {
                    drawer: strip_drawer(drawer.clone(), self.request.include),
                    score,
                })
                .collect()
        });
        let lists = lists.collect();
        self.deadline.check()?;
        Ok(lists)
    }

    /// Returns the `k` nearest of `drawers` with their exact distances.
    fn measure<'d>(
        &self,
        drawers: impl Iterator<Item = &'d Drawer>,
        vector: &[f32],
        facts: &ShelfFacts,
    ) -> Vec<(&'d Drawer, f32)> {
        let measured = drawers.filter_map(|drawer| {
            let stored = drawer.embedding.as_deref()?;
            // Other programs may have stored vectors without a direction, which are at no distance from anything.
            loci_core::vector::check_vector(stored, facts.metric).ok()?;
            Some((drawer, measure_distance(facts.metric, vector, stored)))
        });
        let mut scored: Vec<_> = measured.collect();
        scored.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.id.cmp(&b.0.id)));
        scored.truncate(self.request.k);
        scored
    }

    /// Asks the server's index for candidates, measures them exactly, and asks for more until there are `k` in scope
    /// with one behind them. `None` if the index does not return that many.
    fn ask_server(
        &self,
        vector: &[f32],
        scope: &RecordScope<'_>,
        condition: Option<&Json>,
        facts: &ShelfFacts,
    ) -> Result<Option<Vec<DrawerHit>>> {
        let mut wanted = self.request.k.saturating_mul(2).max(FEWEST);
        // A candidate costs more than a drawer of a scan.
        while (wanted as u64) < facts.vectors / 4 {
            let question = NearestQuestion {
                query_embeddings: [ExactVector {
                    values: vector,
                    // Servers read Base64 only in writes.
                    as_base64: false,
                }],
                n_results: wanted,
                condition,
                include: Vec::new(),
            };
            let answer: NearestAnswer = self.shelf.ask_nearest(&question, self.deadline)?;
            let ids = answer.ids.into_iter().next().unwrap_or_default();
            if ids.len() < wanted {
                return Ok(None);
            }
            let ids: Vec<DrawerId> = ids.into_iter().filter_map(|id| DrawerId::new(id).ok()).collect();
            let ids: Vec<&DrawerId> = ids.iter().collect();
            let fields = scope.required_fields(self.required_fields());
            let mut found = self.shelf.load_by_ids(&ids, fields, self.deadline)?;
            if let Some(hits) = self.rank(&mut found, vector, scope, facts) {
                return Ok(Some(hits));
            }
            wanted = wanted.saturating_mul(4);
        }
        Ok(None)
    }

    /// Returns the hits among the candidates, unless more of them could be nearer or as near.
    fn rank(
        &self,
        found: &mut RecordedDrawers,
        vector: &[f32],
        scope: &RecordScope<'_>,
        facts: &ShelfFacts,
    ) -> Option<Vec<DrawerHit>> {
        let distance = |drawer: &Drawer| {
            let stored = drawer.embedding.as_deref();
            stored.map_or(f32::NEG_INFINITY, |stored| {
                measure_distance(facts.metric, vector, stored)
            })
        };
        let farthest = found.values().map(|stored| distance(&stored.drawer));
        let farthest = farthest.fold(f32::NEG_INFINITY, f32::max);
        found.retain(|_, stored| scope.accepts(&stored.drawer));
        let scored = self.measure(found.values().map(|stored| &stored.drawer), vector, facts);
        // As far as the farthest candidate there may be others with the same distance and a smaller id.
        let last = scored.last().map(|(_, score)| *score);
        if scored.len() < self.request.k || last.is_none_or(|last| last >= farthest) {
            return None;
        }
        let hits = scored.into_iter().map(|(drawer, score)| DrawerHit {
            drawer: strip_drawer(drawer.clone(), self.request.include),
            score,
        });
        Some(hits.collect())
    }
}
