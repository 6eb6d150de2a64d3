//! Sessions of Continue: one JSON file each, with a history of messages, context items and tool calls.

use std::collections::HashSet;

use loci_core::Result;

use super::json::{JsonFields, JsonSlice, top};
use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder, blocks};
use super::workspace::path_of_address;
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::{Conversation, MessageKind, ReadingNote};

/// A session file of Continue.
pub(super) const CONTINUE: TextFormat = TextFormat {
    name: "continue",
    recognise,
    parse,
};

fn recognise(given: &ParserInput<'_>) -> bool {
    let text = top::strip_byte_order_mark(given.text);
    if !text.trim_start().starts_with('{') || !text.contains("\"history\"") || !text.contains("\"sessionId\"")
    {
        return false;
    }
    top::any_object(text, 1, is_session)
}

fn is_session(session: &JsonFields<'_>) -> bool {
    let history = session.items("history");
    let spoken = |item: &JsonSlice<'_>| {
        item.fields()
            .is_some_and(|item| item.fields("message").nonempty_text("role").is_some())
    };
    session.nonempty_text("sessionId").is_some() && !history.is_empty() && history.iter().take(20).all(spoken)
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    said.read_each(given.text, &mut |said, value| read_session(value, said, sink))?;
    Ok(said.notes)
}

fn read_session(
    value: JsonSlice<'_>,
    said: &mut TranscriptBuilder,
    sink: &mut ConversationSink<'_>,
) -> Result<()> {
    let session = value.fields().unwrap_or_default();
    let history = said.read_objects(session.items("history"), "a message");
    let answered = |item: &JsonFields<'_>| item.fields("message").nonempty_text("toolCallId");
    // Depending on the version, a tool's answer is a message, or only in the state of its call, or both.
    let answered: HashSet<String> = history.iter().filter_map(answered).collect();
    let model = session.nonempty_text("chatModelTitle");
    history
        .iter()
        .for_each(|item| add_item(said, item, model.clone(), &answered));
    let conversation = Conversation {
        id: session.nonempty_text("sessionId"),
        title: session.nonempty_text("title"),
        cwd: session
            .nonempty_text("workspaceDirectory")
            .map(|address| path_of_address(&address)),
        ..Conversation::default()
    };
    said.hand_over(conversation, sink)
}

fn add_item(
    said: &mut TranscriptBuilder,
    item: &JsonFields<'_>,
    model: Option<String>,
    answered: &HashSet<String>,
) {
    let message = item.fields("message");
    let record = message_record(said, &message, model);
    let thought = item
        .fields("reasoning")
        .text("text")
        .or_else(|| message.text("reasoning"));
    // Before the content, in the order in which the model produced them.
    said.push(
        &record.as_kind(MessageKind::Thinking),
        thought.unwrap_or_default(),
    );
    if let Some(content) = message.get("content") {
        blocks::add_content(said, &record, content);
    }
    if record.kind == MessageKind::Human {
        add_context(said, item, &record);
    }
    for call in message.objects("toolCalls") {
        said.add_call(&record, blocks::parse_call(&call));
    }
    said.push(
        &record.as_kind(MessageKind::System),
        item.text("conversationSummary").unwrap_or_default(),
    );
    let states = item
        .items("toolCallStates")
        .into_iter()
        .chain(item.get("toolCallState"));
    for state in states.filter_map(JsonSlice::fields) {
        add_outcome(said, &state, &record, answered);
    }
}

fn message_record(
    said: &TranscriptBuilder,
    message: &JsonFields<'_>,
    model: Option<String>,
) -> MessageRecord {
    let role = message
        .nonempty_text("role")
        .unwrap_or_else(|| "unknown".to_owned());
    let kind = match role.as_str() {
        "user" => MessageKind::Human,
        "assistant" => MessageKind::Assistant,
        "thinking" => MessageKind::Thinking,
        "tool" => MessageKind::ToolResult,
        _ => MessageKind::System,
    };
    let speaker = if kind == MessageKind::Thinking {
        "assistant"
    } else {
        role.as_str()
    };
    let by_model = matches!(kind, MessageKind::Assistant | MessageKind::Thinking);
    let mut record = MessageRecord::new(kind, speaker).with_about("model", model.filter(|_| by_model));
    record.id = message.nonempty_text("id");
    if kind == MessageKind::ToolResult {
        said.answer_record(&record, None, message.nonempty_text("toolCallId"))
    } else {
        record
    }
}

/// Adds the context that the person attached to the message: files, selections, pages.
fn add_context(said: &mut TranscriptBuilder, item: &JsonFields<'_>, record: &MessageRecord) {
    for given in item.objects("contextItems") {
        let name = given.any_nonempty_text(&["name", "description"]);
        let record = record
            .clone()
            .with_about("attachment", name.or_else(|| Some("context".to_owned())));
        said.push(&record, given.text("content").unwrap_or_default());
    }
}

/// Adds the answer of a tool, unless a message of its own holds it.
fn add_outcome(
    said: &mut TranscriptBuilder,
    state: &JsonFields<'_>,
    record: &MessageRecord,
    answered: &HashSet<String>,
) {
    let call = state.fields("toolCall");
    let id = state
        .nonempty_text("toolCallId")
        .or_else(|| call.nonempty_text("id"));
    if id.as_ref().is_some_and(|id| answered.contains(id)) {
        return;
    }
    let record = said.answer_record(record, call.fields("function").nonempty_text("name"), id);
    for output in state.objects("output") {
        said.push(&record, output.text("content").unwrap_or_default());
    }
}
