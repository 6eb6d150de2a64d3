//! Gemini CLI: recorded sessions, as one object or one record on each line, and saved checkpoints.

mod parts;

use std::collections::HashMap;
use std::path::Path;

use loci_core::Result;

use super::json::whole::{LineCounter, first_objects, json_body, parse_whole};
use super::json::{JsonFields, JsonSlice, lines};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder};
use super::workspace::utf8_file_name;
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::ReadingNote;
use parts::add_parts;

/// Sessions and checkpoints of Gemini CLI.
pub(super) const GEMINI_CLI: TextFormat = TextFormat {
    name: "gemini-cli",
    recognise,
    parse,
};

fn recognise(given: &ParserInput<'_>) -> bool {
    let text = json_body(given);
    if text.starts_with('[') {
        let told = ["\"role\"", "\"parts\""];
        return told.iter().all(|key| text.contains(key)) && parse_checkpoint(given).is_some();
    }
    is_recorded(given) || parse_checkpoint(given).is_some()
}

/// Returns whether the first lines, or the whole file, are a recorded session.
fn is_recorded(given: &ParserInput<'_>) -> bool {
    let by_line = lines::opening_objects(given.text).any(|fields| {
        (fields.has("sessionId") && fields.has("projectHash"))
            || fields.text("type").as_deref() == Some("session_metadata")
    });
    let told = ["\"sessionId\"", "\"messages\""];
    by_line || (told.iter().all(|key| given.text.contains(key)) && parse_session(given).is_some())
}

/// Returns the session of a file that is one object. The type of its messages distinguishes it from other formats.
fn parse_session<'a>(given: &ParserInput<'a>) -> Option<JsonFields<'a>> {
    let fields = JsonFields::read(json_body(given)).ok()?;
    let messages = fields.get("messages")?.items()?;
    let typed = first_objects(&messages, 1)
        .iter()
        .all(|message| message.has("type"));
    (fields.has("sessionId") && (fields.has("projectHash") || (typed && !messages.is_empty())))
        .then_some(fields)
}

/// Returns the history of a checkpoint: contents with a role and parts, at the top level or under a key.
fn parse_checkpoint<'a>(given: &ParserInput<'a>) -> Option<Vec<JsonSlice<'a>>> {
    let text = json_body(given);
    // Matches both `history` and `clientHistory`. The search spares large files of other formats a full
    // parse.
    if text.starts_with('{') && !(text.contains("istory\"") && text.contains("\"parts\"")) {
        return None;
    }
    let value = JsonSlice::parse(text).ok()?;
    let fields = value.fields().unwrap_or_default();
    let keyed = fields.get_any(&["clientHistory", "history"]);
    let list = keyed.unwrap_or(value).items()?;
    let first = first_objects(&list, 3);
    let content = |fields: &JsonFields<'_>| {
        matches!(fields.text("role").as_deref(), Some("user" | "model"))
            && fields.get("parts").is_some_and(JsonSlice::is_array)
    };
    (!first.is_empty() && first.iter().all(content)).then_some(list)
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut recording = GeminiRecording::default();
    if let Some(fields) = parse_session(given) {
        recording.text = Some(given.text);
        recording.update_session(fields);
    } else if let Some(history) = parse_checkpoint(given) {
        return read_checkpoint(given, history).finish(sink);
    } else if json_body(given).starts_with('[') {
        parse_whole(given)?;
    } else {
        for line in lines::read_lines(given.text) {
            let number = line.number;
            if let Some(fields) = recording.script.read_line(line) {
                recording.take_line(fields, number);
            }
        }
    }
    recording.finish(given.path).finish(sink)
}

fn read_checkpoint<'a>(given: &ParserInput<'a>, history: Vec<JsonSlice<'a>>) -> TranscriptBuilder {
    let mut script = TranscriptBuilder::default();
    let mut counter = LineCounter::new(given.text);
    for value in history {
        script.line = Some(counter.line_of(value));
        let fields = value.fields().unwrap_or_default();
        let voice = match fields.text("role").as_deref() {
            Some("user") => HUMAN,
            Some("model") => ASSISTANT,
            _ => SYSTEM,
        };
        if let Some(value) = fields.get("parts") {
            add_parts(&mut script, &RecordStamp::default(), voice, value);
        }
    }
    script
}

/// A recorded session being read: its metadata, and its messages, each in its last version.
#[derive(Debug, Default)]
struct GeminiRecording<'a> {
    about: JsonFields<'a>,
    entries: Vec<GeminiEntry<'a>>,
    /// The places of the current messages, by id.
    places: HashMap<String, usize>,
    script: TranscriptBuilder,
    /// The whole text, if the messages are parts of one object.
    text: Option<&'a str>,
}

#[derive(Debug)]
struct GeminiEntry<'a> {
    id: Option<String>,
    line: Option<u64>,
    fields: JsonFields<'a>,
    abandoned: bool,
}

impl<'a> GeminiRecording<'a> {
    fn take_line(&mut self, fields: JsonFields<'a>, number: u64) {
        let kind = fields.text("type");
        if let Some(id) = fields.text("$rewindTo") {
            self.rewind_to(&id);
        } else if let Some(newer) = fields.object("$set") {
            self.update_session(newer);
        } else if kind.as_deref() == Some("session_metadata")
            || (fields.has("sessionId") && !fields.has("id") && !fields.has("content"))
        {
            self.update_session(fields);
        } else {
            self.take_message(fields, Some(number));
        }
    }

    /// Updates the metadata of the session, and takes the messages in it.
    fn update_session(&mut self, fields: JsonFields<'a>) {
        let mut counter = self.text.map(LineCounter::new);
        for value in fields.items("messages") {
            let line = counter.as_mut().map(|counter| counter.line_of(value));
            self.take_message(value.fields().unwrap_or_default(), line);
        }
        self.about.update(fields);
    }

    /// Takes a message: a new one, or a newer version that replaces one in its place.
    fn take_message(&mut self, fields: JsonFields<'a>, line: Option<u64>) {
        let id = fields.text("id");
        let place = id.as_ref().and_then(|id| self.places.get(id));
        match place.and_then(|place| self.entries.get_mut(*place)) {
            Some(old) if fields.text("type").as_deref() == Some("message_update") => {
                // An update must not turn the message into one of type `message_update`, or it would lose its
                // speaker.
                let kind = old.fields.with_only("type");
                old.fields.update(fields);
                old.fields.update(kind);
            }
            Some(old) => old.fields.update(fields),
            None => {
                if let Some(id) = id.clone() {
                    self.places.insert(id, self.entries.len());
                }
                self.entries.push(GeminiEntry {
                    id,
                    line,
                    fields,
                    abandoned: false,
                });
            }
        }
    }

    /// Abandons the messages from `id` on, because a person went back to it.
    fn rewind_to(&mut self, id: &str) {
        // With an unknown id, everything so far counts as abandoned.
        let from = self.places.get(id).copied().unwrap_or_default();
        for entry in self.entries.iter_mut().skip(from) {
            entry.abandoned = true;
        }
        // After a rewind the same id may come again and is then a new message.
        self.places.retain(|_, place| *place < from);
    }

    fn finish(self, path: &Path) -> TranscriptBuilder {
        let mut script = self.script;
        for entry in &self.entries {
            script.line = entry.line;
            add_message(&mut script, entry);
        }
        let conversation = &mut script.conversation;
        conversation.id = self.about.text("sessionId");
        conversation.title = self.about.text("summary").filter(|title| !title.is_empty());
        if self.about.text("kind").as_deref() == Some("subagent") {
            conversation.parent = utf8_file_name(path.parent())
                .filter(|name| *name != "chats")
                .map(str::to_owned);
            script.reassign_people_to_system(0);
        }
        script
    }
}

fn add_message(script: &mut TranscriptBuilder, entry: &GeminiEntry<'_>) {
    let fields = &entry.fields;
    let stamp = RecordStamp {
        id: entry.id.clone(),
        at: fields.timestamp("timestamp"),
        ..RecordStamp::default()
    }
    .with("model", fields.text("model"))
    .with("branch", entry.abandoned.then(|| "abandoned".to_owned()));
    let voice = match fields.text("type").as_deref() {
        Some("user") => HUMAN,
        Some("gemini" | "model" | "assistant") => ASSISTANT,
        _ => SYSTEM,
    };
    for thought in fields.objects("thoughts") {
        let at = thought.timestamp("timestamp").or(stamp.at);
        let stamp = RecordStamp { at, ..stamp.clone() };
        for key in ["subject", "description"] {
            script.add_thought(&stamp, thought.text(key).unwrap_or_default());
        }
    }
    if let Some(content) = fields.get("content").or_else(|| fields.get("message")) {
        add_parts(script, &stamp, voice, content);
    }
    for call in fields.objects("toolCalls") {
        parts::add_tool_call(script, &stamp, &call);
    }
}
