//! Sessions of Copilot's command line: `events.jsonl`, one event a line.

use std::collections::HashSet;
use std::path::Path;

use loci_core::Result;

use super::json::{Fields, Json, lines};
use super::transcript::{CallSpeaker, MessageRecord, ToolCall, TranscriptBuilder, blocks};
use super::{Given, Sink, TextFormat};
use crate::conversation::{Conversation, Kind, Note};

/// A session of Copilot's command line.
pub(super) const COPILOT_CLI: TextFormat = TextFormat {
    name: "copilot-cli",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    let names = ["\"session.start\"", "\"user.message\"", "\"assistant.message\""];
    if !names.iter().any(|name| given.text.contains(name)) {
        return false;
    }
    let lines = lines::beginning(given.text, 20).unwrap_or_default();
    let is_event =
        |line: &Fields<'_>| line.word("type").is_some() && line.get("data").is_none_or(Json::is_object);
    let is_known = |line: &Fields<'_>| {
        let named = line
            .text("type")
            .is_some_and(|kind| names.contains(&format!("{kind:?}").as_str()));
        named && line.get("data").is_some()
    };
    lines.iter().any(is_known) && lines.iter().all(is_event)
}

/// What the events so far have said about the session.
#[derive(Default)]
struct Session {
    said: TranscriptBuilder,
    about: Conversation,
    model: Option<String>,
    /// Calls that a message has announced; their start is not another call.
    called: HashSet<String>,
    /// The last thought, which a message may repeat.
    thought: Option<String>,
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut session = Session {
        said: TranscriptBuilder::new(CallSpeaker::Caller),
        ..Session::default()
    };
    for line in lines::each(given.text) {
        if let Some(fields) = session.said.read_line(line) {
            session.event(&fields);
        }
    }
    let id = session.about.id.take().or_else(|| named(given.path));
    session
        .said
        .hand_over(Conversation { id, ..session.about }, sink)?;
    Ok(session.said.notes)
}

/// The session's id by its place: its folder's name, or its own in older versions.
fn named(path: &Path) -> Option<String> {
    let stem = path.file_stem()?;
    let name = if stem == "events" {
        path.parent()?.file_name()?
    } else {
        stem
    };
    Some(name.to_string_lossy().into_owned())
}

impl Session {
    fn event(&mut self, event: &Fields<'_>) {
        let data = event.fields("data");
        match event.text("type").unwrap_or_default().as_str() {
            "session.start" | "session.resume" => self.began(&data),
            "session.model_change" => self.model = data.word("newModel"),
            "user.message" => self.asked(event, &data),
            "assistant.message" => self.answered(event, &data),
            "assistant.reasoning" => {
                self.thought = data.word("content");
                self.say(event, Kind::Thinking, "assistant", self.thought.clone());
            }
            "tool.execution_start" | "tool.user_requested" => self.started(event, &data),
            "tool.execution_complete" => self.completed(event, &data),
            kind if kind.ends_with("_delta") || kind.starts_with("hook.") => {}
            _ => {
                let text = data.any_word(&["message", "content", "summaryContent", "summary", "reason"]);
                self.say(event, Kind::System, "copilot", text);
            }
        }
    }

    fn began(&mut self, data: &Fields<'_>) {
        let cwd = data.fields("context").word("cwd");
        self.about.id = self.about.id.take().or_else(|| data.word("sessionId"));
        self.about.cwd = self.about.cwd.take().or(cwd);
        self.model = data.word("selectedModel").or_else(|| self.model.take());
    }

    fn record(&self, event: &Fields<'_>, kind: Kind, speaker: &str) -> MessageRecord {
        let data = event.fields("data");
        let by_model = matches!(kind, Kind::Assistant | Kind::Thinking | Kind::ToolCall);
        let model = data
            .word("model")
            .or_else(|| self.model.clone())
            .filter(|_| by_model);
        let mut record = MessageRecord::new(kind, speaker).about("model", model);
        record.id = event.word("id");
        record.at = event.moment("timestamp");
        record.thread = data.word("parentToolCallId").or_else(|| event.word("agentId"));
        record
    }

    fn say(&mut self, event: &Fields<'_>, kind: Kind, speaker: &str, text: Option<String>) {
        let record = self.record(event, kind, speaker);
        self.said.push(&record, text.unwrap_or_default());
    }

    fn asked(&mut self, event: &Fields<'_>, data: &Fields<'_>) {
        self.say(event, Kind::Human, "user", data.any_word(&["content", "message"]));
        for file in data.objects("attachments") {
            let name = file
                .any_word(&["displayName", "path", "filePath", "type"])
                .unwrap_or_default();
            self.said.note(format!(
                "attachment {name:?} is not in the session; it was left out"
            ));
        }
    }

    fn answered(&mut self, event: &Fields<'_>, data: &Fields<'_>) {
        let thought = data
            .word("reasoningText")
            .filter(|text| self.thought.as_ref() != Some(text));
        self.thought = None;
        self.say(event, Kind::Thinking, "assistant", thought);
        self.say(event, Kind::Assistant, "assistant", data.text("content"));
        let record = self.record(event, Kind::Assistant, "assistant");
        for request in data.objects("toolRequests") {
            self.called.extend(request.word("toolCallId"));
            self.said.call(&record, call(&request));
        }
    }

    fn started(&mut self, event: &Fields<'_>, data: &Fields<'_>) {
        if data.word("toolCallId").is_none_or(|id| self.called.insert(id)) {
            let record = self.record(event, Kind::ToolCall, "assistant");
            self.said.call(&record, call(data));
        }
    }

    fn completed(&mut self, event: &Fields<'_>, data: &Fields<'_>) {
        let record = self.record(event, Kind::ToolResult, "tool");
        let record = self
            .said
            .answer_record(&record, data.word("toolName"), data.word("toolCallId"));
        let result = data.fields("result").any_word(&["content", "detailedContent"]);
        let result = result.or_else(|| data.get("result").and_then(Json::text_or_raw));
        let error = data
            .fields("error")
            .word("message")
            .or_else(|| data.get("error").and_then(Json::text_or_raw));
        self.said.push(&record, result.unwrap_or_default());
        self.said
            .push(&record.about("error", Some(true)), error.unwrap_or_default());
    }
}

/// Here `id` is the event's; the call has its own.
fn call(data: &Fields<'_>) -> ToolCall {
    ToolCall {
        id: data.word("toolCallId"),
        ..blocks::call(data)
    }
}
