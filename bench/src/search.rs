//! What a warm search costs: both legs and their fusion on a palace that is there, asked with words of its own drawers.

use std::path::Path;
use std::sync::Arc;

use loci_core::{
    Backend, Collection, CollectionName, Drawer, DrawerFields, DrawerId, DrawerPosition, Embedder,
    EmbedderIdentity, Error, Filter, FilterComparison, GetRequest, MetadataScalar, OpenOptions, PalaceRef,
    Result, Timestamp,
};
use loci_embed::builtin::BuiltinEmbedder;
use loci_engine::EmbedderCatalog;
use loci_engine::search::{SearchRequest, search_collection};
use loci_store::EmbeddedBackend;
use serde_json::{Value, json};

use crate::corpus::BenchRandom;
use crate::measure::{cost, memory_mb, quantile};

/// How many drawers are listed at once.
const PAGE: usize = 1000;

/// Asks `rounds` questions and says what they cost: in everything, in one wing, and in everything but that wing.
pub(crate) fn run(folder: &Path, rounds: usize) -> Result<Value> {
    let backend = EmbeddedBackend::new();
    let name = CollectionName::new(CollectionName::DEFAULT)?;
    let collection = backend.open(&PalaceRef::local(folder), &name, &OpenOptions::default())?;
    let only = RecordedEmbedder(Arc::new(BuiltinEmbedder::new()?));
    let questions = questions(collection.as_ref(), rounds)?;
    let mut figures = serde_json::Map::new();
    for (what, filter) in filters(&questions) {
        let figure = measure(collection.as_ref(), &only, &questions, &filter)?;
        figures.insert(what.into(), figure);
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

/// Everything, and where a question comes from a wing, that wing and what is not in it.
fn filters(questions: &[SearchQuestion]) -> Vec<(&'static str, Filter)> {
    let mut filters = vec![("everything", Filter::All)];
    if let Some(wing) = questions.iter().find_map(|question| question.wing.as_deref()) {
        let not = FilterComparison::Ne(MetadataScalar::Text(wing.to_owned()));
        filters.push(("one wing", Filter::text_equals("wing", wing)));
        filters.push(("all but one wing", Filter::Compare("wing".into(), not)));
    }
    filters
}

/// The embedder of the binary and no other.
#[derive(Debug)]
pub(crate) struct RecordedEmbedder(pub(crate) Arc<dyn Embedder>);

impl EmbedderCatalog for RecordedEmbedder {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(Some(Arc::clone(&self.0)))
    }

    fn find_embedder(&self, identity: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        if self.0.identity() == identity {
            Ok(Arc::clone(&self.0))
        } else {
            Err(Error::invalid(format!("the palace's vectors are of {identity}")))
        }
    }
}

/// What is asked, and the wing it was taken from.
#[derive(Debug)]
pub(crate) struct SearchQuestion {
    pub(crate) words: String,
    wing: Option<String>,
}

/// Runs of four to twelve words out of drawers from all over the palace; none out of those that hold no words.
pub(crate) fn questions(collection: &dyn Collection, count: usize) -> Result<Vec<SearchQuestion>> {
    let mut random = BenchRandom::new(7);
    let mut questions = Vec::with_capacity(count);
    for id in drawn(collection, count, &mut random)? {
        let drawers = collection.get(&GetRequest::by_ids([id]))?;
        questions.extend(drawers.iter().filter_map(|drawer| cut(drawer, &mut random)));
    }
    if questions.is_empty() {
        Err(Error::invalid("the palace holds no words to ask with"))
    } else {
        Ok(questions)
    }
}

/// So many ids, drawn by chance from the list of all; an id may be drawn twice.
fn drawn(collection: &dyn Collection, count: usize, random: &mut BenchRandom) -> Result<Vec<DrawerId>> {
    let drawers = collection.info()?.drawers;
    let mut places: Vec<u64> = (0..count).map(|_| random.below(drawers)).collect();
    places.sort_unstable();
    let mut places = places.into_iter().peekable();
    let (mut drawn, mut at, mut after) = (Vec::with_capacity(count), 0, None);
    loop {
        let page = collection.get(&GetRequest {
            after,
            limit: Some(PAGE),
            include: DrawerFields::NOTHING,
            ..GetRequest::default()
        })?;
        let Some(last) = page.last() else {
            return Ok(drawn);
        };
        after = Some(DrawerPosition::Id(last.id.clone()));
        for drawer in page {
            while places.next_if_eq(&at).is_some() {
                drawn.push(drawer.id.clone());
            }
            at += 1;
        }
    }
}

fn cut(drawer: &Drawer, random: &mut BenchRandom) -> Option<SearchQuestion> {
    let text = drawer.document.as_deref().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    let length = 4 + random.below(9) as usize;
    let from = random.below(words.len().saturating_sub(length).max(1) as u64) as usize;
    let some: Vec<&str> = words.into_iter().skip(from).take(length).collect();
    (!some.is_empty()).then(|| SearchQuestion {
        words: some.join(" "),
        wing: drawer.place.wing.clone(),
    })
}

fn measure(
    collection: &dyn Collection,
    embedders: &dyn EmbedderCatalog,
    questions: &[SearchQuestion],
    filter: &Filter,
) -> Result<Value> {
    let now: Timestamp = "2026-06-01".parse()?;
    let mut spent = Vec::with_capacity(questions.len());
    let mut found = 0;
    for question in questions {
        let mut request = SearchRequest::new(question.words.as_str(), now);
        request.scope.filter = filter.clone();
        let (answer, cost) = cost(|| search_collection(collection, embedders, &request));
        found += usize::from(!answer?.hits.is_empty());
        spent.push(cost.cpu * 1e3);
    }
    spent.sort_by(f64::total_cmp);
    let at = |share| quantile(&spent, share);
    Ok(json!({ "p50_cpu_ms": at(0.5), "p95_cpu_ms": at(0.95), "max_cpu_ms": at(0.999), "found": found }))
}
