//! `status`: reports the contents of the palace and the coverage of search.

use loci_core::{ErrorKind, Result, format_count};
use loci_engine::status::describe_embedder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};
use crate::mcp::words;

pub(crate) struct StatusTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct StatusInput {}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct StatusOutput {
    palace: String,
    backend: String,
    /// false: no palace yet; `add` creates it
    exists: bool,
    drawers: u64,
    wings: u64,
    rooms: u64,
    model: Option<String>,
    /// Drawers found by meaning
    by_meaning: u64,
    /// Drawers found by words
    by_words: u64,
    read_only: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl PalaceTool for StatusTool {
    const NAME: &'static str = "status";
    const ABOUT: &'static str =
        "Report what the palace holds, how much of it search covers, and problems, if any.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Input = StatusInput;
    type Output = StatusOutput;

    fn call(_: StatusInput, call: &CallContext<'_>) -> Result<ToolReply<StatusOutput>> {
        let address = call.palace.address()?;
        let palace = StatusOutput {
            palace: call.palace.shown_name()?,
            backend: address.backend.descriptor().name.clone(),
            read_only: call.palace.access().is_read_only(),
            ..StatusOutput::default()
        };
        let overview = match call.palace.describe_collection() {
            // The one tool that answers without a palace: an agent asks here first, and must learn that `add`
            // creates it.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let text = format!("No palace exists at {} yet.", palace.palace);
                return Ok(ToolReply { text, value: palace });
            }
            read => read?,
        };
        let info = &overview.info;
        let value = StatusOutput {
            exists: true,
            drawers: info.drawers,
            wings: overview.wings.len() as u64,
            rooms: overview.wings.iter().map(|wing| wing.rooms.len() as u64).sum(),
            model: describe_embedder(&info.identity, info.dimension).model,
            by_meaning: info.coverage.nearest,
            by_words: info.coverage.lexical,
            warnings: words::list_warnings(&info.warnings),
            ..palace
        };
        let mut text = format!(
            "{}: {} in {} and {}; {} found by meaning, {} by words.",
            value.palace,
            format_count(value.drawers, "drawer"),
            format_count(value.wings, "wing"),
            format_count(value.rooms, "room"),
            value.by_meaning,
            value.by_words
        );
        words::append_ending(&mut text, &value.warnings, None);
        Ok(ToolReply { text, value })
    }
}
