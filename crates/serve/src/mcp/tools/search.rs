//! `search`: what was said, found by meaning and by words.

use loci_core::{Error, Result};
use loci_engine::SearchRequest;
use loci_engine::search::{SearchReport, excerpt, marks};
use loci_engine::view::{HitView, ScopeFields};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::Budget;
use crate::mcp::reply::page;
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::words;

/// How many hits there are if no limit is given, and at most.
const USUAL: usize = 10;
const MOST: usize = 100;

/// The longest query that is taken, in bytes: the cost of a query grows faster than its length, and others wait.
const LONGEST: usize = 20_000;

pub(crate) struct Search;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// A question or words
    query: String,
    limit: Option<usize>,
    #[serde(flatten)]
    scope: ScopeFields,
    /// Budget of the reply
    tokens: Option<usize>,
    /// `next` of the reply before
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    #[schemars(with = "Vec<HitKeys>")]
    hits: Vec<HitView>,
    /// Drawers searched
    in_scope: u64,
    next: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The fields of a hit that agents get.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct HitKeys {
    id: String,
    address: String,
    text: String,
    more: Option<bool>,
    wing: Option<String>,
    room: Option<String>,
    source: Option<String>,
    speaker: Option<String>,
    kind: Option<String>,
    said_at: Option<String>,
    filed_at: Option<String>,
    trust: String,
    flags: Vec<String>,
    score: f64,
}

impl Tool for Search {
    const NAME: &'static str = "search";
    const ABOUT: &'static str = "Find what was said, decided or filed before, by meaning and by words. Use it before \
        answering about past work, people or decisions. Returns cited snippets; `get` returns whole texts by id.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let budget = Budget::of(input.tokens)?;
        check_length(&input.query)?;
        let request = SearchRequest {
            limit: input.limit.unwrap_or(USUAL).clamp(1, MOST),
            scope: input.scope.parse(call.palace.now())?,
            cursor: input.cursor,
            ..SearchRequest::new(input.query, call.palace.now())
        };
        let report = call.palace.search(&request)?;
        reply(report, &request, budget)
    }
}

/// Refuses a query that would take long.
pub(crate) fn check_length(query: &str) -> Result<()> {
    if query.len() <= LONGEST {
        return Ok(());
    }
    let message = format!("the query has {} bytes; {LONGEST} are the most", query.len());
    Err(Error::invalid(message).hint("nothing was searched; ask with fewer words"))
}

fn reply(report: SearchReport, request: &SearchRequest, mut budget: Budget) -> Result<Reply<Output>> {
    let warnings = words::warnings(&report.warnings);
    budget.spend(&warnings.concat(), &warnings);
    let before = request.shown_before()?;
    let query_words = report.plan.map(|plan| plan.words).unwrap_or_default();
    let hits: Vec<HitView> = report.hits.into_iter().map(HitView::for_agent).collect();
    let page = page(budget, &hits, |at, hit, size| {
        let shown = cut_hit(hit, &query_words, size);
        (words::line(&shown.drawer, before + at + 1), shown)
    });
    let next = if page.values.len() < hits.len() {
        Some(request.cursor_behind(page.values.len())?)
    } else {
        report.next
    };
    let mut text = if page.values.is_empty() {
        format!("Nothing found in {} drawers.", report.in_scope)
    } else {
        let lines = page.lines.join("\n");
        format!("{} {} drawers searched.\n{lines}", words::QUOTED, report.in_scope)
    };
    words::end(&mut text, &warnings, next.as_deref());
    let value = Output {
        hits: page.values,
        in_scope: report.in_scope,
        next,
        warnings,
    };
    Ok(Reply { text, value })
}

/// A hit with the part of its text that holds most of the query's words.
fn cut_hit(hit: &HitView, query_words: &[String], size: usize) -> HitView {
    let text = hit.drawer.whole_text();
    let part = excerpt(text, &marks(text, query_words), size);
    hit.excerpt(text.get(part).unwrap_or_default())
}
