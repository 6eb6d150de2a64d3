//! The pool: the best candidates read with their texts, ranked once more by their own words, and folded.

use std::collections::{HashMap, HashSet};

use loci_core::{CollectionReader, Drawer, Get, Include, Result};
use loci_index::tokenise::Indexer;

use super::fuse::{self, Ranked};
use super::plan::Plan;
use super::text::{Text, hash};
use super::{AlsoIn, Found, weights};
use crate::neighbours::Around;

/// Reads candidates, pool by pool, and folds those that say the same, until there are enough hits or no more.
pub(super) fn gather(
    collection: &dyn CollectionReader,
    plan: &Plan<'_>,
    ranked: &[Ranked],
) -> Result<Vec<Found>> {
    let limit = plan.request.limit;
    let size = limit.saturating_mul(weights::POOL_FOR_EACH).max(weights::POOL);
    let mut hits = Hits::new(limit);
    let mut indexer = Indexer::default();
    for some in ranked.chunks(size) {
        let mut pool = read(collection, plan, &mut indexer, some)?;
        by_own_words(plan, &mut pool);
        spread(&mut pool);
        pool.into_iter().for_each(|candidate| hits.take(candidate));
        if hits.found.len() >= limit {
            break;
        }
    }
    Ok(hits.found)
}

/// A candidate with its text.
struct Candidate {
    ranked: Ranked,
    drawer: Drawer,
    text: Text,
}

/// Reads candidates in their order. One that was removed since its leg ran is not there any more; one that was changed
/// is asked by the filter again.
fn read(
    collection: &dyn CollectionReader,
    plan: &Plan<'_>,
    indexer: &mut Indexer,
    ranked: &[Ranked],
) -> Result<Vec<Candidate>> {
    let request = Get {
        include: Include::default(),
        ..Get::ids(ranked.iter().map(|one| one.id.clone()))
    };
    let drawers = collection.get(&request)?;
    let mut ranked = ranked.iter();
    let candidates = drawers.into_iter().filter_map(|drawer| {
        // Drawers come in the order asked.
        let ranked = ranked.by_ref().find(|one| one.id == drawer.id)?.clone();
        plan.scope.accepts(&drawer).then(|| Candidate {
            text: Text::of(indexer, drawer.document.as_deref().unwrap_or_default()),
            ranked,
            drawer,
        })
    });
    Ok(candidates.collect())
}

/// Lifts what holds the query's words itself over what only stands beside it.
///
/// A word counts the more, the fewer of the pool hold it.
fn by_own_words(plan: &Plan<'_>, pool: &mut [Candidate]) {
    let words: HashSet<u64> = plan.words.iter().map(|word| hash(word.as_bytes())).collect();
    let size = pool.len() as f32;
    let weighed: Vec<(u64, f32)> = words
        .into_iter()
        .filter_map(|word| {
            let holding = pool.iter().filter(|one| one.text.holds(word)).count();
            (holding > 0).then(|| (word, (1.0 + size / (holding as f32 + 0.5)).ln()))
        })
        .collect();
    // Added up in one order, so that the same search gives the same score.
    let mut weighed = weighed;
    weighed.sort_by_key(|(word, _)| *word);
    let all: f32 = weighed.iter().map(|(_, weight)| weight).sum();
    if all <= 0.0 {
        return;
    }
    for candidate in pool.iter_mut() {
        let held = weighed.iter().filter(|(word, _)| candidate.text.holds(*word));
        let share = held.map(|(_, weight)| weight).sum::<f32>() / all;
        candidate.ranked.why.words = share;
        candidate.ranked.score += weights::OWN_TEXT * share * candidate.ranked.factor;
    }
    pool.sort_by(|a, b| fuse::order(&a.ranked, &b.ranked));
}

/// Lets a source with many good pieces not fill the page: from its fourth on, each gives way a little more.
fn spread(pool: &mut [Candidate]) {
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
    pool.sort_by(|a, b| fuse::order(&a.ranked, &b.ranked));
}

/// The hits so far, and what they say.
struct Hits {
    limit: usize,
    found: Vec<Found>,
    texts: Vec<Text>,
}

impl Hits {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            found: Vec::new(),
            texts: Vec::new(),
        }
    }

    fn take(&mut self, candidate: Candidate) {
        let Candidate { ranked, drawer, text } = candidate;
        let twin = self.texts.iter().position(|other| other.says_the_same(&text));
        if let Some(hit) = twin.and_then(|twin| self.found.get_mut(twin)) {
            hit.also_in.push(AlsoIn::of(&drawer));
        } else if self.found.len() < self.limit {
            // The next pool is weighed by itself, and stands behind this one all the same.
            let last = self.found.last().map_or(f32::INFINITY, |hit| hit.score);
            self.texts.push(text);
            self.found.push(Found {
                drawer,
                score: ranked.score.clamp(0.0, last.max(0.0)),
                why: ranked.why,
                also_in: Vec::new(),
                around: Around::default(),
            });
        }
    }
}
