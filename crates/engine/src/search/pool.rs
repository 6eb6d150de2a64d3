//! The pool: reads the best candidates with their texts, ranks them again by their own words, and folds twins.

use std::collections::{HashMap, HashSet};

use loci_core::{CollectionReader, Drawer, DrawerFields, GetRequest, Result};
use loci_index::tokenise::TextIndexer;

use super::fuse::{self, RankedCandidate};
use super::plan::SearchPlan;
use super::text::{ComparedText, hash_bytes};
use super::{NearTwin, SearchHit, weights};
use crate::neighbours::NeighbourDrawers;

/// Reads candidates pool by pool and folds those with the same text, until there are enough hits or no candidates.
pub(super) fn gather_hits(
    collection: &dyn CollectionReader,
    plan: &SearchPlan<'_>,
    ranked: &[RankedCandidate],
) -> Result<GatheredHits> {
    let limit = plan.request.limit;
    let size = limit.saturating_mul(weights::POOL_FOR_EACH).max(weights::POOL);
    let mut hits = FoldedHits::new(limit);
    let mut indexer = TextIndexer::default();
    let mut missing = 0;
    for some in ranked.chunks(size) {
        let (mut pool, unread) = read_candidates(collection, plan, &mut indexer, some)?;
        missing += unread;
        rank_by_own_words(plan, &mut pool);
        demote_crowding_sources(&mut pool);
        // The whole pool, even past the limit: later candidates may be twins of a hit, to be listed with it.
        pool.into_iter()
            .for_each(|candidate| hits.add_candidate(candidate));
        if hits.found.len() >= limit {
            break;
        }
    }
    Ok(GatheredHits {
        hits: hits.found,
        missing,
    })
}

/// The hits of a search.
#[derive(Debug)]
pub(super) struct GatheredHits {
    pub(super) hits: Vec<SearchHit>,
    /// The number of candidates that could not be read by their ids.
    pub(super) missing: usize,
}

/// A candidate with its text.
struct PoolCandidate {
    ranked: RankedCandidate,
    drawer: Drawer,
    text: ComparedText,
}

/// Reads candidates in their order. A drawer removed since its leg ran is dropped; one that was changed is checked
/// against the filter again. Also returns the number of those that were dropped.
fn read_candidates(
    collection: &dyn CollectionReader,
    plan: &SearchPlan<'_>,
    indexer: &mut TextIndexer,
    ranked: &[RankedCandidate],
) -> Result<(Vec<PoolCandidate>, usize)> {
    let request = GetRequest {
        include: DrawerFields::default(),
        ..GetRequest::by_ids(ranked.iter().map(|one| one.id.clone()))
    };
    let drawers = collection.get(&request)?;
    let missing = ranked.len().saturating_sub(drawers.len());
    let mut ranked = ranked.iter();
    let candidates = drawers.into_iter().filter_map(|drawer| {
        // Drawers come in the order requested, some possibly missing, so one pass over `ranked` pairs them.
        let ranked = ranked.by_ref().find(|one| one.id == drawer.id)?.clone();
        plan.scope.accepts(&drawer).then(|| PoolCandidate {
            text: ComparedText::from_text(indexer, drawer.document.as_deref().unwrap_or_default()),
            ranked,
            drawer,
        })
    });
    Ok((candidates.collect(), missing))
}

/// Boosts candidates whose own text contains the query's words over those that only have it in their neighbours.
///
/// The fewer candidates contain a word, the more it counts.
fn rank_by_own_words(plan: &SearchPlan<'_>, pool: &mut [PoolCandidate]) {
    let words: HashSet<u64> = plan
        .words
        .iter()
        .map(|word| hash_bytes(word.as_bytes()))
        .collect();
    let size = pool.len() as f32;
    let weighed: Vec<(u64, f32)> = words
        .into_iter()
        .filter_map(|word| {
            let holding = pool.iter().filter(|one| one.text.holds_word(word)).count();
            // A word that no candidate contains tells none of them apart and would only shrink every share.
            (holding > 0).then(|| (word, (1.0 + size / (holding as f32 + 0.5)).ln()))
        })
        .collect();
    // Floats are summed in one order, so that the same search gives the same score: a hash set has none.
    let mut weighed = weighed;
    weighed.sort_by_key(|(word, _)| *word);
    let all: f32 = weighed.iter().map(|(_, weight)| weight).sum();
    if all <= 0.0 {
        return;
    }
    for candidate in pool.iter_mut() {
        let held = weighed
            .iter()
            .filter(|(word, _)| candidate.text.holds_word(*word));
        let share = held.map(|(_, weight)| weight).sum::<f32>() / all;
        candidate.ranked.why.words = share;
        candidate.ranked.score += weights::OWN_TEXT * share * candidate.ranked.factor;
    }
    pool.sort_by(|a, b| fuse::compare_ranked(&a.ranked, &b.ranked));
}

/// Keeps a source with many good pieces from filling the page: each piece from the fourth on loses a little more.
fn demote_crowding_sources(pool: &mut [PoolCandidate]) {
    // The pool is sorted, so it is the weaker pieces of a source that lose.
    let mut seen: HashMap<String, usize> = HashMap::new();
    for candidate in pool.iter_mut() {
        let Some(source) = &candidate.drawer.place.source else {
            continue;
        };
        let before = seen.entry(source.clone()).or_default();
        let over = (*before + 1).saturating_sub(weights::OF_ONE_SOURCE) as f32;
        candidate.ranked.score -= weights::GIVES_WAY * over;
        *before += 1;
    }
    pool.sort_by(|a, b| fuse::compare_ranked(&a.ranked, &b.ranked));
}

/// The hits so far, with their texts for comparison.
struct FoldedHits {
    limit: usize,
    found: Vec<SearchHit>,
    texts: Vec<ComparedText>,
}

impl FoldedHits {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            found: Vec::new(),
            texts: Vec::new(),
        }
    }

    fn add_candidate(&mut self, candidate: PoolCandidate) {
        let PoolCandidate { ranked, drawer, text } = candidate;
        let twin = self.texts.iter().position(|other| other.says_the_same(&text));
        if let Some(hit) = twin.and_then(|twin| self.found.get_mut(twin)) {
            hit.also_in.push(NearTwin::from_drawer(&drawer));
        } else if self.found.len() < self.limit {
            // Each pool weighs words by itself, so scores of a later one may be larger. They are capped at the score of
            // the last hit, so that scores fall with the rank.
            let last = self.found.last().map_or(f32::INFINITY, |hit| hit.score);
            self.texts.push(text);
            self.found.push(SearchHit {
                drawer,
                score: ranked.score.clamp(0.0, last.max(0.0)),
                why: ranked.why,
                also_in: Vec::new(),
                around: NeighbourDrawers::default(),
            });
        }
    }
}
