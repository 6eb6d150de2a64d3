//! Sessions of the Copilot CLI: `events.jsonl`, one event on each line.

use std::collections::HashSet;
use std::path::Path;

use loci_core::Result;

use super::json::{JsonFields, JsonSlice, lines};
use super::transcript::{CallSpeaker, MessageRecord, ToolCall, TranscriptBuilder, blocks};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::{Conversation, MessageKind, ReadingNote};

/// A session of the Copilot CLI.
pub(super) const COPILOT_CLI: TextFormat = TextFormat {
    name: "copilot-cli",
    recognise,
    parse,
};

fn recognise(given: &ParserInput<'_>) -> bool {
    let names = ["\"session.start\"", "\"user.message\"", "\"assistant.message\""];
    if !names.iter().any(|name| given.text.contains(name)) {
        return false;
    }
    let lines = lines::leading_objects(given.text, 20).unwrap_or_default();
    let is_event = |line: &JsonFields<'_>| {
        line.nonempty_text("type").is_some() && line.get("data").is_none_or(JsonSlice::is_object)
    };
    let is_known = |line: &JsonFields<'_>| {
        let named = line
            .text("type")
            .is_some_and(|kind| names.contains(&format!("{kind:?}").as_str()));
        named && line.get("data").is_some()
    };
    lines.iter().any(is_known) && lines.iter().all(is_event)
}

/// The state of a session after the events so far.
#[derive(Default)]
struct CopilotCliSession {
    said: TranscriptBuilder,
    about: Conversation,
    model: Option<String>,
    /// The calls that a message has announced; the event of their start is not another call.
    called: HashSet<String>,
    /// The last thought, which the next message may repeat.
    thought: Option<String>,
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut session = CopilotCliSession {
        said: TranscriptBuilder::new(CallSpeaker::Caller),
        ..CopilotCliSession::default()
    };
    for line in lines::read_lines(given.text) {
        if let Some(fields) = session.said.read_line(line) {
            session.take_event(&fields);
        }
    }
    let id = session.about.id.take().or_else(|| session_id_of_path(given.path));
    session
        .said
        .hand_over(Conversation { id, ..session.about }, sink)?;
    Ok(session.said.notes)
}

/// Returns the session id from the path: the folder's name, or the file's in older versions.
fn session_id_of_path(path: &Path) -> Option<String> {
    let stem = path.file_stem()?;
    let name = if stem == "events" {
        path.parent()?.file_name()?
    } else {
        stem
    };
    Some(name.to_string_lossy().into_owned())
}

impl CopilotCliSession {
    fn take_event(&mut self, event: &JsonFields<'_>) {
        let data = event.fields("data");
        match event.text("type").unwrap_or_default().as_str() {
            "session.start" | "session.resume" => self.note_start(&data),
            "session.model_change" => self.model = data.nonempty_text("newModel"),
            "user.message" => self.add_question(event, &data),
            "assistant.message" => self.add_answer(event, &data),
            "assistant.reasoning" => {
                self.thought = data.nonempty_text("content");
                self.push_text(event, MessageKind::Thinking, "assistant", self.thought.clone());
            }
            "tool.execution_start" | "tool.user_requested" => self.add_tool_start(event, &data),
            "tool.execution_complete" => self.add_tool_result(event, &data),
            // Deltas are parts of a message that follows whole; hooks are the user's own scripts and no
            // conversation.
            kind if kind.ends_with("_delta") || kind.starts_with("hook.") => {}
            _ => {
                let text =
                    data.any_nonempty_text(&["message", "content", "summaryContent", "summary", "reason"]);
                self.push_text(event, MessageKind::System, "copilot", text);
            }
        }
    }

    fn note_start(&mut self, data: &JsonFields<'_>) {
        let cwd = data.fields("context").nonempty_text("cwd");
        self.about.id = self.about.id.take().or_else(|| data.nonempty_text("sessionId"));
        self.about.cwd = self.about.cwd.take().or(cwd);
        self.model = data.nonempty_text("selectedModel").or_else(|| self.model.take());
    }

    fn event_record(&self, event: &JsonFields<'_>, kind: MessageKind, speaker: &str) -> MessageRecord {
        let data = event.fields("data");
        let by_model = matches!(
            kind,
            MessageKind::Assistant | MessageKind::Thinking | MessageKind::ToolCall
        );
        let model = data
            .nonempty_text("model")
            .or_else(|| self.model.clone())
            .filter(|_| by_model);
        let mut record = MessageRecord::new(kind, speaker).with_about("model", model);
        record.id = event.nonempty_text("id");
        record.at = event.timestamp("timestamp");
        record.thread = data
            .nonempty_text("parentToolCallId")
            .or_else(|| event.nonempty_text("agentId"));
        record
    }

    fn push_text(&mut self, event: &JsonFields<'_>, kind: MessageKind, speaker: &str, text: Option<String>) {
        let record = self.event_record(event, kind, speaker);
        self.said.push(&record, text.unwrap_or_default());
    }

    fn add_question(&mut self, event: &JsonFields<'_>, data: &JsonFields<'_>) {
        self.push_text(
            event,
            MessageKind::Human,
            "user",
            data.any_nonempty_text(&["content", "message"]),
        );
        for file in data.objects("attachments") {
            let name = file
                .any_nonempty_text(&["displayName", "path", "filePath", "type"])
                .unwrap_or_default();
            self.said.note(format!(
                "attachment {name:?} is not in the session; it was left out"
            ));
        }
    }

    fn add_answer(&mut self, event: &JsonFields<'_>, data: &JsonFields<'_>) {
        let thought = data
            .nonempty_text("reasoningText")
            .filter(|text| self.thought.as_ref() != Some(text));
        // Only the message right after a reasoning event repeats it.
        self.thought = None;
        self.push_text(event, MessageKind::Thinking, "assistant", thought);
        self.push_text(event, MessageKind::Assistant, "assistant", data.text("content"));
        let record = self.event_record(event, MessageKind::Assistant, "assistant");
        for request in data.objects("toolRequests") {
            self.called.extend(request.nonempty_text("toolCallId"));
            self.said.add_call(&record, parse_call(&request));
        }
    }

    fn add_tool_start(&mut self, event: &JsonFields<'_>, data: &JsonFields<'_>) {
        if data
            .nonempty_text("toolCallId")
            .is_none_or(|id| self.called.insert(id))
        {
            let record = self.event_record(event, MessageKind::ToolCall, "assistant");
            self.said.add_call(&record, parse_call(data));
        }
    }

    fn add_tool_result(&mut self, event: &JsonFields<'_>, data: &JsonFields<'_>) {
        let record = self.event_record(event, MessageKind::ToolResult, "tool");
        let record = self.said.answer_record(
            &record,
            data.nonempty_text("toolName"),
            data.nonempty_text("toolCallId"),
        );
        let result = data
            .fields("result")
            .any_nonempty_text(&["content", "detailedContent"]);
        let result = result.or_else(|| data.get("result").and_then(JsonSlice::text_or_raw));
        // A failed call has both an output and an error; the error is marked as such.
        let error = data
            .fields("error")
            .nonempty_text("message")
            .or_else(|| data.get("error").and_then(JsonSlice::text_or_raw));
        self.said.push(&record, result.unwrap_or_default());
        self.said
            .push(&record.with_about("error", Some(true)), error.unwrap_or_default());
    }
}

/// Parses a call. `id` is the event's here; the call's is `toolCallId`.
fn parse_call(data: &JsonFields<'_>) -> ToolCall {
    ToolCall {
        id: data.nonempty_text("toolCallId"),
        ..blocks::parse_call(data)
    }
}
