//! Codex CLI: rollouts, in every form that a release has written.
//!
//! A rollout records most things twice: as items exchanged with the model, and as events for the screen. Items count;
//! an event counts only if no item has the same text.

mod echoes;
mod items;

use loci_core::{Result, Timestamp};

use super::json::whole::{LineCounter, json_body};
use super::json::{JsonFields, JsonSlice, lines};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, RecordVoice, SYSTEM, TranscriptBuilder};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::ReadingNote;
use echoes::{CodexChannel, CodexEchoes, CodexSpeaker};

/// Rollouts of Codex CLI.
pub(super) const CODEX: TextFormat = TextFormat {
    name: "codex",
    recognise,
    parse,
};

/// The types of lines that carry their record in `payload`.
const WRAPPED: [&str; 6] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "session.start",
];

fn recognise(given: &ParserInput<'_>) -> bool {
    lines::opening_objects(given.text).any(|fields| is_wrapped(&fields) || is_bare(&fields))
        || is_oldest(given)
}

fn is_wrapped(fields: &JsonFields<'_>) -> bool {
    let kind = fields.text("type").unwrap_or_default();
    WRAPPED.contains(&kind.as_str()) && fields.object("payload").is_some()
}

/// Returns whether this is a first line of a rollout without `payload`.
fn is_bare(fields: &JsonFields<'_>) -> bool {
    let head = ["id", "timestamp", "instructions"]
        .iter()
        .all(|key| fields.has(key));
    match fields.text("type").as_deref() {
        None => fields.text("record_type").as_deref() == Some("state") || (head && !fields.has("sessionId")),
        Some("message") => fields
            .objects("content")
            .any(|part| matches!(part.text("type").as_deref(), Some("input_text" | "output_text"))),
        Some(_) => false,
    }
}

/// Returns whether a rollout is one object: a head and a list of items.
fn is_oldest(given: &ParserInput<'_>) -> bool {
    let told = ["\"session\"", "\"items\"", "\"id\""];
    json_body(given).starts_with('{')
        && told.iter().all(|key| given.text.contains(key))
        && read_oldest_form(given).is_some_and(|(head, _)| head.has("id") && head.has("timestamp"))
}

fn read_oldest_form<'a>(given: &ParserInput<'a>) -> Option<(JsonFields<'a>, Vec<JsonSlice<'a>>)> {
    let fields = JsonFields::read(json_body(given)).ok()?;
    Some((fields.object("session")?, fields.get("items")?.items()?))
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut rollout = CodexRollout::default();
    if let Some((head, items)) = read_oldest_form(given) {
        rollout.take_head(&head, head.timestamp("timestamp"));
        let mut counter = LineCounter::new(given.text);
        for value in items {
            rollout.script.line = Some(counter.line_of(value));
            rollout.add_item(&value.fields().unwrap_or_default(), None);
        }
    } else {
        for line in lines::read_lines(given.text) {
            if let Some(fields) = rollout.script.read_line(line) {
                rollout.take_line(&fields);
            }
        }
    }
    rollout.finish().finish(sink)
}

/// A rollout being read.
#[derive(Debug, Default)]
struct CodexRollout {
    script: TranscriptBuilder,
    echoes: CodexEchoes,
    model: Option<String>,
    /// Whether a model started it, so that no person speaks in it.
    is_child: bool,
}

impl CodexRollout {
    fn take_line(&mut self, fields: &JsonFields<'_>) {
        let at = fields.timestamp("timestamp");
        let payload = fields.fields("payload");
        let kind = fields.text("type");
        match kind.as_deref() {
            Some("session_meta" | "session.start") => self.take_head(&payload, at),
            Some("turn_context") => self.model = payload.text("model").or(self.model.take()),
            Some("response_item") => self.add_item(&payload, at),
            Some("event_msg") => self.add_event(&payload, at),
            // The summary that replaces the older context is the program's; the messages themselves are still
            // in the file.
            Some("compacted") => self.add_system_text(at, payload.text("message")),
            // Rollouts of the first releases put the head on the first line without a type.
            None if fields.has("instructions") || fields.has("git") => self.take_head(fields, at),
            None => {}
            // A type of line that is newer than this parser: its plain text is kept rather than lost.
            Some(_) if fields.has("payload") => {
                self.add_system_text(at, payload.any_text(&["message", "content", "text"]));
            }
            Some(_) => self.add_item(fields, at),
        }
    }

    /// Takes the head of a rollout. A continued rollout also has the heads of earlier ones, after its own.
    fn take_head(&mut self, fields: &JsonFields<'_>, at: Option<Timestamp>) {
        let conversation = &mut self.script.conversation;
        // The file belongs to the first head; later ones describe the sessions it was continued from.
        if conversation.id.is_none() {
            conversation.id = fields.text("id");
            conversation.cwd = fields.text("cwd");
            conversation.parent = parent_thread(fields);
            self.is_child = conversation.parent.is_some()
                || subagent_source(fields).is_some()
                || fields.text("thread_source").as_deref() == Some("subagent");
        }
        let base = fields.fields("base_instructions").text("text");
        for text in [base, fields.text("instructions")].into_iter().flatten() {
            // Every head repeats the instructions, which can be tens of kilobytes long.
            let known = |said: &crate::conversation::ConversationMessage| said.text == text;
            if !self.script.conversation.messages.iter().any(known) {
                self.add_system_text(at, Some(text));
            }
        }
    }

    fn add_item(&mut self, fields: &JsonFields<'_>, at: Option<Timestamp>) {
        let before = self.script.len();
        let stamp = RecordStamp {
            id: fields.text("id"),
            at,
            ..RecordStamp::default()
        };
        let said = items::add_item(&mut self.script, &stamp, self.model.clone(), fields);
        self.echoes
            .note_telling(CodexChannel::Item, said, before, self.script.len());
    }

    fn add_event(&mut self, fields: &JsonFields<'_>, at: Option<Timestamp>) {
        let kind = fields.text("type").unwrap_or_default();
        let words = fields.any_text(&["message", "content", "text"]);
        match kind.as_str() {
            "user_message" => {
                // Other kinds are instructions and environment notes that the program sends as the user.
                let plain = fields.text("kind").is_none_or(|kind| kind == "plain");
                let (voice, said) = if plain {
                    (HUMAN, CodexSpeaker::Human)
                } else {
                    (SYSTEM, CodexSpeaker::ForUser)
                };
                self.add_message(CodexChannel::Event, said, at, voice, words);
            }
            "agent_message" => {
                self.add_message(CodexChannel::Event, CodexSpeaker::Assistant, at, ASSISTANT, words)
            }
            "agent_reasoning" | "agent_reasoning_raw_content" => {
                self.add_thought(CodexChannel::Event, at, words.unwrap_or_default());
            }
            "item_completed" => self.add_completed_item(&fields.fields("item"), at),
            // The last answer is usually recorded as an item as well; this record counts only if it is not.
            "task_complete" | "turn_complete" => {
                let last = fields.text("last_agent_message");
                self.add_message(CodexChannel::Last, CodexSpeaker::Assistant, at, ASSISTANT, last);
            }
            "thread_name_updated" => {
                self.script.conversation.title = fields.any_text(&["thread_name", "name"]);
            }
            _ => self.add_system_text(at, fields.text("message")),
        }
    }

    /// Adds a finished item of the screen, as the newest rollouts have them.
    fn add_completed_item(&mut self, item: &JsonFields<'_>, at: Option<Timestamp>) {
        let parts = item.objects("content");
        let texts: Vec<String> = parts.filter_map(|part| part.text("text")).collect();
        match item.text("type").as_deref() {
            Some("UserMessage" | "userMessage") => {
                for text in texts {
                    self.add_message(
                        CodexChannel::Completed,
                        CodexSpeaker::Human,
                        at,
                        HUMAN,
                        Some(text),
                    );
                }
            }
            Some("AgentMessage" | "agentMessage" | "Plan" | "plan") => {
                for text in texts.into_iter().chain(item.text("text")) {
                    self.add_message(
                        CodexChannel::Completed,
                        CodexSpeaker::Assistant,
                        at,
                        ASSISTANT,
                        Some(text),
                    );
                }
            }
            Some("Reasoning" | "reasoning") => {
                for key in ["summary_text", "raw_content"] {
                    for value in item.items(key) {
                        self.add_thought(CodexChannel::Completed, at, value.text().unwrap_or_default());
                    }
                }
            }
            _ => {}
        }
    }

    fn add_message(
        &mut self,
        channel: CodexChannel,
        said: CodexSpeaker,
        at: Option<Timestamp>,
        voice: RecordVoice,
        words: Option<String>,
    ) {
        let before = self.script.len();
        let stamp = self.record_stamp(at, voice == ASSISTANT);
        self.script.add_text(&stamp, voice, words.unwrap_or_default());
        self.echoes.note_telling(channel, said, before, self.script.len());
    }

    fn add_thought(&mut self, channel: CodexChannel, at: Option<Timestamp>, words: String) {
        let before = self.script.len();
        let stamp = self.record_stamp(at, true);
        self.script.add_thought(&stamp, words);
        self.echoes
            .note_telling(channel, CodexSpeaker::Thought, before, self.script.len());
    }

    fn add_system_text(&mut self, at: Option<Timestamp>, words: Option<String>) {
        // Filed as an item of no class, so that it neither is an echo nor has one.
        self.add_message(CodexChannel::Item, CodexSpeaker::Other, at, SYSTEM, words);
    }

    fn record_stamp(&self, at: Option<Timestamp>, by_model: bool) -> RecordStamp {
        let model = self.model.clone().filter(|_| by_model);
        RecordStamp {
            at,
            ..RecordStamp::default()
        }
        .with("model", model)
    }

    fn finish(mut self) -> TranscriptBuilder {
        self.echoes.drop_echoes(&mut self.script.conversation.messages);
        if self.is_child {
            self.script.reassign_people_to_system(0);
        }
        self.script
    }
}

/// Returns the thread that started this one, for a sub-agent.
fn parent_thread(head: &JsonFields<'_>) -> Option<String> {
    subagent_source(head)
        .and_then(JsonSlice::fields)
        .and_then(|agent| agent.object("thread_spawn"))
        .and_then(|spawned| spawned.text("parent_thread_id"))
        .or_else(|| head.text("parent_thread_id"))
}

/// Returns the part of a head that describes its sub-agent.
fn subagent_source<'a>(head: &JsonFields<'a>) -> Option<JsonSlice<'a>> {
    head.object("source").and_then(|source| source.get("subagent"))
}
