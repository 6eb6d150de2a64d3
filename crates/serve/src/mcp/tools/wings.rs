//! `wings`: the wings, or the rooms of one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use loci_core::{Collection, Error, ErrorKind, FacetKey, Facets, Filter, Result};
use loci_engine::mine::spelled;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::Budget;
use crate::mcp::reply::{cursor, page, shown_before};
use crate::mcp::shown::flat;
use crate::mcp::tool::{Call, Effect, Reply, Tool};

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
    #[serde(skip_serializing_if = "Option::is_none")]
    wings: Option<Vec<Wing>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rooms: Option<Vec<Room>>,
    total: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A wing and how much is in it; without a name for drawers in none.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Wing {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wing: Option<String>,
    pub(crate) drawers: u64,
    pub(crate) rooms: u64,
}

/// A room and how much is in it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Room {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) room: Option<String>,
    pub(crate) drawers: u64,
}

impl Tool for Wings {
    const NAME: &'static str = "wings";
    const ABOUT: &'static str = "List the wings, or with `wing` its rooms, with how many drawers each has.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let budget = Budget::of(input.tokens)?;
        let asked = format!("wings {:?}", input.wing);
        let before = shown_before(input.cursor.as_deref(), &asked)?;
        let collection = call.house.read()?;
        match &input.wing {
            None => {
                let wings = wings(collection.as_ref())?;
                let rest = wings.get(before..).unwrap_or_default();
                let page = page(budget, rest, |_, wing, _| {
                    (line(&wing.wing, wing.drawers), wing.clone())
                });
                let shown = page.values.len();
                let value = Output {
                    wings: Some(page.values),
                    rooms: None,
                    total: wings.len() as u64,
                    next: (shown < rest.len()).then(|| cursor(before + shown, &asked)),
                };
                Ok(reply(page.lines, value))
            }
            Some(wing) => {
                let rooms = rooms(collection.as_ref(), wing)?;
                let rest = rooms.get(before..).unwrap_or_default();
                let page = page(budget, rest, |_, room, _| {
                    (line(&room.room, room.drawers), room.clone())
                });
                let shown = page.values.len();
                let value = Output {
                    wings: None,
                    rooms: Some(page.values),
                    total: rooms.len() as u64,
                    next: (shown < rest.len()).then(|| cursor(before + shown, &asked)),
                };
                Ok(reply(page.lines, value))
            }
        }
    }
}

fn line(name: &Option<String>, drawers: u64) -> String {
    format!("{} {drawers}", flat(name.as_deref().unwrap_or("-")))
}

fn reply(lines: Vec<String>, value: Output) -> Reply<Output> {
    let mut text = match lines.is_empty() {
        true => "Nothing is filed yet.".to_owned(),
        false => lines.join("\n"),
    };
    if let Some(next) = &value.next {
        text.push_str(&format!("\nMore: cursor {next}"));
    }
    Reply { text, value }
}

/// The wings, largest first.
pub(crate) fn wings(collection: &dyn Collection) -> Result<Vec<Wing>> {
    let mut wings: BTreeMap<Option<String>, (u64, u64)> = BTreeMap::new();
    for facet in collection.facets(&Facets::by_room())? {
        let name = facet.values.into_iter().next().flatten();
        let (drawers, rooms) = wings.entry(name).or_default();
        *drawers += facet.drawers;
        *rooms += 1;
    }
    let mut wings: Vec<Wing> = wings
        .into_iter()
        .map(|(wing, (drawers, rooms))| Wing { wing, drawers, rooms })
        .collect();
    wings.sort_by_key(|wing| Reverse(wing.drawers));
    Ok(wings)
}

/// The rooms of a wing, largest first.
pub(crate) fn rooms(collection: &dyn Collection, wing: &str) -> Result<Vec<Room>> {
    let wing = spelled(collection, wing)?;
    let facets = collection.facets(&Facets {
        by: vec![FacetKey::Room],
        filter: Filter::text("wing", wing.as_str()),
        ..Facets::by_room()
    })?;
    if facets.is_empty() {
        return Err(
            Error::new(ErrorKind::NotFound, format!("there is no wing {wing:?}"))
                .hint("`wings` without arguments lists them"),
        );
    }
    let mut rooms: Vec<Room> = facets
        .into_iter()
        .map(|facet| Room {
            room: facet.values.into_iter().next().flatten(),
            drawers: facet.drawers,
        })
        .collect();
    rooms.sort_by_key(|room| Reverse(room.drawers));
    Ok(rooms)
}
