//! Conversations with Gemini on the web, as exporters write them: a list, each with its messages.

use loci_core::Result;

use super::json::whole::{Counter, body, objects, whole};
use super::json::{Fields, Json};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder, blocks};
use super::{Given, Sink, TextFormat};
use crate::conversation::Note;

/// Exports of Gemini on the web.
pub(super) const GEMINI_WEB: TextFormat = TextFormat {
    name: "gemini-web",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    let told = ["\"messages\"", "\"role\"", "\"model\"", "\"content\""];
    told.iter().all(|key| given.text.contains(key)) && listed(given, |role, _| role == "model")
}

/// Whether a file is a list of conversations, the first of which has a message that passes.
pub(super) fn listed(given: &Given<'_>, passes: fn(&str, &Fields<'_>) -> bool) -> bool {
    let text = body(given);
    if !text.starts_with('[') {
        return false;
    }
    let list = Json::parse(text).ok().and_then(Json::items).unwrap_or_default();
    objects(&list, 1).iter().any(|conversation| {
        let messages = objects(&conversation.items("messages"), 24);
        let spoken = |message: &Fields<'_>| message.has("role") && message.has("content");
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
    read: fn(&mut TranscriptBuilder, &Fields<'_>),
) -> Result<Vec<Note>> {
    let mut notes = Vec::new();
    let mut counter = Counter::new(given.text);
    for (at, value) in whole(given)?.items().unwrap_or_default().into_iter().enumerate() {
        let mut script = TranscriptBuilder::default();
        script.line = Some(counter.line_of(value));
        let Some(fields) = value.fields() else {
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
pub(super) fn messages(script: &mut TranscriptBuilder, fields: &Fields<'_>) {
    for message in fields.objects("messages") {
        let created = ["created_at", "timestamp", "create_time"];
        let stamp = RecordStamp {
            id: message.text("id"),
            at: created.iter().find_map(|key| message.moment(key)),
            ..RecordStamp::default()
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
        if let Some(value) = message.get("content") {
            blocks::content(script, &stamp.spoken(voice), value);
        }
    }
}
