//! `search`: finds drawers by meaning and by words.

use std::ops::Range;

use loci_core::{Error, Result, format_count};
use loci_engine::SearchRequest;
use loci_engine::search::{SearchReport, choose_excerpt, mark_words};
use loci_engine::view::{HitView, ScopeFields, parse_bound};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::ReplyBudget;
use crate::mcp::drawer_keys::HitKeys;
use crate::mcp::reply::fit_page;
use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};
use crate::mcp::words;

/// The default and the largest number of hits.
const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 100;

/// The longest query, in bytes: the cost grows faster than the length, and other calls wait for a thread.
const LONGEST: usize = 20_000;

pub(crate) struct SearchTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SearchInput {
    /// A question or words
    query: String,
    limit: Option<usize>,
    /// Taken as now
    as_of: Option<String>,
    #[serde(flatten)]
    scope: ScopeFields,
    /// Budget of the reply
    tokens: Option<usize>,
    /// `next` of the last reply
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SearchOutput {
    #[schemars(with = "Vec<HitKeys>")]
    hits: Vec<HitView>,
    /// Drawers searched
    in_scope: u64,
    next: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl PalaceTool for SearchTool {
    const NAME: &'static str = "search";
    const ABOUT: &'static str = "Find what was said, decided or filed before, by meaning and by words. Use it before \
        answering about past work, people or decisions. Returns cited snippets; `get` returns whole texts by id.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Input = SearchInput;
    type Output = SearchOutput;

    fn call(input: SearchInput, call: &CallContext<'_>) -> Result<ToolReply<SearchOutput>> {
        let budget = ReplyBudget::from_tokens(input.tokens)?;
        check_query_length(&input.query)?;
        let now = call.palace.now();
        let at = parse_bound("as_of", input.as_of.as_deref(), now)?.unwrap_or(now);
        let request = SearchRequest {
            limit: input.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT),
            scope: input.scope.parse(at)?,
            cursor: input.cursor,
            ..SearchRequest::new(input.query, at)
        };
        let report = call.palace.search(&request)?;
        build_reply(report, &request, budget)
    }
}

/// Refuses a query that would take too long.
pub(crate) fn check_query_length(query: &str) -> Result<()> {
    if query.len() <= LONGEST {
        return Ok(());
    }
    let message = format!("the query has {} bytes; the limit is {LONGEST}", query.len());
    Err(Error::invalid(message).with_hint("nothing was searched; use fewer words"))
}

fn build_reply(
    report: SearchReport,
    request: &SearchRequest,
    mut budget: ReplyBudget,
) -> Result<ToolReply<SearchOutput>> {
    let warnings = words::list_warnings(&report.warnings);
    // Warnings are paid first and always sent: a hit without "not everything was searched" could mislead.
    budget.spend(&warnings.concat(), &warnings);
    let before = request.shown_before()?;
    let query_words = report.plan.map(|plan| plan.words).unwrap_or_default();
    let hits: Vec<HitView> = report.hits.into_iter().map(HitView::for_agent).collect();
    // Found once: the page is laid out with ever shorter texts until all hits fit.
    let marked: Vec<MarkedHit<'_>> = hits
        .iter()
        .map(|hit| MarkedHit {
            hit,
            marks: mark_words(hit.drawer.whole_text(), &query_words),
        })
        .collect();
    let page = fit_page(budget, &marked, |at, hit, size| {
        let shown = hit.cut_to(size);
        (words::cite_drawer(&shown.drawer, before + at + 1), shown)
    });
    // The cursor must stand behind the last hit shown, not behind the last one found, or hits would be
    // skipped.
    let next = if page.values.len() < hits.len() {
        Some(request.cursor_behind(page.values.len())?)
    } else {
        report.next
    };
    let mut text = if page.values.is_empty() {
        format!("Nothing found in {}.", format_count(report.in_scope, "drawer"))
    } else {
        let lines = page.lines.join("\n");
        format!(
            "{} {} searched.\n{lines}",
            words::QUOTE_NOTICE,
            format_count(report.in_scope, "drawer")
        )
    };
    words::append_ending(&mut text, &warnings, next.as_deref());
    let value = SearchOutput {
        hits: page.values,
        in_scope: report.in_scope,
        next,
        warnings,
    };
    Ok(ToolReply { text, value })
}

/// A hit, and where its text holds words of the query.
struct MarkedHit<'a> {
    hit: &'a HitView,
    marks: Vec<Range<usize>>,
}

impl MarkedHit<'_> {
    /// Returns the hit with the part of its text that holds most of the query's words.
    fn cut_to(&self, size: usize) -> HitView {
        let text = self.hit.drawer.whole_text();
        let part = choose_excerpt(text, &self.marks, size);
        self.hit.with_excerpt(text.get(part).unwrap_or_default())
    }
}
