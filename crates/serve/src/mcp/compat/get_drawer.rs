//! `mempalace_get_drawer` and `mempalace_get_drawers`: drawers by their ids.

use loci_core::{DrawerId, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::Namesake;
use super::drawer::{Whole, find, find_one, ids, metadata, missing};
use super::fit::{self, Cut, Fitted};
use crate::mcp::shown::{beginning, trust};
use crate::mcp::tool::{Call, Effect};
use crate::mcp::wary;

/// The least of a text that is worth sending, in bytes.
const LEAST: usize = 200;

/// A drawer.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    drawer_id: String,
    content: String,
    wing: String,
    room: String,
    metadata: Map<String, Json>,
    trust: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    flags: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chunk_ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    /// Where the text goes on, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl Shown {
    fn of(read: &Read, content: &str) -> Self {
        let Read { whole, text, flags } = read;
        let first = whole.first();
        let place = first.map(|drawer| drawer.place.clone()).unwrap_or_default();
        let chunk_ids = whole.chunk_ids();
        Self {
            drawer_id: whole.id.to_string(),
            content: content.to_owned(),
            wing: place.wing.unwrap_or_default(),
            room: place.room.unwrap_or_default(),
            metadata: first.map(metadata).unwrap_or_default(),
            trust: first.map_or("unknown", trust),
            flags: flags.clone(),
            chunks: chunk_ids.as_ref().map(Vec::len),
            chunk_ids,
            truncated: content.len() < text.len(),
            next_offset: None,
        }
    }
}

/// A drawer that was read, to be shown in whole or in part.
struct Read {
    whole: Whole,
    text: String,
    flags: Vec<&'static str>,
}

impl From<Whole> for Read {
    fn from(whole: Whole) -> Self {
        let text = whole.text();
        Self {
            flags: wary::flags(&text),
            text,
            whole,
        }
    }
}

pub(super) struct GetDrawer;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OneInput {
    drawer_id: String,
    /// Byte to go on from: `next_offset` of a reply that was truncated
    offset: Option<usize>,
}

impl Namesake for GetDrawer {
    const NAME: &'static str = "mempalace_get_drawer";
    const ABOUT: &'static str = "One drawer by id: whole text and metadata.";
    const EFFECT: Effect = Effect::Reads;
    type Input = OneInput;
    type Output = Shown;

    fn call(input: OneInput, call: &Call<'_>) -> Result<Shown> {
        let whole = find_one(call.house.read()?.as_ref(), &input.drawer_id)?;
        let read = Read::from(whole);
        let from = read.text.floor_char_boundary(input.offset.unwrap_or(0));
        let rest = read.text.get(from..).unwrap_or_default();
        let budget = fit::budget()?;
        let mut take = rest.len().min(budget.bytes());
        loop {
            let part = rest.get(..rest.floor_char_boundary(take)).unwrap_or_default();
            let mut shown = Shown::of(&read, part);
            shown.next_offset = (part.len() < rest.len()).then_some(from + part.len());
            let words = serde_json::to_string_pretty(&shown).unwrap_or_default();
            if budget.clone().spend(&words, &shown) || take <= LEAST {
                return Ok(shown);
            }
            take = take * 3 / 4;
        }
    }
}

pub(super) struct GetDrawers;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ManyInput {
    /// At most 500
    drawer_ids: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Many {
    results: Vec<Outcome>,
    count: usize,
    errors: usize,
    #[serde(flatten)]
    cut: Option<Cut>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Outcome {
    Found(Box<Shown>),
    Missing { drawer_id: String, error: String },
}

impl Namesake for GetDrawers {
    const NAME: &'static str = "mempalace_get_drawers";
    const ABOUT: &'static str = "Several drawers by id; one that is missing is an error beside the others.";
    const EFFECT: Effect = Effect::Reads;
    type Input = ManyInput;
    type Output = Many;

    fn call(input: ManyInput, call: &Call<'_>) -> Result<Many> {
        let ids = ids(&input.drawer_ids)?;
        let found = find(call.house.read()?.as_ref(), &ids)?;
        let found: Vec<(DrawerId, Option<Read>)> = found
            .into_iter()
            .map(|(id, whole)| (id, whole.map(Read::from)))
            .collect();
        let errors = found.iter().filter(|(_, read)| read.is_none()).count();
        let Fitted { values, cut } = fit::fit(fit::budget()?, &found, outcome);
        Ok(Many {
            count: values.len(),
            results: values,
            errors,
            cut,
        })
    }
}

fn outcome((id, read): &(DrawerId, Option<Read>), size: usize) -> Outcome {
    match read {
        Some(read) => Outcome::Found(Box::new(Shown::of(read, beginning(&read.text, size)))),
        None => Outcome::Missing {
            drawer_id: id.to_string(),
            error: missing(id).message().to_owned(),
        },
    }
}
