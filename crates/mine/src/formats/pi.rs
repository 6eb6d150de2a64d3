//! Pi, and OpenClaw which is built on it: a session whose entries form a tree, a record on each line.

use std::collections::{HashMap, HashSet};

use loci_core::{Result, Timestamp};

use super::json::{Fields, Json, lines};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder, Voice, blocks};
use super::{Given, Sink, TextFormat};
use crate::conversation::Note;

/// Sessions of Pi and OpenClaw.
pub(super) const PI: TextFormat = TextFormat {
    name: "pi",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    let mut records = lines::opening(given.text).take(2);
    records.any(|fields| {
        let kind = fields.text("type");
        (kind.as_deref() == Some("session")
            && fields.has("id")
            && (fields.has("cwd") || fields.has("version")))
            || (kind.as_deref() == Some("message") && fields.has("parentId") && is_message(&fields))
    })
}

/// Whether a line is the head of a session. Droid, which writes much the same, calls it otherwise.
fn is_head(kind: &str) -> bool {
    matches!(kind, "session" | "session_start")
}

fn is_message(fields: &Fields<'_>) -> bool {
    let role = fields.fields("message").text("role");
    matches!(role.as_deref(), Some("user" | "assistant" | "toolResult"))
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut session = Session::default();
    for line in lines::each(given.text) {
        if let Some(fields) = session.script.read_line(line) {
            session.entry(&fields);
        }
    }
    session.finish().finish(sink)
}

/// A session being read.
#[derive(Debug, Default)]
struct Session {
    script: TranscriptBuilder,
    /// The entry each entry follows.
    parents: HashMap<String, Option<String>>,
    last: Option<String>,
}

impl Session {
    fn entry(&mut self, fields: &Fields<'_>) {
        let kind = fields.text("type").unwrap_or_default();
        let id = fields.text("id");
        if let Some(id) = id.clone().filter(|_| !is_head(&kind)) {
            self.parents.insert(id.clone(), fields.text("parentId"));
            self.last = Some(id);
        }
        let stamp = RecordStamp {
            id,
            at: fields.moment("timestamp"),
            ..RecordStamp::default()
        }
        .with("reply_to", fields.text("parentId"));
        match kind.as_str() {
            kind if is_head(kind) => {
                let conversation = &mut self.script.conversation;
                conversation.id = fields.text("id");
                conversation.cwd = fields.text("cwd");
                conversation.title = fields.text("title");
            }
            "session_info" => self.script.conversation.title = fields.text("name"),
            "message" => self.message(stamp, &fields.fields("message")),
            "model_change" | "thinking_level_change" | "label" => {}
            _ => {
                for key in ["summary", "content", "text"] {
                    if let Some(value) = fields
                        .get(key)
                        .filter(|value| value.raw().starts_with(['"', '[']))
                    {
                        self.content(&stamp, SYSTEM, value);
                    }
                }
            }
        }
    }

    fn message(&mut self, stamp: RecordStamp, message: &Fields<'_>) {
        let at: Option<Timestamp> = stamp.at.or_else(|| message.moment("timestamp"));
        let stamp = RecordStamp { at, ..stamp }.with("model", message.text("model"));
        let role = message.text("role").unwrap_or_default();
        let content = message.get("content");
        match role.as_str() {
            "toolResult" => self.result(stamp, message),
            "bashExecution" => {
                // A person ran a command.
                let stamp = stamp.with("tool", Some("bash".to_owned()));
                let command = message.text("command").unwrap_or_default();
                self.script.say(&stamp, HUMAN, command);
                let output = message.text("output").unwrap_or_default();
                self.script.answer(&stamp, Some("bash".to_owned()), None, output);
            }
            _ => {
                let voice = match role.as_str() {
                    "user" => HUMAN,
                    "assistant" => ASSISTANT,
                    _ => SYSTEM,
                };
                for value in content.into_iter().chain(message.get("summary")) {
                    self.content(&stamp, voice, value);
                }
                let error = message.text("errorMessage").unwrap_or_default();
                self.script.say(&stamp, SYSTEM, error);
            }
        }
    }

    fn content(&mut self, stamp: &RecordStamp, voice: Voice, value: Json<'_>) {
        for value in value.all() {
            let part = value.fields().unwrap_or_default();
            match part.text("type").as_deref() {
                Some("toolCall") => {
                    let arguments = part.get("arguments").map_or("", Json::raw);
                    let (tool, id) = (part.text("name"), part.text("id"));
                    self.script.call_tool(stamp, tool, id, arguments.to_owned());
                }
                _ => blocks::content(&mut self.script, &stamp.spoken(voice), value),
            }
        }
    }

    fn result(&mut self, mut stamp: RecordStamp, message: &Fields<'_>) {
        if message.is_true("isError") {
            stamp.about.insert("error", true);
        }
        let Some(content) = message.get("content") else {
            return;
        };
        let (tool, id) = (message.text("toolName"), message.text("toolCallId"));
        let record = self.script.answer_record(&stamp.spoken(SYSTEM), tool, id);
        blocks::content(&mut self.script, &record, content);
    }

    /// Marks what lies on branches that were left. Where the way back from the last entry breaks off, nothing is told.
    fn finish(mut self) -> TranscriptBuilder {
        let current = self.current().unwrap_or_default();
        for message in &mut self.script.conversation.messages {
            if !current.is_empty() && message.id.as_ref().is_some_and(|id| !current.contains(id)) {
                message.about.insert("branch", "abandoned");
            }
        }
        self.script
    }

    /// The entries from the last one back to the first.
    fn current(&self) -> Option<HashSet<String>> {
        let mut way = HashSet::new();
        let mut at = self.last.as_ref();
        while let Some(id) = at.filter(|id| self.script.conversation.id.as_ref() != Some(*id)) {
            at = self.parents.get(id)?.as_ref();
            if !way.insert(id.clone()) {
                return None;
            }
        }
        let linked = self.parents.values().any(Option::is_some);
        linked.then_some(way)
    }
}
