//! Explains, step by step, why a search did not find a drawer.

use std::collections::HashSet;

use loci_core::{
    CollectionReader, Drawer, DrawerContext, DrawerFields, DrawerId, Error, ErrorKind, Filter, GetRequest,
    PalaceFinding, Result,
};
use loci_index::tokenise;
use schemars::JsonSchema;
use serde::Serialize;

use super::legs::{self, AskedQuery, ScoredHits};
use super::plan::SearchPlan;
use super::{LegStanding, SearchHit, SearchRequest, TOOL_OUTPUT, collect_hits};
use crate::EmbedderCatalog;

/// The number of hits searched for a drawer that is not among those shown.
const FURTHER: usize = 200;

/// The fate of one drawer in a search.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WhyNotReport {
    /// The drawer.
    pub id: DrawerId,
    /// The query.
    pub query: String,
    /// Its rank among the hits, if it was found after all.
    pub found: Option<usize>,
    /// Its rank if two hundred hits had been requested.
    pub rank: Option<usize>,
    /// Its rank by meaning, over everything in scope.
    pub nearest: Option<LegStanding>,
    /// Its rank by words, over everything in scope.
    pub lexical: Option<LegStanding>,
    /// The words of the query it contains, as the query spells them.
    pub words_held: Vec<String>,
    /// The words of the query it does not contain.
    pub words_missing: Vec<String>,
    /// The number of drawers searched.
    pub in_scope: u64,
    /// The reasons it was not found, most serious first; empty if it was found.
    pub reasons: Vec<WhyNotReason>,
    /// Names in the scope that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<PalaceFinding>,
}

/// One reason why a drawer was not found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WhyNotReason {
    /// The kind of reason, for scripts.
    pub code: &'static str,
    /// The reason as a sentence.
    pub message: String,
    /// The next thing to try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl WhyNotReason {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Explains the fate of the drawer `id` in a search.
pub fn explain_absence(
    collection: &dyn CollectionReader,
    embedders: &dyn EmbedderCatalog,
    id: &DrawerId,
    request: &SearchRequest,
) -> Result<WhyNotReport> {
    request.check()?;
    let drawer = read_drawer(collection, id)?;
    let plan = SearchPlan::new(collection, request)?;
    let (words_held, words_missing) = split_query_words(&drawer, &plan);
    let mut told = WhyNotReport {
        id: id.clone(),
        query: request.query.clone(),
        found: None,
        rank: None,
        nearest: None,
        lexical: None,
        words_held,
        words_missing,
        in_scope: plan.in_scope,
        reasons: explain_scope(&drawer, &plan),
        warnings: Vec::new(),
    };
    // A drawer out of scope has no rank, so the search itself is not run for it.
    if told.reasons.is_empty() {
        let asked = AskedQuery::new(collection, embedders, &request.query, None)?;
        explain_ranking(collection, &plan, &asked, &drawer, &mut told)?;
    }
    Ok(told)
}

fn read_drawer(collection: &dyn CollectionReader, id: &DrawerId) -> Result<Drawer> {
    let found = collection.get(&GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::by_ids([id.clone()])
    })?;
    found.into_iter().next().ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            format!("drawer {:?} does not exist", id.as_str()),
        )
        .with_hint("it was never filed here or was removed; `loci list` shows ids")
    })
}

/// Splits the query's words into those that the drawer or its context contains, and the others.
fn split_query_words(drawer: &Drawer, plan: &SearchPlan<'_>) -> (Vec<String>, Vec<String>) {
    let document = drawer.document.as_deref().unwrap_or_default();
    let mut held = HashSet::new();
    tokenise::for_each_token(
        &DrawerContext::indexed_text(drawer.context.as_ref(), document),
        &mut |token| {
            held.insert(token.to_owned());
        },
    );
    let mut words = (Vec::new(), Vec::new());
    for word in plan.text.split_whitespace() {
        sort_word(word, &held, &mut words);
    }
    words
}

/// Adds a word of the query, as written, to those present or missing: the index stores stems, which readers would not
/// recognise.
fn sort_word(word: &str, held: &HashSet<String>, (present, missing): &mut (Vec<String>, Vec<String>)) {
    let tokens = tokenise::query_tokens(word);
    let count = tokens.iter().filter(|token| held.contains(*token)).count();
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    if tokens.is_empty() || bare.is_empty() {
        return;
    }
    if count > 0 && count < tokens.len() && !word.is_ascii() {
        // A run of a script without spaces is indexed in overlapping pairs of characters, which are readable as they
        // are; only some of them may be missing.
        for token in tokens {
            let list = if held.contains(&token) {
                &mut *present
            } else {
                &mut *missing
            };
            push_once(list, &token);
        }
    } else if count == tokens.len() {
        push_once(present, bare);
    } else {
        push_once(missing, bare);
    }
}

fn push_once(list: &mut Vec<String>, word: &str) {
    if !list.iter().any(|other| other == word) {
        list.push(word.to_owned());
    }
}

/// Lists the parts of the scope that do not accept the drawer.
fn explain_scope(drawer: &Drawer, plan: &SearchPlan<'_>) -> Vec<WhyNotReason> {
    // Part by part, so that the reason names the one condition that refuses it rather than the whole filter. The
    // scope as given is checked, because the default exclusion of tool output has a reason of its own below.
    let parts = match &plan.asked.filter {
        Filter::And(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    let refused = parts.iter().filter(|part| !part.accepts(drawer));
    let mut reasons: Vec<WhyNotReason> = refused
        .map(|part| {
            WhyNotReason::new("filtered", format!("the filter {part} does not accept it"))
                .hint("search without that filter")
        })
        .collect();
    if !plan
        .asked
        .document
        .accepts(drawer.document.as_deref().unwrap_or_default())
    {
        let reason = WhyNotReason::new("filtered", "its text does not contain what the scope asks for");
        reasons.push(reason.hint("search without --contains"));
    }
    if !plan.request.includes_tool_output() && drawer.place.kind.as_deref() == Some(TOOL_OUTPUT) {
        let reason = WhyNotReason::new("tool_output", "it is tool output, which is left out by default");
        reasons.push(reason.hint("search with --tools"));
    }
    reasons
}

fn explain_ranking(
    collection: &dyn CollectionReader,
    plan: &SearchPlan<'_>,
    asked: &AskedQuery,
    drawer: &Drawer,
    told: &mut WhyNotReport,
) -> Result<()> {
    let place = |hits: &[SearchHit]| {
        let at = hits.iter().position(|hit| hit.drawer.id == drawer.id);
        at.map(|at| at + 1)
    };
    let (_, shown) = collect_hits(collection, plan, asked)?;
    told.found = place(&shown.hits);
    told.rank = told.found;
    let all = usize::try_from(plan.in_scope).unwrap_or(usize::MAX).max(1);
    // Over the whole scope: the legs of the search above stop at its depth, where this drawer may not appear.
    let whole = legs::run_legs(collection, plan, asked, all)?;
    told.nearest = whole
        .nearest
        .as_ref()
        .ok()
        .and_then(|leg| find_standing(leg, drawer));
    told.lexical = whole
        .lexical
        .as_ref()
        .ok()
        .and_then(|leg| find_standing(leg, drawer));
    if told.found.is_some() {
        return Ok(());
    }
    // A new search: the depth of the legs and the size of the pool grow with the number of hits requested.
    let further = SearchRequest {
        limit: plan.request.limit.max(FURTHER),
        ..plan.request.clone()
    };
    let (_, more) = collect_hits(collection, &plan.with_request(&further), asked)?;
    told.rank = place(&more.hits);
    told.reasons = list_reasons(plan, drawer, told, &shown.hits, whole.nearest.is_ok());
    Ok(())
}

fn find_standing(leg: &ScoredHits, drawer: &Drawer) -> Option<LegStanding> {
    let mut hits = leg.hits.iter().enumerate();
    let (at, hit) = hits.find(|(_, hit)| hit.drawer.id == drawer.id)?;
    Some(LegStanding {
        rank: at + 1,
        score: hit.score,
    })
}

fn list_reasons(
    plan: &SearchPlan<'_>,
    drawer: &Drawer,
    told: &WhyNotReport,
    hits: &[SearchHit],
    nearest_ran: bool,
) -> Vec<WhyNotReason> {
    let mut reasons = Vec::new();
    let folded = hits
        .iter()
        .find(|hit| hit.also_in.iter().any(|twin| twin.id == drawer.id));
    if let Some(hit) = folded {
        let message = format!(
            "its text is nearly the same as that of {}, which lists it",
            hit.drawer.id
        );
        reasons.push(WhyNotReason::new("folded", message));
        // Nothing else kept it away: it ranks among the hits, under another drawer's id.
        return reasons;
    }
    if let Some(rank) = told.rank {
        let message = format!("it is hit number {rank}; {} were requested", plan.request.limit);
        reasons.push(WhyNotReason::new("outranked", message).hint(format!("search with -n {rank}")));
    }
    if !nearest_ran {
        let message = "nothing was searched by meaning, only by words";
        reasons.push(WhyNotReason::new("nearest_missing", message).hint("see `loci status`"));
    } else if drawer.embedding.is_none() {
        let message = "it has no vector yet, so it is found by its words only";
        reasons.push(WhyNotReason::new("no_vector", message).hint("make one with `loci embedder switch`"));
    } else if let Some(LegStanding { rank, .. }) = told.nearest.filter(|at| at.rank > plan.first_depth()) {
        let message = format!("by meaning it is number {rank} of {}", told.in_scope);
        reasons.push(WhyNotReason::new("far", message));
    }
    if told.words_held.is_empty() {
        let message = "it contains none of the query's words";
        reasons.push(WhyNotReason::new("no_words", message).hint("search with words from its text"));
    } else if !told.words_missing.is_empty() {
        let message = format!("it does not contain {}", told.words_missing.join(", "));
        reasons.push(WhyNotReason::new("lacks_words", message));
    }
    reasons
}
