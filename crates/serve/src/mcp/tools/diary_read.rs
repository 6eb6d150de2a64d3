//! `diary_read`: the newest entries of an agent's diary.

use loci_core::{DrawerOrder, Result};
use loci_engine::diary::DiaryRequest;
use loci_engine::view::DrawerView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diary_write::name_agent;
use super::list::fit_drawers;
use crate::mcp::budget::Budget;
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::words::{self, QUOTED};

/// How many entries there are if no limit is given, and at most.
const USUAL: usize = 10;
const MOST: usize = 100;
/// How many times as much of an entry is quoted as of another drawer.
const LONGER: usize = 4;

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
    #[schemars(with = "Vec<String>")]
    entries: Vec<DrawerView>,
    total: u64,
    next: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Tool for DiaryRead {
    const NAME: &'static str = "diary_read";
    const ABOUT: &'static str = "Read an agent's diary, newest first.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let mut budget = Budget::of(input.tokens)?;
        let report = call.palace.read_diary(&DiaryRequest {
            agent: name_agent(input.agent, call),
            wing: input.wing,
            cursor: input.cursor,
            limit: input.limit.unwrap_or(USUAL).clamp(1, MOST),
        })?;
        let warnings = words::warnings(&report.warnings);
        budget.spend(&warnings.concat(), &warnings);
        let order = DrawerOrder::NewestSaid;
        let (entries, lines, next) = fit_drawers(budget, report.entries, order, report.next, LONGER);
        let mut text = if entries.is_empty() {
            format!("No diary entries of {}.", report.agent)
        } else {
            format!("{QUOTED}\n{}", lines.join("\n"))
        };
        words::end(&mut text, &warnings, next.as_deref());
        let value = Output {
            agent: report.agent,
            entries,
            total: report.total,
            next,
            warnings,
        };
        Ok(Reply { text, value })
    }
}
