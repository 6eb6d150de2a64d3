//! The bare shape of a chat: messages with a role and a content, as model interfaces take them.
//!
//! One chat as an array or under `messages`, several of those in an array, or lines of either. Gemini's `contents` and
//! the prompts of AI Studio are the same shape under other names.

use loci_core::Result;

use super::json::{Fields, Json, lines, top};
use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder, blocks};
use super::{Given, Sink, TextFormat};
use crate::conversation::{Conversation, Kind, Note};
use crate::keys::ConversationKeys;

/// Messages with roles, in JSON or JSONL.
pub(super) const OPENAI_MESSAGES: TextFormat = TextFormat {
    name: "openai-messages",
    recognise,
    parse,
};

/// How many messages are looked at to see whether a file is of this shape.
const LOOKED_AT: usize = 200;

/// How a file holds its chats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Its array is one chat.
    Messages,
    /// Its object is one chat, or its array holds several.
    Chats,
    /// Its lines are messages of one chat.
    MessageLines,
    /// Its lines are chats.
    ChatLines,
}

fn recognise(given: &Given<'_>) -> bool {
    shape(given).is_some()
}

fn shape(given: &Given<'_>) -> Option<Shape> {
    let text = top::unmarked(given.text).trim_start();
    if !text.starts_with(['[', '{']) || !text.contains("\"role\"") || belongs_to_an_agent(given) {
        return None;
    }
    if is_lines(text) {
        shape_of_lines(text)
    } else {
        shape_of_whole(text)
    }
}

/// Lines are objects of their own: there are several, or the only one is a message.
fn is_lines(text: &str) -> bool {
    let mut lines = lines::each(text);
    let first = lines.next().and_then(|line| line.content.ok());
    text.starts_with('{') && first.is_some_and(|first| lines.next().is_some() || is_message(&first))
}

fn shape_of_whole(text: &str) -> Option<Shape> {
    let mut seen: Vec<Option<Shape>> = Vec::new();
    let mut conversing = false;
    top::look_at(text, LOOKED_AT, &mut |value| {
        let fields = value.fields().unwrap_or_default();
        conversing |= is_chat(&fields) || converses(&fields);
        seen.push(shape_of(&fields));
    });
    let first = seen.first().copied().flatten()?;
    (conversing && seen.iter().all(|shape| *shape == Some(first))).then_some(first)
}

/// Cline and its kin keep the model's side of a task in this shape, beside the task itself.
fn belongs_to_an_agent(given: &Given<'_>) -> bool {
    given
        .path
        .file_name()
        .is_some_and(|name| name == "api_conversation_history.json")
}

fn shape_of(fields: &Fields<'_>) -> Option<Shape> {
    if is_message(fields) {
        Some(Shape::Messages)
    } else {
        is_chat(fields).then_some(Shape::Chats)
    }
}

fn shape_of_lines(text: &str) -> Option<Shape> {
    let lines = lines::beginning(text, LOOKED_AT)?;
    let is_line = |line: &Fields<'_>| (is_message(line) && !line.has("type")) || is_aside(line);
    if lines.iter().all(is_line) && lines.iter().any(converses) {
        return Some(Shape::MessageLines);
    }
    lines.iter().all(is_chat).then_some(Shape::ChatLines)
}

/// A message has a role that is known here and something said or called.
fn is_message(fields: &Fields<'_>) -> bool {
    let known = fields.text("role").is_some_and(|role| kind(&role).is_some());
    known
        && ["content", "tool_calls", "parts", "function_call", "text"]
            .iter()
            .any(|name| fields.has(name))
}

/// A message of a person or a model; instructions alone are no chat.
fn converses(fields: &Fields<'_>) -> bool {
    let kind = fields.text("role").and_then(|role| kind(&role));
    matches!(kind, Some(Kind::Human | Kind::Assistant)) && is_message(fields)
}

/// What Kimi writes between messages: its instructions, its counts.
fn is_aside(fields: &Fields<'_>) -> bool {
    fields.text("role").is_some_and(|role| role.starts_with('_'))
}

fn is_chat(fields: &Fields<'_>) -> bool {
    let messages: Vec<Fields<'_>> = messages(fields)
        .into_iter()
        .take(LOOKED_AT)
        .filter_map(Json::fields)
        .collect();
    messages.iter().all(is_message) && messages.iter().any(converses)
}

fn messages<'a>(chat: &Fields<'a>) -> Vec<Json<'a>> {
    let named = chat.any(&["messages", "contents"]).and_then(Json::items);
    named.unwrap_or_else(|| chat.fields("chunkedPrompt").items("chunks"))
}

fn kind(role: &str) -> Option<Kind> {
    match role {
        "user" | "human" => Some(Kind::Human),
        "assistant" | "model" | "ai" => Some(Kind::Assistant),
        "system" | "developer" => Some(Kind::System),
        "tool" | "function" => Some(Kind::ToolResult),
        _ => None,
    }
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    match shape(given).unwrap_or(Shape::Chats) {
        Shape::Messages => {
            said.read_each(given.text, &mut |said, value| {
                add(said, &value.fields().unwrap_or_default());
                Ok(())
            })?;
            said.hand_over(Conversation::default(), sink)?;
        }
        Shape::Chats => {
            let mut keys = ConversationKeys::default();
            let many = top::unmarked(given.text).trim_start().starts_with('[');
            said.read_each(given.text, &mut |said, value| {
                let chat = value.fields().unwrap_or_default();
                let key = many.then(|| keys.claim_in_export(id(&chat)));
                converse(said, &chat, key, sink)
            })?;
        }
        Shape::MessageLines => each_line(given, &mut said, &mut |said, line| {
            add(said, line);
            Ok(())
        })
        .and_then(|()| said.hand_over(Conversation::default(), sink))?,
        Shape::ChatLines => {
            let mut keys = ConversationKeys::default();
            each_line(given, &mut said, &mut |said, line| {
                let key = keys.claim_in_export(id(line));
                converse(said, line, Some(key), sink)
            })?;
        }
    }
    Ok(said.notes)
}

/// Takes one line.
type LineTaker<'a> = dyn FnMut(&mut TranscriptBuilder, &Fields<'_>) -> Result<()> + 'a;

fn each_line(given: &Given<'_>, said: &mut TranscriptBuilder, take: &mut LineTaker<'_>) -> Result<()> {
    for line in lines::each(given.text) {
        if let Some(fields) = said.read_line(line) {
            take(said, &fields)?;
        }
    }
    said.line = None;
    Ok(())
}

fn id(chat: &Fields<'_>) -> Option<String> {
    chat.any_word(&["id", "uuid", "conversation_id", "session_id", "sessionId"])
}

fn converse(
    said: &mut TranscriptBuilder,
    chat: &Fields<'_>,
    key: Option<String>,
    sink: &mut Sink<'_>,
) -> Result<()> {
    for message in messages(chat) {
        add(said, &message.fields().unwrap_or_default());
    }
    let title = chat.any_word(&["title", "name"]);
    said.hand_over(
        Conversation {
            key,
            id: id(chat),
            title,
            ..Conversation::default()
        },
        sink,
    )
}

fn add(said: &mut TranscriptBuilder, message: &Fields<'_>) {
    let role = message.text("role").unwrap_or_default();
    let kind = match kind(&role) {
        Some(kind) => kind,
        None if role.starts_with('_') => Kind::System,
        None => {
            return said.note(format!(
                "a message has the role {role:?}, which is not known here; it was left out"
            ));
        }
    };
    let record = record(said, message, kind, &role);
    let thought = message.any_word(&["reasoning_content", "thinking", "reasoning"]);
    said.push(&record.of_kind(Kind::Thinking), thought.unwrap_or_default());
    match message.any(&["content", "parts"]) {
        Some(content) => blocks::content(said, &record, content),
        None if message.is_true("isThought") => said.push(
            &record.of_kind(Kind::Thinking),
            message.text("text").unwrap_or_default(),
        ),
        None => said.push(&record, message.text("text").unwrap_or_default()),
    }
    said.push(&record, message.text("refusal").unwrap_or_default());
    for call in message
        .items("tool_calls")
        .into_iter()
        .chain(message.get("function_call"))
        .filter_map(Json::fields)
    {
        said.call(&record, blocks::call(&call));
    }
}

fn record(said: &TranscriptBuilder, message: &Fields<'_>, kind: Kind, role: &str) -> MessageRecord {
    let speaker = match kind {
        Kind::Human => "user",
        Kind::Assistant => "assistant",
        _ => role.trim_start_matches('_'),
    };
    let model = message.word("model").filter(|_| kind == Kind::Assistant);
    let name = message.word("name");
    let mut record = MessageRecord::new(kind, speaker).about("model", model);
    record.id = message.any_word(&["id", "uuid"]);
    record.at = ["created_at", "timestamp", "create_time", "createdAt"]
        .iter()
        .find_map(|name| message.moment(name));
    match (kind, name) {
        (Kind::ToolResult, name) => said.answer_record(&record, name, message.word("tool_call_id")),
        (_, Some(name)) => record.spoken_by(name),
        (_, None) => record,
    }
}
