//! Searches by a full scan: the exact nearest vectors, and words by BM25 over the drawers in scope.

use std::collections::BTreeMap;

use loci_core::vector::check_vector;
use loci_core::{DrawerFields, DrawerHit, LexicalRequest, QueryRequest, Result};
use loci_index::bm25::{LexicalStatistics, term_gain};
use loci_index::measure_distance;

use super::memory::ScanMemory;
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
    let members = with_memory(view, |memory| memory.find_members(view, scope, deadline))?;
    for at in view.in_row_order().filter(|at| members.get(*at) == Some(&true)) {
        deadline.check()?;
        let Some(vector) = view.read_vector(at)? else {
            continue;
        };
        // A vector without a direction has no cosine distance from anything.
        if check_vector(&vector, view.metric()).is_err() {
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

/// Runs `act` on what scans of the records found so far.
pub(super) fn with_memory<T>(
    records: &dyn ScannedRecords,
    act: impl FnOnce(&mut ScanMemory) -> Result<T>,
) -> Result<T> {
    match records.memory() {
        Some(memory) => act(&mut memory.borrow_mut()),
        None => act(&mut ScanMemory::default()),
    }
}

/// Returns the records that match the words best, best first; ties are ordered by id.
pub(crate) fn find_lexical(
    view: &dyn ScannedRecords,
    request: &LexicalRequest,
    words: &[String],
    scope: &ReadScope<'_>,
    deadline: ScanDeadline,
) -> Result<Vec<DrawerHit>> {
    // Chroma's own full text is not used: it may be damaged or incomplete, and it ranks nothing.
    let (members, scanned) = with_memory(view, |memory| {
        let members = memory.find_members(view, scope, deadline)?;
        Ok((members, memory.find_words(view, words, deadline)?))
    })?;
    let is_member = |at: u32| members.get(at as usize).copied().unwrap_or_default();
    // Every drawer in scope counts, also those without a match: rarity is relative to the scope.
    let mut statistics = LexicalStatistics::default();
    for (length, _) in scanned
        .lengths
        .iter()
        .zip(&*members)
        .filter(|(_, member)| **member)
    {
        statistics.add_drawer(*length);
    }
    let mut scores: BTreeMap<u32, f32> = BTreeMap::new();
    for occurrences in &scanned.occurrences {
        let holding = || occurrences.iter().filter(|occurrence| is_member(occurrence.at));
        let rarity = statistics.term_rarity(holding().count() as u64);
        for occurrence in holding() {
            let length = scanned
                .lengths
                .get(occurrence.at as usize)
                .copied()
                .unwrap_or_default();
            let gain = term_gain(rarity, occurrence.count, statistics.length_burden(length));
            *scores.entry(occurrence.at).or_default() += gain;
        }
    }
    let scored = scores.into_iter().map(|(at, score)| ScoredRecord {
        at: at as usize,
        score,
    });
    let mut list: Vec<ScoredRecord> = scored.collect();
    keep_best(&mut list, request.k, |one, other| other.total_cmp(&one));
    hydrate_hits(view, list, request.include)
}
