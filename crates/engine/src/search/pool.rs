//! The pool: reads the best candidates with their texts, ranks them again by their own words, and folds twins.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use loci_core::{CollectionReader, Drawer, DrawerFields, DrawerId, GetRequest, Result};
use loci_index::tokenise::TextIndexer;

use super::fuse::{self, RankedCandidate};
use super::legs::LegAnswers;
use super::literals;
use super::plan::SearchPlan;
use super::text::{ComparedText, hash_bytes, score_own_words};
use super::verdict::HitSigns;
use super::{NearTwin, SearchHit, weights};
use crate::neighbours::NeighbourDrawers;
use crate::view::TrustMark;

thread_local! {
    /// The tokeniser of this thread's searches: a server asks for the same words again and again, and their stems are
    /// found once.
    static INDEXER: RefCell<TextIndexer> = RefCell::default();
}

/// Gathers hits from ranked candidates, round by round, and folds those with the same text.
pub(super) struct HitGatherer<'a> {
    collection: &'a dyn CollectionReader,
    plan: &'a SearchPlan<'a>,
    indexer: TextIndexer,
    /// The candidates of the rounds before.
    seen: HashSet<DrawerId>,
    hits: FoldedHits,
    missing: usize,
    /// The words of the query that no candidate of the first pool holds; `None` before it was read.
    unheld: Option<HashSet<u64>>,
}

impl<'a> HitGatherer<'a> {
    pub(super) fn new(collection: &'a dyn CollectionReader, plan: &'a SearchPlan<'a>) -> Self {
        Self {
            collection,
            plan,
            indexer: INDEXER.take(),
            seen: HashSet::new(),
            hits: FoldedHits::new(plan.request.limit),
            missing: 0,
            unheld: None,
        }
    }

    /// Returns whether there are as many hits as wanted.
    pub(super) fn is_full(&self) -> bool {
        self.hits.found.len() >= self.plan.request.limit
    }

    /// Reads the new candidates of a round pool by pool, until there are enough hits or no candidates.
    pub(super) fn gather_round(
        &mut self,
        mut ranked: Vec<RankedCandidate>,
        reached: &LegAnswers,
    ) -> Result<()> {
        ranked.retain(|candidate| self.seen.insert(candidate.id.clone()));
        for some in ranked.chunks(weights::POOL) {
            let (mut pool, unread) = read_candidates(self.collection, self.plan, &mut self.indexer, some)?;
            self.missing += unread;
            boost_own_matches(self.plan, reached, &mut pool);
            let unheld = rank_by_own_words(self.plan, &mut pool);
            self.unheld.get_or_insert(unheld);
            demote_crowding_sources(&mut pool);
            demote_crowding_copies(&mut pool);
            estimate_likelihoods(self.plan, reached, &mut pool);
            // The whole pool, even past the limit: later candidates may be twins of a hit, to be listed with it.
            pool.into_iter()
                .for_each(|candidate| self.hits.add_candidate(candidate));
            if self.is_full() {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> GatheredHits {
        INDEXER.set(self.indexer);
        GatheredHits {
            hits: self.hits.found,
            missing: self.missing,
            unheld: self.unheld.unwrap_or_else(|| hash_words(&self.plan.subject)),
        }
    }
}

/// The hits of a search.
#[derive(Debug)]
pub(super) struct GatheredHits {
    pub(super) hits: Vec<SearchHit>,
    /// The number of candidates that could not be read by their ids.
    pub(super) missing: usize,
    /// The hashes of the query's words that none of the best candidates holds.
    pub(super) unheld: HashSet<u64>,
}

/// A candidate with its text.
struct PoolCandidate {
    ranked: RankedCandidate,
    drawer: Drawer,
    text: ComparedText,
    /// The weighted share of the query's words in its own text, words that no candidate holds included.
    words: f32,
    /// Whether it holds the whole query as a phrase.
    phrase: bool,
    /// The probability that it holds an answer.
    likelihood: f32,
    /// The probability that it or a candidate behind it does.
    score: f32,
}

impl PoolCandidate {
    fn new(
        plan: &SearchPlan<'_>,
        indexer: &mut TextIndexer,
        ranked: RankedCandidate,
        drawer: Drawer,
    ) -> Self {
        let text = drawer.document.as_deref().unwrap_or_default();
        let compared = ComparedText::from_text(indexer, text);
        // A text that lacks a word of the phrase need not be read again.
        let mut words = plan.words.iter().map(|word| hash_bytes(word.as_bytes()));
        let phrase = plan.phrase.as_ref().is_some_and(|phrase| {
            words.all(|word| compared.holds_word(word)) && literals::holds_phrase(phrase, text)
        });
        Self {
            text: compared,
            phrase,
            ranked,
            drawer,
            words: 0.0,
            likelihood: 0.0,
            score: 0.0,
        }
    }
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
        plan.accepts(&drawer)
            .then(|| PoolCandidate::new(plan, indexer, ranked, drawer))
    });
    Ok((candidates.collect(), missing))
}

/// Boosts candidates whose own text contains the query's words over those that only have it in their neighbours.
///
/// The fewer candidates contain a word, the more it counts. Returns the hashes of the words that none contains.
fn rank_by_own_words(plan: &SearchPlan<'_>, pool: &mut [PoolCandidate]) -> HashSet<u64> {
    let words = hash_words(&plan.subject);
    let size = pool.len() as f32;
    // The weight of each word, and whether any candidate holds it.
    let mut weighed: Vec<(u64, f32, bool)> = words
        .into_iter()
        .map(|word| {
            let holding = pool.iter().filter(|one| one.text.holds_word(word)).count();
            (word, (1.0 + size / (holding as f32 + 0.5)).ln(), holding > 0)
        })
        .collect();
    // Floats are summed in one order, so that the same search gives the same score: a hash set has none.
    weighed.sort_by_key(|(word, ..)| *word);
    let asked: f32 = weighed.iter().map(|(_, weight, _)| weight).sum();
    // A word that no candidate contains tells none of them apart and would only shrink every share.
    let unheld = weighed.iter().filter(|(.., held)| !held);
    let unheld = unheld.map(|(word, ..)| *word).collect();
    weighed.retain(|(.., held)| *held);
    let all: f32 = weighed.iter().map(|(_, weight, _)| weight).sum();
    let own_text = if plan.subject.len() <= weights::FEW_WORDS {
        weights::OWN_TEXT_OF_WORDS
    } else {
        weights::OWN_TEXT
    };
    for candidate in pool.iter_mut() {
        let phrase = if candidate.phrase { weights::PHRASE } else { 0.0 };
        candidate.ranked.score += phrase * candidate.ranked.factor;
        if all > 0.0 {
            let held = weighed
                .iter()
                .filter(|(word, ..)| candidate.text.holds_word(*word));
            let held: f32 = held.map(|(_, weight, _)| weight).sum();
            candidate.words = held / asked;
            candidate.ranked.why.words = held / all;
            candidate.ranked.score += own_text * held / all * candidate.ranked.factor;
        }
    }
    pool.sort_by(|a, b| fuse::compare_ranked(&a.ranked, &b.ranked));
    unheld
}

/// Boosts candidates whose own text matches the query's words, as far as the model does not know the query: words then say
/// more than the nearness of vectors, and their number and the length of the text more than their presence.
fn boost_own_matches(plan: &SearchPlan<'_>, reached: &LegAnswers, pool: &mut [PoolCandidate]) {
    let unknown = 1.0 - reached.known_share();
    if unknown <= 0.0 {
        return;
    }
    let words = plan.words.iter().map(|word| hash_bytes(word.as_bytes()));
    let texts: Vec<&ComparedText> = pool.iter().map(|one| &one.text).collect();
    let scores = score_own_words(&words.collect::<Vec<u64>>(), &texts);
    let best = scores.iter().copied().fold(0.0, f32::max);
    let boost = weights::OWN_MATCH * unknown;
    for (candidate, score) in pool.iter_mut().zip(scores).filter(|_| best > 0.0) {
        candidate.ranked.score += boost * (score / best) * candidate.ranked.factor;
    }
}

fn hash_words(words: &[String]) -> HashSet<u64> {
    words.iter().map(|word| hash_bytes(word.as_bytes())).collect()
}

/// Keeps texts that are alike and without a trusted origin from filling the page, however many sources they come from.
fn demote_crowding_copies(pool: &mut [PoolCandidate]) {
    let trusted = |one: &PoolCandidate| {
        matches!(
            TrustMark::from_drawer(&one.drawer),
            TrustMark::User | TrustMark::Agent
        )
    };
    let mut losses = Vec::with_capacity(pool.len());
    for (at, candidate) in pool.iter().enumerate() {
        let before = pool.get(..at).unwrap_or_default();
        let alike = if trusted(candidate) {
            0
        } else {
            let alike = before.iter().filter(|other| other.text.is_like(&candidate.text));
            alike.count()
        };
        losses.push(weights::GIVES_WAY * (alike + 1).saturating_sub(weights::OF_ONE_SOURCE) as f32);
    }
    for (candidate, loss) in pool.iter_mut().zip(losses) {
        candidate.ranked.score -= loss;
    }
    pool.sort_by(|a, b| fuse::compare_ranked(&a.ranked, &b.ranked));
}

/// Estimates the probability of each candidate; none is shown as less likely than one behind it.
fn estimate_likelihoods(plan: &SearchPlan<'_>, reached: &LegAnswers, pool: &mut [PoolCandidate]) {
    let mut best_behind = 0.0_f32;
    for candidate in pool.iter_mut().rev() {
        let why = &candidate.ranked.why;
        let signs = HitSigns {
            words: candidate.words,
            in_scope: plan.in_scope,
            similarity: reached.believed_similarity(why.nearest),
            literal: if candidate.phrase {
                1.0
            } else {
                candidate.ranked.literals
            },
            of_time: plan.asks_for_time,
        };
        candidate.likelihood = signs.estimate_likelihood();
        best_behind = best_behind.max(candidate.likelihood);
        candidate.score = best_behind;
    }
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
        let PoolCandidate {
            ranked,
            drawer,
            text,
            likelihood,
            score,
            ..
        } = candidate;
        let own = drawer.document.as_deref().unwrap_or_default();
        let mut hits = self.texts.iter().zip(&self.found);
        let twin = hits.position(|(other, hit)| {
            let said = hit.drawer.document.as_deref().unwrap_or_default();
            other.says_the_same(said, &text, own)
        });
        if let Some(hit) = twin.and_then(|twin| self.found.get_mut(twin)) {
            hit.also_in.push(NearTwin::from_drawer(&drawer));
        } else if self.found.len() < self.limit {
            // Each pool weighs words by itself, so a later one may look likelier. Scores are capped at that of the last
            // hit, so that they fall with the rank.
            let last = self.found.last().map_or(f32::INFINITY, |hit| hit.score);
            self.texts.push(text);
            self.found.push(SearchHit {
                drawer,
                score: score.min(last),
                likelihood,
                why: ranked.why,
                also_in: Vec::new(),
                around: NeighbourDrawers::default(),
            });
        }
    }
}
