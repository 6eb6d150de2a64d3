//! The fields of drawers and hits that callers of tools see, for schemas only.

use schemars::JsonSchema;

/// A drawer, or the shown part of it. A field without a value is left out.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct DrawerKeys {
    /// Its id.
    id: String,
    /// Its address: palace://WING/ROOM/ID.
    address: String,
    /// Its text, or the shown part of it.
    text: Option<String>,
    /// The text is cut: `get` returns all of it.
    more: Option<bool>,
    /// The project, person or agent.
    wing: Option<String>,
    /// The topic within the wing.
    room: Option<String>,
    /// The file, conversation or note it was cut from.
    source: Option<String>,
    /// The speaker.
    speaker: Option<String>,
    /// human, assistant, tool_call, tool_result, thinking, system, file, note, diary…
    kind: Option<String>,
    /// The time it was said, in UTC.
    said_at: Option<String>,
    /// The time it was filed, in UTC.
    filed_at: Option<String>,
    /// Its trustworthiness, by the way it was filed: user, agent, file, tool, software or unknown.
    trust: String,
    /// Reasons to read the text with care.
    flags: Option<Vec<String>>,
}

/// A drawer that was found.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct HitKeys {
    #[serde(flatten)]
    drawer: DrawerKeys,
    /// The probability that it holds an answer, from 0 to 1. If one retriever ranked alone, its own score; larger is
    /// better.
    score: f64,
}
