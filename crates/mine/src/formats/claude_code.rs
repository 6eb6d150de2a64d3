//! Claude Code: a session or the run of a sub-agent, one record on each line, or the same records in `loglines`.

mod branches;
mod place;
mod queue;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use loci_core::Result;

use super::json::whole::{LineCounter, json_body};
use super::json::{JsonFields, JsonSlice, lines};
use super::transcript::{
    ASSISTANT, HUMAN, RecordStamp, RecordVoice, SYSTEM, TranscriptBuilder, blocks, decoded_size,
};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::{MessageKind, ReadingNote};
use branches::ClaudeCodeBranches;
use place::SessionPlace;
use queue::PromptQueue;

/// Sessions of Claude Code.
pub(super) const CLAUDE_CODE: TextFormat = TextFormat {
    name: "claude-code",
    recognise,
    parse,
};

/// Records of the program's own bookkeeping. Their texts also occur in other records.
const BOOKS: [&str; 4] = [
    "progress",
    "file-history-snapshot",
    "content-replacement",
    "result",
];

fn recognise(given: &ParserInput<'_>) -> bool {
    lines::opening_objects(given.text).any(|fields| is_record(&fields))
        || read_loglines(given).is_some_and(|records| !records.is_empty())
}

/// Returns whether only Claude Code writes such a record.
fn is_record(fields: &JsonFields<'_>) -> bool {
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

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut session = ClaudeCodeSession::default();
    if let Some(records) = read_loglines(given) {
        let mut counter = LineCounter::new(given.text);
        for value in records {
            session.script.line = Some(counter.line_of(value));
            match value.fields() {
                Some(fields) => session.take_record(&fields),
                None => session.script.note("not a record, left out"),
            }
        }
    } else {
        for line in lines::read_lines(given.text) {
            if let Some(fields) = session.script.read_line(line) {
                session.take_record(&fields);
            }
        }
    }
    session.finish(given).finish(sink)
}

/// Returns the records of a file that is one object.
fn read_loglines<'a>(given: &ParserInput<'a>) -> Option<Vec<JsonSlice<'a>>> {
    if !given.text.contains("\"loglines\"") {
        return None;
    }
    JsonFields::read(json_body(given)).ok()?.get("loglines")?.items()
}

/// A session being read.
#[derive(Debug, Default)]
struct ClaudeCodeSession {
    script: TranscriptBuilder,
    place: SessionPlace,
    queue: PromptQueue,
    branches: ClaudeCodeBranches,
    title: Option<(u8, String)>,
    /// The records seen so far: some versions write one twice.
    seen: HashSet<(String, u64)>,
}

impl ClaudeCodeSession {
    fn take_record(&mut self, fields: &JsonFields<'_>) {
        let before = self.script.len();
        self.place.note_record(fields);
        self.read_record(fields);
        let new = self
            .script
            .conversation
            .messages
            .get(before..)
            .unwrap_or_default();
        // A `user` record may hold only tool results, which do not start a branch.
        let human = new.iter().any(|message| message.kind == MessageKind::Human);
        self.branches.note_record(fields, human);
    }

    fn read_record(&mut self, fields: &JsonFields<'_>) {
        let kind = fields.text("type").unwrap_or_default();
        match kind.as_str() {
            "summary" => self.offer_title(0, fields.text("summary")),
            "ai-title" => self.offer_title(1, fields.text("aiTitle")),
            "custom-title" => self.offer_title(2, fields.text("customTitle")),
            "queue-operation" => self.queue.note_operation(fields, self.script.len()),
            "attachment" => self.add_attachment(fields),
            kind if BOOKS.contains(&kind) => {}
            _ if self.is_repeated(fields) => {}
            kind => self.add_message(fields, kind),
        }
    }

    fn offer_title(&mut self, rank: u8, title: Option<String>) {
        // A title given by the person beats a generated one, and that beats a summary; of equals the last one
        // counts.
        let known = self.title.as_ref().map_or(0, |(rank, _)| *rank);
        if let Some(title) = title.filter(|title| !title.is_empty() && rank >= known) {
            self.title = Some((rank, title));
        }
    }

    /// Returns whether an earlier record has the same id and the same message.
    fn is_repeated(&mut self, fields: &JsonFields<'_>) -> bool {
        let (Some(id), Some(said)) = (fields.text("uuid"), fields.get("message")) else {
            return false;
        };
        let mut hasher = DefaultHasher::new();
        // A hash instead of the text, because sessions can be large. It is never stored, so it may differ
        // between releases of Rust.
        said.raw().hash(&mut hasher);
        !self.seen.insert((id, hasher.finish()))
    }

    fn add_message(&mut self, fields: &JsonFields<'_>, kind: &str) {
        let before = self.script.len();
        // The message is most of the record, so it is parsed only once.
        let (message, content) = match fields.object("message") {
            Some(message) => {
                let content = message.get("content");
                (message, content)
            }
            None => (JsonFields::default(), fields.get_any(&["message", "content"])),
        };
        let voice = record_voice(fields, &message, kind);
        let stamp = record_stamp(fields).with("model", message.text("model"));
        if let Some(content) = content {
            blocks::add_content(&mut self.script, &stamp.record_for(voice), content);
            self.queue
                .note_said_elsewhere(self.script.conversation.messages.get(before..));
        }
        // Most records repeat the result here; it counts only if the message has no content.
        if content.is_none()
            && let Some(result) = fields.text("toolUseResult")
        {
            self.script.add_answer(&stamp, None, None, result);
        }
    }

    /// Adds what the program attached to a message: files, reminders, prompts typed while the model was busy.
    fn add_attachment(&mut self, fields: &JsonFields<'_>) {
        let Some(attached) = fields.object("attachment") else {
            return;
        };
        let stamp = record_stamp(fields);
        let before = self.script.len();
        let typed = attached.text("type").as_deref() == Some("queued_command");
        let by_person = attached
            .text("commandMode")
            .is_none_or(|mode| mode == "prompt" || mode == "bash");
        let voice = if typed && by_person && !is_from_elsewhere(fields, &attached) {
            HUMAN
        } else {
            SYSTEM
        };
        for key in ["prompt", "content", "snippet", "stdout", "stderr"] {
            if let Some(value) = attached.get(key)
                // The output of a hook is in `content` as well.
                && !(key == "stdout" && self.script.has_grown_since(before))
            {
                add_attached_content(&mut self.script, &stamp, voice, value);
            }
        }
        self.queue
            .note_said_elsewhere(self.script.conversation.messages.get(before..));
    }

    fn finish(mut self, given: &ParserInput<'_>) -> TranscriptBuilder {
        self.branches
            .mark_abandoned(&mut self.script.conversation.messages);
        self.queue.insert_unsaid(&mut self.script.conversation.messages);
        self.script.conversation.title = self.title.map(|(_, title)| title);
        self.place.fill_in(given.path, &mut self.script.conversation);
        self.script
    }
}

/// Adds a text, blocks, or an object that holds the text of a file.
fn add_attached_content(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    voice: RecordVoice,
    value: JsonSlice<'_>,
) {
    if value.raw().starts_with(['"', '[']) {
        return blocks::add_content(script, &stamp.record_for(voice), value);
    }
    let outer = value.fields().unwrap_or_default();
    let file = outer.object("file").unwrap_or(outer);
    match file.text("base64") {
        Some(data) => script.note_not_kept("an attached file", None, Some(decoded_size(&data))),
        None => script.add_text(stamp, voice, file.text("content").unwrap_or_default()),
    }
}

fn record_stamp(fields: &JsonFields<'_>) -> RecordStamp {
    let sidechain = fields.is_true("isSidechain").then(|| "sidechain".to_owned());
    RecordStamp {
        id: fields.text("uuid"),
        at: fields.timestamp("timestamp"),
        ..RecordStamp::default()
    }
    .with("branch", sidechain)
    .with("reply_to", fields.any_text(&["parentUuid", "logicalParentUuid"]))
}

/// Returns the voice of a record, by its flags and never by its words. Without a type, the role of its message decides.
fn record_voice(fields: &JsonFields<'_>, message: &JsonFields<'_>, kind: &str) -> RecordVoice {
    let role = message.text("role").filter(|_| kind.is_empty());
    match role.as_deref().unwrap_or(kind) {
        "assistant" => {
            let by_program = message.text("model").as_deref() == Some("<synthetic>");
            if by_program || fields.is_true("isApiErrorMessage") {
                SYSTEM
            } else {
                ASSISTANT
            }
        }
        "user" => user_record_voice(fields),
        _ => SYSTEM,
    }
}

/// Returns the voice of a record of type `user`, which may be a person or the program.
fn user_record_voice(fields: &JsonFields<'_>) -> RecordVoice {
    let by_program = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly"]
        .iter()
        .any(|mark| fields.is_true(mark));
    // The prompts of a sub-agent come from the model that started it, unless a person is named.
    let origin = fields.fields("origin").text("kind");
    match origin.as_deref() {
        _ if by_program => SYSTEM,
        Some("human") => HUMAN,
        Some(_) => SYSTEM,
        None if fields.is_true("isSidechain") => SYSTEM,
        None => HUMAN,
    }
}

/// Returns whether a queued prompt did not come from the keyboard.
fn is_from_elsewhere(fields: &JsonFields<'_>, attached: &JsonFields<'_>) -> bool {
    let origin = attached.object("origin").or_else(|| fields.object("origin"));
    fields.is_true("isMeta")
        || attached.is_true("isMeta")
        || origin.is_some_and(|origin| origin.text("kind").is_some_and(|kind| kind != "human"))
}
