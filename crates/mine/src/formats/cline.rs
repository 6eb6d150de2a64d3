//! Cline and Roo Code: what went to the model and came from it, and what the editor showed of it.

mod shown;

use std::fs;
use std::path::Path;

use loci_core::{Result, Timestamp};

use super::json::whole::{Counter, body, objects, whole};
use super::json::{Fields, Json, when};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder, Voice, blocks};
use super::workspace::name;
use super::{Given, Sink, TextFormat};
use crate::conversation::{Kind, Note};
use shown::Shown;

/// Tasks of Cline and Roo Code.
pub(super) const CLINE: TextFormat = TextFormat {
    name: "cline",
    recognise,
    parse,
};

/// What goes to the model.
const TALK: &str = "api_conversation_history.json";
/// What the editor shows.
const SHOWN: &str = "ui_messages.json";

fn recognise(given: &Given<'_>) -> bool {
    let text = body(given);
    if !text.starts_with('[') {
        return false;
    }
    let named = name(Some(given.path)) == Some(TALK);
    let talk = text.contains("\"role\"")
        && (named || text.contains("<environment_details>") || text.contains("<task>"));
    let shown = text.contains("\"ts\"") && (text.contains("\"say\"") || text.contains("\"ask\""));
    if !talk && !shown {
        return false;
    }
    let first = list(given).map(|list| objects(&list, 3)).unwrap_or_default();
    !first.is_empty() && (first.iter().all(shown::is_shown) || (talk && is_talk(&first, named)))
}

/// Whether records are of the talk with the model; under another name, the first must be a task.
fn is_talk(first: &[Fields<'_>], named: bool) -> bool {
    let record = |fields: &Fields<'_>| {
        matches!(fields.text("role").as_deref(), Some("user" | "assistant")) && fields.has("content")
    };
    let task = first
        .first()
        .and_then(|fields| fields.get("content"))
        .is_some_and(|value| {
            let mut script = TranscriptBuilder::default();
            blocks::content(&mut script, &RecordStamp::default().spoken(HUMAN), value);
            let texts = &script.conversation.messages;
            texts.iter().any(|said| {
                let text = said.text.trim_start();
                text.starts_with("<task>") || text.starts_with("<environment_details>")
            })
        });
    first.iter().all(record) && (named || task)
}

fn list<'a>(given: &Given<'a>) -> Option<Vec<Json<'a>>> {
    Json::parse(body(given)).ok()?.items()
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let list = whole(given)?.items().unwrap_or_default();
    let folder = given.path.parent();
    let mut script = TranscriptBuilder::default();
    let mut counter = Counter::new(given.text);
    if objects(&list, 1).iter().all(shown::is_shown) {
        if folder.is_some_and(|folder| folder.join(TALK).is_file()) {
            let note = format!("holds the same talk as {TALK} beside it, which is read instead");
            return Ok(vec![Note::new(note)]);
        }
        for (at, value) in list.into_iter().enumerate() {
            script.line = Some(counter.line_of(value));
            shown::show(&mut script, &value.fields().unwrap_or_default(), at == 0);
        }
    } else {
        let beside = folder.and_then(|folder| fs::read_to_string(folder.join(SHOWN)).ok());
        let mut shown = beside.as_deref().map(Shown::read).unwrap_or_default();
        shown.begin(folder.and_then(started));
        for (at, value) in list.into_iter().enumerate() {
            script.line = Some(counter.line_of(value));
            record(&mut script, &shown, at, &value.fields().unwrap_or_default());
        }
    }
    script.conversation.id = name(folder).filter(|name| is_task(name)).map(str::to_owned);
    script.finish(sink)
}

/// Whether a folder is called as tasks are: a moment in milliseconds, or an id with dashes.
fn is_task(name: &str) -> bool {
    let like_uuid = name.len() == 36 && name.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    like_uuid || (name.len() == 13 && name.bytes().all(|b| b.is_ascii_digit()))
}

/// When a task was started: its folder is called after it.
fn started(folder: &Path) -> Option<Timestamp> {
    let name = name(Some(folder)).filter(|name| name.len() == 13)?;
    when::number(name)
}

fn record(script: &mut TranscriptBuilder, shown: &Shown, at: usize, fields: &Fields<'_>) {
    let role = fields.text("role").unwrap_or_default();
    let voice: Voice = match role.as_str() {
        _ if fields.is_true("isSummary") => SYSTEM,
        "user" => HUMAN,
        "assistant" => ASSISTANT,
        _ => SYSTEM,
    };
    let model = fields.fields("modelInfo").text("modelId");
    let stamp = RecordStamp {
        id: fields.text("id"),
        at: fields.moment("ts").or_else(|| shown.time(at, role == "user")),
        ..RecordStamp::default()
    }
    .with("model", model);
    let before = script.len();
    if let Some(value) = fields.get("content").or_else(|| fields.get("summary")) {
        blocks::content(script, &stamp.spoken(voice), value);
    }
    for message in script.conversation.messages.iter_mut().skip(before) {
        if message.kind == Kind::Human && !shown.is_typed(&message.text) {
            message.kind = Kind::System;
            message.speaker = Some(SYSTEM.speaker.to_owned());
        }
    }
}
