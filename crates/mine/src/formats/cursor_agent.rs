//! Transcripts of Cursor's agent: JSON lines under `agent-transcripts`; those of sub-agents are in a subfolder.

use std::path::Path;

use loci_core::Result;

use super::json::{JsonFields, JsonSlice, lines};
use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder, blocks};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::{Conversation, MessageKind, ReadingNote};

/// A transcript of Cursor's agent.
pub(super) const CURSOR_AGENT: TextFormat = TextFormat {
    name: "cursor-agent",
    recognise,
    parse,
};

fn recognise(given: &ParserInput<'_>) -> bool {
    if !given.text.contains("\"role\"") || !given.text.contains("\"message\"") {
        return false;
    }
    let lines = lines::leading_objects(given.text, 20).unwrap_or_default();
    // One line of another kind is enough to refuse: other agents write `role` and `message` as well.
    lines.iter().any(is_message) && lines.iter().all(|line| is_message(line) || is_event(line))
}

/// Returns whether a line has a message with its role beside it; other tools put the role inside, or add a type.
fn is_message(line: &JsonFields<'_>) -> bool {
    let known = line
        .text("role")
        .is_some_and(|role| matches!(role.as_str(), "user" | "assistant" | "system" | "tool"));
    known && !line.has("type") && line.fields("message").has("content")
}

fn is_event(line: &JsonFields<'_>) -> bool {
    line.has("type") && !line.has("message") && !line.has("role")
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    for line in lines::read_lines(given.text) {
        if let Some(fields) = said.read_line(line) {
            add_line(&mut said, &fields);
        }
    }
    let id = given
        .path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    said.hand_over(
        Conversation {
            id,
            parent: parent_session(given.path),
            ..Conversation::default()
        },
        sink,
    )?;
    Ok(said.notes)
}

/// Returns the session whose folder holds this sub-agent's transcript.
fn parent_session(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let session = folder.parent()?.file_name()?;
    (folder.file_name()? == "subagents").then(|| session.to_string_lossy().into_owned())
}

fn add_line(said: &mut TranscriptBuilder, line: &JsonFields<'_>) {
    let role = line.text("role").unwrap_or_default();
    let (kind, speaker) = match role.as_str() {
        "user" => (MessageKind::Human, "user"),
        "assistant" => (MessageKind::Assistant, "assistant"),
        "tool" => (MessageKind::ToolResult, "tool"),
        _ => (MessageKind::System, "cursor"),
    };
    let message = line.fields("message");
    let mut record = MessageRecord::new(kind, speaker).with_about("model", message.nonempty_text("model"));
    record.id = line.nonempty_text("id").or_else(|| message.nonempty_text("id"));
    record.at = line
        .timestamp("timestamp")
        .or_else(|| line.timestamp("createdAt"));
    if let Some(content) = message.get("content") {
        blocks::add_content(said, &record, content);
    }
    // An error is the software's, whether it ends a turn or is a line of its own.
    said.push(
        &record.as_kind(MessageKind::System).spoken_by("cursor"),
        line.get("error")
            .and_then(JsonSlice::text_or_raw)
            .unwrap_or_default(),
    );
}
