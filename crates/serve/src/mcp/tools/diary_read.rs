//! `diary_read`: the newest entries of an agent's diary.

use loci_core::{DrawerOrder, Result};
use loci_engine::diary::DiaryRequest;
use loci_engine::view::DrawerView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::diary_write::choose_agent;
use super::list::fit_drawers;
use crate::mcp::budget::ReplyBudget;
use crate::mcp::drawer_keys::DrawerKeys;
use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};
use crate::mcp::words::{self, QUOTE_NOTICE};

/// The default and the largest number of entries.
const DEFAULT_LIMIT: usize = 10;
const MAX_LIMIT: usize = 100;
/// Entries are quoted at this multiple of the usual length: they are written to be read whole.
const ENTRY_SIZE_FACTOR: usize = 4;

pub(crate) struct DiaryReadTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DiaryReadInput {
    /// Owner [the client]
    agent: Option<String>,
    wing: Option<String>,
    limit: Option<usize>,
    tokens: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DiaryReadOutput {
    agent: String,
    /// Newest first
    #[schemars(with = "Vec<DrawerKeys>", extend("x-brief" = true))]
    entries: Vec<DrawerView>,
    total: u64,
    next: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl PalaceTool for DiaryReadTool {
    const NAME: &'static str = "diary_read";
    const ABOUT: &'static str = "Read an agent's diary, newest first.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Input = DiaryReadInput;
    type Output = DiaryReadOutput;

    fn call(input: DiaryReadInput, call: &CallContext<'_>) -> Result<ToolReply<DiaryReadOutput>> {
        let mut budget = ReplyBudget::from_tokens(input.tokens)?;
        let report = call.palace.read_diary(&DiaryRequest {
            agent: choose_agent(input.agent, call),
            wing: input.wing,
            cursor: input.cursor,
            limit: input.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT),
        })?;
        let warnings = words::list_warnings(&report.warnings);
        budget.spend(&warnings.concat(), &warnings);
        let order = DrawerOrder::NewestSaid;
        let (entries, lines, next) =
            fit_drawers(budget, report.entries, order, report.next, ENTRY_SIZE_FACTOR);
        let mut text = if entries.is_empty() {
            format!("{} has no diary entries.", report.agent)
        } else {
            format!("{QUOTE_NOTICE}\n{}", lines.join("\n"))
        };
        words::append_ending(&mut text, &warnings, next.as_deref());
        let value = DiaryReadOutput {
            agent: report.agent,
            entries,
            total: report.total,
            next,
            warnings,
        };
        Ok(ToolReply { text, value })
    }
}
