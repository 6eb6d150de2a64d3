//! `diary_write`: an entry in an agent's diary.

use loci_core::Result;
use loci_engine::diary::DiaryEntryRequest;
use loci_engine::note::NoteReport;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::tool::{Call, Effect, Reply, Tool};

/// The owner of a diary where neither the call nor the client names one.
const NAMELESS: &str = "agent";

pub(crate) struct DiaryWrite;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    entry: String,
    /// Your name [the client's]
    agent: Option<String>,
    topic: Option<String>,
    wing: Option<String>,
    idempotency_key: Option<String>,
}

impl Tool for DiaryWrite {
    const NAME: &'static str = "diary_write";
    const ABOUT: &'static str =
        "Write a diary entry at the end of a task: what was done, learned and left open.";
    const EFFECT: Effect = Effect::Adds;
    type Input = Input;
    type Output = NoteReport;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<NoteReport>> {
        let report = call.palace.write_diary(&DiaryEntryRequest {
            agent: name_agent(input.agent, call),
            text: input.entry,
            topic: input.topic,
            wing: input.wing,
            idempotency_key: input.idempotency_key,
            by: call.client.clone(),
        })?;
        let note = report.note;
        Ok(Reply {
            text: format!("{} {} at {}", note.outcome, note.address, report.said_at),
            value: note,
        })
    }
}

/// The agent whose diary is meant.
pub(super) fn name_agent(given: Option<String>, call: &Call<'_>) -> String {
    given
        .or_else(|| call.client.clone())
        .unwrap_or_else(|| NAMELESS.to_owned())
}
