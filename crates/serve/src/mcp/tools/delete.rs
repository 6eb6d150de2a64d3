//! `delete`: removes drawers; more than one only if the caller names their number.

use loci_core::Result;
use loci_engine::delete::{DeleteReport, DeleteRequest};
use loci_engine::view::ScopeFields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get::parse_ids;
use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};
use crate::mcp::words;

pub(crate) struct DeleteTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DeleteInput {
    #[serde(default)]
    ids: Vec<String>,
    #[serde(flatten)]
    scope: ScopeFields,
    /// `matched` of a call without it; required for more than one
    count: Option<u64>,
    dry_run: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DeleteOutput {
    matched: u64,
    deleted: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Some that would be removed
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sample: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl PalaceTool for DeleteTool {
    const NAME: &'static str = "delete";
    const ABOUT: &'static str = "Delete drawers for good, by ids or by scope. For more than one, first call without \
        count: nothing is deleted, and `matched` is the count to pass.";
    const EFFECT: ToolEffect = ToolEffect::Removes;
    type Input = DeleteInput;
    type Output = DeleteOutput;

    fn call(input: DeleteInput, call: &CallContext<'_>) -> Result<ToolReply<DeleteOutput>> {
        let ids = parse_ids(&input.ids)?;
        // An agent that misjudges its scope could empty a wing in one call. So a call without a count only
        // counts, and one with a count is refused if it does not match.
        let only_counts = input.dry_run == Some(true) || input.count.is_none();
        let request = DeleteRequest {
            ids,
            whole_ids: false,
            scope: input.scope.parse(call.palace.now())?,
            expected: input.count,
            dry_run: only_counts,
        };
        let mut report = call.palace.delete(&request)?;
        if report.matched == 0 && !request.ids.is_empty() {
            return Err(words::missing_drawers_error(&request.ids));
        }
        // A single drawer needs no count. `expected` guards against another one that entered the scope
        // meanwhile.
        if only_counts && input.dry_run != Some(true) && report.matched == 1 {
            report = call.palace.delete(&DeleteRequest {
                expected: Some(1),
                dry_run: false,
                ..request.clone()
            })?;
        }
        let would_go = only_counts && report.deleted == 0;
        // They existed when they were counted: another process has deleted them since.
        if !would_go && report.deleted == 0 && !request.ids.is_empty() {
            return Err(words::missing_drawers_error(&request.ids));
        }
        Ok(build_reply(&report, would_go))
    }
}

fn build_reply(report: &DeleteReport, would_go: bool) -> ToolReply<DeleteOutput> {
    let (matched, deleted) = (report.matched, report.deleted);
    let mut text = if would_go && matched > 0 {
        format!("{matched} would be deleted; nothing was. Call again with count {matched}")
    } else {
        format!("{deleted} deleted")
    };
    let warnings = words::list_warnings(&report.warnings);
    words::append_ending(&mut text, &warnings, None);
    let value = DeleteOutput {
        matched,
        deleted,
        missing: words::ids_that_fit(&report.missing, words::MAX_MISSING_BYTES),
        sample: report.sample.iter().map(ToString::to_string).collect(),
        warnings,
    };
    ToolReply { text, value }
}
