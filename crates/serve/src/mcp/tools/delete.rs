//! `delete`: removes drawers; more than one only for callers who say how many.

use loci_core::Result;
use loci_engine::delete::{DeleteReport, DeleteRequest};
use loci_engine::view::ScopeFields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get::parse_ids;
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::words;

pub(crate) struct Delete;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(default)]
    ids: Vec<String>,
    #[serde(flatten)]
    scope: ScopeFields,
    /// `matched` of the call without it; needed for more than one
    count: Option<u64>,
    dry_run: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    matched: u64,
    deleted: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Some that would go
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sample: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Tool for Delete {
    const NAME: &'static str = "delete";
    const ABOUT: &'static str = "Remove drawers for good, by ids or by where they are. For more than one, call first \
        without count: nothing goes, and `matched` is the count to repeat.";
    const EFFECT: Effect = Effect::Removes;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let ids = parse_ids(&input.ids)?;
        let only_counts = input.dry_run == Some(true) || input.count.is_none();
        let request = DeleteRequest {
            ids,
            scope: input.scope.parse(call.palace.now())?,
            expected: input.count,
            dry_run: only_counts,
        };
        let mut report = call.palace.delete(&request)?;
        if report.matched == 0 && !request.ids.is_empty() {
            return Err(words::missing(&request.ids));
        }
        // One drawer goes without a count, unless another one came into the scope meanwhile.
        if only_counts && input.dry_run != Some(true) && report.matched == 1 {
            report = call.palace.delete(&DeleteRequest {
                expected: Some(1),
                dry_run: false,
                ..request.clone()
            })?;
        }
        let would_go = only_counts && report.deleted == 0;
        if !would_go && report.deleted == 0 && !request.ids.is_empty() {
            return Err(words::missing(&request.ids));
        }
        Ok(reply(&report, would_go))
    }
}

fn reply(report: &DeleteReport, would_go: bool) -> Reply<Output> {
    let (matched, deleted) = (report.matched, report.deleted);
    let mut text = if would_go && matched > 0 {
        format!("{matched} would be removed; nothing was. Call again with count {matched}")
    } else {
        format!("{deleted} removed")
    };
    let warnings = words::warnings(&report.warnings);
    words::end(&mut text, &warnings, None);
    let value = Output {
        matched,
        deleted,
        missing: words::told(&report.missing, words::TOLD),
        sample: report.sample.iter().map(ToString::to_string).collect(),
        warnings,
    };
    Reply { text, value }
}
