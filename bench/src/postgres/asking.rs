//! Searches end to end: the engine's `search` with the built-in embedder, on drawers that it has embedded.

use std::sync::Arc;

use loci_core::{CollectionExt, CollectionName, Embedder, Result, Timestamp, Write};
use loci_embed::builtin::BuiltinEmbedder;
use loci_engine::search::SearchRequest;
use loci_engine::{Palace, PalaceAddress};
use serde_json::{Value as Json, json};

use super::{BATCH, MeasuredBackend};
use crate::measure;
use crate::search::{RecordedEmbedder, questions};
use crate::storage;

/// The collection whose vectors are those of the built-in embedder.
const EMBEDDED: &str = "embedded";

impl MeasuredBackend<'_> {
    /// Fills a collection with embedded drawers and searches it.
    pub(super) fn measure_search(&self) -> Result<Json> {
        let embedder: Arc<dyn Embedder> = Arc::new(BuiltinEmbedder::new()?);
        let collection = self.create_collection(EMBEDDED, embedder.identity().clone())?;
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
        // Gives the new collection its statistics, and an index if the palace wants one.
        let upkeep = collection.require_upkeep()?;
        upkeep.run(&loci_core::MaintenanceKind::ANALYZE)?;
        if !upkeep.state()?.due.is_empty() {
            upkeep
                .choose_precision(loci_core::QueryPrecision::Approximate)
                .ok();
        }
        let asked = questions(collection.as_ref(), self.options.rounds)?;
        let now: Timestamp = "2026-06-01".parse()?;
        let address = PalaceAddress {
            backend: Arc::clone(&self.backend),
            reference: self.palace.clone(),
        };
        let palace = Palace::new(address, Arc::new(RecordedEmbedder(embedder)), move || now)
            .in_collection(Some(CollectionName::new(EMBEDDED)?));
        let waits = (self.waits)();
        let measured = measure::repeat(asked.len(), |round| {
            let Some(question) = asked.get(round) else { return };
            let report = palace.search(&SearchRequest::new(question.words.as_str(), now));
            assert!(
                report.is_ok_and(|report| !report.hits.is_empty()),
                "nothing was found"
            );
        });
        let waits = ((self.waits)() - waits) as f64 / (asked.len() + 1) as f64;
        let approximate = collection.info()?.approximate;
        Ok(json!({"time": storage::repeated(&measured), "waits": waits, "approximate": approximate}))
    }
}
