//! Claude Code: a session or a sub-agent's run, a record on each line, or the same records in `loglines`.

mod branches;
mod place;
mod queue;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use loci_core::Result;

use super::json::{self, Object};
use super::lines::{lines, opening, record};
use super::script::{ASSISTANT, Counter, HUMAN, SYSTEM, Script, Stamp, Voice, body, decoded_size, whole};
use super::{Given, Sink, TextFormat, blocks};
use crate::mine::conversation::{Kind, Note};
use branches::Branches;
use place::Place;
use queue::Queue;

/// Sessions of Claude Code.
pub static CLAUDE_CODE: TextFormat = TextFormat {
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
    if opening(given.text).any(|fields| is_record(&fields)) {
        return true;
    }
    given.text.contains("\"loglines\"") && loglines(given).is_ok_and(|list| !list.is_empty())
}

/// Whether a record is one that only Claude Code writes.
fn is_record(fields: &Object<'_>) -> bool {
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
    if body(given).starts_with('{') && given.text.contains("\"loglines\"") && loglines(given).is_ok() {
        let mut counter = Counter::new(given.text);
        for raw in loglines(given)? {
            session.script.line = Some(counter.line_of(raw));
            match Object::of(raw) {
                Some(fields) => session.record(&fields),
                None => session.script.note("no record, left out"),
            }
        }
    } else {
        for line in lines(given.text) {
            session.script.line = Some(line.number);
            if let Some(fields) = record(line, &mut session.script.notes) {
                session.record(&fields);
            }
        }
    }
    session.finish(given).finish(sink)
}

fn loglines<'a>(given: &Given<'a>) -> Result<Vec<json::Raw<'a>>> {
    let fields = Object::of(whole(given)?).unwrap_or_default();
    Ok(fields.list("loglines"))
}

/// A session being read.
#[derive(Debug, Default)]
struct Session {
    script: Script,
    place: Place,
    queue: Queue,
    branches: Branches,
    title: Option<(u8, String)>,
    /// Records that are there already: some versions write one twice.
    seen: HashSet<(String, u64)>,
}

impl Session {
    fn record(&mut self, fields: &Object<'_>) {
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

    fn read(&mut self, fields: &Object<'_>) {
        let kind = fields.text("type").unwrap_or_default();
        match kind.as_str() {
            "summary" => self.called(0, fields.text("summary")),
            "ai-title" => self.called(1, fields.text("aiTitle")),
            "custom-title" => self.called(2, fields.text("customTitle")),
            "queue-operation" => self.queue.operation(fields, self.script.len()),
            "attachment" => self.attachment(fields),
            kind if BOOKS.contains(&kind) => {}
            _ if self.is_repeated(fields) => {}
            "user" | "assistant" => self.said(fields, voice(fields, &kind)),
            "" => self.said(fields, untyped(fields)),
            _ => self.said(fields, SYSTEM),
        }
    }

    fn called(&mut self, rank: u8, title: Option<String>) {
        let known = self.title.as_ref().map_or(0, |(rank, _)| *rank);
        if let Some(title) = title.filter(|title| !title.is_empty() && rank >= known) {
            self.title = Some((rank, title));
        }
    }

    /// Whether a record with the same id said the very same before.
    fn is_repeated(&mut self, fields: &Object<'_>) -> bool {
        let (Some(id), Some(said)) = (fields.text("uuid"), fields.raw("message")) else {
            return false;
        };
        let mut hasher = DefaultHasher::new();
        said.get().hash(&mut hasher);
        !self.seen.insert((id, hasher.finish()))
    }

    fn said(&mut self, fields: &Object<'_>, voice: Voice) {
        let stamp = stamp(fields);
        let before = self.script.len();
        let message = fields.raw("message").and_then(Object::of);
        let content = match &message {
            Some(message) => message.raw("content"),
            None => fields.raw("message").or_else(|| fields.raw("content")),
        };
        if let Some(content) = content {
            blocks::content(&mut self.script, &stamp, voice, content);
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
    fn attachment(&mut self, fields: &Object<'_>) {
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
            if let Some(raw) = attached.raw(key)
                && !(key == "stdout" && self.script.grew(before))
            {
                attached_content(&mut self.script, &stamp, voice, raw);
            }
        }
        self.queue
            .was_said(self.script.conversation.messages.get(before..));
    }

    fn finish(mut self, given: &Given<'_>) -> Script {
        self.branches.settle(&mut self.script.conversation.messages);
        self.queue.settle(&mut self.script.conversation.messages);
        self.script.conversation.title = self.title.map(|(_, title)| title);
        self.place.settle(given.path, &mut self.script.conversation);
        self.script
    }
}

/// A text, blocks, or an object with the text of a file inside.
fn attached_content(script: &mut Script, stamp: &Stamp, voice: Voice, raw: json::Raw<'_>) {
    if raw.get().starts_with(['"', '[']) {
        return blocks::content(script, stamp, voice, raw);
    }
    let outer = Object::of(raw).unwrap_or_default();
    let file = outer.object("file").unwrap_or(outer);
    match file.text("base64") {
        Some(data) => script.not_kept("an attached file", None, Some(decoded_size(&data))),
        None => script.say(stamp, voice, file.text("content").unwrap_or_default()),
    }
}

fn stamp(fields: &Object<'_>) -> Stamp {
    let message = fields.object("message").unwrap_or_default();
    let sidechain = fields.flag("isSidechain").then(|| "sidechain".to_owned());
    Stamp {
        id: fields.text("uuid"),
        at: fields.time("timestamp"),
        ..Stamp::default()
    }
    .with("model", message.text("model"))
    .with("branch", sidechain)
    .with(
        "reply_to",
        fields.first_text(&["parentUuid", "logicalParentUuid"]),
    )
}

/// Who speaks, by the marks of the record and never by its words.
fn voice(fields: &Object<'_>, kind: &str) -> Voice {
    let message = fields.object("message").unwrap_or_default();
    if kind == "assistant" {
        let by_program = message.text("model").as_deref() == Some("<synthetic>");
        return if by_program || fields.flag("isApiErrorMessage") {
            SYSTEM
        } else {
            ASSISTANT
        };
    }
    let by_program = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"]
        .iter()
        .any(|mark| fields.flag(mark));
    // What a sub-agent is told comes from the model that started it, unless a person is named.
    let origin = fields.object("origin").and_then(|origin| origin.text("kind"));
    match origin.as_deref() {
        _ if by_program => SYSTEM,
        Some("human") => HUMAN,
        Some(_) => SYSTEM,
        None if fields.flag("isSidechain") => SYSTEM,
        None => HUMAN,
    }
}

/// Whether something in the queue came from elsewhere than the keyboard.
fn is_foreign(fields: &Object<'_>, attached: &Object<'_>) -> bool {
    let origin = attached.object("origin").or_else(|| fields.object("origin"));
    fields.flag("isMeta")
        || attached.flag("isMeta")
        || origin.is_some_and(|origin| origin.text("kind").is_some_and(|kind| kind != "human"))
}

/// Who speaks in a record without a type.
fn untyped(fields: &Object<'_>) -> Voice {
    let role = fields.object("message").and_then(|message| message.text("role"));
    match role.as_deref() {
        Some(role @ ("user" | "assistant")) => voice(fields, role),
        _ => SYSTEM,
    }
}
