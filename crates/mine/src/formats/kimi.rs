//! Kimi Code CLI: the context of a session, a record with a role on each line.

use std::fs;

use loci_core::Result;

use super::json::{Fields, Json, lines};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder, blocks};
use super::workspace::name;
use super::{Given, Sink, TextFormat};
use crate::conversation::Note;

/// Contexts of Kimi Code CLI.
pub(super) const KIMI: TextFormat = TextFormat {
    name: "kimi",
    recognise,
    parse,
};

/// The file that holds what is said.
const CONTEXT: &str = "context.jsonl";

/// Roles that are no speaker's; no other tool writes them.
const MARKS: [&str; 3] = ["_system_prompt", "_checkpoint", "_usage"];

fn recognise(given: &Given<'_>) -> bool {
    is_context(given) || is_wire(given)
}

fn is_context(given: &Given<'_>) -> bool {
    lines::opening(given.text).any(|fields| {
        let role = fields.text("role").unwrap_or_default();
        MARKS.contains(&role.as_str())
    })
}

/// Whether a file is the log of what went over the wire beside a context. It tells the same.
fn is_wire(given: &Given<'_>) -> bool {
    let event = |fields: Fields<'_>| {
        let message = fields.fields("message");
        fields.number("timestamp").is_some() && message.has("type") && !message.has("role")
    };
    lines::opening(given.text).take(3).any(event)
        && given
            .path
            .parent()
            .is_some_and(|folder| folder.join(CONTEXT).is_file())
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    if !is_context(given) && is_wire(given) {
        let note = format!("holds the same talk as {CONTEXT} beside it, which is read instead");
        return Ok(vec![Note::new(note)]);
    }
    let mut script = TranscriptBuilder::default();
    for line in lines::each(given.text) {
        if let Some(fields) = script.read_line(line) {
            said(&mut script, &fields);
        }
    }
    let folder = given.path.parent();
    if name(Some(given.path)) == Some(CONTEXT) {
        script.conversation.id = name(folder).map(str::to_owned);
    }
    let state = folder.and_then(|folder| fs::read_to_string(folder.join("state.json")).ok());
    let title = state.and_then(|state| Fields::read(&state).ok()?.text("custom_title"));
    script.conversation.title = title.filter(|title| !title.is_empty());
    script.finish(sink)
}

fn said(script: &mut TranscriptBuilder, fields: &Fields<'_>) {
    let stamp = RecordStamp {
        id: fields.text("id"),
        at: fields.moment("timestamp"),
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
            script.answer_record(&stamp.spoken(SYSTEM), None, fields.text("tool_call_id"))
        } else {
            stamp.spoken(voice)
        };
        blocks::content(script, &record, value);
    }
    for call in fields.objects("tool_calls") {
        let function = call.fields("function");
        let arguments = function.get("arguments").and_then(Json::text_or_raw);
        let tool = function.text("name");
        script.call_tool(&stamp, tool, call.text("id"), arguments.unwrap_or_default());
    }
}
