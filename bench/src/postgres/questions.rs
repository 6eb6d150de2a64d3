//! Queries by vector, plain and filtered: their time, and the share of the true nearest that they find.

use std::sync::Arc;

use loci_core::{Collection, Filter, FilterComparison, MetadataScalar, QueryRequest, Result};
use serde_json::{Map, Value as Json, json};

use super::MeasuredBackend;
use crate::measure;

/// The number of hits that each query asks for.
const HITS: usize = 10;

/// Two distances that differ by less are a tie: they are of single precision.
const TIE: f32 = 1e-6;

impl MeasuredBackend<'_> {
    /// Asks the same questions under each filter.
    pub(super) fn measure_queries(&self, collection: &Arc<dyn Collection>, exact: bool) -> Result<Json> {
        let mut figures = Map::new();
        for (name, filter) in filters() {
            figures.insert(name.to_owned(), self.measure_filter(collection, &filter, exact)?);
        }
        Ok(Json::Object(figures))
    }

    fn measure_filter(&self, collection: &Arc<dyn Collection>, filter: &Filter, exact: bool) -> Result<Json> {
        let rounds = self.options.rounds;
        let requests: Vec<QueryRequest> = (0..rounds as u64)
            .map(|round| QueryRequest {
                filter: filter.clone(),
                exact,
                ..QueryRequest::nearest_to(self.options.shape.probe(round, self.options.rows), HITS)
            })
            .collect();
        let waits = (self.waits)();
        let mut answers = Vec::with_capacity(rounds);
        let measured = measure::repeat(rounds, |round| {
            if let Some(request) = requests.get(round) {
                answers.push(collection.query(request));
            }
        });
        // The first answer is of the round that warms up.
        let waits = ((self.waits)() - waits) as f64 / (rounds + 1) as f64;
        let time = crate::storage::repeated(&measured);
        if exact {
            return Ok(json!({"time": time, "waits": waits}));
        }
        let (mut found, mut wanted) = (0, 0);
        for (request, answer) in requests.iter().zip(answers.into_iter().skip(1)) {
            let truth = collection.query(&QueryRequest {
                exact: true,
                ..request.clone()
            })?;
            let truth: Vec<f32> = truth.iter().flatten().map(|hit| hit.score).collect();
            let farthest = truth.last().copied().unwrap_or(f32::MIN);
            let near = |hit: &&loci_core::DrawerHit| hit.score <= farthest + TIE;
            found += answer?.iter().flatten().filter(near).count().min(truth.len());
            wanted += truth.len();
        }
        let recall = found as f64 / wanted.max(1) as f64;
        Ok(json!({"time": time, "waits": waits, "recall": recall}))
    }
}

/// No filter, and filters that keep 5 %, 0.5 % and 95 % of the drawers.
fn filters() -> [(&'static str, Filter); 4] {
    let wing = Filter::text_equals("wing", "wing-7");
    let room = wing.clone().and(Filter::text_equals("room", "room-3"));
    let most = FilterComparison::Ne(MetadataScalar::Text("wing-7".into()));
    [
        ("plain", Filter::All),
        ("5_percent", wing),
        ("half_percent", room),
        ("95_percent", Filter::Compare("wing".into(), most)),
    ]
}
