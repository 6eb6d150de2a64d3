//! `mempalace_list_wings`, `mempalace_list_rooms`, `mempalace_get_taxonomy`: where drawers are filed, and how many.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use loci_core::{Facet, FacetKey, Facets, Filter, Result};
use loci_engine::mine::spelled;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Namesake;
use super::drawer::named;
use super::fit::{self, Cut};
use crate::mcp::budget::Budget;
use crate::mcp::tool::{Call, Effect};

/// What is said where some are left out.
const NARROWER: &str = "mempalace_list_rooms has those of one wing";

pub(super) struct ListWings;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Nothing {}

#[derive(Debug, Serialize)]
pub(super) struct Wings {
    wings: BTreeMap<String, u64>,
    #[serde(flatten)]
    cut: Option<Cut>,
}

impl Namesake for ListWings {
    const NAME: &'static str = "mempalace_list_wings";
    const ABOUT: &'static str = "All wings with their number of drawers.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Nothing;
    type Output = Wings;

    fn call(_: Nothing, call: &Call<'_>) -> Result<Wings> {
        let facets = call.house.read()?.facets(&Facets {
            by: vec![FacetKey::Wing],
            ..Facets::by_room()
        })?;
        let (wings, left_out) = fitted(&mut fit::budget()?, counted(&facets, 0));
        Ok(Wings {
            wings,
            cut: Cut::of(left_out, NARROWER),
        })
    }
}

pub(super) struct ListRooms;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct OfWing {
    wing: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Rooms {
    wing: String,
    rooms: BTreeMap<String, u64>,
    #[serde(flatten)]
    cut: Option<Cut>,
}

impl Namesake for ListRooms {
    const NAME: &'static str = "mempalace_list_rooms";
    const ABOUT: &'static str = "The rooms of a wing, or of all, with their number of drawers.";
    const EFFECT: Effect = Effect::Reads;
    type Input = OfWing;
    type Output = Rooms;

    fn call(input: OfWing, call: &Call<'_>) -> Result<Rooms> {
        let collection = call.house.read()?;
        let wing = match &input.wing {
            Some(wing) => Some(spelled(collection.as_ref(), wing)?),
            None => None,
        };
        let facets = collection.facets(&Facets {
            by: vec![FacetKey::Room],
            filter: wing
                .as_deref()
                .map_or(Filter::All, |wing| Filter::text("wing", wing)),
            ..Facets::by_room()
        })?;
        let (rooms, left_out) = fitted(&mut fit::budget()?, counted(&facets, 0));
        Ok(Rooms {
            wing: wing.unwrap_or_else(|| "all".into()),
            rooms,
            cut: Cut::of(left_out, "mempalace_search finds what is in them"),
        })
    }
}

pub(super) struct GetTaxonomy;

#[derive(Debug, Serialize)]
pub(super) struct Taxonomy {
    taxonomy: BTreeMap<String, BTreeMap<String, u64>>,
    #[serde(flatten)]
    cut: Option<Cut>,
}

impl Namesake for GetTaxonomy {
    const NAME: &'static str = "mempalace_get_taxonomy";
    const ABOUT: &'static str = "Every wing, its rooms and their number of drawers.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Nothing;
    type Output = Taxonomy;

    fn call(_: Nothing, call: &Call<'_>) -> Result<Taxonomy> {
        let mut facets = call.house.read()?.facets(&Facets::by_room())?;
        facets.sort_by_key(|facet| Reverse(facet.drawers));
        let mut budget = fit::budget()?;
        let mut taxonomy: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        let mut shown = 0;
        for facet in &facets {
            let (wing, room) = (value(facet, 0), value(facet, 1));
            if !spend(&mut budget, &format!("{wing}{room}"), facet.drawers) {
                break;
            }
            *taxonomy.entry(wing).or_default().entry(room).or_default() += facet.drawers;
            shown += 1;
        }
        Ok(Taxonomy {
            taxonomy,
            cut: Cut::of(facets.len() - shown, NARROWER),
        })
    }
}

fn value(facet: &Facet, at: usize) -> String {
    named(facet.values.get(at).and_then(Option::as_deref))
}

/// How many drawers each value of one key has, the largest first.
pub(super) fn counted(facets: &[Facet], at: usize) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for facet in facets {
        *counts.entry(value(facet, at)).or_default() += facet.drawers;
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, drawers)| Reverse(*drawers));
    counts
}

/// As many counts as fit, the largest first, and how many are left out.
pub(super) fn fitted(budget: &mut Budget, counts: Vec<(String, u64)>) -> (BTreeMap<String, u64>, usize) {
    let all = counts.len();
    let fits = |(name, drawers): &(String, u64)| spend(budget, name, *drawers);
    let fitting: BTreeMap<String, u64> = counts.into_iter().take_while(fits).collect();
    let left_out = all - fitting.len();
    (fitting, left_out)
}

fn spend(budget: &mut Budget, name: &str, drawers: u64) -> bool {
    let words = format!("      {name:?}: {drawers},\n");
    budget.spend(&words, &(name, drawers))
}
