//! `list`: drawers in order of their ids, page by page.

use loci_core::{DrawerId, DrawerPosition, Get, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::Budget;
use crate::mcp::reply::page;
use crate::mcp::shown::{Brief, QUOTED, Shown, beginning};
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::within::Within;

/// How many drawers there are where nobody says, and at most.
const USUAL: usize = 20;
const MOST: usize = 200;

pub(crate) struct List;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    wing: Option<String>,
    room: Option<String>,
    source: Option<String>,
    since: Option<String>,
    before: Option<String>,
    kind: Option<String>,
    limit: Option<usize>,
    tokens: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    #[schemars(with = "Vec<Brief>")]
    drawers: Vec<Shown>,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Tool for List {
    const NAME: &'static str = "list";
    const ABOUT: &'static str = "List drawers of a wing, room, source or time, by id.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let budget = Budget::of(input.tokens)?;
        let limit = input.limit.unwrap_or(USUAL).clamp(1, MOST);
        let collection = call.house.read()?;
        let within = Within {
            wing: input.wing.as_deref(),
            room: input.room.as_deref(),
            source: input.source.as_deref(),
            since: input.since.as_deref(),
            before: input.before.as_deref(),
            kind: input.kind.as_deref(),
        };
        let filter = within.filter(collection.as_ref())?;
        let total = collection.count(&filter.clone().into())?;
        let found = collection.get(&Get {
            filter,
            after: input
                .cursor
                .map(DrawerId::new)
                .transpose()?
                .map(DrawerPosition::Id),
            limit: Some(limit + 1),
            ..Get::default()
        })?;
        let shown = found.get(..limit).unwrap_or(&found);
        let page = page(budget, shown, |at, drawer, size| {
            let text = drawer.document.as_deref().unwrap_or_default();
            let shown = Shown::of(drawer, beginning(text, size));
            (shown.line(at + 1), shown)
        });
        let last = page.values.last().filter(|_| page.values.len() < found.len());
        let next = last.map(|last| last.id.clone());
        let mut text = match page.values.is_empty() {
            true => "No drawers.".to_owned(),
            false => format!("{QUOTED} {total} drawers.\n{}", page.lines.join("\n")),
        };
        if let Some(next) = &next {
            text.push_str(&format!("\nMore: cursor {next}"));
        }
        let drawers = page.values;
        Ok(Reply {
            text,
            value: Output { drawers, total, next },
        })
    }
}
