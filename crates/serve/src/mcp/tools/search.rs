//! `search`: what was said, found by meaning and by words.

use std::collections::HashSet;

use loci_core::{Collection, DrawerId, Error, ErrorKind, Result};
use loci_engine::filing::Embedders;
use loci_engine::search::{Answer, Found, SearchRequest, excerpt, marks, search};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::Budget;
use crate::mcp::reply::{cursor, page, shown_before};
use crate::mcp::shown::{QUOTED, Shown, rounded};
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::within::Within;

/// How many hits there are where nobody says, and at most.
const USUAL: usize = 10;
const MOST: usize = 100;

pub(crate) struct Search;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// A question or words
    query: String,
    limit: Option<usize>,
    wing: Option<String>,
    room: Option<String>,
    /// Said at or after, like 2026-05-01
    since: Option<String>,
    before: Option<String>,
    /// human, assistant, tool_result, file, note, diary…
    kind: Option<String>,
    /// Budget of the reply
    tokens: Option<usize>,
    /// `next` of the reply before
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    hits: Vec<Shown>,
    /// Drawers searched
    in_scope: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Tool for Search {
    const NAME: &'static str = "search";
    const ABOUT: &'static str = "Find what was said, decided or filed before, by meaning and by words. Use it before \
        answering about past work, people or decisions. Returns cited snippets; `get` returns whole texts by id.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let mut budget = Budget::of(input.tokens)?;
        let asked = format!(
            "{:?}",
            (
                &input.query,
                &input.wing,
                &input.room,
                &input.since,
                &input.before,
                &input.kind
            )
        );
        let before = shown_before(input.cursor.as_deref(), &asked)?;
        let limit = input.limit.unwrap_or(USUAL).clamp(1, MOST);
        let collection = call.house.read()?;
        let filter = Within {
            wing: input.wing.as_deref(),
            room: input.room.as_deref(),
            since: input.since.as_deref(),
            before: input.before.as_deref(),
            kind: input.kind.as_deref(),
            ..Within::default()
        };
        let request = SearchRequest {
            filter: filter.filter(collection.as_ref())?,
            ..SearchRequest::new(input.query, call.house.now())
        };
        // One more says whether there are more.
        let wanted = before + limit + 1;
        let answer = ranked(collection.as_ref(), call.house.embedders(), request, wanted)?;
        let warnings: Vec<String> = answer
            .warnings
            .iter()
            .map(|finding| finding.message.clone())
            .collect();
        budget.spend(&warnings.concat(), &warnings);
        Ok(reply(answer, before, limit, &asked, warnings, budget))
    }
}

/// The longest query that is taken, in bytes: what a query costs grows faster than it, and others wait.
const LONGEST: usize = 20_000;

/// Refuses a query that would take long.
pub(crate) fn check_length(query: &str) -> Result<()> {
    if query.len() <= LONGEST {
        return Ok(());
    }
    let message = format!("the query has {} bytes; {LONGEST} are the most", query.len());
    Err(Error::invalid(message).hint("nothing was searched; ask with fewer words"))
}

/// How deep a search goes at first, and then, until there is enough.
const DEPTHS: [usize; 4] = [20, 200, 2_000, 20_000];

/// At least so many hits, if there are that many. How hits are ranked depends on how many are asked for, so the first come
/// from the same search whichever page is wanted, and deeper ones add what was not among them: pages neither repeat nor
/// leave out.
pub(crate) fn ranked(
    collection: &dyn Collection,
    embedders: &dyn Embedders,
    mut request: SearchRequest,
    wanted: usize,
) -> Result<Answer> {
    check_length(&request.query)?;
    let mut whole: Option<Answer> = None;
    for limit in DEPTHS {
        request.limit = limit;
        let answer = search(collection, embedders, &request)?;
        let ended = answer.hits.len() < limit;
        match &mut whole {
            None => whole = Some(answer),
            Some(whole) => {
                let seen: HashSet<DrawerId> = whole.hits.iter().map(|hit| hit.drawer.id.clone()).collect();
                let new = answer
                    .hits
                    .into_iter()
                    .filter(|hit| !seen.contains(&hit.drawer.id));
                whole.hits.extend(new);
            }
        }
        if ended || whole.as_ref().is_some_and(|whole| whole.hits.len() >= wanted) {
            break;
        }
    }
    whole.ok_or_else(|| Error::new(ErrorKind::Internal, "no search was made"))
}

fn reply(
    answer: Answer,
    before: usize,
    limit: usize,
    asked: &str,
    warnings: Vec<String>,
    budget: Budget,
) -> Reply<Output> {
    let words = &answer.plan.words;
    let found = answer.hits.get(before..).unwrap_or_default();
    let hits = found.get(..limit).unwrap_or(found);
    let page = page(budget, hits, |at, hit, size| {
        let shown = shown(hit, words, size);
        (shown.line(before + at + 1), shown)
    });
    let more = page.values.len() < found.len();
    let next = more.then(|| cursor(before + page.values.len(), asked));
    let mut text = match page.values.is_empty() {
        true => format!("Nothing found in {} drawers.", answer.in_scope),
        false => format!(
            "{QUOTED} {} drawers searched.\n{}",
            answer.in_scope,
            page.lines.join("\n")
        ),
    };
    for warning in &warnings {
        text.push_str(&format!("\nWarning: {warning}"));
    }
    if let Some(next) = &next {
        text.push_str(&format!("\nMore: cursor {next}"));
    }
    Reply {
        text,
        value: Output {
            hits: page.values,
            in_scope: answer.in_scope,
            next,
            warnings,
        },
    }
}

/// A hit with the part of its text that holds most of the query's words.
fn shown(hit: &Found, words: &[String], size: usize) -> Shown {
    let document = hit.drawer.document.as_deref().unwrap_or_default();
    let part = excerpt(document, &marks(document, words), size);
    let mut shown = Shown::of(&hit.drawer, document.get(part).unwrap_or_default());
    shown.score = Some(rounded(hit.score));
    shown
}
