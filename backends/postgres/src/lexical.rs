//! Keyword search: the server gives the words of the drawers in scope, the scores come from whole numbers.

use std::cmp::Ordering;

use loci_core::{DrawerHit, LexicalRequest, Result};
use loci_index::bm25::{LexicalStatistics, term_gain};
use loci_index::postings::WordBag;
use loci_index::tokenise;

use crate::moment::MomentView;
use crate::statement::SqlStatement;

/// A drawer that holds some of the words.
#[derive(Debug)]
struct WordMatch {
    row: i64,
    id: Vec<u8>,
    length: u32,
    /// Each term it holds, by its place among the terms, and how often.
    counts: Vec<(usize, u32)>,
}

/// Answers a [`LexicalRequest`].
pub(crate) fn search_words(view: &MomentView<'_>, request: &LexicalRequest) -> Result<Vec<DrawerHit>> {
    request.check_request()?;
    let mut terms = tokenise::query_tokens(&request.words);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    // Scores are sums of floats: both backends add in the byte order of the terms.
    terms.sort_unstable();
    let terms: Vec<&[u8]> = terms.iter().map(String::as_bytes).collect();
    let (statistics, matches) = find_matches(view, request, &terms)?;
    let best = score_matches(&statistics, matches, terms.len(), request.k);
    let drawers = view.load_rows(best.iter().map(|(row, _)| *row).collect(), request.include)?;
    let hit = |(row, score): (i64, f32)| {
        Some(DrawerHit {
            drawer: drawers.get(&row)?.clone(),
            score,
        })
    };
    Ok(best.into_iter().filter_map(hit).collect())
}

fn find_matches(
    view: &MomentView<'_>,
    request: &LexicalRequest,
    terms: &[&[u8]],
) -> Result<(LexicalStatistics, Vec<WordMatch>)> {
    let scope = view.resolve_scope(&request.filter, &request.document)?;
    let mut statement = SqlStatement::new(
        "SELECT d.\"row\", d.id, b.words FROM loci.bags b
         JOIN loci.drawers d ON d.collection = b.collection AND d.\"row\" = b.\"row\" WHERE d.collection = $1",
    )
    .with_int(view.shelf.collection);
    scope.push_condition(&mut statement);
    let mut statistics = LexicalStatistics::default();
    let mut matches = Vec::new();
    view.session.stream(&statement, view.deadline, &mut |found| {
        let bag = WordBag::new(found.get(2));
        let length = bag.length()?;
        statistics.add_drawer(length);
        let mut counts = Vec::new();
        bag.find_terms(terms, |term, count| counts.push((term, count)))?;
        if !counts.is_empty() {
            matches.push(WordMatch {
                row: found.get(0),
                id: found.get::<_, &[u8]>(1).to_vec(),
                length,
                counts,
            });
        }
        Ok(())
    })?;
    Ok((statistics, matches))
}

/// Returns the rows with the highest scores, best first, ties by the byte order of ids.
fn score_matches(
    statistics: &LexicalStatistics,
    matches: Vec<WordMatch>,
    terms: usize,
    k: usize,
) -> Vec<(i64, f32)> {
    let mut holding = vec![0_u64; terms];
    for (term, _) in matches.iter().flat_map(|found| &found.counts) {
        if let Some(holding) = holding.get_mut(*term) {
            *holding += 1;
        }
    }
    let rarities: Vec<f32> = holding.iter().map(|held| statistics.term_rarity(*held)).collect();
    let mut scored: Vec<(f32, WordMatch)> = matches
        .into_iter()
        .map(|found| {
            let burden = statistics.length_burden(found.length);
            let gains = found.counts.iter().map(|(term, count)| {
                let rarity = rarities.get(*term).copied().unwrap_or_default();
                term_gain(rarity, *count, burden)
            });
            (gains.sum(), found)
        })
        .collect();
    let best = |a: &(f32, WordMatch), b: &(f32, WordMatch)| -> Ordering {
        b.0.total_cmp(&a.0).then_with(|| a.1.id.cmp(&b.1.id))
    };
    if scored.len() > k {
        scored.select_nth_unstable_by(k, best);
        scored.truncate(k);
    }
    scored.sort_unstable_by(best);
    scored
        .into_iter()
        .map(|(score, found)| (found.row, score))
        .collect()
}
