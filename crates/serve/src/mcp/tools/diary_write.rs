//! `diary_write`: an entry in an agent's diary.

use loci_core::Result;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::diary::{self, Entry};
use crate::mcp::receipt::Filed;
use crate::mcp::tool::{Call, Effect, Reply, Tool};

/// Whose diary it is where neither the call nor the client says.
pub(super) const NOBODY: &str = "agent";

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
    type Output = Filed;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Filed>> {
        let agent = input
            .agent
            .as_deref()
            .or(call.client.as_deref())
            .unwrap_or(NOBODY);
        let (filed, at) = diary::write(
            Entry {
                agent,
                text: &input.entry,
                topic: input.topic.as_deref(),
                wing: input.wing.as_deref(),
                key: input.idempotency_key.as_deref(),
            },
            call,
        )?;
        Ok(Reply {
            text: format!("{} {} at {at}", filed.outcome, filed.address),
            value: filed,
        })
    }
}
