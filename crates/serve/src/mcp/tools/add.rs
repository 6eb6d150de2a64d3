//! `add`: files a note.

use loci_core::{NewDrawer, Place, Result};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::mcp::receipt::{self, Filed};
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::within::time;

pub(crate) struct Add;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Kept verbatim
    text: String,
    /// Project, person or agent
    wing: Option<String>,
    /// Topic
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
    type Output = Filed;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Filed>> {
        receipt::check_text("text", &input.text)?;
        let said_at = time("said_at", input.said_at.as_deref())?;
        let filed = receipt::file(call, |collection| {
            let place = Place {
                wing: receipt::wing(input.wing.as_deref(), collection, call)?,
                room: input
                    .room
                    .as_deref()
                    .map(|room| receipt::name("room", room))
                    .transpose()?,
                source: input.source.clone(),
                speaker: call.client.clone(),
                kind: Some("note".into()),
                said_at: Some(said_at.unwrap_or_else(|| call.house.now())),
                span: None,
            };
            let id = match &input.idempotency_key {
                Some(key) => receipt::keyed(key)?,
                None => receipt::derived(collection, &place, &input.text)?,
            };
            Ok(NewDrawer {
                place,
                provenance: Some(call.provenance()),
                ..NewDrawer::new(id, input.text.clone())
            })
        })?;
        Ok(Reply {
            text: format!("{} {}", filed.outcome, filed.address),
            value: filed,
        })
    }
}
