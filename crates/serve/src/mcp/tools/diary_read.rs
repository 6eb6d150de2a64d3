//! `diary_read`: the newest entries of an agent's diary.

use loci_core::{Get, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diary_write::NOBODY;
use crate::mcp::budget::Budget;
use crate::mcp::diary;
use crate::mcp::receipt;
use crate::mcp::reply::page;
use crate::mcp::shown::{Brief, QUOTED, Shown, beginning};
use crate::mcp::tool::{Call, Effect, Reply, Tool};

/// How many entries there are where nobody says, and at most.
const USUAL: usize = 10;
const MOST: usize = 100;

pub(crate) struct DiaryRead;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Whose [the client's]
    agent: Option<String>,
    wing: Option<String>,
    limit: Option<usize>,
    tokens: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    agent: String,
    /// Newest first
    #[schemars(with = "Vec<Brief>")]
    entries: Vec<Shown>,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Tool for DiaryRead {
    const NAME: &'static str = "diary_read";
    const ABOUT: &'static str = "Read an agent's diary, newest first.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let budget = Budget::of(input.tokens)?;
        let agent = input
            .agent
            .as_deref()
            .or(call.client.as_deref())
            .unwrap_or(NOBODY);
        let agent = receipt::name("agent", agent)?;
        let collection = call.house.read()?;
        let entries = diary::entries(&agent, input.wing.as_deref(), collection.as_ref(), call)?;
        let before = match &input.cursor {
            None => 0,
            Some(cursor) => {
                let after = diary::after(cursor)?;
                entries.partition_point(|entry| diary::position(entry) <= after)
            }
        };
        let rest = entries.get(before..).unwrap_or_default();
        let limit = input.limit.unwrap_or(USUAL).clamp(1, MOST).min(rest.len());
        let ids = rest.iter().take(limit).map(|entry| entry.id.clone());
        let found = collection.get(&Get::ids(ids))?;
        let page = page(budget, &found, |at, drawer, size| {
            let text = drawer.document.as_deref().unwrap_or_default();
            let shown = Shown::of(drawer, beginning(text, 4 * size));
            (shown.line(before + at + 1), shown)
        });
        let last = found.get(page.values.len().saturating_sub(1)).map(diary::cursor);
        let next = last.filter(|_| page.values.len() < rest.len());
        let mut text = match page.values.is_empty() {
            true => format!("No diary entries of {agent}."),
            false => format!("{QUOTED}\n{}", page.lines.join("\n")),
        };
        if let Some(next) = &next {
            text.push_str(&format!("\nMore: cursor {next}"));
        }
        Ok(Reply {
            text,
            value: Output {
                agent,
                entries: page.values,
                total: entries.len() as u64,
                next,
            },
        })
    }
}
