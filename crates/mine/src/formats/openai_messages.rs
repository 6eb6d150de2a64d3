//! The plain format of a chat: messages with a role and content, as model APIs take them.
//!
//! One chat as an array or under `messages`, several of those in an array, or JSON lines of either. Gemini's `contents`
//! and the prompts of AI Studio are the same under other names.

use loci_core::Result;

use super::json::{JsonFields, JsonSlice, lines, top};
use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder, blocks};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::{Conversation, MessageKind, ReadingNote};
use crate::keys::ConversationKeys;

/// Messages with roles, in JSON or JSONL.
pub(super) const OPENAI_MESSAGES: TextFormat = TextFormat {
    name: "openai-messages",
    recognise,
    parse,
};

/// The number of messages examined to recognise a file.
const LOOKED_AT: usize = 200;

/// The layout of the chats in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChatLayout {
    /// The array is one chat.
    Messages,
    /// The object is one chat, or the array holds several.
    Chats,
    /// The lines are messages of one chat.
    MessageLines,
    /// The lines are chats.
    ChatLines,
}

fn recognise(given: &ParserInput<'_>) -> bool {
    detect_layout(given).is_some()
}

fn detect_layout(given: &ParserInput<'_>) -> Option<ChatLayout> {
    let text = top::strip_byte_order_mark(given.text).trim_start();
    if !text.starts_with(['[', '{']) || !text.contains("\"role\"") || belongs_to_an_agent(given) {
        return None;
    }
    // A pretty-printed object spans several lines, too, but its first line alone is not an object.
    if is_lines(text) {
        layout_of_lines(text)
    } else {
        layout_of_whole(text)
    }
}

/// Returns whether the lines are separate objects: there are several, or the only one is a message.
fn is_lines(text: &str) -> bool {
    let mut lines = lines::read_lines(text);
    let first = lines.next().and_then(|line| line.content.ok());
    text.starts_with('{') && first.is_some_and(|first| lines.next().is_some() || is_message(&first))
}

fn layout_of_whole(text: &str) -> Option<ChatLayout> {
    let mut seen: Vec<Option<ChatLayout>> = Vec::new();
    let mut conversing = false;
    top::look_at_values(text, LOOKED_AT, &mut |value| {
        let fields = value.fields().unwrap_or_default();
        conversing |= is_chat(&fields) || is_spoken_message(&fields);
        seen.push(layout_of_value(&fields));
    });
    let first = seen.first().copied().flatten()?;
    // Many files hold objects with a `role` (users, servers); all of them have to fit, and one has to speak.
    (conversing && seen.iter().all(|shape| *shape == Some(first))).then_some(first)
}

/// Returns whether this is Cline's exchange with the model, which has this layout but is read with its task.
fn belongs_to_an_agent(given: &ParserInput<'_>) -> bool {
    given
        .path
        .file_name()
        .is_some_and(|name| name == "api_conversation_history.json")
}

fn layout_of_value(fields: &JsonFields<'_>) -> Option<ChatLayout> {
    if is_message(fields) {
        Some(ChatLayout::Messages)
    } else {
        is_chat(fields).then_some(ChatLayout::Chats)
    }
}

fn layout_of_lines(text: &str) -> Option<ChatLayout> {
    let lines = lines::leading_objects(text, LOOKED_AT)?;
    // A `type` beside the role marks the event log of an agent, which another format reads better.
    let is_line = |line: &JsonFields<'_>| (is_message(line) && !line.has("type")) || is_aside(line);
    if lines.iter().all(is_line) && lines.iter().any(is_spoken_message) {
        return Some(ChatLayout::MessageLines);
    }
    lines.iter().all(is_chat).then_some(ChatLayout::ChatLines)
}

/// Returns whether this is a message: a known role, and content or a call.
fn is_message(fields: &JsonFields<'_>) -> bool {
    let known = fields
        .text("role")
        .is_some_and(|role| kind_of_role(&role).is_some());
    known
        && ["content", "tool_calls", "parts", "function_call", "text"]
            .iter()
            .any(|name| fields.has(name))
}

/// Returns whether this is a message of a person or a model; instructions alone are not a chat.
fn is_spoken_message(fields: &JsonFields<'_>) -> bool {
    let kind = fields.text("role").and_then(|role| kind_of_role(&role));
    matches!(kind, Some(MessageKind::Human | MessageKind::Assistant)) && is_message(fields)
}

/// Returns whether this is one of Kimi's records between messages: instructions and counters.
fn is_aside(fields: &JsonFields<'_>) -> bool {
    fields.text("role").is_some_and(|role| role.starts_with('_'))
}

fn is_chat(fields: &JsonFields<'_>) -> bool {
    let messages: Vec<JsonFields<'_>> = chat_messages(fields)
        .into_iter()
        .take(LOOKED_AT)
        .filter_map(JsonSlice::fields)
        .collect();
    messages.iter().all(is_message) && messages.iter().any(is_spoken_message)
}

fn chat_messages<'a>(chat: &JsonFields<'a>) -> Vec<JsonSlice<'a>> {
    let named = chat.get_any(&["messages", "contents"]).and_then(JsonSlice::items);
    named.unwrap_or_else(|| chat.fields("chunkedPrompt").items("chunks"))
}

fn kind_of_role(role: &str) -> Option<MessageKind> {
    match role {
        "user" | "human" => Some(MessageKind::Human),
        "assistant" | "model" | "ai" => Some(MessageKind::Assistant),
        "system" | "developer" => Some(MessageKind::System),
        "tool" | "function" => Some(MessageKind::ToolResult),
        _ => None,
    }
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    // Only `--as` gets here without a layout; the most general one notes what it cannot read.
    match detect_layout(given).unwrap_or(ChatLayout::Chats) {
        ChatLayout::Messages => {
            said.read_each(given.text, &mut |said, value| {
                add_message(said, &value.fields().unwrap_or_default());
                Ok(())
            })?;
            said.hand_over(Conversation::default(), sink)?;
        }
        ChatLayout::Chats => {
            let mut keys = ConversationKeys::default();
            // A single chat is the file itself and needs no key.
            let many = top::strip_byte_order_mark(given.text)
                .trim_start()
                .starts_with('[');
            said.read_each(given.text, &mut |said, value| {
                let chat = value.fields().unwrap_or_default();
                let key = many.then(|| keys.claim_in_export(chat_id(&chat)));
                read_chat(said, &chat, key, sink)
            })?;
        }
        ChatLayout::MessageLines => each_line(given, &mut said, &mut |said, line| {
            add_message(said, line);
            Ok(())
        })
        .and_then(|()| said.hand_over(Conversation::default(), sink))?,
        ChatLayout::ChatLines => {
            let mut keys = ConversationKeys::default();
            each_line(given, &mut said, &mut |said, line| {
                let key = keys.claim_in_export(chat_id(line));
                read_chat(said, line, Some(key), sink)
            })?;
        }
    }
    Ok(said.notes)
}

/// A callback that takes one line.
type LineTaker<'a> = dyn FnMut(&mut TranscriptBuilder, &JsonFields<'_>) -> Result<()> + 'a;

fn each_line(given: &ParserInput<'_>, said: &mut TranscriptBuilder, take: &mut LineTaker<'_>) -> Result<()> {
    for line in lines::read_lines(given.text) {
        if let Some(fields) = said.read_line(line) {
            take(said, &fields)?;
        }
    }
    // The conversation is handed over after the last line, and notes from then on are not about that line.
    said.line = None;
    Ok(())
}

fn chat_id(chat: &JsonFields<'_>) -> Option<String> {
    chat.any_nonempty_text(&["id", "uuid", "conversation_id", "session_id", "sessionId"])
}

fn read_chat(
    said: &mut TranscriptBuilder,
    chat: &JsonFields<'_>,
    key: Option<String>,
    sink: &mut ConversationSink<'_>,
) -> Result<()> {
    for message in chat_messages(chat) {
        add_message(said, &message.fields().unwrap_or_default());
    }
    let title = chat.any_nonempty_text(&["title", "name"]);
    said.hand_over(
        Conversation {
            key,
            id: chat_id(chat),
            title,
            ..Conversation::default()
        },
        sink,
    )
}

fn add_message(said: &mut TranscriptBuilder, message: &JsonFields<'_>) {
    let role = message.text("role").unwrap_or_default();
    let kind = match kind_of_role(&role) {
        Some(kind) => kind,
        // Kimi's instructions are worth keeping; its counters have no text and are dropped by `push`.
        None if role.starts_with('_') => MessageKind::System,
        None => {
            return said.note(format!(
                "a message has the role {role:?}, which is not known here; it was left out"
            ));
        }
    };
    let record = message_record(said, message, kind, &role);
    let thought = message.any_nonempty_text(&["reasoning_content", "thinking", "reasoning"]);
    // Thoughts come before the answer they led to.
    said.push(
        &record.as_kind(MessageKind::Thinking),
        thought.unwrap_or_default(),
    );
    match message.get_any(&["content", "parts"]) {
        Some(content) => blocks::add_content(said, &record, content),
        None if message.is_true("isThought") => said.push(
            &record.as_kind(MessageKind::Thinking),
            message.text("text").unwrap_or_default(),
        ),
        None => said.push(&record, message.text("text").unwrap_or_default()),
    }
    said.push(&record, message.text("refusal").unwrap_or_default());
    for call in message
        .items("tool_calls")
        .into_iter()
        .chain(message.get("function_call"))
        .filter_map(JsonSlice::fields)
    {
        said.add_call(&record, blocks::parse_call(&call));
    }
}

fn message_record(
    said: &TranscriptBuilder,
    message: &JsonFields<'_>,
    kind: MessageKind,
    role: &str,
) -> MessageRecord {
    let speaker = match kind {
        MessageKind::Human => "user",
        MessageKind::Assistant => "assistant",
        _ => role.trim_start_matches('_'),
    };
    let model = message
        .nonempty_text("model")
        .filter(|_| kind == MessageKind::Assistant);
    let name = message.nonempty_text("name");
    let mut record = MessageRecord::new(kind, speaker).with_about("model", model);
    record.id = message.any_nonempty_text(&["id", "uuid"]);
    record.at = ["created_at", "timestamp", "create_time", "createdAt"]
        .iter()
        .find_map(|name| message.timestamp(name));
    match (kind, name) {
        (MessageKind::ToolResult, name) => {
            said.answer_record(&record, name, message.nonempty_text("tool_call_id"))
        }
        (_, Some(name)) => record.spoken_by(name),
        (_, None) => record,
    }
}
