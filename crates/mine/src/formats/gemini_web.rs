//! Conversations with Gemini on the web, as third-party exporters write them: a list of conversations with messages.

use loci_core::Result;

use super::json::whole::{LineCounter, first_objects, json_body, parse_whole};
use super::json::{JsonFields, JsonSlice};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder, blocks};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::ReadingNote;

/// Exports of Gemini on the web.
pub(super) const GEMINI_WEB: TextFormat = TextFormat {
    name: "gemini-web",
    recognise,
    parse,
};

fn recognise(given: &ParserInput<'_>) -> bool {
    let told = ["\"messages\"", "\"role\"", "\"model\"", "\"content\""];
    told.iter().all(|key| given.text.contains(key)) && is_conversation_list(given, |role, _| role == "model")
}

/// Returns whether a file is a list of conversations, the first of which has a message that passes.
pub(super) fn is_conversation_list(
    given: &ParserInput<'_>,
    passes: fn(&str, &JsonFields<'_>) -> bool,
) -> bool {
    let text = json_body(given);
    if !text.starts_with('[') {
        return false;
    }
    let list = JsonSlice::parse(text)
        .ok()
        .and_then(JsonSlice::items)
        .unwrap_or_default();
    first_objects(&list, 1).iter().any(|conversation| {
        let messages = first_objects(&conversation.items("messages"), 24);
        let spoken = |message: &JsonFields<'_>| message.has("role") && message.has("content");
        conversation.has("title")
            && messages.iter().all(spoken)
            && messages
                .iter()
                .any(|message| passes(&message.text("role").unwrap_or_default(), message))
    })
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    read_list(given, sink, add_messages)
}

/// Reads a list of conversations, each with `read`.
pub(super) fn read_list(
    given: &ParserInput<'_>,
    sink: &mut ConversationSink<'_>,
    read: fn(&mut TranscriptBuilder, &JsonFields<'_>),
) -> Result<Vec<ReadingNote>> {
    let mut notes = Vec::new();
    let mut counter = LineCounter::new(given.text);
    for (at, value) in parse_whole(given)?
        .items()
        .unwrap_or_default()
        .into_iter()
        .enumerate()
    {
        let mut script = TranscriptBuilder::default();
        script.line = Some(counter.line_of(value));
        let Some(fields) = value.fields() else {
            script.note("not a conversation, left out");
            notes.append(&mut script.notes);
            continue;
        };
        let conversation = &mut script.conversation;
        conversation.id = fields.text("id");
        // The key becomes part of the source's name, so it must not depend on anything but the file.
        conversation.key = Some(conversation.id.clone().unwrap_or_else(|| (at + 1).to_string()));
        conversation.title = fields.text("title");
        read(&mut script, &fields);
        notes.extend(script.finish(sink)?);
    }
    Ok(notes)
}

/// Adds the messages of a conversation.
pub(super) fn add_messages(script: &mut TranscriptBuilder, fields: &JsonFields<'_>) {
    for message in fields.objects("messages") {
        let created = ["created_at", "timestamp", "create_time"];
        let stamp = RecordStamp {
            id: message.text("id"),
            at: created.iter().find_map(|key| message.timestamp(key)),
            ..RecordStamp::default()
        }
        .with("model", message.text("model"));
        let voice = match message.text("role").as_deref() {
            Some("user") => HUMAN,
            Some("model" | "assistant") => ASSISTANT,
            _ => SYSTEM,
        };
        for key in ["reasoning_content", "thinking", "thoughts"] {
            script.add_thought(&stamp, message.text(key).unwrap_or_default());
        }
        if let Some(value) = message.get("content") {
            blocks::add_content(script, &stamp.record_for(voice), value);
        }
    }
}
