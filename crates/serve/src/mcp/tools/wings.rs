//! `wings`: lists the wings, or the rooms of one wing.

use loci_core::Result;
use loci_engine::facets::{RoomCount, WingCount};
use loci_engine::paging::PageMark;
use loci_engine::view::DrawerScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::ReplyBudget;
use crate::mcp::reply::{ReplyPage, fit_page};
use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};
use crate::mcp::words::{self, flatten_text};

pub(crate) struct WingsTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct WingsInput {
    /// Rooms of this wing
    wing: Option<String>,
    tokens: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WingsOutput {
    /// Largest first
    wings: Option<Vec<WingRow>>,
    rooms: Option<Vec<RoomCount>>,
    total: u64,
    next: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A wing with the number of its rooms instead of all of them.
#[derive(Debug, Serialize, JsonSchema)]
struct WingRow {
    wing: Option<String>,
    drawers: u64,
    rooms: u64,
}

impl PalaceTool for WingsTool {
    const NAME: &'static str = "wings";
    const ABOUT: &'static str = "List the wings, or with `wing` its rooms, with drawer counts.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Input = WingsInput;
    type Output = WingsOutput;

    fn call(input: WingsInput, call: &CallContext<'_>) -> Result<ToolReply<WingsOutput>> {
        let mut budget = ReplyBudget::from_tokens(input.tokens)?;
        // The cursor is tied to the question, so that it cannot continue another wing's list.
        let mark = PageMark::from_question(&("wings", &input.wing));
        let before = mark.read_cursor(input.cursor.as_deref())?;
        let report = call.palace.list_wings(&DrawerScope {
            wing: input.wing.clone(),
            ..DrawerScope::default()
        })?;
        let warnings = words::list_warnings(&report.warnings);
        budget.spend(&warnings.concat(), &warnings);
        let (lines, mut value) = if input.wing.is_none() {
            let page = page_behind(before, budget, &report.wings, |wing| {
                let row = WingRow {
                    wing: wing.wing.clone(),
                    drawers: wing.drawers,
                    rooms: wing.rooms.len() as u64,
                };
                (render_count(&wing.wing, wing.drawers), row)
            });
            let total = report.wings.len();
            (page.lines, WingsOutput::from_rows(Some(page.values), None, total))
        } else {
            let rooms: Vec<RoomCount> = report.wings.into_iter().flat_map(take_rooms).collect();
            let page = page_behind(before, budget, &rooms, |room| {
                (render_count(&room.room, room.drawers), room.clone())
            });
            (
                page.lines,
                WingsOutput::from_rows(None, Some(page.values), rooms.len()),
            )
        };
        let shown = before + lines.len();
        value.next = ((shown as u64) < value.total).then(|| mark.write_cursor(shown));
        let mut text = if lines.is_empty() {
            "Nothing is filed here.".to_owned()
        } else {
            lines.join("\n")
        };
        words::append_ending(&mut text, &warnings, value.next.as_deref());
        value.warnings = warnings;
        Ok(ToolReply { text, value })
    }
}

impl WingsOutput {
    fn from_rows(wings: Option<Vec<WingRow>>, rooms: Option<Vec<RoomCount>>, total: usize) -> Self {
        Self {
            wings,
            rooms,
            total: total as u64,
            next: None,
            warnings: Vec::new(),
        }
    }
}

fn take_rooms(wing: WingCount) -> Vec<RoomCount> {
    wing.rooms
}

fn page_behind<I, T: Serialize>(
    before: usize,
    budget: ReplyBudget,
    items: &[I],
    show: impl Fn(&I) -> (String, T),
) -> ReplyPage<T> {
    let rest = items.get(before..).unwrap_or_default();
    fit_page(budget, rest, |_, item, _| show(item))
}

fn render_count(name: &Option<String>, drawers: u64) -> String {
    format!("{} {drawers}", flatten_text(name.as_deref().unwrap_or("-")))
}
