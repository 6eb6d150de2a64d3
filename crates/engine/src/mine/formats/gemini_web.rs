//! Conversations with Gemini on the web, as exporters write them: a list, each with its messages.

use loci_core::Result;

use super::json::{self, Object, Raw};
use super::script::{ASSISTANT, Counter, HUMAN, SYSTEM, Script, Stamp, body, objects, whole};
use super::{Given, Sink, TextFormat, blocks};
use crate::mine::conversation::Note;

/// Exports of Gemini on the web.
pub static GEMINI_WEB: TextFormat = TextFormat {
    name: "gemini-web",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    let told = ["\"messages\"", "\"role\"", "\"model\"", "\"content\""];
    told.iter().all(|key| given.text.contains(key)) && listed(given, |role, _| role == "model")
}

/// Whether a file is a list of conversations, the first of which has a message that passes.
pub(super) fn listed(given: &Given<'_>, passes: fn(&str, &Object<'_>) -> bool) -> bool {
    let text = body(given);
    if !text.starts_with('[') {
        return false;
    }
    let list: Vec<Raw<'_>> = serde_json::from_str(text).unwrap_or_default();
    objects(&list, 1).iter().any(|conversation| {
        let messages = objects(&conversation.list("messages"), 24);
        let spoken = |message: &Object<'_>| message.has("role") && message.has("content");
        conversation.has("title")
            && messages.iter().all(spoken)
            && messages
                .iter()
                .any(|message| passes(&message.text("role").unwrap_or_default(), message))
    })
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    read_list(given, sink, messages)
}

/// Reads a list of conversations, each with the same function.
pub(super) fn read_list(
    given: &Given<'_>,
    sink: &mut Sink<'_>,
    read: fn(&mut Script, &Object<'_>),
) -> Result<Vec<Note>> {
    let mut notes = Vec::new();
    let mut counter = Counter::new(given.text);
    for (at, raw) in json::list(whole(given)?)
        .unwrap_or_default()
        .into_iter()
        .enumerate()
    {
        let mut script = Script::default();
        script.line = Some(counter.line_of(raw));
        let Some(fields) = Object::of(raw) else {
            script.note("no conversation, left out");
            notes.append(&mut script.notes);
            continue;
        };
        let conversation = &mut script.conversation;
        conversation.id = fields.text("id");
        conversation.key = Some(conversation.id.clone().unwrap_or_else(|| (at + 1).to_string()));
        conversation.title = fields.text("title");
        read(&mut script, &fields);
        notes.extend(script.finish(sink)?);
    }
    Ok(notes)
}

/// Writes down the messages of a conversation.
pub(super) fn messages(script: &mut Script, fields: &Object<'_>) {
    for message in objects(&fields.list("messages"), usize::MAX) {
        let created = ["created_at", "timestamp", "create_time"];
        let stamp = Stamp {
            id: message.text("id"),
            at: created.iter().find_map(|key| message.time(key)),
            ..Stamp::default()
        }
        .with("model", message.text("model"));
        let voice = match message.text("role").as_deref() {
            Some("user") => HUMAN,
            Some("model" | "assistant") => ASSISTANT,
            _ => SYSTEM,
        };
        for key in ["reasoning_content", "thinking", "thoughts"] {
            script.think(&stamp, message.text(key).unwrap_or_default());
        }
        if let Some(raw) = message.raw("content") {
            blocks::content(script, &stamp, voice, raw);
        }
    }
}
