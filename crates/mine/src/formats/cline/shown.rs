//! The editor's record of a task, which tells typed texts from generated ones and has the times.

use std::collections::HashMap;

use loci_core::Timestamp;

use super::super::json::whole::first_objects;
use super::super::json::{JsonFields, JsonSlice};
use super::super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder};

/// Returns whether a record is one that the editor showed.
pub(super) fn is_shown(fields: &JsonFields<'_>) -> bool {
    let kind = fields.text("type").unwrap_or_default();
    fields.number("ts").is_some() && matches!(kind.as_str(), "ask" | "say") && fields.has(&kind)
}

/// The parts of the shown records that help to read the exchange with the model.
#[derive(Debug, Default)]
pub(super) struct ClineScreen {
    /// The texts that a person typed; `None` if the screen has none.
    typed: Option<Vec<String>>,
    /// The time the request after a record was sent, by index.
    sent: HashMap<u64, Timestamp>,
    /// The time something was first shown after a record, by index.
    shown: HashMap<u64, Timestamp>,
    start: Option<Timestamp>,
}

impl ClineScreen {
    /// Reads the shown records; a broken file counts as empty.
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let list = JsonSlice::parse(text)
            .ok()
            .and_then(JsonSlice::items)
            .unwrap_or_default();
        let mut shown = Self::default();
        for (at, fields) in first_objects(&list, usize::MAX).iter().enumerate() {
            shown.note_shown(fields, at == 0);
        }
        shown
    }

    fn note_shown(&mut self, fields: &JsonFields<'_>, first: bool) {
        let said = fields.text("say").unwrap_or_default();
        if is_typed(&said, first)
            && let Some(text) = fields.text("text").filter(|text| !text.trim().is_empty())
        {
            self.typed.get_or_insert_default().push(text.trim().to_owned());
        }
        if first {
            self.start = fields.timestamp("ts");
        }
        let (Some(index), Some(time)) = (fields.number("conversationHistoryIndex"), fields.timestamp("ts"))
        else {
            return;
        };
        // The first record is shown before anything was sent and carries -1.
        if index < 0.0 {
            return;
        }
        match said.as_str() {
            "api_req_started" => {
                self.sent.insert(index as u64, time);
            }
            _ => {
                // The first thing shown is when the answer began; later ones are its updates.
                self.shown.entry(index as u64).or_insert(time);
            }
        }
    }

    /// Sets the start of the task, unless a shown record has it.
    pub(super) fn set_default_start(&mut self, start: Option<Timestamp>) {
        self.start = self.start.or(start);
    }

    /// Returns the time of a record of the exchange. A shown record carries the index of the record before it.
    pub(super) fn said_at(&self, at: usize, by_user: bool) -> Option<Timestamp> {
        let Some(before) = at.checked_sub(1) else {
            return self.start;
        };
        let times = if by_user { &self.sent } else { &self.shown };
        times.get(&(before as u64)).copied()
    }

    /// Returns whether a text in the user's role contains words that a person typed. Without a screen, all do.
    pub(super) fn is_typed(&self, text: &str) -> bool {
        let details = text.trim();
        if details.starts_with("<environment_details>") && details.ends_with("</environment_details>") {
            return false;
        }
        match &self.typed {
            Some(typed) => typed.iter().any(|typed| contains_typed(text, typed)),
            None => true,
        }
    }
}

/// Returns whether a text is a typed text, or contains it between tags. A short typed text may occur anywhere by
/// chance; a long one does not.
fn contains_typed(text: &str, typed: &str) -> bool {
    const LONG: usize = 40;
    text.trim() == typed
        || (typed.len() >= LONG && text.contains(typed))
        || [">\n", ">"].iter().any(|before| {
            text.contains(&format!("{before}{typed}\n</")) || text.contains(&format!("{before}{typed}</"))
        })
}

/// Returns whether a person typed a record of this kind; the first text is the task.
fn is_typed(said: &str, first: bool) -> bool {
    matches!(said, "task" | "user_feedback" | "user_feedback_diff") || (first && said == "text")
}

/// Adds a shown record, for tasks without the exchange with the model.
pub(super) fn add_shown_record(script: &mut TranscriptBuilder, fields: &JsonFields<'_>, first: bool) {
    let stamp = RecordStamp {
        at: fields.timestamp("ts"),
        ..RecordStamp::default()
    };
    for _ in fields.items("images") {
        script.note_not_kept("an image", None, None);
    }
    if let Some(thought) = fields.text("reasoning") {
        script.add_thought(&stamp, thought);
    }
    let text = fields.text("text").unwrap_or_default();
    let kind = fields.any_text(&["say", "ask"]).unwrap_or_default();
    match kind.as_str() {
        said if is_typed(said, first) => script.add_text(&stamp, HUMAN, text),
        "text" | "completion_result" | "followup" | "plan_mode_respond" => {
            script.add_text(&stamp, ASSISTANT, text);
        }
        "reasoning" => script.add_thought(&stamp, text),
        "tool" | "use_mcp_server" | "browser_action_launch" | "browser_action" => {
            script.add_model_call(&stamp, Some(kind), None, text);
        }
        "command" => {
            script.add_model_call(&stamp, Some("execute_command".to_owned()), None, text);
        }
        "command_output" => script.add_answer(&stamp, Some("execute_command".to_owned()), None, text),
        "mcp_server_response" | "browser_action_result" => script.add_answer(&stamp, Some(kind), None, text),
        // Requests repeat the messages, with the program's own figures.
        "api_req_started" | "api_req_finished" | "api_req_retried" | "api_req_deleted"
        | "checkpoint_created" | "checkpoint_saved" => {}
        _ => script.add_text(&stamp, SYSTEM, text),
    }
}
