//! `check_duplicate`: whether something like a text is filed already.

use loci_core::Result;
use loci_engine::duplicate::{DuplicateRequest, USUAL_SIMILARITY};
use loci_engine::view::{DrawerScope, HitView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::Budget;
use crate::mcp::reply::page;
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::words::{self, QUOTED, beginning};

pub(crate) struct CheckDuplicate;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    text: String,
    wing: Option<String>,
    /// Least similarity, 0 to 1 [0.9]
    threshold: Option<f64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    duplicate: bool,
    #[schemars(with = "Vec<String>")]
    matches: Vec<HitView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Tool for CheckDuplicate {
    const NAME: &'static str = "check_duplicate";
    const ABOUT: &'static str = "Whether nearly the same text is filed already; look before adding.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let report = call.palace.find_duplicates(&DuplicateRequest {
            text: input.text,
            scope: DrawerScope {
                wing: input.wing,
                ..DrawerScope::default()
            },
            least: input.threshold.map_or(USUAL_SIMILARITY, |least| least as f32),
        })?;
        let warnings = words::warnings(&report.warnings);
        let mut budget = Budget::of(None)?;
        budget.spend(&warnings.concat(), &warnings);
        let matches: Vec<HitView> = report.matches.into_iter().map(HitView::for_agent).collect();
        let page = page(budget, &matches, |at, hit, size| {
            let shown = hit.excerpt(beginning(hit.drawer.whole_text(), size));
            (words::line(&shown.drawer, at + 1), shown)
        });
        let duplicate = !page.values.is_empty();
        let mut text = if duplicate {
            format!("{QUOTED} Filed already:\n{}", page.lines.join("\n"))
        } else {
            "Nothing like it is filed.".to_owned()
        };
        words::end(&mut text, &warnings, None);
        let value = Output {
            duplicate,
            matches: page.values,
            warnings,
        };
        Ok(Reply { text, value })
    }
}
