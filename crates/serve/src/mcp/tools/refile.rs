//! `move`: files drawers in another wing or room.

use loci_core::Result;
use loci_engine::refile::MoveRequest;
use loci_engine::view::ScopeFields;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get::parse_ids;
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::words;

pub(crate) struct Move;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
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
pub(crate) struct Output {
    matched: u64,
    /// Those that were elsewhere
    moved: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Tool for Move {
    const NAME: &'static str = "move";
    const ABOUT: &'static str =
        "File drawers, by ids or by where they are, in another wing or room; ids and texts stay.";
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let ids = parse_ids(&input.ids)?;
        let report = call.palace.move_drawers(&MoveRequest {
            ids: ids.clone(),
            scope: input.scope.parse(call.palace.now())?,
            to_wing: input.to_wing,
            to_room: input.to_room,
            dry_run: input.dry_run == Some(true),
        })?;
        if report.matched == 0 && !ids.is_empty() {
            return Err(words::missing(&ids));
        }
        let missing = words::told(&report.missing, words::TOLD);
        let warnings = words::warnings(&report.warnings);
        let mut text = format!("{} of {} moved", report.moved, report.matched);
        if !missing.is_empty() {
            let named = words::list(&report.missing, &missing);
            text.push_str(&format!("; missing: {named}"));
        }
        words::end(&mut text, &warnings, None);
        let value = Output {
            matched: report.matched,
            moved: report.moved,
            missing,
            warnings,
        };
        Ok(Reply { text, value })
    }
}
