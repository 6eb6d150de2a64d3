//! Sessions of Continue: one JSON file each, its history with the context given and the tools called.

use std::collections::HashSet;

use loci_core::Result;

use super::json::{Fields, Json, top};
use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder, blocks};
use super::workspace::path_of_address;
use super::{Given, Sink, TextFormat};
use crate::conversation::{Conversation, Kind, Note};

/// A session file of Continue.
pub(super) const CONTINUE: TextFormat = TextFormat {
    name: "continue",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    let text = top::unmarked(given.text);
    if !text.trim_start().starts_with('{') || !text.contains("\"history\"") || !text.contains("\"sessionId\"")
    {
        return false;
    }
    top::any_object(text, 1, is_session)
}

fn is_session(session: &Fields<'_>) -> bool {
    let history = session.items("history");
    let spoken = |item: &Json<'_>| {
        item.fields()
            .is_some_and(|item| item.fields("message").word("role").is_some())
    };
    session.word("sessionId").is_some() && !history.is_empty() && history.iter().take(20).all(spoken)
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    said.read_each(given.text, &mut |said, value| session(value, said, sink))?;
    Ok(said.notes)
}

fn session(value: Json<'_>, said: &mut TranscriptBuilder, sink: &mut Sink<'_>) -> Result<()> {
    let session = value.fields().unwrap_or_default();
    let history = said.read_objects(session.items("history"), "a message");
    let answered = |item: &Fields<'_>| item.fields("message").word("toolCallId");
    let answered: HashSet<String> = history.iter().filter_map(answered).collect();
    let model = session.word("chatModelTitle");
    history
        .iter()
        .for_each(|item| add(said, item, model.clone(), &answered));
    let conversation = Conversation {
        id: session.word("sessionId"),
        title: session.word("title"),
        cwd: session
            .word("workspaceDirectory")
            .map(|address| path_of_address(&address)),
        ..Conversation::default()
    };
    said.hand_over(conversation, sink)
}

fn add(said: &mut TranscriptBuilder, item: &Fields<'_>, model: Option<String>, answered: &HashSet<String>) {
    let message = item.fields("message");
    let record = record(said, &message, model);
    let thought = item
        .fields("reasoning")
        .text("text")
        .or_else(|| message.text("reasoning"));
    said.push(&record.of_kind(Kind::Thinking), thought.unwrap_or_default());
    if let Some(content) = message.get("content") {
        blocks::content(said, &record, content);
    }
    if record.kind == Kind::Human {
        context(said, item, &record);
    }
    for call in message.objects("toolCalls") {
        said.call(&record, blocks::call(&call));
    }
    said.push(
        &record.of_kind(Kind::System),
        item.text("conversationSummary").unwrap_or_default(),
    );
    let states = item
        .items("toolCallStates")
        .into_iter()
        .chain(item.get("toolCallState"));
    for state in states.filter_map(Json::fields) {
        outcome(said, &state, &record, answered);
    }
}

fn record(said: &TranscriptBuilder, message: &Fields<'_>, model: Option<String>) -> MessageRecord {
    let role = message.word("role").unwrap_or_else(|| "unknown".to_owned());
    let kind = match role.as_str() {
        "user" => Kind::Human,
        "assistant" => Kind::Assistant,
        "thinking" => Kind::Thinking,
        "tool" => Kind::ToolResult,
        _ => Kind::System,
    };
    let speaker = if kind == Kind::Thinking {
        "assistant"
    } else {
        role.as_str()
    };
    let by_model = matches!(kind, Kind::Assistant | Kind::Thinking);
    let mut record = MessageRecord::new(kind, speaker).about("model", model.filter(|_| by_model));
    record.id = message.word("id");
    if kind == Kind::ToolResult {
        said.answer_record(&record, None, message.word("toolCallId"))
    } else {
        record
    }
}

/// What the person added to the message: files, selections, pages.
fn context(said: &mut TranscriptBuilder, item: &Fields<'_>, record: &MessageRecord) {
    for given in item.objects("contextItems") {
        let name = given.any_word(&["name", "description"]);
        let record = record
            .clone()
            .about("attachment", name.or_else(|| Some("context".to_owned())));
        said.push(&record, given.text("content").unwrap_or_default());
    }
}

/// What a tool answered, where no message of its own says so.
fn outcome(
    said: &mut TranscriptBuilder,
    state: &Fields<'_>,
    record: &MessageRecord,
    answered: &HashSet<String>,
) {
    let call = state.fields("toolCall");
    let id = state.word("toolCallId").or_else(|| call.word("id"));
    if id.as_ref().is_some_and(|id| answered.contains(id)) {
        return;
    }
    let record = said.answer_record(record, call.fields("function").word("name"), id);
    for output in state.objects("output") {
        said.push(&record, output.text("content").unwrap_or_default());
    }
}
