//! Search: runs both legs over everything in scope, fuses their scores and folds near-identical hits into one.
//!
//! The query becomes a plan. Each leg, by meaning and by words, returns its best drawers under the filter; their scores
//! are normalised to one scale and added. The best candidates are read with their texts, checked against the filter
//! again and ranked by the words in their own text. The answer reports which legs ran and the share of the drawers in
//! scope that each covered, with a warning if that is not all of them.

mod foresight;
mod fuse;
mod legs;
mod literals;
mod marks;
mod plan;
mod pool;
mod report;
mod single;
mod stop_words;
mod text;
mod times;
mod verdict;
mod weights;
mod why_not;

use loci_core::{
    CollectionReader, Drawer, DrawerCondition, DrawerId, DrawerPlace, Error, Filter, FilterComparison,
    FindingSeverity, MetadataScalar, PalaceFinding, Result, SourceSpan, Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::EmbedderCatalog;
use crate::neighbours;
use crate::view::DrawerScope;
use foresight::ForeseenSearch;
use legs::{AskedQuery, LegAnswers};
use plan::SearchPlan;
use pool::{GatheredHits, HitGatherer};

pub use marks::{choose_excerpt, mark_words};
pub use plan::{LegWeights, PlanReport};
pub use report::SearchReport;
pub use single::SearchRetriever;
pub use times::MentionedTime;
pub use verdict::SearchVerdict;
pub use why_not::{WhyNotReason, WhyNotReport, explain_absence};

/// The kind of tool output, which is excluded unless requested.
pub const TOOL_OUTPUT: &str = "tool_result";

/// A search query and its options.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRequest {
    /// The question or words.
    pub query: String,
    /// The largest number of hits; at least one.
    pub limit: usize,
    /// The drawers searched.
    pub scope: DrawerScope,
    /// The `next` of the previous page; only [`Palace::search`](crate::Palace::search) reads it.
    pub cursor: Option<String>,
    /// Whether to include tool output; see [`SearchRequest::includes_tool_output`].
    pub tools: bool,
    /// Whether newer drawers score higher, rather than only winning ties.
    pub recent: bool,
    /// Whether times mentioned in the query boost drawers said then.
    pub dates: bool,
    /// The number of neighbours to return on each side of a hit.
    pub context: usize,
    /// Ranks by this retriever alone; only [`Palace::search`](crate::Palace::search) reads it.
    pub only: Option<SearchRetriever>,
    /// Searches by meaning for this vector instead of the query's; only
    /// [`Palace::search`](crate::Palace::search) reads it.
    pub vector: Option<Vec<f32>>,
    /// Refuses a backend that may miss the nearest drawers.
    pub exact: bool,
    /// The time of the request, from which times in the query are resolved.
    pub now: Timestamp,
}

impl SearchRequest {
    /// Creates a request for ten hits in everything but tool output.
    pub fn new(query: impl Into<String>, now: Timestamp) -> Self {
        Self {
            query: query.into(),
            limit: 10,
            scope: DrawerScope::default(),
            cursor: None,
            tools: false,
            recent: false,
            dates: true,
            context: 0,
            only: None,
            vector: None,
            exact: false,
            now,
        }
    }

    /// Returns the retriever that ranks alone, if any; a vector can only be searched by meaning.
    pub(crate) fn single_retriever(&self) -> Option<SearchRetriever> {
        self.only
            .or(self.vector.as_ref().map(|_| SearchRetriever::Meaning))
    }

    /// Refuses a request that cannot have hits or contradicts itself.
    pub fn check(&self) -> Result<()> {
        if self.vector.is_some() {
            if !self.query.trim().is_empty() || self.only == Some(SearchRetriever::Words) {
                return Err(
                    Error::invalid("a vector is searched by meaning and takes no query")
                        .with_hint("leave out the query and `--only words`, or leave out `--vector`"),
                );
            }
        } else if self.query.trim().is_empty() {
            return Err(Error::invalid("there is nothing to search for")
                .with_hint("write `loci search QUERY`; `loci list` and `loci timeline` show what there is"));
        }
        if self.limit == 0 {
            return Err(Error::invalid("a search must ask for at least one hit"));
        }
        self.scope.check()
    }

    /// Returns whether tool output is searched: on request, or if the scope names a kind, which overrides the default
    /// exclusion.
    pub fn includes_tool_output(&self) -> bool {
        self.tools || self.scope.kind.is_some() || names_kind(&self.scope.filter)
    }

    /// Returns the condition of the drawers searched: the scope, without tool output unless that is included.
    pub fn searched_condition(&self, scope: &DrawerCondition) -> DrawerCondition {
        let mut searched = scope.clone();
        if !self.includes_tool_output() {
            let printed = FilterComparison::Ne(MetadataScalar::Text(TOOL_OUTPUT.into()));
            searched.filter = searched.filter.and(Filter::Compare("kind".into(), printed));
        }
        searched
    }
}

fn names_kind(filter: &Filter) -> bool {
    match filter {
        Filter::All => false,
        Filter::Compare(key, _) => key == "kind",
        Filter::And(parts) | Filter::Or(parts) => parts.iter().any(names_kind),
    }
}

/// The hits of a search and what its legs covered.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchAnswer {
    /// The query as given.
    pub query: String,
    /// The hits, best first.
    pub hits: Vec<SearchHit>,
    /// The legs that ran and what they covered.
    pub legs: SearchLegs,
    /// The number of drawers searched.
    pub in_scope: u64,
    /// The number of drawers in scope that were excluded as tool output.
    pub tool_output_left_out: u64,
    /// The times the query mentions.
    pub dates: Vec<MentionedTime>,
    /// The query as it was parsed and weighted.
    pub plan: PlanReport,
    /// How likely it is that a hit holds an answer.
    pub verdict: SearchVerdict,
    /// Limits of this answer that a reader should know.
    pub warnings: Vec<PalaceFinding>,
}

/// One hit.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The drawer with its text and metadata.
    pub drawer: Drawer,
    /// The probability that it or a hit behind it holds an answer, from 0 to 1; it never rises from one hit to the next.
    pub score: f32,
    /// The probability that it holds an answer itself.
    pub likelihood: f32,
    /// The evidence for it.
    pub why: HitEvidence,
    /// Other drawers with nearly the same text.
    pub also_in: Vec<NearTwin>,
    /// Its neighbours in its source, if requested.
    pub around: neighbours::NeighbourDrawers,
}

/// The evidence for a hit. A leg that did not find it is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct HitEvidence {
    /// Its rank by meaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<LegStanding>,
    /// Its rank by words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical: Option<LegStanding>,
    /// The weighted share of the query's words in its own text, from 0 to 1.
    pub words: f32,
    /// Support from other pieces of its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceEvidence>,
    /// The words of the query that mention the time it was said in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Whether its text holds the literals of the query: names, paths, versions, quoted phrases.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub literal: bool,
    /// Whether its text defines one of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub defines: bool,
    /// Whether it was boosted because a person said it and the query contains "I" or "my".
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_words: bool,
}

/// A drawer's rank in one leg.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LegStanding {
    /// 1 for the best.
    pub rank: usize,
    /// The leg's own score: similarity, or BM25; larger is better.
    pub score: f32,
}

/// Support for a hit from the other pieces of its source.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SourceEvidence {
    /// The number of pieces found.
    pub pieces: usize,
    /// The score that the best of the others add.
    pub score: f32,
}

/// A drawer with nearly the same text as a hit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NearTwin {
    /// Its id.
    pub id: DrawerId,
    /// Its wing.
    pub wing: Option<String>,
    /// Its room.
    pub room: Option<String>,
    /// Its source.
    pub source: Option<String>,
    /// Its bytes and lines in the source.
    pub span: Option<SourceSpan>,
    /// The time it was said.
    pub said_at: Option<Timestamp>,
}

impl NearTwin {
    fn from_drawer(drawer: &Drawer) -> Self {
        let DrawerPlace {
            wing,
            room,
            source,
            span,
            said_at,
            ..
        } = drawer.place.clone();
        Self {
            id: drawer.id.clone(),
            wing,
            room,
            source,
            span,
            said_at,
        }
    }
}

/// Both legs of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct SearchLegs {
    /// By meaning.
    pub nearest: LegStatus,
    /// By words.
    pub lexical: LegStatus,
}

/// The status of one leg.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct LegStatus {
    /// Whether it ran.
    pub ran: bool,
    /// The share of the drawers in scope that it covered, from 0 to 1.
    pub coverage: f64,
    /// Whether it may have missed some of the nearest drawers, because approximate answers were chosen for the palace.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub approximate: bool,
    /// The reason it did not run or did not cover everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Searches one collection with both legs.
pub fn search_collection(
    collection: &dyn CollectionReader,
    embedders: &dyn EmbedderCatalog,
    request: &SearchRequest,
) -> Result<SearchAnswer> {
    search_foreseen(collection, embedders, request, None)
}

/// Searches one collection with what was foreseen of it.
fn search_foreseen(
    collection: &dyn CollectionReader,
    embedders: &dyn EmbedderCatalog,
    request: &SearchRequest,
    foreseen: Option<&ForeseenSearch>,
) -> Result<SearchAnswer> {
    request.check()?;
    let plan = SearchPlan::new(collection, request)?;
    // The query is embedded here, before the loop that may run the legs several times.
    let asked = AskedQuery::new(collection, embedders, &request.query, foreseen)?;
    let (reached, gathered) = collect_hits(collection, &plan, &asked)?;
    compose_answer(collection, plan, &asked, &reached, gathered)
}

/// Collects the hits of a plan, and the last leg answers they come from.
///
/// The legs are asked for ever more drawers until there are enough hits. Each round ranks only the drawers that no
/// round before had, behind the others, and no round depends on the number of hits wanted: the first hits of a long
/// answer are those of a short one.
fn collect_hits(
    collection: &dyn CollectionReader,
    plan: &SearchPlan<'_>,
    asked: &AskedQuery,
) -> Result<(LegAnswers, GatheredHits)> {
    let mut added = literals::find_holders(collection, plan)?;
    if plan.asks_for_time {
        added.extend(plan.list_said(collection)?);
    }
    let mut gatherer = HitGatherer::new(collection, plan);
    let mut depth = plan.first_depth();
    loop {
        let reached = legs::run_legs(collection, plan, asked, depth)?;
        let ranked = fuse::fuse_legs(plan, &reached, &added);
        gatherer.gather_round(ranked, &reached)?;
        // Near-identical drawers can fill a leg and fold into few hits. A deeper run reaches the drawers they crowded
        // out; the loop ends because no leg is cut once the depth passes the scope.
        if gatherer.is_full() || !reached.is_cut_short() {
            return Ok((reached, gatherer.finish()));
        }
        depth = depth.saturating_mul(weights::DEEPER);
    }
}

fn missing_finding(missing: usize) -> PalaceFinding {
    let message = format!("{missing} drawers were found but cannot be read by their ids");
    PalaceFinding::new("drawer_missing", FindingSeverity::Error, message)
        .with_hint("see what is damaged with `loci verify`")
}

fn compose_answer(
    collection: &dyn CollectionReader,
    plan: SearchPlan<'_>,
    asked: &AskedQuery,
    reached: &LegAnswers,
    GatheredHits {
        mut hits,
        missing,
        unheld,
    }: GatheredHits,
) -> Result<SearchAnswer> {
    let request = plan.request;
    let (legs, mut warnings) = legs::report_coverage(collection, &plan, asked, reached)?;
    // The info read before the search may be stale: a damaged row is noticed only when it is read, possibly just now.
    let info = collection.info()?;
    // Found a moment ago and not to be read by its id: unless a write came between, an index has lost it.
    if missing > 0 && asked.is_same_state(&info) {
        warnings.push(missing_finding(missing));
    }
    warnings.extend(info.warnings);
    if plan.more_dates > 0 {
        let message = format!("{} more times in the query were ignored", plan.more_dates);
        let finding = PalaceFinding::new("times_left_out", FindingSeverity::Note, message);
        warnings.push(finding.with_hint("name fewer, or narrow with --since and --before"));
    }
    if request.context > 0 {
        let drawers: Vec<&Drawer> = hits.iter().map(|hit| &hit.drawer).collect();
        let around =
            neighbours::find_neighbours_of_many(collection, &drawers, request.context, request.context)?;
        for (hit, around) in hits.iter_mut().zip(around) {
            hit.around = around;
        }
    }
    let verdict = SearchVerdict::new(collection, &plan, &hits, &unheld)?;
    warnings.extend(verdict.list_findings(!hits.is_empty()));
    // Saturating: the two counts may be one write apart on a backend without moments.
    let tool_output_left_out = if request.includes_tool_output() {
        0
    } else {
        collection.count(&plan.asked)?.saturating_sub(plan.in_scope)
    };
    Ok(SearchAnswer {
        query: request.query.clone(),
        hits,
        legs,
        in_scope: plan.in_scope,
        tool_output_left_out,
        plan: plan.report(reached),
        verdict,
        dates: plan.dates,
        warnings,
    })
}
