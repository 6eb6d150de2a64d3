//! Search as a palace answers it: pages of hits, and warnings about names that do not exist.

use std::cell::RefCell;

use loci_core::{Capability, CollectionInfo, DrawerId, Error, ErrorKind, PalaceFinding, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::foresight::ForeseenSearch;
use super::plan::PlanReport;
use super::single::search_single;
use super::times::MentionedTime;
use super::{
    SearchAnswer, SearchLegs, SearchRequest, SearchRetriever, SearchVerdict, WhyNotReport, explain_absence,
    search_foreseen,
};
use crate::paging::PageMark;
use crate::palace::{Palace, PalaceSession, check_named_embedder};
use crate::seal::SecretGuard;
use crate::show::resolve_id;
use crate::view::HitView;

/// The hits of a search and what its legs covered.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SearchReport {
    /// The query as given.
    pub query: String,
    /// The hits, best first.
    pub hits: Vec<HitView>,
    /// The legs that ran and what they covered.
    pub legs: SearchLegs,
    /// The number of drawers searched.
    pub in_scope: u64,
    /// The number of drawers in scope that were excluded as tool output.
    pub tool_output_left_out: u64,
    /// The times the query mentions.
    pub dates: Vec<MentionedTime>,
    /// How likely it is that a hit holds an answer; absent if one retriever ranked alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<SearchVerdict>,
    /// The query as it was parsed and weighted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanReport>,
    /// The cursor of the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Limits of this answer that a reader should know.
    pub warnings: Vec<PalaceFinding>,
}

impl From<SearchAnswer> for SearchReport {
    fn from(answer: SearchAnswer) -> Self {
        Self {
            query: answer.query,
            hits: answer.hits.into_iter().map(HitView::from).collect(),
            legs: answer.legs,
            in_scope: answer.in_scope,
            tool_output_left_out: answer.tool_output_left_out,
            dates: answer.dates,
            verdict: Some(answer.verdict),
            plan: Some(answer.plan),
            next: None,
            warnings: answer.warnings,
        }
    }
}

impl SearchRequest {
    /// Returns the number of hits on the pages before this one.
    pub fn shown_before(&self) -> Result<usize> {
        self.page_mark().read_cursor(self.cursor.as_deref())
    }

    /// Returns the cursor that continues after the first `shown` hits of this page, for callers that show fewer.
    pub fn cursor_behind(&self, shown: usize) -> Result<String> {
        Ok(self.page_mark().write_cursor(self.shown_before()? + shown))
    }

    fn page_mark(&self) -> PageMark {
        // Everything that decides the order of hits. The limit, the context and the time are left out: pages may differ
        // in size, and the next one is always requested later.
        let ranking = (self.tools, self.recent, self.dates, self.only);
        PageMark::from_question(&(&self.query, &self.vector, &self.scope, ranking))
    }
}

impl Palace {
    /// Answers a search, a page at a time.
    pub fn search(&self, request: &SearchRequest) -> Result<SearchReport> {
        request.check()?;
        if let Some(query) = SecretGuard::guard_question(self, &request.query)? {
            return self.search_as_asked(&SearchRequest {
                query,
                ..request.clone()
            });
        }
        self.search_as_asked(request)
    }

    /// Answers a search with the words of its question.
    fn search_as_asked(&self, request: &SearchRequest) -> Result<SearchReport> {
        let shown_before = request.shown_before()?;
        if request.exact {
            self.require_exact_queries()?;
        }
        let foreseen = RefCell::new(None);
        let foresee = |info: &CollectionInfo| {
            let search = ForeseenSearch::new(info, self.embedders(), request);
            let reads = search.list_reads(info, request);
            *foreseen.borrow_mut() = Some(search);
            reads
        };
        self.read_foreseeing(foresee, |session| {
            let foreseen = foreseen.borrow();
            if request.vector.is_none() && request.only != Some(SearchRetriever::Words) {
                check_named_embedder(session.reader(), session.embedders())?;
            }
            let mut report = match request.single_retriever() {
                Some(retriever) => search_single(session, request, retriever, shown_before)?,
                None => gather_pages(session, request, shown_before, foreseen.as_ref())?.into(),
            };
            // Before earlier pages are cut off: a page past the end is empty, but its names do exist.
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

    /// Refuses a backend that can only approximate the nearest drawers; one that does so by choice answers exactly.
    fn require_exact_queries(&self) -> Result<()> {
        let address = self.address()?;
        let descriptor = address.backend.descriptor();
        if descriptor.has_capability(&Capability::ApproximateQuery) {
            let message = format!(
                "the backend {:?} only approximates the nearest drawers",
                descriptor.name
            );
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(error.with_hint("nothing was searched; leave out --exact"));
        }
        Ok(())
    }

    /// Explains why a search does not find a drawer. A prefix of its id is enough.
    pub fn explain_absence(&self, id: &DrawerId, request: &SearchRequest) -> Result<WhyNotReport> {
        request.check()?;
        self.read(|session| {
            check_named_embedder(session.reader(), session.embedders())?;
            let id = resolve_id(session.reader(), id)?.unwrap_or_else(|| id.clone());
            let mut told = explain_absence(session.reader(), session.embedders(), &id, request)?;
            if told.in_scope == 0 {
                told.warnings = session.unknown_names(&request.scope)?;
            }
            Ok(told)
        })
    }
}

/// Returns the hits up to and including the requested page, and one more if there is one.
fn gather_pages(
    session: &PalaceSession<'_>,
    request: &SearchRequest,
    shown_before: usize,
    foreseen: Option<&ForeseenSearch>,
) -> Result<SearchAnswer> {
    // One hit more than the page has room for tells whether there is a next page.
    let wanted = shown_before.saturating_add(request.limit).saturating_add(1);
    let deeper = SearchRequest {
        limit: wanted,
        ..request.clone()
    };
    search_foreseen(session.reader(), session.embedders(), &deeper, foreseen)
}
