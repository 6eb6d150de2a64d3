//! Chats of Copilot in VS Code: session files, exported chats, and the newer change log of a session.

mod log;
mod response;

use std::path::Path;

use loci_core::Result;

use super::json::{JsonFields, JsonSlice, lines, top};
use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder};
use super::workspace::{path_of_address, workspace_folder};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::{Conversation, MessageKind, ReadingNote};

/// A chat session of VS Code.
pub(super) const COPILOT: TextFormat = TextFormat {
    name: "copilot",
    recognise,
    parse,
};

fn recognise(given: &ParserInput<'_>) -> bool {
    let text = top::strip_byte_order_mark(given.text);
    if !text.trim_start().starts_with('{') || !text.contains("\"requests\"") {
        return false;
    }
    // The log first: its first line is an object as well, but not the session itself.
    is_log(text) || top::any_object(text, 1, is_session)
}

fn is_session(session: &JsonFields<'_>) -> bool {
    let names = [
        "responderUsername",
        "requesterUsername",
        "sessionId",
        "initialLocation",
    ];
    let requests = session.items("requests");
    let asked = |request: &JsonSlice<'_>| request.fields().is_some_and(|request| request.has("message"));
    names.iter().any(|name| session.has(name)) && !requests.is_empty() && requests.iter().take(20).all(asked)
}

/// Returns whether this is a change log, which begins with the whole session.
fn is_log(text: &str) -> bool {
    let first = lines::read_lines(text).next().and_then(|line| line.content.ok());
    first.is_some_and(|first| {
        let session = first.fields("v");
        first.get("kind").is_some_and(|kind| kind.raw() == "0")
            && session.get("requests").is_some_and(JsonSlice::is_array)
    })
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    if is_log(given.text) {
        let session = log::replay_log(given.text, &mut said);
        let session = JsonFields::read(&session).ok().unwrap_or_default();
        read_session(given.path, &session, &mut said, sink)?;
        return Ok(said.notes);
    }
    said.read_each(given.text, &mut |said, value| {
        read_session(given.path, &value.fields().unwrap_or_default(), said, sink)
    })?;
    Ok(said.notes)
}

fn read_session(
    path: &Path,
    session: &JsonFields<'_>,
    said: &mut TranscriptBuilder,
    sink: &mut ConversationSink<'_>,
) -> Result<()> {
    let person = session
        .nonempty_text("requesterUsername")
        .unwrap_or_else(|| "user".to_owned());
    for request in said.read_objects(session.items("requests"), "a request") {
        add_question(said, &request, &person);
        response::add_answer(said, &request);
    }
    // `workspace.json` two levels up names the folder only for sessions stored there, not for exported ones.
    let in_workspace = path
        .parent()
        .filter(|folder| folder.file_name().is_some_and(|name| name == "chatSessions"));
    let named = session
        .nonempty_text("workingDirectory")
        .map(|address| path_of_address(&address));
    let conversation = Conversation {
        id: session.nonempty_text("sessionId"),
        title: session.any_nonempty_text(&["customTitle", "computedTitle", "title"]),
        cwd: named.or_else(|| in_workspace.and_then(Path::parent).and_then(workspace_folder)),
        ..Conversation::default()
    };
    said.hand_over(conversation, sink)
}

/// Adds the person's question and what they pasted with it.
fn add_question(said: &mut TranscriptBuilder, request: &JsonFields<'_>, person: &str) {
    // VS Code itself sends a request when a command it waited for has ended.
    let mut record = if request.is_true("isSystemInitiated") {
        MessageRecord::new(MessageKind::System, "copilot")
    } else {
        MessageRecord::new(MessageKind::Human, person)
    };
    record.id = request.nonempty_text("requestId");
    record.at = request.timestamp("timestamp");
    let message = request.fields("message");
    match message.nonempty_text("text").or_else(|| request.text("message")) {
        Some(text) => said.push(&record, text),
        None => message.objects("parts").for_each(|part| {
            said.push(&record, part.text("text").unwrap_or_default());
        }),
    }
    for variable in request.fields("variableData").objects("variables") {
        let name = variable
            .any_nonempty_text(&["name", "id"])
            .unwrap_or_else(|| "attachment".to_owned());
        match variable.text("kind").as_deref() {
            Some("paste") => {
                let record = record.clone().with_about("attachment", Some(name));
                said.push(
                    &record,
                    variable.any_nonempty_text(&["code", "value"]).unwrap_or_default(),
                );
            }
            Some("image") => said.note(format!(
                "image {name:?} of a question is not text; it was left out"
            )),
            _ => {}
        }
    }
}
