//! `move`: files drawers in another wing or room.

use loci_core::Result;
use loci_engine::mine::spelled;
use loci_engine::refile::{RefileReport, Which, refile};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get::ids;
use crate::mcp::receipt;
use crate::mcp::tool::{Call, Effect, Reply, Tool};

pub(crate) struct Move;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    ids: Vec<String>,
    wing: Option<String>,
    room: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    moved: u64,
    /// Were there already
    already: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
}

impl Tool for Move {
    const NAME: &'static str = "move";
    const ABOUT: &'static str = "File drawers in another wing or room; ids and texts stay.";
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let ids = ids(&input.ids)?;
        for (what, given) in [("wing", &input.wing), ("room", &input.room)] {
            given
                .as_deref()
                .map(|given| receipt::name(what, given))
                .transpose()?;
        }
        call.house.read()?;
        let report: RefileReport = call.house.file(|_, collection| {
            if let Some(wing) = &input.wing {
                call.house
                    .scope
                    .check_wing(collection, Some(&spelled(collection, wing)?))?;
            }
            let which = Which::Ids(ids.clone());
            refile(collection, &which, input.wing.as_deref(), input.room.as_deref())
        })?;
        if report.matched == 0 {
            return Err(receipt::missing(&ids));
        }
        let missing = receipt::told(&report.missing, receipt::TOLD);
        let already = report.matched.saturating_sub(report.moved);
        let mut text = format!("{} moved, {already} were there already", report.moved);
        if !missing.is_empty() {
            text.push_str(&format!(
                "; missing: {}",
                receipt::list(&report.missing, &missing)
            ));
        }
        Ok(Reply {
            text,
            value: Output {
                moved: report.moved,
                already,
                missing,
            },
        })
    }
}
