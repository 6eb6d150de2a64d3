//! `add`: files a note.

use loci_core::Result;
use loci_engine::note::{NoteReport, NoteRequest};
use loci_engine::view::parse_time;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::tool::{Call, Effect, Reply, Tool};

pub(crate) struct Add;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Kept verbatim
    text: String,
    wing: Option<String>,
    room: Option<String>,
    source: Option<String>,
    said_at: Option<String>,
    /// A retry with the same key writes once
    idempotency_key: Option<String>,
}

impl Tool for Add {
    const NAME: &'static str = "add";
    const ABOUT: &'static str = "File a note: a decision, fact or agreement worth keeping, in its own words. Returns \
        once it is durable. The same text in the same place is filed once.";
    const EFFECT: Effect = Effect::Adds;
    type Input = Input;
    type Output = NoteReport;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<NoteReport>> {
        let report = call.palace.note(&NoteRequest {
            said_at: parse_time("said_at", input.said_at.as_deref())?,
            text: input.text,
            wing: input.wing,
            room: input.room,
            source: input.source,
            idempotency_key: input.idempotency_key,
            speaker: call.client.clone(),
            by: call.client.clone(),
            ..NoteRequest::default()
        })?;
        Ok(Reply {
            text: format!("{} {}", report.outcome, report.address),
            value: report,
        })
    }
}
