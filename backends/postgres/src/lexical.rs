//! Keyword search: the server gives postings of the drawers in scope, the scores come from whole numbers.

mod corpus;
mod gather;

use std::collections::HashMap;

use loci_core::{
    Drawer, DrawerFields, DrawerHit, ErrorKind, FindingSeverity, LexicalRequest, PalaceFinding, Result,
};
use loci_index::tokenise;
use tokio_postgres::types::Type;

use crate::moment::MomentView;
use crate::row::ServerDrawer;
use crate::session::PipelineRows;
use crate::statement::SqlStatement;
use corpus::RankedRows;
use gather::WordSearch;

/// The answers to the first questions of a match of words in the same scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForeseenWords<'a> {
    pub(crate) words: &'a str,
    pub(crate) answers: &'a PipelineRows,
}

/// Returns what a match of words asks first; `None` if that depends on an answer, or if there is nothing to ask.
pub(crate) fn first_questions(view: &MomentView<'_>, request: &LexicalRequest) -> Option<Vec<SqlStatement>> {
    let terms = list_terms(&request.words);
    let search = WordSearch {
        view,
        scope: view.foresee_scope(&request.filter, &request.document)?,
        terms: terms.iter().map(String::as_bytes).collect(),
    };
    (!terms.is_empty()).then(|| search.questions())
}

/// Returns the terms of some words in byte order. Scores are sums of floats: every backend adds in this order.
fn list_terms(words: &str) -> Vec<String> {
    let mut terms = tokenise::query_tokens(words);
    terms.sort_unstable();
    terms
}

/// Answers a [`LexicalRequest`], from the answers to a wider one if they are there already.
pub(crate) fn search_words(
    view: &MomentView<'_>,
    request: &LexicalRequest,
    foreseen: Option<ForeseenWords<'_>>,
) -> Result<Vec<DrawerHit>> {
    request.check_request()?;
    let terms = list_terms(&request.words);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let search = WordSearch {
        view,
        scope: view.resolve_scope(&request.filter, &request.document)?,
        terms: terms.iter().map(String::as_bytes).collect(),
    };
    let sealed = match foreseen {
        Some(foreseen) => search.read_foreseen(&list_terms(foreseen.words), foreseen.answers),
        None => None,
    };
    let sealed = sealed.unwrap_or_else(|| search.gather_sealed());
    let ranked = match sealed.and_then(|words| words.rank_rows(request.k)) {
        // Segments are a projection: what they cannot give is read from the bags and the drawers.
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            view.palace.note_damage(damaged_finding(view, &error));
            search.gather_bags()?.rank_rows(request.k)?
        }
        ranked => ranked?,
    };
    let drawers = load_ranked(view, &ranked, request.include)?;
    let scores: HashMap<i64, f32> = ranked.certain.into_iter().chain(ranked.tied).collect();
    let hits = drawers.into_iter().filter_map(|(row, drawer)| {
        let score = *scores.get(&row)?;
        Some(DrawerHit { drawer, score })
    });
    let mut hits: Vec<DrawerHit> = hits.collect();
    hits.sort_unstable_by(|a, b| {
        let by_score = b.score.total_cmp(&a.score);
        by_score.then_with(|| a.drawer.id.cmp(&b.drawer.id))
    });
    Ok(hits)
}

/// Returns the drawers of the certain rows, and of the tied ones those with the first ids.
fn load_ranked(
    view: &MomentView<'_>,
    ranked: &RankedRows,
    include: DrawerFields,
) -> Result<Vec<(i64, Drawer)>> {
    if ranked.certain.is_empty() && ranked.tied.is_empty() {
        return Ok(Vec::new());
    }
    let rows = |ranked: &[(i64, f32)]| ranked.iter().map(|(row, _)| *row).collect::<Vec<i64>>();
    let mut statement = view.select_drawers(include);
    // One array and not two conditions: with OR the server would read every drawer. Ids are bytes, so it orders them as
    // the contract wants.
    statement
        .push(" AND d.\"row\" = ANY(ARRAY(SELECT unnest(")
        .bind(rows(&ranked.certain), Type::INT8_ARRAY)
        .push("::bigint[]) UNION ALL (SELECT t.\"row\" FROM loci.drawers t WHERE t.collection = $1 AND t.\"row\" = ANY(")
        .bind(rows(&ranked.tied), Type::INT8_ARRAY)
        .push(") ORDER BY t.id LIMIT ")
        .bind(i64::try_from(ranked.places_left).unwrap_or(i64::MAX), Type::INT8)
        .push(")))");
    let found = view.session.ask(statement, view.deadline)?;
    let drawers = found.iter().map(|found| {
        let stored = ServerDrawer::read(found)?;
        Ok((stored.row, stored.drawer))
    });
    drawers.collect()
}

fn damaged_finding(view: &MomentView<'_>, error: &loci_core::Error) -> PalaceFinding {
    let message =
        format!("the word index cannot be used ({error}); the words of the drawers were read one by one");
    PalaceFinding::new("full_text_damaged", FindingSeverity::Error, message)
        .with_hint("no drawer is lost; rebuild the index with `loci maintain reindex`")
        .in_collection(view.shelf.name.as_str())
}
