//! `update`: changes a drawer's text, place or time.

use loci_core::{DrawerId, Result};
use loci_engine::update::{UpdateReport, UpdateRequest};
use loci_engine::view::parse_time;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::tool::{Call, Effect, Reply, Tool};

pub(crate) struct Update;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    id: String,
    text: Option<String>,
    wing: Option<String>,
    room: Option<String>,
    source: Option<String>,
    said_at: Option<String>,
}

impl Tool for Update {
    const NAME: &'static str = "update";
    const ABOUT: &'static str = "Correct a drawer: replace its text or where and when it is filed. What is not given \
        stays.";
    const EFFECT: Effect = Effect::Removes;
    type Input = Input;
    type Output = UpdateReport;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<UpdateReport>> {
        let report = call.palace.update(&UpdateRequest {
            text: input.text,
            wing: input.wing,
            room: input.room,
            source: input.source,
            said_at: parse_time("said_at", input.said_at.as_deref())?,
            by: call.client.clone(),
            ..UpdateRequest::new(DrawerId::new(input.id)?)
        })?;
        Ok(Reply {
            text: format!("updated {}", report.id),
            value: report,
        })
    }
}
