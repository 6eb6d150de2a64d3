//! Search: both legs over everything in scope, fused, near-identical hits folded into one; nothing is silent.
//!
//! A plan is made of the query; the nearest drawers and those that match its words are candidates, each leg under the
//! filter; their scores are brought to one scale and added; the best are read with their texts, asked by the filter
//! once more and ranked by the words they hold themselves. The answer says which legs ran, what share of the drawers in scope each reached, and warns where that
//! is below all of them.

mod fuse;
mod legs;
mod marks;
mod plan;
mod pool;
mod report;
mod stop_words;
mod text;
mod weights;
mod why_not;

use loci_core::{
    CollectionReader, Comparison, Drawer, DrawerCondition, DrawerId, Error, Filter, Finding, Place, Result,
    Scalar, Severity, Span, Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::EmbedderCatalog;
use crate::neighbours;
use crate::view::DrawerScope;
use legs::{Asked, Reached};
use plan::Plan;

pub use marks::{excerpt, marks};
pub use plan::{Balance, Dated, PlanReport};
pub use report::SearchReport;
pub use why_not::{Reason, WhyNot, why_not};

/// The kind of drawers that are left out unless they are asked for: what tools printed.
pub const TOOL_OUTPUT: &str = "tool_result";

/// What is looked for, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRequest {
    /// The question or words.
    pub query: String,
    /// At most this many hits; at least one.
    pub limit: usize,
    /// The drawers searched.
    pub scope: DrawerScope,
    /// The `next` of the page before; only [`Palace::search`] pages.
    pub cursor: Option<String>,
    /// What tools printed too; see [`SearchRequest::takes_tools`].
    pub tools: bool,
    /// The newest first rather than as a tie-break.
    pub recent: bool,
    /// Whether times that the query mentions count.
    pub dates: bool,
    /// How many neighbours on each side to bring with each hit.
    pub context: usize,
    /// When it is asked.
    pub now: Timestamp,
}

impl SearchRequest {
    /// Ten hits for `query` in everything but what tools printed.
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
            now,
        }
    }

    /// Refuses requests for nothing.
    pub fn check(&self) -> Result<()> {
        if self.query.trim().is_empty() {
            return Err(Error::invalid("there is nothing to search for")
                .hint("write `loci search QUERY`; `loci list` and `loci timeline` show what there is"));
        }
        if self.limit == 0 {
            return Err(Error::invalid("a search must ask for at least one hit"));
        }
        self.scope.check()
    }

    /// Whether tool output is searched, too: where that is asked for, or where the scope names a kind, since naming a
    /// kind decides about tool output as well.
    pub fn takes_tools(&self) -> bool {
        self.tools || self.scope.kind.is_some() || names_kind(&self.scope.filter)
    }

    /// The drawers searched: those of the scope, without tool output unless that is taken, too.
    pub fn searched(&self, scope: &DrawerCondition) -> DrawerCondition {
        let mut searched = scope.clone();
        if !self.takes_tools() {
            let printed = Comparison::Ne(Scalar::Text(TOOL_OUTPUT.into()));
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

/// What was found, and how far the search reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The query as it was asked.
    pub query: String,
    /// The hits, best first.
    pub hits: Vec<Found>,
    /// Which legs ran and what they reached.
    pub legs: Legs,
    /// How many drawers were searched.
    pub in_scope: u64,
    /// How many more the filter accepts that were left out as what tools printed.
    pub tool_output_left_out: u64,
    /// The times the query mentions.
    pub dates: Vec<Dated>,
    /// How the query was understood and weighed.
    pub plan: PlanReport,
    /// What a reader should know.
    pub warnings: Vec<Finding>,
}

/// One hit.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The drawer with its text and metadata.
    pub drawer: Drawer,
    /// How good it is among the hits of this search; larger is better.
    pub score: f32,
    /// What speaks for it.
    pub why: Why,
    /// Where else the same stands, nearly word for word.
    pub also_in: Vec<AlsoIn>,
    /// What stands around it in its source, if asked for.
    pub around: neighbours::Around,
}

/// What speaks for a hit. A leg that did not find it is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Why {
    /// Its place among the nearest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<Standing>,
    /// Its place among those that match the words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lexical: Option<Standing>,
    /// What share of the query's telling words stands in its own text, from 0 to 1.
    pub words: f32,
    /// What else of its source was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceEvidence>,
    /// The words of the query that mention the time it was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Whether it counts more because a person said it and the query speaks of "I" or "my".
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own_words: bool,
}

/// A place in one leg.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Standing {
    /// 1 for the best.
    pub rank: usize,
    /// The leg's own score: similarity, or BM25; larger is better.
    pub score: f32,
}

/// What the rest of a source says for its pieces.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SourceEvidence {
    /// How many of its pieces were found.
    pub pieces: usize,
    /// What the best of the others add.
    pub score: f32,
}

/// A drawer that says nearly the same as a hit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AlsoIn {
    /// Its id.
    pub id: DrawerId,
    /// Its wing.
    pub wing: Option<String>,
    /// Its room.
    pub room: Option<String>,
    /// Its source.
    pub source: Option<String>,
    /// Where in its source.
    pub span: Option<Span>,
    /// When it was said.
    pub said_at: Option<Timestamp>,
}

impl AlsoIn {
    fn of(drawer: &Drawer) -> Self {
        let Place {
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

/// Both ways of finding.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Legs {
    /// By meaning.
    pub nearest: Leg,
    /// By words.
    pub lexical: Leg,
}

/// One way of finding.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Leg {
    /// Whether it ran.
    pub ran: bool,
    /// What share of the drawers in scope it reached, from 0 to 1.
    pub coverage: f64,
    /// Why it did not run, or what it did not reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Answers a request.
pub fn search(
    collection: &dyn CollectionReader,
    embedders: &dyn EmbedderCatalog,
    request: &SearchRequest,
) -> Result<Answer> {
    request.check()?;
    let plan = Plan::new(collection, request)?;
    let asked = Asked::new(collection, embedders, &request.query)?;
    let (reached, hits) = hits(collection, &plan, &asked)?;
    answer(collection, plan, &asked, &reached, hits)
}

/// The hits of a plan, and what the legs gave for them.
fn hits(collection: &dyn CollectionReader, plan: &Plan<'_>, asked: &Asked) -> Result<(Reached, Vec<Found>)> {
    let mut depth = plan.depth();
    loop {
        let reached = legs::run(collection, plan, asked, depth)?;
        let ranked = fuse::fuse(plan, &reached);
        let hits = pool::gather(collection, plan, &ranked)?;
        // Near-identical drawers can fill a leg; what they crowd out is looked for deeper.
        if hits.len() >= plan.request.limit || !reached.is_cut_short(depth) {
            return Ok((reached, hits));
        }
        depth = depth.saturating_mul(weights::DEEPER);
    }
}

fn answer(
    collection: &dyn CollectionReader,
    plan: Plan<'_>,
    asked: &Asked,
    reached: &Reached,
    mut hits: Vec<Found>,
) -> Result<Answer> {
    let request = plan.request;
    let (legs, mut warnings) = legs::coverage(collection, &plan, asked, reached)?;
    // Asked anew: damage is noticed where it is read, which may have been just now.
    warnings.extend(collection.info()?.warnings);
    if plan.more_dates > 0 {
        let message = format!("{} more times in the query count for nothing", plan.more_dates);
        let finding = Finding::new("times_left_out", Severity::Note, message);
        warnings.push(finding.hint("name fewer, or narrow with --since and --before"));
    }
    if request.context > 0 {
        let drawers: Vec<&Drawer> = hits.iter().map(|hit| &hit.drawer).collect();
        let around = neighbours::of_many(collection, &drawers, request.context, request.context)?;
        for (hit, around) in hits.iter_mut().zip(around) {
            hit.around = around;
        }
    }
    let tool_output_left_out = match request.takes_tools() {
        true => 0,
        false => collection.count(&plan.asked)?.saturating_sub(plan.in_scope),
    };
    Ok(Answer {
        query: request.query.clone(),
        hits,
        legs,
        in_scope: plan.in_scope,
        tool_output_left_out,
        plan: plan.report(reached),
        dates: plan.dates,
        warnings,
    })
}
