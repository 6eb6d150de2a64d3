//! Searches by a full scan: the exact nearest vectors, and words by BM25 over the drawers in scope.

use std::collections::HashMap;

use loci_core::{DrawerFields, DrawerHit, LexicalRequest, QueryRequest, Result};
use loci_index::bm25::{LexicalStatistics, term_gain};
use loci_index::{measure_distance, tokenise};

use super::{ReadScope, ScanDeadline, ScannedRecords};

/// A record with its score.
#[derive(Debug, Clone, Copy)]
struct ScoredRecord {
    at: usize,
    score: f32,
}

/// Returns the nearest records to each vector, nearest first; ties are ordered by id.
pub(crate) fn find_nearest(
    view: &dyn ScannedRecords,
    request: &QueryRequest,
    scope: &ReadScope<'_>,
    deadline: ScanDeadline,
) -> Result<Vec<Vec<DrawerHit>>> {
    // Every vector is compared and no link is followed, so a broken graph cannot hide a record.
    let mut lists: Vec<Vec<ScoredRecord>> = vec![Vec::new(); request.vectors.len()];
    for at in view.in_row_order() {
        deadline.check()?;
        let Some(vector) = view.read_vector(at)? else {
            continue;
        };
        // A vector without a direction has no cosine distance from anything.
        if loci_core::write::check_vector(&vector).is_err() || !is_in_scope(view, at, scope)? {
            continue;
        }
        for (asked, list) in request.vectors.iter().zip(&mut lists) {
            let score = measure_distance(view.metric(), asked, &vector);
            list.push(ScoredRecord { at, score });
            // Trimmed now and then, so that memory stays bounded and sorting stays rare.
            if list.len() >= 2 * request.k.max(512) {
                keep_best(list, request.k, |one, other| one.total_cmp(&other));
            }
        }
    }
    let hits = lists.into_iter().map(|mut list| {
        keep_best(&mut list, request.k, |one, other| one.total_cmp(&other));
        hydrate_hits(view, list, request.include)
    });
    hits.collect()
}

fn is_in_scope(view: &dyn ScannedRecords, at: usize, scope: &ReadScope<'_>) -> Result<bool> {
    Ok(scope.is_all() || scope.accepts(&view.read_drawer(at, scope.required_fields(DrawerFields::NOTHING))?))
}

/// Keeps the best `k`, best first; ties keep the order of ids.
fn keep_best(list: &mut Vec<ScoredRecord>, k: usize, better: impl Fn(f32, f32) -> std::cmp::Ordering) {
    list.sort_by(|one, other| better(one.score, other.score).then(one.at.cmp(&other.at)));
    list.truncate(k);
}

fn hydrate_hits(
    view: &dyn ScannedRecords,
    list: Vec<ScoredRecord>,
    include: DrawerFields,
) -> Result<Vec<DrawerHit>> {
    let hits = list.into_iter().map(|scored| {
        Ok(DrawerHit {
            drawer: view.read_drawer(scored.at, include)?,
            score: scored.score,
        })
    });
    hits.collect()
}

/// The words of a query.
#[derive(Debug)]
pub(crate) struct QueryWords {
    places: HashMap<String, usize>,
}

impl QueryWords {
    /// Returns the words of a text, each once.
    pub(crate) fn parse(text: &str) -> Self {
        let words = tokenise::query_tokens(text);
        Self {
            places: words
                .into_iter()
                .enumerate()
                .map(|(at, word)| (word, at))
                .collect(),
        }
    }
}

/// A record that contains some of the words.
struct WordMatch {
    at: usize,
    length: u32,
    /// The words it contains, with the number of occurrences.
    counts: Vec<(usize, u32)>,
}

/// Returns the records that match the words best, best first; ties are ordered by id.
pub(crate) fn find_lexical(
    view: &dyn ScannedRecords,
    request: &LexicalRequest,
    words: &QueryWords,
    scope: &ReadScope<'_>,
    deadline: ScanDeadline,
) -> Result<Vec<DrawerHit>> {
    // The full text of the other program is not used: it may be damaged or incomplete, and ranks in its own way.
    let reading = scope.required_fields(DrawerFields {
        document: true,
        ..DrawerFields::NOTHING
    });
    let mut statistics = LexicalStatistics::default();
    let mut holding = vec![0_u64; words.places.len()];
    let mut matches = Vec::new();
    for at in view.in_row_order() {
        deadline.check()?;
        let drawer = view.read_drawer(at, reading)?;
        if !scope.accepts(&drawer) {
            continue;
        }
        let found = count_words(at, drawer.document.as_deref().unwrap_or_default(), words);
        // Every drawer in scope counts, also those without a match: rarity is relative to the scope.
        statistics.add_drawer(found.length);
        for (word, _) in &found.counts {
            if let Some(holding) = holding.get_mut(*word) {
                *holding += 1;
            }
        }
        if !found.counts.is_empty() {
            matches.push(found);
        }
    }
    let rarity: Vec<f32> = holding
        .iter()
        .map(|holding| statistics.term_rarity(*holding))
        .collect();
    let mut list: Vec<ScoredRecord> = matches
        .iter()
        .map(|found| found.score_match(&statistics, &rarity))
        .collect();
    keep_best(&mut list, request.k, |one, other| other.total_cmp(&one));
    hydrate_hits(view, list, request.include)
}

fn count_words(at: usize, document: &str, words: &QueryWords) -> WordMatch {
    let mut length = 0;
    let mut counts = vec![0_u32; words.places.len()];
    tokenise::for_each_token(document, &mut |token| {
        length += 1;
        if let Some(count) = words.places.get(token).and_then(|place| counts.get_mut(*place)) {
            *count += 1;
        }
    });
    let held = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
    WordMatch {
        at,
        length,
        counts: held.collect(),
    }
}

impl WordMatch {
    fn score_match(&self, statistics: &LexicalStatistics, rarity: &[f32]) -> ScoredRecord {
        let burden = statistics.length_burden(self.length);
        let each = self.counts.iter().map(|(word, count)| {
            let rarity = rarity.get(*word).copied().unwrap_or_default();
            term_gain(rarity, *count, burden)
        });
        ScoredRecord {
            at: self.at,
            score: each.sum(),
        }
    }
}
