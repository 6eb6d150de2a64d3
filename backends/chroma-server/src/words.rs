//! Keyword search: Chroma has no BM25, so the texts in scope are read and scored here.

use std::collections::HashMap;

use loci_core::{DrawerContext, DrawerFields, DrawerHit, DrawerId, LexicalRequest, Result, Visibility};
use loci_index::bm25::{LexicalStatistics, term_gain};
use loci_index::tokenise::{self, TextIndexer};

use crate::deadline::ChromaDeadline;
use crate::load::{RecordScope, strip_drawer};
use crate::shelf::ChromaShelf;

/// A drawer that holds some of the words.
#[derive(Debug)]
struct WordHolder {
    id: DrawerId,
    length: u32,
    /// How often it holds each term.
    counts: Vec<u32>,
}

/// Returns the drawers that match the words best, best first; ties are ordered by id.
pub(crate) fn find_words(
    shelf: &ChromaShelf,
    visible: &Visibility,
    request: &LexicalRequest,
    deadline: ChromaDeadline,
) -> Result<Vec<DrawerHit>> {
    let mut terms = tokenise::query_tokens(&request.words);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    // Scores are sums of floats: every backend adds in the byte order of the terms.
    terms.sort_unstable();
    let scope = RecordScope::narrow(visible, &request.filter, &request.document);
    let fields = DrawerFields {
        document: true,
        embedding: request.include.embedding,
        ..DrawerFields::NOTHING
    };
    let mut drawers = shelf.load_scope(&scope, fields, deadline)?;
    let places: HashMap<&str, usize> = terms
        .iter()
        .enumerate()
        .map(|(at, term)| (term.as_str(), at))
        .collect();
    let mut indexer = TextIndexer::default();
    let mut statistics = LexicalStatistics::default();
    let mut holders = Vec::new();
    for (id, stored) in &drawers {
        deadline.check()?;
        let text = stored.drawer.document.as_deref().unwrap_or_default();
        let text = DrawerContext::indexed_text(stored.drawer.context.as_ref(), text);
        let mut holder = WordHolder {
            id: id.clone(),
            length: 0,
            counts: vec![0; terms.len()],
        };
        indexer.for_each_index_token(&text, &mut |token| {
            holder.length += 1;
            if let Some(count) = places.get(token).and_then(|at| holder.counts.get_mut(*at)) {
                *count += 1;
            }
        });
        // Every drawer in scope counts, also those without a match: rarity is relative to the scope.
        statistics.add_drawer(holder.length);
        if holder.counts.iter().any(|count| *count > 0) {
            holders.push(holder);
        }
    }
    let best = score_holders(&statistics, holders, terms.len(), request.k);
    let hit = |(id, score): (DrawerId, f32)| {
        let stored = drawers.remove(&id)?;
        Some(DrawerHit {
            drawer: strip_drawer(stored.drawer, request.include),
            score,
        })
    };
    Ok(best.into_iter().filter_map(hit).collect())
}

fn score_holders(
    statistics: &LexicalStatistics,
    holders: Vec<WordHolder>,
    terms: usize,
    k: usize,
) -> Vec<(DrawerId, f32)> {
    let holds = |holder: &&WordHolder, term: usize| holder.counts.get(term).is_some_and(|count| *count > 0);
    let rarity = |term| {
        let holding = holders.iter().filter(|holder| holds(holder, term)).count();
        statistics.term_rarity(holding as u64)
    };
    let rarities: Vec<f32> = (0..terms).map(rarity).collect();
    let mut scored: Vec<(DrawerId, f32)> = holders
        .into_iter()
        .map(|holder| {
            let burden = statistics.length_burden(holder.length);
            let counted = holder
                .counts
                .iter()
                .zip(&rarities)
                .filter(|(count, _)| **count > 0);
            let gains = counted.map(|(count, rarity)| term_gain(*rarity, *count, burden));
            (holder.id, gains.sum())
        })
        .collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    scored.truncate(k);
    scored
}
