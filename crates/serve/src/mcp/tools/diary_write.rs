//! `diary_write`: adds an entry to an agent's diary.

use loci_core::Result;
use loci_engine::diary::DiaryEntryRequest;
use loci_engine::note::NoteReport;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};

/// The owner of the diary if neither the call nor the client names one.
const DEFAULT_AGENT: &str = "agent";

pub(crate) struct DiaryWriteTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DiaryWriteInput {
    entry: String,
    /// Your name [the client]
    agent: Option<String>,
    topic: Option<String>,
    wing: Option<String>,
    idempotency_key: Option<String>,
}

impl PalaceTool for DiaryWriteTool {
    const NAME: &'static str = "diary_write";
    const ABOUT: &'static str =
        "Write a diary entry at the end of a task: what was done, learned and left open.";
    const EFFECT: ToolEffect = ToolEffect::Adds;
    type Input = DiaryWriteInput;
    type Output = NoteReport;

    fn call(input: DiaryWriteInput, call: &CallContext<'_>) -> Result<ToolReply<NoteReport>> {
        let report = call.palace.write_diary(&DiaryEntryRequest {
            agent: choose_agent(input.agent, call),
            text: input.entry,
            topic: input.topic,
            wing: input.wing,
            idempotency_key: input.idempotency_key,
            by: call.client.clone(),
        })?;
        let note = report.note;
        Ok(ToolReply {
            text: format!("{} {} at {}", note.outcome, note.address, report.said_at),
            value: note,
        })
    }
}

/// Returns the agent whose diary the call concerns.
pub(super) fn choose_agent(given: Option<String>, call: &CallContext<'_>) -> String {
    given
        .or_else(|| call.client.clone())
        .unwrap_or_else(|| DEFAULT_AGENT.to_owned())
}
