//! `mempalace_search`: what was said, found by meaning and by words.

use loci_core::Result;
use loci_engine::search::{AlsoIn, Answer, Found, SearchRequest, search};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Namesake;
use super::drawer::{basename, named};
use super::fit::{self, Cut, Fitted};
use crate::mcp::shown::{beginning, rounded, trust};
use crate::mcp::tool::{Call, Effect};
use crate::mcp::tools::search::check_length;
use crate::mcp::wary;
use crate::mcp::within::Within;

/// How many hits there are where nobody says, and at most.
const USUAL: i64 = 5;
const MOST: i64 = 100;
/// Hits that are farther away are left out where nobody says.
const FARTHEST: f64 = 1.5;

pub(super) struct Search;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    query: String,
    /// 1 to 100 [5]
    limit: Option<i64>,
    wing: Option<String>,
    room: Option<String>,
    /// Exact path
    source_file: Option<String>,
    /// Said at or after, like 2026-05-01
    since: Option<String>,
    before: Option<String>,
    /// 0 = off [1.5]
    max_distance: Option<f64>,
    /// Ignored
    context: Option<String>,
    #[expect(
        dead_code,
        reason = "MemPalace takes it; both ways of finding always run here"
    )]
    candidate_strategy: Option<String>,
    #[expect(
        dead_code,
        reason = "MemPalace takes it; terminal and agents are answered alike here"
    )]
    cli_compatible: Option<bool>,
    #[expect(dead_code, reason = "MemPalace takes it; there are no media here")]
    include_media: Option<bool>,
    #[expect(dead_code, reason = "MemPalace takes it; one model answers every task here")]
    query_task: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    query: String,
    filters: Filters,
    /// Before `max_distance`.
    total_before_filter: usize,
    results: Vec<Hit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector_disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector_disabled_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_received: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(flatten)]
    cut: Option<Cut>,
}

#[derive(Debug, Serialize)]
struct Filters {
    wing: Option<String>,
    room: Option<String>,
    source_file: Option<String>,
    since: Option<String>,
    before: Option<String>,
}

#[derive(Debug, Serialize)]
struct Hit {
    drawer_id: String,
    text: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    wing: String,
    room: String,
    source_file: Option<String>,
    source_path: Option<String>,
    created_at: Option<String>,
    filed_at: Option<String>,
    authored_at: Option<String>,
    similarity: Option<f64>,
    distance: Option<f64>,
    effective_distance: Option<f64>,
    /// There are no closets here.
    closet_boost: f64,
    matched_via: &'static str,
    bm25_score: f64,
    trust: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    also_in: Vec<Other>,
}

#[derive(Debug, Serialize)]
struct Other {
    drawer_id: String,
    wing: String,
    room: String,
    source_file: Option<String>,
}

impl Namesake for Search {
    const NAME: &'static str = "mempalace_search";
    const ABOUT: &'static str = "Search the palace by meaning and by words; returns verbatim texts.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Output> {
        let collection = call.house.read()?;
        let within = Within {
            wing: input.wing.as_deref(),
            room: input.room.as_deref(),
            source: input.source_file.as_deref(),
            since: input.since.as_deref(),
            before: input.before.as_deref(),
            kind: None,
        };
        let request = SearchRequest {
            limit: input.limit.unwrap_or(USUAL).clamp(1, MOST) as usize,
            filter: within.filter(collection.as_ref())?,
            ..SearchRequest::new(input.query.clone(), call.house.now())
        };
        check_length(&request.query)?;
        let answer = search(collection.as_ref(), call.house.embedders(), &request)?;
        output(input, answer)
    }
}

fn output(input: Input, answer: Answer) -> Result<Output> {
    let total_before_filter = answer.hits.len();
    let farthest = input.max_distance.unwrap_or(FARTHEST);
    let near = |hit: &Found| farthest <= 0.0 || distance(hit).is_none_or(|distance| distance <= farthest);
    let flagged = |hit: Found| {
        (
            wary::flags(hit.drawer.document.as_deref().unwrap_or_default()),
            hit,
        )
    };
    let hits: Vec<(Flags, Found)> = answer.hits.into_iter().filter(near).map(flagged).collect();
    let Fitted { values, cut } = fit::fit(fit::budget()?, &hits, hit);
    let nearest = answer.legs.nearest;
    let words_only = !nearest.ran && answer.in_scope > 0;
    Ok(Output {
        query: answer.query,
        filters: Filters {
            wing: input.wing,
            room: input.room,
            source_file: input.source_file,
            since: input.since,
            before: input.before,
        },
        total_before_filter,
        results: values,
        vector_disabled: words_only.then_some(true),
        vector_disabled_reason: nearest.reason.filter(|_| words_only),
        context_received: input.context.map(|_| true),
        warnings: answer
            .warnings
            .into_iter()
            .map(|finding| finding.message)
            .collect(),
        cut,
    })
}

fn similarity(hit: &Found) -> Option<f64> {
    hit.why.nearest.map(|standing| rounded(standing.score))
}

fn distance(hit: &Found) -> Option<f64> {
    similarity(hit).map(|similarity| ((1.0 - similarity) * 1000.0).round() / 1000.0)
}

/// What is worth saying about a text.
type Flags = Vec<&'static str>;

/// A hit with at most so many bytes of its text.
fn hit((flags, found): &(Flags, Found), size: usize) -> Hit {
    let drawer = &found.drawer;
    let place = &drawer.place;
    let document = drawer.document.as_deref().unwrap_or_default();
    let text = beginning(document, size);
    let filed_at = drawer.filed_at.map(|time| time.to_string());
    let words_alone = found.why.nearest.is_none() && found.why.lexical.is_some();
    Hit {
        drawer_id: drawer.id.to_string(),
        text: text.to_owned(),
        truncated: text.len() < document.len(),
        wing: named(place.wing.as_deref()),
        room: named(place.room.as_deref()),
        source_file: place.source.as_deref().map(|source| basename(source).to_owned()),
        source_path: place.source.clone(),
        created_at: filed_at.clone(),
        filed_at,
        authored_at: place.said_at.map(|time| time.to_string()),
        similarity: similarity(found),
        distance: distance(found),
        effective_distance: distance(found),
        closet_boost: 0.0,
        matched_via: if words_alone { "bm25_backend" } else { "drawer" },
        bm25_score: found.why.lexical.map_or(0.0, |standing| rounded(standing.score)),
        trust: trust(drawer),
        flags: flags.clone(),
        also_in: found.also_in.iter().map(other).collect(),
    }
}

fn other(also: &AlsoIn) -> Other {
    Other {
        drawer_id: also.id.to_string(),
        wing: named(also.wing.as_deref()),
        room: named(also.room.as_deref()),
        source_file: also.source.as_deref().map(|source| basename(source).to_owned()),
    }
}
