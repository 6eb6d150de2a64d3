//! Kimi Code CLI: the context of a session, one record with a role on each line.

use std::fs;

use loci_core::Result;

use super::json::{JsonFields, JsonSlice, lines};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder, blocks};
use super::workspace::utf8_file_name;
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::ReadingNote;

/// Contexts of Kimi Code CLI.
pub(super) const KIMI: TextFormat = TextFormat {
    name: "kimi",
    recognise,
    parse,
};

/// The file that holds the messages.
const CONTEXT: &str = "context.jsonl";

/// Roles of records that are not messages; no other tool writes them.
const MARKS: [&str; 3] = ["_system_prompt", "_checkpoint", "_usage"];

fn recognise(given: &ParserInput<'_>) -> bool {
    is_context(given) || is_wire(given)
}

fn is_context(given: &ParserInput<'_>) -> bool {
    lines::opening_objects(given.text).any(|fields| {
        let role = fields.text("role").unwrap_or_default();
        MARKS.contains(&role.as_str())
    })
}

/// Returns whether a file is the wire log beside a context, which holds the same messages.
fn is_wire(given: &ParserInput<'_>) -> bool {
    let event = |fields: JsonFields<'_>| {
        let message = fields.fields("message");
        fields.number("timestamp").is_some() && message.has("type") && !message.has("role")
    };
    lines::opening_objects(given.text).take(3).any(event)
        && given
            .path
            .parent()
            .is_some_and(|folder| folder.join(CONTEXT).is_file())
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    // The wire log is claimed by this format so that it is not mined as text, but it adds nothing.
    if !is_context(given) && is_wire(given) {
        let note = format!("holds the same talk as {CONTEXT} beside it, which is read instead");
        return Ok(vec![ReadingNote::new(note)]);
    }
    let mut script = TranscriptBuilder::default();
    for line in lines::read_lines(given.text) {
        if let Some(fields) = script.read_line(line) {
            add_record(&mut script, &fields);
        }
    }
    let folder = given.path.parent();
    if utf8_file_name(Some(given.path)) == Some(CONTEXT) {
        script.conversation.id = utf8_file_name(folder).map(str::to_owned);
    }
    // A title is a convenience: if the file is missing or broken, the session goes without one.
    let state = folder.and_then(|folder| fs::read_to_string(folder.join("state.json")).ok());
    let title = state.and_then(|state| JsonFields::read(&state).ok()?.text("custom_title"));
    script.conversation.title = title.filter(|title| !title.is_empty());
    script.finish(sink)
}

fn add_record(script: &mut TranscriptBuilder, fields: &JsonFields<'_>) {
    let stamp = RecordStamp {
        id: fields.text("id"),
        at: fields.timestamp("timestamp"),
        ..RecordStamp::default()
    };
    let role = fields.text("role").unwrap_or_default();
    let voice = match role.as_str() {
        "user" => HUMAN,
        "assistant" => ASSISTANT,
        _ => SYSTEM,
    };
    if let Some(value) = fields.get("content") {
        let record = if role == "tool" {
            script.answer_record(&stamp.record_for(SYSTEM), None, fields.text("tool_call_id"))
        } else {
            stamp.record_for(voice)
        };
        blocks::add_content(script, &record, value);
    }
    for call in fields.objects("tool_calls") {
        let function = call.fields("function");
        let arguments = function.get("arguments").and_then(JsonSlice::text_or_raw);
        let tool = function.text("name");
        script.add_model_call(&stamp, tool, call.text("id"), arguments.unwrap_or_default());
    }
}
