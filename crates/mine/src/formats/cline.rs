//! Cline and Roo Code: the exchange with the model, and the record of what the editor showed.

mod shown;

use std::fs;
use std::path::Path;

use loci_core::{Result, Timestamp};

use super::json::whole::{LineCounter, first_objects, json_body, parse_whole};
use super::json::{JsonFields, JsonSlice, when};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, RecordVoice, SYSTEM, TranscriptBuilder, blocks};
use super::workspace::utf8_file_name;
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::{MessageKind, ReadingNote};
use shown::ClineScreen;

/// Tasks of Cline and Roo Code.
pub(super) const CLINE: TextFormat = TextFormat {
    name: "cline",
    recognise,
    parse,
};

/// The file with the exchange with the model.
const TALK: &str = "api_conversation_history.json";
/// The file with what the editor showed.
const SHOWN: &str = "ui_messages.json";

fn recognise(given: &ParserInput<'_>) -> bool {
    let text = json_body(given);
    if !text.starts_with('[') {
        return false;
    }
    let named = utf8_file_name(Some(given.path)) == Some(TALK);
    let talk = text.contains("\"role\"")
        && (named || text.contains("<environment_details>") || text.contains("<task>"));
    let shown = text.contains("\"ts\"") && (text.contains("\"say\"") || text.contains("\"ask\""));
    if !talk && !shown {
        return false;
    }
    let first = parse_list(given)
        .map(|list| first_objects(&list, 3))
        .unwrap_or_default();
    !first.is_empty() && (first.iter().all(shown::is_shown) || (talk && is_talk(&first, named)))
}

/// Returns whether records are an exchange with the model; under another file name, the first must be a task.
fn is_talk(first: &[JsonFields<'_>], named: bool) -> bool {
    let record = |fields: &JsonFields<'_>| {
        matches!(fields.text("role").as_deref(), Some("user" | "assistant")) && fields.has("content")
    };
    let task = first
        .first()
        .and_then(|fields| fields.get("content"))
        .is_some_and(|value| {
            let mut script = TranscriptBuilder::default();
            blocks::add_content(&mut script, &RecordStamp::default().record_for(HUMAN), value);
            let texts = &script.conversation.messages;
            texts.iter().any(|said| {
                let text = said.text.trim_start();
                text.starts_with("<task>") || text.starts_with("<environment_details>")
            })
        });
    first.iter().all(record) && (named || task)
}

fn parse_list<'a>(given: &ParserInput<'a>) -> Option<Vec<JsonSlice<'a>>> {
    JsonSlice::parse(json_body(given)).ok()?.items()
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let list = parse_whole(given)?.items().unwrap_or_default();
    let folder = given.path.parent();
    let mut script = TranscriptBuilder::default();
    let mut counter = LineCounter::new(given.text);
    if first_objects(&list, 1).iter().all(shown::is_shown) {
        // Both files of a task are found by the walk; reading both would file every message twice.
        if folder.is_some_and(|folder| folder.join(TALK).is_file()) {
            let note = format!("holds the same talk as {TALK} beside it, which is read instead");
            return Ok(vec![ReadingNote::new(note)]);
        }
        for (at, value) in list.into_iter().enumerate() {
            script.line = Some(counter.line_of(value));
            shown::add_shown_record(&mut script, &value.fields().unwrap_or_default(), at == 0);
        }
    } else {
        let beside = folder.and_then(|folder| fs::read_to_string(folder.join(SHOWN)).ok());
        let mut shown = beside.as_deref().map(ClineScreen::read).unwrap_or_default();
        shown.set_default_start(folder.and_then(task_start));
        for (at, value) in list.into_iter().enumerate() {
            script.line = Some(counter.line_of(value));
            add_record(&mut script, &shown, at, &value.fields().unwrap_or_default());
        }
    }
    script.conversation.id = utf8_file_name(folder)
        .filter(|name| is_task(name))
        .map(str::to_owned);
    script.finish(sink)
}

/// Returns whether a folder has the name of a task: a time in milliseconds, or a UUID.
fn is_task(name: &str) -> bool {
    let like_uuid = name.len() == 36 && name.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    like_uuid || (name.len() == 13 && name.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the start of a task, which its folder is named after.
fn task_start(folder: &Path) -> Option<Timestamp> {
    let name = utf8_file_name(Some(folder)).filter(|name| name.len() == 13)?;
    when::parse_epoch_number(name)
}

fn add_record(script: &mut TranscriptBuilder, shown: &ClineScreen, at: usize, fields: &JsonFields<'_>) {
    let role = fields.text("role").unwrap_or_default();
    let voice: RecordVoice = match role.as_str() {
        // Written by the program in the user's role when it condenses a long task.
        _ if fields.is_true("isSummary") => SYSTEM,
        "user" => HUMAN,
        "assistant" => ASSISTANT,
        _ => SYSTEM,
    };
    let model = fields.fields("modelInfo").text("modelId");
    let stamp = RecordStamp {
        id: fields.text("id"),
        at: fields
            .timestamp("ts")
            .or_else(|| shown.said_at(at, role == "user")),
        ..RecordStamp::default()
    }
    .with("model", model);
    let before = script.len();
    if let Some(value) = fields.get("content").or_else(|| fields.get("summary")) {
        blocks::add_content(script, &stamp.record_for(voice), value);
    }
    for message in script.conversation.messages.iter_mut().skip(before) {
        // The program sends instructions, files and tool results in the user's role; only the screen knows
        // which texts a person typed.
        if message.kind == MessageKind::Human && !shown.is_typed(&message.text) {
            message.kind = MessageKind::System;
            message.speaker = Some(SYSTEM.speaker.to_owned());
        }
    }
}
