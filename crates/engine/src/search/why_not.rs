//! Why a drawer was not found by a search, step by step.

use loci_core::{
    CollectionReader, Context, Drawer, DrawerId, Error, ErrorKind, Filter, Finding, Get, Include, Result,
};
use loci_index::tokenise;
use serde::Serialize;

use super::legs::{self, Asked, Scored};
use super::plan::Plan;
use super::{Found, SearchRequest, Standing, TOOL_OUTPUT, hits};
use crate::EmbedderCatalog;

/// How many hits are looked through for a drawer that is not among those shown.
const FURTHER: usize = 200;

/// What became of one drawer in a search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WhyNot {
    /// The drawer.
    pub id: DrawerId,
    /// The query.
    pub query: String,
    /// Its place among the hits, if it was found after all.
    pub found: Option<usize>,
    /// Its place, had two hundred hits been asked for.
    pub rank: Option<usize>,
    /// Its place among the nearest in scope.
    pub nearest: Option<Standing>,
    /// Its place among those in scope that match the words.
    pub lexical: Option<Standing>,
    /// The words of the query it holds, as the index keeps them.
    pub words_held: Vec<String>,
    /// The words of the query it lacks.
    pub words_missing: Vec<String>,
    /// How many drawers were searched.
    pub in_scope: u64,
    /// What kept it away, gravest first; empty if it was found.
    pub reasons: Vec<Reason>,
    /// Names in the scope that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Finding>,
}

/// One thing that keeps a drawer from being found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// What kind of thing, for scripts.
    pub code: &'static str,
    /// What is the case.
    pub message: String,
    /// What to type next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Reason {
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

/// Says what became of the drawer `id` in a search.
pub fn why_not(
    collection: &dyn CollectionReader,
    embedders: &dyn EmbedderCatalog,
    id: &DrawerId,
    request: &SearchRequest,
) -> Result<WhyNot> {
    request.check()?;
    let drawer = read(collection, id)?;
    let plan = Plan::new(collection, request)?;
    let (words_held, words_missing) = words_of(&drawer, &plan);
    let mut told = WhyNot {
        id: id.clone(),
        query: request.query.clone(),
        found: None,
        rank: None,
        nearest: None,
        lexical: None,
        words_held,
        words_missing,
        in_scope: plan.in_scope,
        reasons: out_of_scope(&drawer, &plan),
        warnings: Vec::new(),
    };
    if told.reasons.is_empty() {
        let asked = Asked::new(collection, embedders, &request.query)?;
        in_scope(collection, &plan, &asked, &drawer, &mut told)?;
    }
    Ok(told)
}

fn read(collection: &dyn CollectionReader, id: &DrawerId) -> Result<Drawer> {
    let found = collection.get(&Get {
        include: Include::EVERYTHING,
        ..Get::ids([id.clone()])
    })?;
    found.into_iter().next().ok_or_else(|| {
        Error::new(ErrorKind::NotFound, format!("there is no drawer {id}"))
            .hint("it was never filed here or was removed; `loci list` shows ids")
    })
}

/// The query's words that the drawer holds, its context included, and those it lacks.
fn words_of(drawer: &Drawer, plan: &Plan<'_>) -> (Vec<String>, Vec<String>) {
    let document = drawer.document.as_deref().unwrap_or_default();
    let mut held = std::collections::HashSet::new();
    tokenise::tokens(
        &Context::indexed(drawer.context.as_ref(), document),
        &mut |token| {
            held.insert(token.to_owned());
        },
    );
    plan.words.iter().cloned().partition(|word| held.contains(word))
}

/// Which parts of the filter do not accept the drawer.
fn out_of_scope(drawer: &Drawer, plan: &Plan<'_>) -> Vec<Reason> {
    let parts = match &plan.asked.filter {
        Filter::And(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    let refused = parts.iter().filter(|part| !part.accepts(drawer));
    let mut reasons: Vec<Reason> = refused
        .map(|part| {
            Reason::new("filtered", format!("the filter {part} does not accept it"))
                .hint("search without that filter")
        })
        .collect();
    if !plan
        .asked
        .document
        .accepts(drawer.document.as_deref().unwrap_or_default())
    {
        let reason = Reason::new("filtered", "its text does not hold what the scope asks for");
        reasons.push(reason.hint("search without --contains"));
    }
    if !plan.request.takes_tools() && drawer.place.kind.as_deref() == Some(TOOL_OUTPUT) {
        let reason = Reason::new("tool_output", "it is what a tool printed, which is left out");
        reasons.push(reason.hint("search with --tools"));
    }
    reasons
}

fn in_scope(
    collection: &dyn CollectionReader,
    plan: &Plan<'_>,
    asked: &Asked,
    drawer: &Drawer,
    told: &mut WhyNot,
) -> Result<()> {
    let place = |hits: &[Found]| {
        let at = hits.iter().position(|hit| hit.drawer.id == drawer.id);
        at.map(|at| at + 1)
    };
    let (_, shown) = hits(collection, plan, asked)?;
    told.found = place(&shown);
    told.rank = told.found;
    let all = usize::try_from(plan.in_scope).unwrap_or(usize::MAX).max(1);
    let whole = legs::run(collection, plan, asked, all)?;
    told.nearest = whole.nearest.as_ref().ok().and_then(|leg| standing(leg, drawer));
    told.lexical = whole.lexical.as_ref().ok().and_then(|leg| standing(leg, drawer));
    if told.found.is_some() {
        return Ok(());
    }
    let further = SearchRequest {
        limit: plan.request.limit.max(FURTHER),
        ..plan.request.clone()
    };
    let (_, more) = hits(collection, &plan.asking(&further), asked)?;
    told.rank = place(&more);
    told.reasons = not_among(plan, drawer, told, &shown, whole.nearest.is_ok());
    Ok(())
}

fn standing(leg: &Scored, drawer: &Drawer) -> Option<Standing> {
    let mut hits = leg.hits.iter().enumerate();
    let (at, hit) = hits.find(|(_, hit)| hit.drawer.id == drawer.id)?;
    Some(Standing {
        rank: at + 1,
        score: hit.score,
    })
}

fn not_among(
    plan: &Plan<'_>,
    drawer: &Drawer,
    told: &WhyNot,
    hits: &[Found],
    nearest_ran: bool,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let folded = hits
        .iter()
        .find(|hit| hit.also_in.iter().any(|twin| twin.id == drawer.id));
    if let Some(hit) = folded {
        let message = format!(
            "it says nearly the same as {}, and is listed with it",
            hit.drawer.id
        );
        reasons.push(Reason::new("folded", message));
        return reasons;
    }
    if let Some(rank) = told.rank {
        let message = format!("it is hit number {rank}; {} were asked for", plan.request.limit);
        reasons.push(Reason::new("outranked", message).hint(format!("search with -n {rank}")));
    }
    if !nearest_ran {
        let message = "nothing was searched by meaning, only by words";
        reasons.push(Reason::new("nearest_missing", message).hint("see `loci status`"));
    } else if drawer.embedding.is_none() {
        let message = "it has no vector yet, so it is found by its words only";
        reasons.push(Reason::new("no_vector", message).hint("make one with `loci embedder switch`"));
    } else if let Some(Standing { rank, .. }) = told.nearest.filter(|at| at.rank > plan.depth()) {
        let message = format!("by meaning it is number {rank} of {}", told.in_scope);
        reasons.push(Reason::new("far", message));
    }
    if told.words_held.is_empty() {
        let message = "it holds none of the query's words";
        reasons.push(Reason::new("no_words", message).hint("search with words that stand in it"));
    } else if !told.words_missing.is_empty() {
        let message = format!("it lacks the words {}", told.words_missing.join(", "));
        reasons.push(Reason::new("lacks_words", message));
    }
    reasons
}
