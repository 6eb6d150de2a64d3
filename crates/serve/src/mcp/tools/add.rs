//! `add`: files a note.

use loci_core::Result;
use loci_engine::note::{NoteReport, NoteRequest};
use loci_engine::view::parse_time;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};

pub(crate) struct AddTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AddInput {
    /// Kept verbatim
    text: String,
    wing: Option<String>,
    room: Option<String>,
    source: Option<String>,
    said_at: Option<String>,
    /// A retry with the same key writes once
    idempotency_key: Option<String>,
}

impl PalaceTool for AddTool {
    const NAME: &'static str = "add";
    const ABOUT: &'static str = "File a note: a decision, fact or agreement worth keeping, in its own words. Returns \
        once it is durable. The same text in the same place is filed once.";
    const EFFECT: ToolEffect = ToolEffect::Adds;
    type Input = AddInput;
    type Output = NoteReport;

    fn call(input: AddInput, call: &CallContext<'_>) -> Result<ToolReply<NoteReport>> {
        let report = call.palace.file_note(&NoteRequest {
            said_at: parse_time("said_at", input.said_at.as_deref())?,
            text: input.text,
            wing: input.wing,
            room: input.room,
            source: input.source,
            idempotency_key: input.idempotency_key,
            // The client's own name and not an argument: an agent must not file words as another speaker's.
            speaker: call.client.clone(),
            by: call.client.clone(),
            ..NoteRequest::default()
        })?;
        Ok(ToolReply {
            text: format!("{} {}", report.outcome, report.address),
            value: report,
        })
    }
}
