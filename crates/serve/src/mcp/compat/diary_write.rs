//! `mempalace_diary_write`: an entry in an agent's diary.

use loci_core::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Namesake;
use crate::mcp::diary::{self, Entry};
use crate::mcp::receipt;
use crate::mcp::tool::{Call, Effect};

/// What an entry is about where nobody says.
pub(super) const TOPIC: &str = "general";

pub(super) struct DiaryWrite;

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Input {
    /// Your name
    agent_name: String,
    entry: Option<String>,
    /// The same as entry
    content: Option<String>,
    /// [general]
    topic: Option<String>,
    /// [wing_<agent>]
    wing: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Written {
    success: bool,
    entry_id: String,
    agent: String,
    topic: String,
    timestamp: String,
    /// A text of any length is one drawer here.
    chunks: u64,
}

impl Namesake for DiaryWrite {
    const NAME: &'static str = "mempalace_diary_write";
    const ABOUT: &'static str = "Write to your diary: what was done, learned and left open.";
    const EFFECT: Effect = Effect::Adds;
    type Input = Input;
    type Output = Written;

    fn call(input: Input, call: &Call<'_>) -> Result<Written> {
        let entry = input.entry.as_deref().or(input.content.as_deref());
        let entry = entry.ok_or_else(|| {
            Error::invalid("missing: entry")
                .hint("nothing was written; call again with all required arguments")
        })?;
        let words = Words {
            agent: &input.agent_name,
            entry,
            topic: input.topic.as_deref(),
            wing: input.wing.as_deref(),
        };
        write(&words, call)
    }
}

/// An entry to be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) agent: &'a str,
    pub(super) entry: &'a str,
    pub(super) topic: Option<&'a str>,
    pub(super) wing: Option<&'a str>,
}

/// Writes an entry.
pub(super) fn write(words: &Words<'_>, call: &Call<'_>) -> Result<Written> {
    let agent = agent(words.agent)?;
    let own = own_wing(&agent);
    // Where only some wings exist and this is none of them, the entry goes where our own tools put it.
    let wing = words
        .wing
        .or_else(|| call.house.scope.holds(Some(&own)).then_some(own.as_str()));
    let topic = words.topic.unwrap_or(TOPIC);
    let entry = Entry {
        agent: &agent,
        text: words.entry,
        topic: Some(topic),
        wing,
        key: None,
    };
    let (filed, at) = diary::write(entry, call)?;
    Ok(Written {
        success: true,
        entry_id: filed.id,
        agent,
        topic: topic.to_owned(),
        timestamp: at.to_string(),
        chunks: 1,
    })
}

/// The name of an agent as MemPalace keeps it: in small letters, however it is written.
pub(super) fn agent(given: &str) -> Result<String> {
    Ok(receipt::name("agent", given)?.to_lowercase())
}

/// The wing MemPalace gives an agent.
fn own_wing(agent: &str) -> String {
    format!("wing_{}", agent.replace(' ', "_"))
}
