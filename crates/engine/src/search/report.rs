//! Search as a palace answers it: pages of hits, and warnings about names that do not exist.

use std::collections::HashSet;

use loci_core::{DrawerId, Finding, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::plan::{Dated, PlanReport};
use super::{Answer, Legs, SearchRequest, WhyNot, search, why_not};
use crate::paging::PageMark;
use crate::palace::{Palace, PalaceSession};
use crate::show::resolve_id;
use crate::view::HitView;

/// The hits of a search, and how far it reached.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SearchReport {
    /// The query as it was asked.
    pub query: String,
    /// The hits, best first.
    pub hits: Vec<HitView>,
    /// The legs that ran and what they reached.
    pub legs: Legs,
    /// The number of drawers searched.
    pub in_scope: u64,
    /// The number of drawers in scope that were left out as tool output.
    pub tool_output_left_out: u64,
    /// The times the query mentions.
    pub dates: Vec<Dated>,
    /// How the query was understood and weighed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanReport>,
    /// The cursor of the next page, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// What a reader should know of this answer.
    #[schemars(skip)]
    pub warnings: Vec<Finding>,
}

impl From<Answer> for SearchReport {
    fn from(answer: Answer) -> Self {
        Self {
            query: answer.query,
            hits: answer.hits.into_iter().map(HitView::from).collect(),
            legs: answer.legs,
            in_scope: answer.in_scope,
            tool_output_left_out: answer.tool_output_left_out,
            dates: answer.dates,
            plan: Some(answer.plan),
            next: None,
            warnings: answer.warnings,
        }
    }
}

impl SearchRequest {
    /// The number of hits on the pages before this one.
    pub fn shown_before(&self) -> Result<usize> {
        self.page_mark().read(self.cursor.as_deref())
    }

    /// The cursor that continues behind the first `shown` hits of this page, for callers who show fewer than there are.
    pub fn cursor_behind(&self, shown: usize) -> Result<String> {
        Ok(self.page_mark().write(self.shown_before()? + shown))
    }

    fn page_mark(&self) -> PageMark {
        PageMark::of_question(&(&self.query, &self.scope, self.tools, self.recent, self.dates))
    }
}

impl Palace {
    /// Answers a search, a page at a time.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchReport> {
        request.check()?;
        let shown_before = request.shown_before()?;
        self.read(|session| {
            let answer = gather_pages(session, request, shown_before)?;
            let mut report = SearchReport::from(answer);
            if report.hits.is_empty() {
                report.warnings.extend(session.unknown_names(&request.scope)?);
            }
            report.hits.drain(..shown_before.min(report.hits.len()));
            if report.hits.len() > request.limit {
                report.hits.truncate(request.limit);
                report.next = Some(request.cursor_behind(request.limit)?);
            }
            Ok(report)
        })
    }

    /// Explains why a search does not find a drawer. The beginning of its id will do.
    pub fn why_not(&self, id: &DrawerId, request: &SearchRequest) -> Result<WhyNot> {
        request.check()?;
        self.read(|session| {
            let id = resolve_id(session.reader(), id)?.unwrap_or_else(|| id.clone());
            let mut told = why_not(session.reader(), session.embedders(), &id, request)?;
            if told.in_scope == 0 {
                told.warnings = session.unknown_names(&request.scope)?;
            }
            Ok(told)
        })
    }
}

/// The depth of the first search behind a page, and those of later ones until there is enough.
const FIRST_DEPTH: usize = 20;
const DEEPER: [usize; 3] = [200, 2_000, 20_000];

/// The hits up to and including the page asked for, and one more if there is one.
///
/// Ranking depends on how many hits are asked for, though up to the first depth it is the same. So every page takes the
/// first hits from the same search, and deeper ones add what was not among them: pages neither repeat nor leave out a
/// drawer.
fn gather_pages(session: &PalaceSession<'_>, request: &SearchRequest, shown_before: usize) -> Result<Answer> {
    let ask = |limit| {
        let deeper = SearchRequest {
            limit,
            ..request.clone()
        };
        search(session.reader(), session.embedders(), &deeper)
    };
    let page = request.limit.saturating_add(1);
    let wanted = shown_before.saturating_add(page);
    let first = page.max(FIRST_DEPTH);
    let mut whole = ask(first)?;
    let mut ended = whole.hits.len() < first;
    for depth in DEEPER.into_iter().filter(|depth| *depth > first) {
        if ended || whole.hits.len() >= wanted {
            break;
        }
        let answer = ask(depth)?;
        ended = answer.hits.len() < depth;
        let seen: HashSet<DrawerId> = whole.hits.iter().map(|hit| hit.drawer.id.clone()).collect();
        let new = answer
            .hits
            .into_iter()
            .filter(|hit| !seen.contains(&hit.drawer.id));
        whole.hits.extend(new);
    }
    Ok(whole)
}
