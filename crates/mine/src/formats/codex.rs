//! Codex CLI: rollouts, in each form they were ever written in.
//!
//! A rollout tells most things twice: as the items that went to the model and came from it, and as events for the
//! screen. Items count; an event counts where no item says the same.

mod echoes;
mod items;

use loci_core::{Result, Timestamp};

use super::json::whole::{Counter, body};
use super::json::{Fields, Json, lines};
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder, Voice};
use super::{Given, Sink, TextFormat};
use crate::conversation::Note;
use echoes::{Channel, Echoes, Said};

/// Rollouts of Codex CLI.
pub(super) const CODEX: TextFormat = TextFormat {
    name: "codex",
    recognise,
    parse,
};

/// The lines that carry their record in `payload`.
const WRAPPED: [&str; 6] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "session.start",
];

fn recognise(given: &Given<'_>) -> bool {
    lines::opening(given.text).any(|fields| is_wrapped(&fields) || is_bare(&fields)) || is_oldest(given)
}

fn is_wrapped(fields: &Fields<'_>) -> bool {
    let kind = fields.text("type").unwrap_or_default();
    WRAPPED.contains(&kind.as_str()) && fields.object("payload").is_some()
}

/// The first lines of rollouts whose records stand straight on the line.
fn is_bare(fields: &Fields<'_>) -> bool {
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

/// Rollouts that are one object: a head and a list of items.
fn is_oldest(given: &Given<'_>) -> bool {
    let told = ["\"session\"", "\"items\"", "\"id\""];
    body(given).starts_with('{')
        && told.iter().all(|key| given.text.contains(key))
        && oldest(given).is_some_and(|(head, _)| head.has("id") && head.has("timestamp"))
}

fn oldest<'a>(given: &Given<'a>) -> Option<(Fields<'a>, Vec<Json<'a>>)> {
    let fields = Fields::read(body(given)).ok()?;
    Some((fields.object("session")?, fields.get("items")?.items()?))
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut rollout = Rollout::default();
    if let Some((head, items)) = oldest(given) {
        rollout.head(&head, head.moment("timestamp"));
        let mut counter = Counter::new(given.text);
        for value in items {
            rollout.script.line = Some(counter.line_of(value));
            rollout.item(&value.fields().unwrap_or_default(), None);
        }
    } else {
        for line in lines::each(given.text) {
            if let Some(fields) = rollout.script.read_line(line) {
                rollout.line(&fields);
            }
        }
    }
    rollout.finish().finish(sink)
}

/// A rollout being read.
#[derive(Debug, Default)]
struct Rollout {
    script: TranscriptBuilder,
    echoes: Echoes,
    model: Option<String>,
    /// Whether a model started it, so that no person speaks in it.
    is_child: bool,
}

impl Rollout {
    fn line(&mut self, fields: &Fields<'_>) {
        let at = fields.moment("timestamp");
        let payload = fields.fields("payload");
        let kind = fields.text("type");
        match kind.as_deref() {
            Some("session_meta" | "session.start") => self.head(&payload, at),
            Some("turn_context") => self.model = payload.text("model").or(self.model.take()),
            Some("response_item") => self.item(&payload, at),
            Some("event_msg") => self.event(&payload, at),
            Some("compacted") => self.system(at, payload.text("message")),
            None if fields.has("instructions") || fields.has("git") => self.head(fields, at),
            None => {}
            Some(_) if fields.has("payload") => {
                self.system(at, payload.any_text(&["message", "content", "text"]));
            }
            Some(_) => self.item(fields, at),
        }
    }

    /// The head of a rollout. One that was continued has the heads of those before it too, after its own.
    fn head(&mut self, fields: &Fields<'_>, at: Option<Timestamp>) {
        let conversation = &mut self.script.conversation;
        if conversation.id.is_none() {
            conversation.id = fields.text("id");
            conversation.cwd = fields.text("cwd");
            conversation.parent = parent(fields);
            self.is_child = conversation.parent.is_some()
                || subagent(fields).is_some()
                || fields.text("thread_source").as_deref() == Some("subagent");
        }
        let base = fields.fields("base_instructions").text("text");
        for text in [base, fields.text("instructions")].into_iter().flatten() {
            let known = |said: &crate::conversation::Message| said.text == text;
            if !self.script.conversation.messages.iter().any(known) {
                self.system(at, Some(text));
            }
        }
    }

    fn item(&mut self, fields: &Fields<'_>, at: Option<Timestamp>) {
        let before = self.script.len();
        let stamp = RecordStamp {
            id: fields.text("id"),
            at,
            ..RecordStamp::default()
        };
        let said = items::item(&mut self.script, &stamp, self.model.clone(), fields);
        self.echoes.add(Channel::Item, said, before, self.script.len());
    }

    fn event(&mut self, fields: &Fields<'_>, at: Option<Timestamp>) {
        let kind = fields.text("type").unwrap_or_default();
        let words = fields.any_text(&["message", "content", "text"]);
        match kind.as_str() {
            "user_message" => {
                let plain = fields.text("kind").is_none_or(|kind| kind == "plain");
                let (voice, said) = match plain {
                    true => (HUMAN, Said::Human),
                    false => (SYSTEM, Said::ForUser),
                };
                self.told(Channel::Event, said, at, voice, words);
            }
            "agent_message" => self.told(Channel::Event, Said::Assistant, at, ASSISTANT, words),
            "agent_reasoning" | "agent_reasoning_raw_content" => {
                self.thought(Channel::Event, at, words.unwrap_or_default());
            }
            "item_completed" => self.completed(&fields.fields("item"), at),
            "task_complete" | "turn_complete" => {
                let last = fields.text("last_agent_message");
                self.told(Channel::Last, Said::Assistant, at, ASSISTANT, last);
            }
            "thread_name_updated" => {
                self.script.conversation.title = fields.any_text(&["thread_name", "name"]);
            }
            _ => self.system(at, fields.text("message")),
        }
    }

    /// A finished item of the screen, as the newest rollouts have them.
    fn completed(&mut self, item: &Fields<'_>, at: Option<Timestamp>) {
        let parts = item.objects("content");
        let texts: Vec<String> = parts.filter_map(|part| part.text("text")).collect();
        match item.text("type").as_deref() {
            Some("UserMessage" | "userMessage") => {
                for text in texts {
                    self.told(Channel::Completed, Said::Human, at, HUMAN, Some(text));
                }
            }
            Some("AgentMessage" | "agentMessage" | "Plan" | "plan") => {
                for text in texts.into_iter().chain(item.text("text")) {
                    self.told(Channel::Completed, Said::Assistant, at, ASSISTANT, Some(text));
                }
            }
            Some("Reasoning" | "reasoning") => {
                for key in ["summary_text", "raw_content"] {
                    for value in item.items(key) {
                        self.thought(Channel::Completed, at, value.text().unwrap_or_default());
                    }
                }
            }
            _ => {}
        }
    }

    fn told(
        &mut self,
        channel: Channel,
        said: Said,
        at: Option<Timestamp>,
        voice: Voice,
        words: Option<String>,
    ) {
        let before = self.script.len();
        let stamp = self.stamp(at, voice == ASSISTANT);
        self.script.say(&stamp, voice, words.unwrap_or_default());
        self.echoes.add(channel, said, before, self.script.len());
    }

    fn thought(&mut self, channel: Channel, at: Option<Timestamp>, words: String) {
        let before = self.script.len();
        let stamp = self.stamp(at, true);
        self.script.think(&stamp, words);
        self.echoes.add(channel, Said::Thought, before, self.script.len());
    }

    fn system(&mut self, at: Option<Timestamp>, words: Option<String>) {
        self.told(Channel::Item, Said::Other, at, SYSTEM, words);
    }

    fn stamp(&self, at: Option<Timestamp>, by_model: bool) -> RecordStamp {
        let model = self.model.clone().filter(|_| by_model);
        RecordStamp {
            at,
            ..RecordStamp::default()
        }
        .with("model", model)
    }

    fn finish(mut self) -> TranscriptBuilder {
        self.echoes.settle(&mut self.script.conversation.messages);
        if self.is_child {
            self.script.without_person(0);
        }
        self.script
    }
}

/// The thread that started this one, for a sub-agent's.
fn parent(head: &Fields<'_>) -> Option<String> {
    subagent(head)
        .and_then(Json::fields)
        .and_then(|agent| agent.object("thread_spawn"))
        .and_then(|spawned| spawned.text("parent_thread_id"))
        .or_else(|| head.text("parent_thread_id"))
}

/// What a head says of the sub-agent whose it is.
fn subagent<'a>(head: &Fields<'a>) -> Option<Json<'a>> {
    head.object("source").and_then(|source| source.get("subagent"))
}
