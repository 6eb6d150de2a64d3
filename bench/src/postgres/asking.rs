//! Searches end to end: the engine's `search` with the built-in embedder, on drawers that it has embedded.

use std::sync::Arc;

use loci_core::{Collection, CollectionExt, CollectionName, Embedder, Result, Timestamp, Write};
use loci_embed::builtin::BuiltinEmbedder;
use loci_engine::search::SearchRequest;
use loci_engine::{Palace, PalaceAddress};
use serde_json::{Value as Json, json};

use super::{BATCH, MeasuredBackend};
use crate::measure;
use crate::search::{RecordedEmbedder, SearchQuestion, questions};
use crate::storage;

/// The collection whose vectors are those of the built-in embedder.
const EMBEDDED: &str = "embedded";

impl MeasuredBackend<'_> {
    /// Files embedded drawers, takes statistics, and builds the approximate index if the backend has one.
    fn fill_embedded(&self, collection: &dyn Collection, embedder: &dyn Embedder) -> Result<()> {
        for first in (0..self.options.rows).step_by(BATCH as usize) {
            let last = (first + BATCH).min(self.options.rows);
            let mut samples: Vec<_> = (first..last).map(|n| self.make_sample(n)).collect();
            let texts: Vec<&str> = samples.iter().map(|sample| sample.text.as_str()).collect();
            let vectors = embedder.embed_passages(&texts)?;
            for (sample, vector) in samples.iter_mut().zip(vectors) {
                sample.vector = vector;
            }
            let batch: Vec<Write> = samples
                .iter()
                .map(|sample| Write::Add(storage::drawer(sample)))
                .collect();
            collection.apply_batch(&batch)?;
        }
        let upkeep = collection.require_upkeep()?;
        upkeep.run(&loci_core::MaintenanceKind::ANALYZE)?;
        // A backend without approximate answers refuses this; its answers are exact.
        upkeep
            .choose_precision(loci_core::QueryPrecision::Approximate)
            .ok();
        Ok(())
    }

    /// Fills a collection with embedded drawers and searches it.
    pub(super) fn measure_search(&self) -> Result<Json> {
        let embedder: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::new()?);
        let collection = self.create_collection(EMBEDDED, embedder.identity().clone())?;
        if !self.options.again {
            self.fill_embedded(collection.as_ref(), embedder.as_ref())?;
        }
        let asked = questions(collection.as_ref(), self.options.rounds)?;
        let now: Timestamp = "2026-06-01".parse()?;
        let address = PalaceAddress {
            backend: Arc::clone(&self.backend),
            reference: self.palace.clone(),
        };
        let palace = Palace::new(address, Arc::new(RecordedEmbedder(embedder)), move || now)
            .in_collection(Some(CollectionName::new(EMBEDDED)?));
        let approximate = collection.info()?.approximate;
        let chosen = self.ask_all(&palace, &asked, now, false);
        let exact = approximate.then(|| self.ask_all(&palace, &asked, now, true));
        Ok(json!({
            "time": chosen.time,
            "waits": chosen.waits,
            "approximate": approximate,
            "exact": exact.map(|exact| json!({"time": exact.time, "waits": exact.waits})),
        }))
    }

    /// Searches for every question and notes times and waits.
    fn ask_all(
        &self,
        palace: &Palace,
        asked: &[SearchQuestion],
        now: Timestamp,
        exact: bool,
    ) -> SearchFigures {
        let waits = (self.waits)();
        let measured = measure::repeat(asked.len(), |round| {
            let Some(question) = asked.get(round) else { return };
            let request = SearchRequest {
                exact,
                ..SearchRequest::new(question.words.as_str(), now)
            };
            assert!(
                palace
                    .search(&request)
                    .is_ok_and(|report| !report.hits.is_empty()),
                "nothing was found"
            );
        });
        let waits = ((self.waits)() - waits) as f64 / (asked.len() + 1) as f64;
        SearchFigures {
            time: storage::repeated(&measured),
            waits,
        }
    }
}

/// What the searches of one precision took.
struct SearchFigures {
    time: Json,
    /// Waits on the server for one search.
    waits: f64,
}
