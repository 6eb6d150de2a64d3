//! `update`: changes a drawer's text, place or time.

use loci_core::{DrawerId, Result};
use loci_engine::update::{UpdateReport, UpdateRequest};
use loci_engine::view::parse_time;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};

pub(crate) struct UpdateTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct UpdateInput {
    id: String,
    text: Option<String>,
    wing: Option<String>,
    room: Option<String>,
    source: Option<String>,
    said_at: Option<String>,
}

impl PalaceTool for UpdateTool {
    const NAME: &'static str = "update";
    const ABOUT: &'static str = "Correct a drawer: replace its text, place or time. Omitted fields stay.";
    // The old text is lost, so clients should ask before they run it.
    const EFFECT: ToolEffect = ToolEffect::Overwrites;
    type Input = UpdateInput;
    type Output = UpdateReport;

    fn call(input: UpdateInput, call: &CallContext<'_>) -> Result<ToolReply<UpdateReport>> {
        let report = call.palace.update(&UpdateRequest {
            text: input.text,
            wing: input.wing,
            room: input.room,
            source: input.source,
            said_at: parse_time("said_at", input.said_at.as_deref())?,
            by: call.client.clone(),
            ..UpdateRequest::new(DrawerId::new(input.id)?)
        })?;
        Ok(ToolReply {
            text: format!("updated {}", report.id),
            value: report,
        })
    }
}
