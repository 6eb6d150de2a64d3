//! `move`: moves drawers to another wing or room.

use loci_core::Result;
use loci_engine::refile::MoveRequest;
use loci_engine::view::ScopeFields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get::parse_ids;
use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};
use crate::mcp::words;

pub(crate) struct MoveTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MoveInput {
    #[serde(default)]
    ids: Vec<String>,
    #[serde(flatten)]
    scope: ScopeFields,
    to_wing: Option<String>,
    to_room: Option<String>,
    /// Only count
    dry_run: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MoveOutput {
    matched: u64,
    /// Those not there already
    moved: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl PalaceTool for MoveTool {
    const NAME: &'static str = "move";
    const ABOUT: &'static str =
        "Move drawers, by ids or by scope, to another wing or room; ids and texts stay.";
    const EFFECT: ToolEffect = ToolEffect::Changes;
    type Input = MoveInput;
    type Output = MoveOutput;

    fn call(input: MoveInput, call: &CallContext<'_>) -> Result<ToolReply<MoveOutput>> {
        let ids = parse_ids(&input.ids)?;
        let report = call.palace.move_drawers(&MoveRequest {
            ids: ids.clone(),
            whole_ids: false,
            scope: input.scope.parse(call.palace.now())?,
            to_wing: input.to_wing,
            to_room: input.to_room,
            expected: None,
            dry_run: input.dry_run == Some(true),
        })?;
        if report.matched == 0 && !ids.is_empty() {
            return Err(words::missing_drawers_error(&ids));
        }
        // Some ids found and some not is a partial success: the missing ones are named, not raised as an
        // error.
        let missing = words::ids_that_fit(&report.missing, words::MAX_MISSING_BYTES);
        let warnings = words::list_warnings(&report.warnings);
        let mut text = format!("{} of {} moved", report.moved, report.matched);
        if !missing.is_empty() {
            let named = words::join_ids(&report.missing, &missing);
            text.push_str(&format!("; missing: {named}"));
        }
        words::append_ending(&mut text, &warnings, None);
        let value = MoveOutput {
            matched: report.matched,
            moved: report.moved,
            missing,
            warnings,
        };
        Ok(ToolReply { text, value })
    }
}
