//! What a warm search costs: both legs and their fusion on a palace that is there, asked with words of its own drawers.

use std::path::Path;
use std::sync::Arc;

use loci_core::{
    Backend, Collection, CollectionName, Embedder, EmbedderIdentity, Error, Filter, Get, OpenOptions,
    PalaceRef, Result, Timestamp,
};
use loci_embed::builtin::Builtin;
use loci_engine::filing::Embedders;
use loci_engine::search::{SearchRequest, search};
use loci_store::Embedded;
use serde_json::{Value, json};

use crate::corpus::Random;
use crate::measure::{cost, memory_mb};

/// Searches `rounds` times and says what it cost: everything, one wing, and with a filter that most drawers pass.
pub(crate) fn run(folder: &Path, rounds: usize) -> Result<Value> {
    let backend = Embedded::new();
    let name = CollectionName::new(CollectionName::DEFAULT)?;
    let collection = backend.open(&PalaceRef::local(folder), &name, &OpenOptions::default())?;
    let only = Only(Arc::new(Builtin::new()?));
    let questions = questions(collection.as_ref(), rounds)?;
    let wing = questions.first().and_then(|(_, wing)| wing.clone());
    let mut figures = serde_json::Map::new();
    for (what, filter) in [
        ("everything", Filter::All),
        (
            "one wing",
            wing.map_or(Filter::All, |wing| Filter::text("wing", wing)),
        ),
    ] {
        figures.insert(
            what.into(),
            measure(collection.as_ref(), &only, &questions, &filter)?,
        );
    }
    let (now, peak) = memory_mb();
    Ok(json!({
        "drawers": collection.info()?.drawers,
        "questions": questions.len(),
        "search": figures,
        "resident_mb": now,
        "peak_mb": peak,
    }))
}

/// The embedder of the binary and no other.
#[derive(Debug)]
struct Only(Arc<dyn Embedder>);

impl Embedders for Only {
    fn usual(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(Some(Arc::clone(&self.0)))
    }

    fn find(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        match self.0.identity() == identity {
            true => Ok(Arc::clone(&self.0)),
            false => Err(Error::invalid(format!("the palace's vectors are of {identity}"))),
        }
    }
}

/// Runs of four to twelve words out of drawers from all over the palace, with the wing each was taken from.
fn questions(collection: &dyn Collection, count: usize) -> Result<Vec<(String, Option<String>)>> {
    let mut random = Random::new(7);
    let mut questions = Vec::with_capacity(count);
    while questions.len() < count {
        // Ids are spread evenly, or at least listed in order: a random place in them is a random drawer.
        let at = format!("{:08x}", random.next_bits() as u32);
        let page = collection.get(&Get {
            after: Some(loci_core::DrawerId::new(at)?),
            limit: Some(1),
            ..Get::default()
        })?;
        let Some(drawer) = page.into_iter().next() else {
            continue;
        };
        let words: Vec<&str> = drawer
            .document
            .as_deref()
            .unwrap_or_default()
            .split_whitespace()
            .collect();
        let length = 4 + random.below(9) as usize;
        let from = random.below(words.len().saturating_sub(length).max(1) as u64) as usize;
        let some: Vec<&str> = words.into_iter().skip(from).take(length).collect();
        if !some.is_empty() {
            questions.push((some.join(" "), drawer.place.wing));
        }
    }
    Ok(questions)
}

fn measure(
    collection: &dyn Collection,
    embedders: &dyn Embedders,
    questions: &[(String, Option<String>)],
    filter: &Filter,
) -> Result<Value> {
    let now: Timestamp = "2026-06-01".parse()?;
    let mut spent = Vec::with_capacity(questions.len());
    let mut found = 0;
    for (question, _) in questions {
        let mut request = SearchRequest::new(question.as_str(), now);
        request.filter = filter.clone();
        let (answer, cost) = cost(|| search(collection, embedders, &request));
        found += usize::from(!answer?.hits.is_empty());
        spent.push(cost.cpu * 1e3);
    }
    spent.sort_by(f64::total_cmp);
    let at = |share: f64| {
        spent
            .get((spent.len() as f64 * share) as usize)
            .copied()
            .unwrap_or(0.0)
    };
    Ok(json!({ "p50_cpu_ms": at(0.5), "p95_cpu_ms": at(0.95), "max_cpu_ms": at(0.999), "found": found }))
}
