//! `mempalace_list_drawers`: drawers in order of their ids, page by page.

use loci_core::{Comparison, Drawer, Error, Filter, Get, Result, Scalar, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::Namesake;
use super::check_duplicate::preview;
use super::drawer::metadata;
use super::fit::{self, Cut, Fitted};
use crate::mcp::tool::{Call, Effect};
use crate::mcp::within::{Within, time};

/// How many drawers there are where nobody says, and at most.
const USUAL: i64 = 20;
const MOST: i64 = 100;

pub(super) struct ListDrawers;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    wing: Option<String>,
    room: Option<String>,
    /// Filed at or after, like 2026-05-01
    since: Option<String>,
    before: Option<String>,
    /// 1 to 100 [20]
    limit: Option<i64>,
    offset: Option<i64>,
}

#[derive(Debug, Serialize)]
pub(super) struct Output {
    drawers: Vec<Listed>,
    total: u64,
    count: usize,
    offset: usize,
    limit: usize,
    #[serde(flatten)]
    cut: Option<Cut>,
}

#[derive(Debug, Serialize)]
pub(super) struct Listed {
    drawer_id: String,
    wing: String,
    room: String,
    content_preview: String,
    metadata: Map<String, Json>,
}

impl Namesake for ListDrawers {
    const NAME: &'static str = "mempalace_list_drawers";
    const ABOUT: &'static str =
        "Drawers of a wing, room or time, page by page, each with the beginning of its text.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Output> {
        let limit = input.limit.unwrap_or(USUAL).clamp(1, MOST) as usize;
        let offset = input.offset.unwrap_or(0).max(0) as usize;
        let collection = call.house.read()?;
        let within = Within {
            wing: input.wing.as_deref(),
            room: input.room.as_deref(),
            ..Within::default()
        };
        let filed = filed(
            time("since", input.since.as_deref())?,
            time("before", input.before.as_deref())?,
        )?;
        let filter = within.filter(collection.as_ref())?.and(filed);
        let total = collection.count(&filter.clone().into())?;
        let found = collection.get(&Get {
            filter,
            limit: Some(limit),
            offset,
            ..Get::default()
        })?;
        let Fitted { values, cut } = fit::fit(fit::budget()?, &found, |drawer, _| listed(drawer));
        Ok(Output {
            count: values.len(),
            drawers: values,
            total,
            offset,
            limit,
            cut,
        })
    }
}

/// What was filed within a time.
fn filed(since: Option<Timestamp>, before: Option<Timestamp>) -> Result<Filter> {
    if let (Some(since), Some(before)) = (since, before)
        && since >= before
    {
        return Err(Error::invalid("`since` must be earlier than `before`").hint("nothing was done"));
    }
    let bound = |comparison| Filter::Compare("filed_at".into(), comparison);
    let from = since.map(|time| bound(Comparison::Gte(Scalar::Int(time.as_micros()))));
    let to = before.map(|time| bound(Comparison::Lt(Scalar::Int(time.as_micros()))));
    Ok(from.unwrap_or_default().and(to.unwrap_or_default()))
}

fn listed(drawer: &Drawer) -> Listed {
    let place = drawer.place.clone();
    Listed {
        drawer_id: drawer.id.to_string(),
        wing: place.wing.unwrap_or_default(),
        room: place.room.unwrap_or_default(),
        content_preview: preview(drawer.document.as_deref().unwrap_or_default()),
        metadata: metadata(drawer),
    }
}
