//! Pi, and OpenClaw, which is built on it: a session whose entries form a tree, one record on each line.

use std::collections::{HashMap, HashSet};

use loci_core::{Result, Timestamp};

use super::json::{JsonFields, JsonSlice, lines};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, RecordVoice, SYSTEM, TranscriptBuilder, blocks};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::ReadingNote;

/// Sessions of Pi and OpenClaw.
pub(super) const PI: TextFormat = TextFormat {
    name: "pi",
    recognise,
    parse,
};

fn recognise(given: &ParserInput<'_>) -> bool {
    let mut records = lines::opening_objects(given.text).take(2);
    records.any(|fields| {
        let kind = fields.text("type");
        (kind.as_deref() == Some("session")
            && fields.has("id")
            && (fields.has("cwd") || fields.has("version")))
            || (kind.as_deref() == Some("message") && fields.has("parentId") && is_message(&fields))
    })
}

/// Returns whether a line is the head of a session. Droid writes nearly the same format with another name for it.
fn is_head(kind: &str) -> bool {
    matches!(kind, "session" | "session_start")
}

fn is_message(fields: &JsonFields<'_>) -> bool {
    let role = fields.fields("message").text("role");
    matches!(role.as_deref(), Some("user" | "assistant" | "toolResult"))
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut session = PiSession::default();
    for line in lines::read_lines(given.text) {
        if let Some(fields) = session.script.read_line(line) {
            session.take_entry(&fields);
        }
    }
    session.finish().finish(sink)
}

/// A session being read.
#[derive(Debug, Default)]
struct PiSession {
    script: TranscriptBuilder,
    /// The parent of each entry.
    parents: HashMap<String, Option<String>>,
    last: Option<String>,
}

impl PiSession {
    fn take_entry(&mut self, fields: &JsonFields<'_>) {
        let kind = fields.text("type").unwrap_or_default();
        let id = fields.text("id");
        // The head carries the session's id, which is not a node of the tree.
        if let Some(id) = id.clone().filter(|_| !is_head(&kind)) {
            self.parents.insert(id.clone(), fields.text("parentId"));
            self.last = Some(id);
        }
        let stamp = RecordStamp {
            id,
            at: fields.timestamp("timestamp"),
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
            "message" => self.add_message(stamp, &fields.fields("message")),
            // Settings, which hold no words of the conversation.
            "model_change" | "thinking_level_change" | "label" => {}
            _ => {
                for key in ["summary", "content", "text"] {
                    if let Some(value) = fields
                        .get(key)
                        .filter(|value| value.raw().starts_with(['"', '[']))
                    {
                        self.add_content(&stamp, SYSTEM, value);
                    }
                }
            }
        }
    }

    fn add_message(&mut self, stamp: RecordStamp, message: &JsonFields<'_>) {
        let at: Option<Timestamp> = stamp.at.or_else(|| message.timestamp("timestamp"));
        let stamp = RecordStamp { at, ..stamp }.with("model", message.text("model"));
        let role = message.text("role").unwrap_or_default();
        let content = message.get("content");
        match role.as_str() {
            "toolResult" => self.add_result(stamp, message),
            "bashExecution" => {
                // A command that the person ran, not the model.
                let stamp = stamp.with("tool", Some("bash".to_owned()));
                let command = message.text("command").unwrap_or_default();
                self.script.add_text(&stamp, HUMAN, command);
                let output = message.text("output").unwrap_or_default();
                self.script
                    .add_answer(&stamp, Some("bash".to_owned()), None, output);
            }
            _ => {
                let voice = match role.as_str() {
                    "user" => HUMAN,
                    "assistant" => ASSISTANT,
                    _ => SYSTEM,
                };
                for value in content.into_iter().chain(message.get("summary")) {
                    self.add_content(&stamp, voice, value);
                }
                let error = message.text("errorMessage").unwrap_or_default();
                self.script.add_text(&stamp, SYSTEM, error);
            }
        }
    }

    fn add_content(&mut self, stamp: &RecordStamp, voice: RecordVoice, value: JsonSlice<'_>) {
        for value in value.items_or_self() {
            let part = value.fields().unwrap_or_default();
            match part.text("type").as_deref() {
                Some("toolCall") => {
                    let arguments = part.get("arguments").map_or("", JsonSlice::raw);
                    let (tool, id) = (part.text("name"), part.text("id"));
                    self.script.add_model_call(stamp, tool, id, arguments.to_owned());
                }
                _ => blocks::add_content(&mut self.script, &stamp.record_for(voice), value),
            }
        }
    }

    fn add_result(&mut self, mut stamp: RecordStamp, message: &JsonFields<'_>) {
        if message.is_true("isError") {
            stamp.about.insert("error", true);
        }
        let Some(content) = message.get("content") else {
            return;
        };
        let (tool, id) = (message.text("toolName"), message.text("toolCallId"));
        let record = self.script.answer_record(&stamp.record_for(SYSTEM), tool, id);
        blocks::add_content(&mut self.script, &record, content);
    }

    /// Marks messages on abandoned branches. If the chain from the last entry is broken, nothing is marked.
    fn finish(mut self) -> TranscriptBuilder {
        let current = self.current_branch().unwrap_or_default();
        for message in &mut self.script.conversation.messages {
            if !current.is_empty() && message.id.as_ref().is_some_and(|id| !current.contains(id)) {
                message.about.insert("branch", "abandoned");
            }
        }
        self.script
    }

    /// Returns the entries from the last one back to the first; `None` if the chain is broken or entries are not
    /// linked.
    fn current_branch(&self) -> Option<HashSet<String>> {
        let mut way = HashSet::new();
        let mut at = self.last.as_ref();
        // Some files link the first entry to the session itself.
        while let Some(id) = at.filter(|id| self.script.conversation.id.as_ref() != Some(*id)) {
            at = self.parents.get(id)?.as_ref();
            if !way.insert(id.clone()) {
                return None;
            }
        }
        // Sessions from before the tree have no links; there the last entry alone would count as current.
        let linked = self.parents.values().any(Option::is_some);
        linked.then_some(way)
    }
}
