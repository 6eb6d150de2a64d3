//! Chats of Copilot in VS Code: session files, exported chats, and the newer log of changes to a session.

mod log;
mod response;

use std::path::Path;

use loci_core::Result;

use super::json::{Fields, Json, lines, top};
use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder};
use super::workspace::{path_of_address, workspace_folder};
use super::{Given, Sink, TextFormat};
use crate::conversation::{Conversation, Kind, Note};

/// A chat session of VS Code.
pub(super) const COPILOT: TextFormat = TextFormat {
    name: "copilot",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    let text = top::unmarked(given.text);
    if !text.trim_start().starts_with('{') || !text.contains("\"requests\"") {
        return false;
    }
    is_log(text) || top::any_object(text, 1, is_session)
}

fn is_session(session: &Fields<'_>) -> bool {
    let names = [
        "responderUsername",
        "requesterUsername",
        "sessionId",
        "initialLocation",
    ];
    let requests = session.items("requests");
    let asked = |request: &Json<'_>| request.fields().is_some_and(|request| request.has("message"));
    names.iter().any(|name| session.has(name)) && !requests.is_empty() && requests.iter().take(20).all(asked)
}

/// A log begins with the whole session as it was.
fn is_log(text: &str) -> bool {
    let first = lines::each(text).next().and_then(|line| line.content.ok());
    first.is_some_and(|first| {
        let session = first.fields("v");
        first.get("kind").is_some_and(|kind| kind.raw() == "0")
            && session.get("requests").is_some_and(Json::is_array)
    })
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    if is_log(given.text) {
        let session = log::replay(given.text, &mut said);
        let session = Fields::read(&session).ok().unwrap_or_default();
        converse(given.path, &session, &mut said, sink)?;
        return Ok(said.notes);
    }
    said.read_each(given.text, &mut |said, value| {
        converse(given.path, &value.fields().unwrap_or_default(), said, sink)
    })?;
    Ok(said.notes)
}

fn converse(
    path: &Path,
    session: &Fields<'_>,
    said: &mut TranscriptBuilder,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let person = session
        .word("requesterUsername")
        .unwrap_or_else(|| "user".to_owned());
    for request in said.read_objects(session.items("requests"), "a request") {
        ask(said, &request, &person);
        response::add(said, &request);
    }
    let in_workspace = path
        .parent()
        .filter(|folder| folder.file_name().is_some_and(|name| name == "chatSessions"));
    let named = session
        .word("workingDirectory")
        .map(|address| path_of_address(&address));
    let conversation = Conversation {
        id: session.word("sessionId"),
        title: session.any_word(&["customTitle", "computedTitle", "title"]),
        cwd: named.or_else(|| in_workspace.and_then(Path::parent).and_then(workspace_folder)),
        ..Conversation::default()
    };
    said.hand_over(conversation, sink)
}

/// Adds what the person asked, and what they pasted with it.
fn ask(said: &mut TranscriptBuilder, request: &Fields<'_>, person: &str) {
    // VS Code itself asks on, when a command it waited for has ended.
    let mut record = if request.is_true("isSystemInitiated") {
        MessageRecord::new(Kind::System, "copilot")
    } else {
        MessageRecord::new(Kind::Human, person)
    };
    record.id = request.word("requestId");
    record.at = request.moment("timestamp");
    let message = request.fields("message");
    match message.word("text").or_else(|| request.text("message")) {
        Some(text) => said.push(&record, text),
        None => message.objects("parts").for_each(|part| {
            said.push(&record, part.text("text").unwrap_or_default());
        }),
    }
    for variable in request.fields("variableData").objects("variables") {
        let name = variable
            .any_word(&["name", "id"])
            .unwrap_or_else(|| "attachment".to_owned());
        match variable.text("kind").as_deref() {
            Some("paste") => {
                let record = record.clone().about("attachment", Some(name));
                said.push(&record, variable.any_word(&["code", "value"]).unwrap_or_default());
            }
            Some("image") => said.note(format!(
                "image {name:?} of a question is no text; it was left out"
            )),
            _ => {}
        }
    }
}
