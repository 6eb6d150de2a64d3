//! The answer of a search as scripts see it.

use loci_core::{DrawerId, Finding, Metadata, Span, Timestamp};
use loci_engine::search::{AlsoIn, Answer, Dated, Found, Legs, PlanReport, Why};
use serde::Serialize;

use crate::render::DrawerJson;

/// An answer. How the query was understood stands there only if that was asked for.
#[derive(Debug, Serialize)]
pub(super) struct AnswerJson<'a> {
    query: &'a str,
    hits: Vec<FoundJson<'a>>,
    legs: &'a Legs,
    in_scope: u64,
    tool_output_left_out: u64,
    dates: &'a [Dated],
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<&'a PlanReport>,
    warnings: &'a [Finding],
}

impl<'a> AnswerJson<'a> {
    pub(super) fn of(answer: &'a Answer, explain: bool) -> Self {
        Self {
            query: &answer.query,
            hits: answer.hits.iter().map(FoundJson::of).collect(),
            legs: &answer.legs,
            in_scope: answer.in_scope,
            tool_output_left_out: answer.tool_output_left_out,
            dates: &answer.dates,
            plan: explain.then_some(&answer.plan),
            warnings: &answer.warnings,
        }
    }
}

/// A hit: what is not set is null.
#[derive(Debug, Serialize)]
struct FoundJson<'a> {
    id: &'a DrawerId,
    text: &'a str,
    wing: Option<&'a str>,
    room: Option<&'a str>,
    source: Option<&'a str>,
    span: Option<Span>,
    speaker: Option<&'a str>,
    kind: Option<&'a str>,
    said_at: Option<Timestamp>,
    filed_at: Option<Timestamp>,
    metadata: Option<&'a Metadata>,
    score: f32,
    why: &'a Why,
    also_in: &'a [AlsoIn],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<DrawerJson<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<DrawerJson<'a>>,
}

impl<'a> FoundJson<'a> {
    fn of(hit: &'a Found) -> Self {
        let (drawer, place) = (&hit.drawer, &hit.drawer.place);
        let beside = |drawers: &'a [loci_core::Drawer]| {
            drawers
                .iter()
                .map(|drawer| DrawerJson::of(drawer, false))
                .collect()
        };
        Self {
            id: &drawer.id,
            text: drawer.document.as_deref().unwrap_or_default(),
            wing: place.wing.as_deref(),
            room: place.room.as_deref(),
            source: place.source.as_deref(),
            span: place.span,
            speaker: place.speaker.as_deref(),
            kind: place.kind.as_deref(),
            said_at: place.said_at,
            filed_at: drawer.filed_at,
            metadata: drawer.metadata.as_ref(),
            score: hit.score,
            why: &hit.why,
            also_in: &hit.also_in,
            before: beside(&hit.around.before),
            after: beside(&hit.around.after),
        }
    }
}
