//! Claude Code: a session or a sub-agent's run, a record on each line, or the same records in `loglines`.

mod branches;
mod place;
mod queue;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use loci_core::Result;

use super::json::whole::{Counter, body};
use super::json::{Fields, Json, lines};
use super::transcript::{
    ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder, Voice, blocks, decoded_size,
};
use super::{Given, Sink, TextFormat};
use crate::conversation::{Kind, Note};
use branches::Branches;
use place::Place;
use queue::Queue;

/// Sessions of Claude Code.
pub(super) const CLAUDE_CODE: TextFormat = TextFormat {
    name: "claude-code",
    recognise,
    parse,
};

/// Lines that keep the program's own books. What they say is said elsewhere too.
const BOOKS: [&str; 4] = [
    "progress",
    "file-history-snapshot",
    "content-replacement",
    "result",
];

fn recognise(given: &Given<'_>) -> bool {
    lines::opening(given.text).any(|fields| is_record(&fields))
        || loglines(given).is_some_and(|records| !records.is_empty())
}

/// Whether a record is one that only Claude Code writes.
fn is_record(fields: &Fields<'_>) -> bool {
    let session = ["sessionId", "session_id", "uuid", "leafUuid", "messageId"]
        .iter()
        .any(|key| fields.has(key));
    let said = fields.object("message");
    match fields.text("type").as_deref() {
        Some("user" | "assistant") => said.is_some_and(|said| said.has("content")),
        Some("summary") => fields.has("leafUuid"),
        Some("system") => session && (fields.has("subtype") || fields.has("parentUuid")),
        Some("attachment" | "progress") => session && fields.has("parentUuid"),
        Some("file-history-snapshot" | "queue-operation" | "custom-title" | "ai-title" | "last-prompt") => {
            session
        }
        Some(_) => false,
        None => {
            fields.has("sessionId") && fields.has("requestId") && said.is_some_and(|said| said.has("role"))
        }
    }
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut session = Session::default();
    if let Some(records) = loglines(given) {
        let mut counter = Counter::new(given.text);
        for value in records {
            session.script.line = Some(counter.line_of(value));
            match value.fields() {
                Some(fields) => session.record(&fields),
                None => session.script.note("no record, left out"),
            }
        }
    } else {
        for line in lines::each(given.text) {
            if let Some(fields) = session.script.read_line(line) {
                session.record(&fields);
            }
        }
    }
    session.finish(given).finish(sink)
}

/// The records of a file that is one object.
fn loglines<'a>(given: &Given<'a>) -> Option<Vec<Json<'a>>> {
    if !given.text.contains("\"loglines\"") {
        return None;
    }
    Fields::read(body(given)).ok()?.get("loglines")?.items()
}

/// A session being read.
#[derive(Debug, Default)]
struct Session {
    script: TranscriptBuilder,
    place: Place,
    queue: Queue,
    branches: Branches,
    title: Option<(u8, String)>,
    /// Records that are there already: some versions write one twice.
    seen: HashSet<(String, u64)>,
}

impl Session {
    fn record(&mut self, fields: &Fields<'_>) {
        let before = self.script.len();
        self.place.see(fields);
        self.read(fields);
        let new = self
            .script
            .conversation
            .messages
            .get(before..)
            .unwrap_or_default();
        let human = new.iter().any(|message| message.kind == Kind::Human);
        self.branches.see(fields, human);
    }

    fn read(&mut self, fields: &Fields<'_>) {
        let kind = fields.text("type").unwrap_or_default();
        match kind.as_str() {
            "summary" => self.called(0, fields.text("summary")),
            "ai-title" => self.called(1, fields.text("aiTitle")),
            "custom-title" => self.called(2, fields.text("customTitle")),
            "queue-operation" => self.queue.operation(fields, self.script.len()),
            "attachment" => self.attachment(fields),
            kind if BOOKS.contains(&kind) => {}
            _ if self.is_repeated(fields) => {}
            kind => self.said(fields, kind),
        }
    }

    fn called(&mut self, rank: u8, title: Option<String>) {
        let known = self.title.as_ref().map_or(0, |(rank, _)| *rank);
        if let Some(title) = title.filter(|title| !title.is_empty() && rank >= known) {
            self.title = Some((rank, title));
        }
    }

    /// Whether a record with the same id said the very same before.
    fn is_repeated(&mut self, fields: &Fields<'_>) -> bool {
        let (Some(id), Some(said)) = (fields.text("uuid"), fields.get("message")) else {
            return false;
        };
        let mut hasher = DefaultHasher::new();
        said.raw().hash(&mut hasher);
        !self.seen.insert((id, hasher.finish()))
    }

    fn said(&mut self, fields: &Fields<'_>, kind: &str) {
        let before = self.script.len();
        // The message is most of the record: it is read once.
        let (message, content) = match fields.object("message") {
            Some(message) => {
                let content = message.get("content");
                (message, content)
            }
            None => (Fields::default(), fields.any(&["message", "content"])),
        };
        let voice = voice(fields, &message, kind);
        let stamp = stamp(fields).with("model", message.text("model"));
        if let Some(content) = content {
            blocks::content(&mut self.script, &stamp.spoken(voice), content);
            self.queue
                .was_said(self.script.conversation.messages.get(before..));
        }
        // The result stands here too; it counts where the message itself says nothing.
        if content.is_none()
            && let Some(result) = fields.text("toolUseResult")
        {
            self.script.answer(&stamp, None, None, result);
        }
    }

    /// What the program put beside a message: files, reminders, what was typed while the model was at work.
    fn attachment(&mut self, fields: &Fields<'_>) {
        let Some(attached) = fields.object("attachment") else {
            return;
        };
        let stamp = stamp(fields);
        let before = self.script.len();
        let typed = attached.text("type").as_deref() == Some("queued_command");
        let by_person = attached
            .text("commandMode")
            .is_none_or(|mode| mode == "prompt" || mode == "bash");
        let voice = match typed && by_person && !is_foreign(fields, &attached) {
            true => HUMAN,
            false => SYSTEM,
        };
        for key in ["prompt", "content", "snippet", "stdout", "stderr"] {
            if let Some(value) = attached.get(key)
                && !(key == "stdout" && self.script.grew(before))
            {
                attached_content(&mut self.script, &stamp, voice, value);
            }
        }
        self.queue
            .was_said(self.script.conversation.messages.get(before..));
    }

    fn finish(mut self, given: &Given<'_>) -> TranscriptBuilder {
        self.branches.settle(&mut self.script.conversation.messages);
        self.queue.settle(&mut self.script.conversation.messages);
        self.script.conversation.title = self.title.map(|(_, title)| title);
        self.place.settle(given.path, &mut self.script.conversation);
        self.script
    }
}

/// A text, blocks, or an object with the text of a file inside.
fn attached_content(script: &mut TranscriptBuilder, stamp: &RecordStamp, voice: Voice, value: Json<'_>) {
    if value.raw().starts_with(['"', '[']) {
        return blocks::content(script, &stamp.spoken(voice), value);
    }
    let outer = value.fields().unwrap_or_default();
    let file = outer.object("file").unwrap_or(outer);
    match file.text("base64") {
        Some(data) => script.note_not_kept("an attached file", None, Some(decoded_size(&data))),
        None => script.say(stamp, voice, file.text("content").unwrap_or_default()),
    }
}

fn stamp(fields: &Fields<'_>) -> RecordStamp {
    let sidechain = fields.is_true("isSidechain").then(|| "sidechain".to_owned());
    RecordStamp {
        id: fields.text("uuid"),
        at: fields.moment("timestamp"),
        ..RecordStamp::default()
    }
    .with("branch", sidechain)
    .with("reply_to", fields.any_text(&["parentUuid", "logicalParentUuid"]))
}

/// Who speaks, by the marks of the record and never by its words. Without a type, the role of its message is it.
fn voice(fields: &Fields<'_>, message: &Fields<'_>, kind: &str) -> Voice {
    let role = message.text("role").filter(|_| kind.is_empty());
    match role.as_deref().unwrap_or(kind) {
        "assistant" => {
            let by_program = message.text("model").as_deref() == Some("<synthetic>");
            match by_program || fields.is_true("isApiErrorMessage") {
                true => SYSTEM,
                false => ASSISTANT,
            }
        }
        "user" => in_the_users_place(fields),
        _ => SYSTEM,
    }
}

/// Who speaks where a person may.
fn in_the_users_place(fields: &Fields<'_>) -> Voice {
    let by_program = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"]
        .iter()
        .any(|mark| fields.is_true(mark));
    // What a sub-agent is told comes from the model that started it, unless a person is named.
    let origin = fields.fields("origin").text("kind");
    match origin.as_deref() {
        _ if by_program => SYSTEM,
        Some("human") => HUMAN,
        Some(_) => SYSTEM,
        None if fields.is_true("isSidechain") => SYSTEM,
        None => HUMAN,
    }
}

/// Whether something in the queue came from elsewhere than the keyboard.
fn is_foreign(fields: &Fields<'_>, attached: &Fields<'_>) -> bool {
    let origin = attached.object("origin").or_else(|| fields.object("origin"));
    fields.is_true("isMeta")
        || attached.is_true("isMeta")
        || origin.is_some_and(|origin| origin.text("kind").is_some_and(|kind| kind != "human"))
}
