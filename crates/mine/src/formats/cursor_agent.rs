//! Transcripts of Cursor's agent: lines of JSON under `agent-transcripts`, those of sub-agents in a folder of their own.

use std::path::Path;

use loci_core::Result;

use super::json::{Fields, Json, lines};
use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder, blocks};
use super::{Given, Sink, TextFormat};
use crate::conversation::{Conversation, Kind, Note};

/// A transcript of Cursor's agent.
pub(super) const CURSOR_AGENT: TextFormat = TextFormat {
    name: "cursor-agent",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    if !given.text.contains("\"role\"") || !given.text.contains("\"message\"") {
        return false;
    }
    let lines = lines::beginning(given.text, 20).unwrap_or_default();
    lines.iter().any(is_message) && lines.iter().all(|line| is_message(line) || is_event(line))
}

/// A message stands under `message` and its role beside it; others put the role inside, or name a type.
fn is_message(line: &Fields<'_>) -> bool {
    let known = line
        .text("role")
        .is_some_and(|role| matches!(role.as_str(), "user" | "assistant" | "system" | "tool"));
    known && !line.has("type") && line.fields("message").has("content")
}

fn is_event(line: &Fields<'_>) -> bool {
    line.has("type") && !line.has("message") && !line.has("role")
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    for line in lines::each(given.text) {
        if let Some(fields) = said.read_line(line) {
            add(&mut said, &fields);
        }
    }
    let id = given
        .path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    said.hand_over(
        Conversation {
            id,
            parent: parent(given.path),
            ..Conversation::default()
        },
        sink,
    )?;
    Ok(said.notes)
}

/// The session whose folder holds this sub-agent's transcript.
fn parent(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let session = folder.parent()?.file_name()?;
    (folder.file_name()? == "subagents").then(|| session.to_string_lossy().into_owned())
}

fn add(said: &mut TranscriptBuilder, line: &Fields<'_>) {
    let role = line.text("role").unwrap_or_default();
    let (kind, speaker) = match role.as_str() {
        "user" => (Kind::Human, "user"),
        "assistant" => (Kind::Assistant, "assistant"),
        "tool" => (Kind::ToolResult, "tool"),
        _ => (Kind::System, "cursor"),
    };
    let message = line.fields("message");
    let mut record = MessageRecord::new(kind, speaker).about("model", message.word("model"));
    record.id = line.word("id").or_else(|| message.word("id"));
    record.at = line.moment("timestamp").or_else(|| line.moment("createdAt"));
    if let Some(content) = message.get("content") {
        blocks::content(said, &record, content);
    }
    // An error is said by the software, whether it ends the turn or stands alone.
    said.push(
        &record.of_kind(Kind::System).spoken_by("cursor"),
        line.get("error").and_then(Json::text_or_raw).unwrap_or_default(),
    );
}
