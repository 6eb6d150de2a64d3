//! `check_duplicate`: finds drawers nearly equal to a text.

use loci_core::Result;
use loci_engine::duplicate::{DuplicateRequest, USUAL_SIMILARITY};
use loci_engine::view::{DrawerScope, HitView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::ReplyBudget;
use crate::mcp::drawer_keys::HitKeys;
use crate::mcp::reply::fit_page;
use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};
use crate::mcp::words::{self, QUOTE_NOTICE, take_beginning};

pub(crate) struct CheckDuplicateTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CheckDuplicateInput {
    text: String,
    wing: Option<String>,
    /// Min similarity, 0 to 1 [0.9]
    threshold: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckDuplicateOutput {
    duplicate: bool,
    #[schemars(with = "Vec<HitKeys>", extend("x-brief" = true))]
    matches: Vec<HitView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl PalaceTool for CheckDuplicateTool {
    const NAME: &'static str = "check_duplicate";
    const ABOUT: &'static str = "Check whether nearly the same text is filed already; use before `add`.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Input = CheckDuplicateInput;
    type Output = CheckDuplicateOutput;

    fn call(input: CheckDuplicateInput, call: &CallContext<'_>) -> Result<ToolReply<CheckDuplicateOutput>> {
        let report = call.palace.find_duplicates(&DuplicateRequest {
            text: input.text,
            scope: DrawerScope {
                wing: input.wing,
                ..DrawerScope::default()
            },
            least: input.threshold.map_or(USUAL_SIMILARITY, |least| least as f32),
        })?;
        let warnings = words::list_warnings(&report.warnings);
        // No `tokens` argument: there are few matches, and the list of tools must stay short.
        let mut budget = ReplyBudget::from_tokens(None)?;
        budget.spend(&warnings.concat(), &warnings);
        let matches: Vec<HitView> = report.matches.into_iter().map(HitView::for_agent).collect();
        let page = fit_page(budget, &matches, |at, hit, size| {
            let shown = hit.with_excerpt(take_beginning(hit.drawer.whole_text(), size));
            (words::cite_drawer(&shown.drawer, at + 1), shown)
        });
        // The first match is always on the page, so an empty page means that there is none.
        let duplicate = !page.values.is_empty();
        let mut text = if duplicate {
            format!("{QUOTE_NOTICE} Filed already:\n{}", page.lines.join("\n"))
        } else {
            "Nothing similar is filed.".to_owned()
        };
        words::append_ending(&mut text, &warnings, None);
        let value = CheckDuplicateOutput {
            duplicate,
            matches: page.values,
            warnings,
        };
        Ok(ToolReply { text, value })
    }
}
