//! `wings`: the wings, or the rooms of one.

use loci_core::Result;
use loci_engine::facets::{RoomCount, WingCount};
use loci_engine::paging::PageMark;
use loci_engine::view::DrawerScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::Budget;
use crate::mcp::reply::{Page, page};
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::words::{self, flat};

pub(crate) struct Wings;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Rooms of this wing
    wing: Option<String>,
    tokens: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
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

impl Tool for Wings {
    const NAME: &'static str = "wings";
    const ABOUT: &'static str = "List the wings, or with `wing` its rooms, with how many drawers each has.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let mut budget = Budget::of(input.tokens)?;
        let mark = PageMark::of_question(&("wings", &input.wing));
        let before = mark.read(input.cursor.as_deref())?;
        let report = call.palace.wings(&DrawerScope {
            wing: input.wing.clone(),
            ..DrawerScope::default()
        })?;
        let warnings = words::warnings(&report.warnings);
        budget.spend(&warnings.concat(), &warnings);
        let (lines, mut value) = if input.wing.is_none() {
            let page = page_behind(before, budget, &report.wings, |wing| {
                let row = WingRow {
                    wing: wing.wing.clone(),
                    drawers: wing.drawers,
                    rooms: wing.rooms.len() as u64,
                };
                (line(&wing.wing, wing.drawers), row)
            });
            let total = report.wings.len();
            (page.lines, Output::of(Some(page.values), None, total))
        } else {
            let rooms: Vec<RoomCount> = report.wings.into_iter().flat_map(take_rooms).collect();
            let page = page_behind(before, budget, &rooms, |room| {
                (line(&room.room, room.drawers), room.clone())
            });
            (page.lines, Output::of(None, Some(page.values), rooms.len()))
        };
        let shown = before + lines.len();
        value.next = ((shown as u64) < value.total).then(|| mark.write(shown));
        let mut text = if lines.is_empty() {
            "Nothing is filed here.".to_owned()
        } else {
            lines.join("\n")
        };
        words::end(&mut text, &warnings, value.next.as_deref());
        value.warnings = warnings;
        Ok(Reply { text, value })
    }
}

impl Output {
    fn of(wings: Option<Vec<WingRow>>, rooms: Option<Vec<RoomCount>>, total: usize) -> Self {
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
    budget: Budget,
    items: &[I],
    show: impl Fn(&I) -> (String, T),
) -> Page<T> {
    let rest = items.get(before..).unwrap_or_default();
    page(budget, rest, |_, item, _| show(item))
}

fn line(name: &Option<String>, drawers: u64) -> String {
    format!("{} {drawers}", flat(name.as_deref().unwrap_or("-")))
}
