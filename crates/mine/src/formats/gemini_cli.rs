//! Gemini CLI: recorded sessions, as one object or as a record on each line, and saved checkpoints.

mod parts;

use std::collections::HashMap;
use std::path::Path;

use loci_core::Result;

use super::json::whole::{Counter, body, objects, whole};
use super::json::{Fields, Json, lines};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder};
use super::workspace::name;
use super::{Given, Sink, TextFormat};
use crate::conversation::Note;
use parts::parts;

/// Sessions and checkpoints of Gemini CLI.
pub(super) const GEMINI_CLI: TextFormat = TextFormat {
    name: "gemini-cli",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    let text = body(given);
    if text.starts_with('[') {
        let told = ["\"role\"", "\"parts\""];
        return told.iter().all(|key| text.contains(key)) && checkpoint(given).is_some();
    }
    is_recorded(given) || checkpoint(given).is_some()
}

/// Whether the first lines, or the whole, are a recorded session.
fn is_recorded(given: &Given<'_>) -> bool {
    let by_line = lines::opening(given.text).any(|fields| {
        (fields.has("sessionId") && fields.has("projectHash"))
            || fields.text("type").as_deref() == Some("session_metadata")
    });
    let told = ["\"sessionId\"", "\"messages\""];
    by_line || (told.iter().all(|key| given.text.contains(key)) && session(given).is_some())
}

/// The session, where the file is one object. What tells it from others is the type of its messages.
fn session<'a>(given: &Given<'a>) -> Option<Fields<'a>> {
    let fields = Fields::read(body(given)).ok()?;
    let messages = fields.get("messages")?.items()?;
    let typed = objects(&messages, 1).iter().all(|message| message.has("type"));
    (fields.has("sessionId") && (fields.has("projectHash") || (typed && !messages.is_empty())))
        .then_some(fields)
}

/// The history of a checkpoint: contents with a role and parts, alone or under a key.
fn checkpoint<'a>(given: &Given<'a>) -> Option<Vec<Json<'a>>> {
    let text = body(given);
    if text.starts_with('{') && !(text.contains("istory\"") && text.contains("\"parts\"")) {
        return None;
    }
    let value = Json::parse(text).ok()?;
    let fields = value.fields().unwrap_or_default();
    let keyed = fields.any(&["clientHistory", "history"]);
    let list = keyed.unwrap_or(value).items()?;
    let first = objects(&list, 3);
    let content = |fields: &Fields<'_>| {
        matches!(fields.text("role").as_deref(), Some("user" | "model"))
            && fields.get("parts").is_some_and(Json::is_array)
    };
    (!first.is_empty() && first.iter().all(content)).then_some(list)
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut recording = Recording::default();
    if let Some(fields) = session(given) {
        recording.text = Some(given.text);
        recording.known(fields);
    } else if let Some(history) = checkpoint(given) {
        return read_checkpoint(given, history).finish(sink);
    } else if body(given).starts_with('[') {
        whole(given)?;
    } else {
        for line in lines::each(given.text) {
            let number = line.number;
            if let Some(fields) = recording.script.read_line(line) {
                recording.line(fields, number);
            }
        }
    }
    recording.finish(given.path).finish(sink)
}

fn read_checkpoint<'a>(given: &Given<'a>, history: Vec<Json<'a>>) -> TranscriptBuilder {
    let mut script = TranscriptBuilder::default();
    let mut counter = Counter::new(given.text);
    for value in history {
        script.line = Some(counter.line_of(value));
        let fields = value.fields().unwrap_or_default();
        let voice = match fields.text("role").as_deref() {
            Some("user") => HUMAN,
            Some("model") => ASSISTANT,
            _ => SYSTEM,
        };
        if let Some(value) = fields.get("parts") {
            parts(&mut script, &RecordStamp::default(), voice, value);
        }
    }
    script
}

/// A recorded session being read: what is known of it, and its messages, each in its last version.
#[derive(Debug, Default)]
struct Recording<'a> {
    about: Fields<'a>,
    entries: Vec<Entry<'a>>,
    /// Where the messages that count are, by id.
    places: HashMap<String, usize>,
    script: TranscriptBuilder,
    /// The whole text, where the messages are parts of one object.
    text: Option<&'a str>,
}

#[derive(Debug)]
struct Entry<'a> {
    id: Option<String>,
    line: Option<u64>,
    fields: Fields<'a>,
    abandoned: bool,
}

impl<'a> Recording<'a> {
    fn line(&mut self, fields: Fields<'a>, number: u64) {
        let kind = fields.text("type");
        if let Some(id) = fields.text("$rewindTo") {
            self.rewind(&id);
        } else if let Some(newer) = fields.object("$set") {
            self.known(newer);
        } else if kind.as_deref() == Some("session_metadata")
            || (fields.has("sessionId") && !fields.has("id") && !fields.has("content"))
        {
            self.known(fields);
        } else {
            self.message(fields, Some(number));
        }
    }

    /// Takes over what is known of the session, with the messages it may hold.
    fn known(&mut self, fields: Fields<'a>) {
        let mut counter = self.text.map(Counter::new);
        for value in fields.items("messages") {
            let line = counter.as_mut().map(|counter| counter.line_of(value));
            self.message(value.fields().unwrap_or_default(), line);
        }
        self.about.update(fields);
    }

    /// Takes over a message: a new one, or a newer version of one that stays where it is.
    fn message(&mut self, fields: Fields<'a>, line: Option<u64>) {
        let id = fields.text("id");
        let place = id.as_ref().and_then(|id| self.places.get(id));
        match place.and_then(|place| self.entries.get_mut(*place)) {
            Some(old) if fields.text("type").as_deref() == Some("message_update") => {
                let kind = old.fields.only("type");
                old.fields.update(fields);
                old.fields.update(kind);
            }
            Some(old) => old.fields.update(fields),
            None => {
                if let Some(id) = id.clone() {
                    self.places.insert(id, self.entries.len());
                }
                self.entries.push(Entry {
                    id,
                    line,
                    fields,
                    abandoned: false,
                });
            }
        }
    }

    /// A person went back: what was said from there on is not the conversation any more.
    fn rewind(&mut self, id: &str) {
        let from = self.places.get(id).copied().unwrap_or_default();
        for entry in self.entries.iter_mut().skip(from) {
            entry.abandoned = true;
        }
        self.places.retain(|_, place| *place < from);
    }

    fn finish(self, path: &Path) -> TranscriptBuilder {
        let mut script = self.script;
        for entry in &self.entries {
            script.line = entry.line;
            message(&mut script, entry);
        }
        let conversation = &mut script.conversation;
        conversation.id = self.about.text("sessionId");
        conversation.title = self.about.text("summary").filter(|title| !title.is_empty());
        if self.about.text("kind").as_deref() == Some("subagent") {
            conversation.parent = name(path.parent())
                .filter(|name| *name != "chats")
                .map(str::to_owned);
            script.without_person(0);
        }
        script
    }
}

fn message(script: &mut TranscriptBuilder, entry: &Entry<'_>) {
    let fields = &entry.fields;
    let stamp = RecordStamp {
        id: entry.id.clone(),
        at: fields.moment("timestamp"),
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
        let at = thought.moment("timestamp").or(stamp.at);
        let stamp = RecordStamp { at, ..stamp.clone() };
        for key in ["subject", "description"] {
            script.think(&stamp, thought.text(key).unwrap_or_default());
        }
    }
    if let Some(content) = fields.get("content").or_else(|| fields.get("message")) {
        parts(script, &stamp, voice, content);
    }
    for call in fields.objects("toolCalls") {
        parts::tool_call(script, &stamp, &call);
    }
}
