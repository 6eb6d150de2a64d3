//! Searches by reading everything: the nearest vectors exactly, and words by BM25 over what is in scope.

use std::collections::HashMap;

use loci_core::{Hit, Include, Lexical, Query, Result};
use loci_index::bm25::{Statistics, gain};
use loci_index::{distance, tokenise};

use crate::collection::Scope;
use crate::deadline::Deadline;
use crate::view::View;

/// A record and how well it does.
#[derive(Debug, Clone, Copy)]
struct Scored {
    at: usize,
    score: f32,
}

/// The nearest records to each vector, nearest first; equally near ones in order of their ids.
pub(crate) fn nearest(
    view: &View<'_>,
    request: &Query,
    scope: &Scope<'_>,
    deadline: Deadline,
) -> Result<Vec<Vec<Hit>>> {
    let mut lists: Vec<Vec<Scored>> = vec![Vec::new(); request.vectors.len()];
    for at in view.as_they_lie() {
        deadline.check()?;
        let Some(vector) = view.vector(at)? else { continue };
        // A vector without a direction has no distance from anything.
        if loci_core::write::check_vector(&vector).is_err() || !counts(view, at, scope)? {
            continue;
        }
        for (asked, list) in request.vectors.iter().zip(&mut lists) {
            let score = distance(view.metric(), asked, &vector);
            list.push(Scored { at, score });
            if list.len() >= 2 * request.k.max(512) {
                keep(list, request.k, |one, other| one.total_cmp(&other));
            }
        }
    }
    let hits = lists.into_iter().map(|mut list| {
        keep(&mut list, request.k, |one, other| one.total_cmp(&other));
        hydrate(view, list, request.include)
    });
    hits.collect()
}

fn counts(view: &View<'_>, at: usize, scope: &Scope<'_>) -> Result<bool> {
    Ok(scope.is_all() || scope.accepts(&view.drawer(at, scope.needs(Include::NOTHING))?))
}

/// Keeps the best `k`, best first; what came first stays before what does as well.
fn keep(list: &mut Vec<Scored>, k: usize, better: impl Fn(f32, f32) -> std::cmp::Ordering) {
    list.sort_by(|one, other| better(one.score, other.score).then(one.at.cmp(&other.at)));
    list.truncate(k);
}

fn hydrate(view: &View<'_>, list: Vec<Scored>, include: Include) -> Result<Vec<Hit>> {
    let hits = list.into_iter().map(|scored| {
        Ok(Hit {
            drawer: view.drawer(scored.at, include)?,
            score: scored.score,
        })
    });
    hits.collect()
}

/// The words that are asked for.
#[derive(Debug)]
pub(crate) struct Words {
    places: HashMap<String, usize>,
}

impl Words {
    /// Those of a text, each once.
    pub(crate) fn of(text: &str) -> Self {
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

/// A record that holds some of the words.
struct Match {
    at: usize,
    length: u32,
    /// How often it holds each of the words, where it does.
    counts: Vec<(usize, u32)>,
}

/// The records that match the words best, best first; equally good ones in order of their ids.
pub(crate) fn lexical(
    view: &View<'_>,
    request: &Lexical,
    words: &Words,
    scope: &Scope<'_>,
    deadline: Deadline,
) -> Result<Vec<Hit>> {
    let reading = scope.needs(Include {
        document: true,
        ..Include::NOTHING
    });
    let mut statistics = Statistics::default();
    let mut holding = vec![0_u64; words.places.len()];
    let mut matches = Vec::new();
    for at in view.as_they_lie() {
        deadline.check()?;
        let drawer = view.drawer(at, reading)?;
        if !scope.accepts(&drawer) {
            continue;
        }
        let found = matched(at, drawer.document.as_deref().unwrap_or_default(), words);
        statistics.add(found.length);
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
        .map(|holding| statistics.rarity(*holding))
        .collect();
    let mut list: Vec<Scored> = matches
        .iter()
        .map(|found| found.scored(&statistics, &rarity))
        .collect();
    keep(&mut list, request.k, |one, other| other.total_cmp(&one));
    hydrate(view, list, request.include)
}

fn matched(at: usize, document: &str, words: &Words) -> Match {
    let mut length = 0;
    let mut counts = vec![0_u32; words.places.len()];
    tokenise::tokens(document, &mut |token| {
        length += 1;
        if let Some(count) = words.places.get(token).and_then(|place| counts.get_mut(*place)) {
            *count += 1;
        }
    });
    let held = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
    Match {
        at,
        length,
        counts: held.collect(),
    }
}

impl Match {
    fn scored(&self, statistics: &Statistics, rarity: &[f32]) -> Scored {
        let burden = statistics.burden(self.length);
        let each = self.counts.iter().map(|(word, count)| {
            let rarity = rarity.get(*word).copied().unwrap_or_default();
            gain(rarity, *count, burden)
        });
        Scored {
            at: self.at,
            score: each.sum(),
        }
    }
}
