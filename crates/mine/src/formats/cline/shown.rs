//! What the editor showed of a task: who said what, and when.

use std::collections::HashMap;

use loci_core::Timestamp;

use super::super::json::whole::objects;
use super::super::json::{Fields, Json};
use super::super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder};

/// Whether a record is one that was shown.
pub(super) fn is_shown(fields: &Fields<'_>) -> bool {
    let kind = fields.text("type").unwrap_or_default();
    fields.number("ts").is_some() && matches!(kind.as_str(), "ask" | "say") && fields.has(&kind)
}

/// What was shown, as far as it helps to read the talk.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// What a person typed; `None` where nothing is known of it.
    typed: Option<Vec<String>>,
    /// When the request after a record was sent.
    sent: HashMap<u64, Timestamp>,
    /// When something was first shown after a record.
    shown: HashMap<u64, Timestamp>,
    start: Option<Timestamp>,
}

impl Shown {
    /// Reads what was shown; what is broken says nothing.
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let list = Json::parse(text).ok().and_then(Json::items).unwrap_or_default();
        let mut shown = Self::default();
        for (at, fields) in objects(&list, usize::MAX).iter().enumerate() {
            shown.see(fields, at == 0);
        }
        shown
    }

    fn see(&mut self, fields: &Fields<'_>, first: bool) {
        let said = fields.text("say").unwrap_or_default();
        if is_typed(&said, first)
            && let Some(text) = fields.text("text").filter(|text| !text.trim().is_empty())
        {
            self.typed.get_or_insert_default().push(text.trim().to_owned());
        }
        if first {
            self.start = fields.moment("ts");
        }
        let (Some(index), Some(time)) = (fields.number("conversationHistoryIndex"), fields.moment("ts"))
        else {
            return;
        };
        if index < 0.0 {
            return;
        }
        match said.as_str() {
            "api_req_started" => {
                self.sent.insert(index as u64, time);
            }
            _ => {
                self.shown.entry(index as u64).or_insert(time);
            }
        }
    }

    /// Takes note of when the task began, where nothing shown tells it.
    pub(super) fn begin(&mut self, start: Option<Timestamp>) {
        self.start = self.start.or(start);
    }

    /// When a record of the talk was said. What is shown stands under the record that was last before it.
    pub(super) fn time(&self, at: usize, by_user: bool) -> Option<Timestamp> {
        let Some(before) = at.checked_sub(1) else {
            return self.start;
        };
        let times = if by_user { &self.sent } else { &self.shown };
        times.get(&(before as u64)).copied()
    }

    /// Whether a text in the user's place holds what a person typed. All do, where nothing is known.
    pub(super) fn is_typed(&self, text: &str) -> bool {
        let details = text.trim();
        if details.starts_with("<environment_details>") && details.ends_with("</environment_details>") {
            return false;
        }
        match &self.typed {
            Some(typed) => typed.iter().any(|typed| holds(text, typed)),
            None => true,
        }
    }
}

/// Whether a text is what was typed, or holds it between tags or line breaks. A few letters may stand anywhere; a long
/// text does not.
fn holds(text: &str, typed: &str) -> bool {
    const LONG: usize = 40;
    text.trim() == typed
        || (typed.len() >= LONG && text.contains(typed))
        || [">\n", ">"].iter().any(|before| {
            text.contains(&format!("{before}{typed}\n</")) || text.contains(&format!("{before}{typed}</"))
        })
}

/// Whether a person typed what is said; the first thing is the task.
fn is_typed(said: &str, first: bool) -> bool {
    matches!(said, "task" | "user_feedback" | "user_feedback_diff") || (first && said == "text")
}

/// Writes down what was shown, where that is all there is.
pub(super) fn show(script: &mut TranscriptBuilder, fields: &Fields<'_>, first: bool) {
    let stamp = RecordStamp {
        at: fields.moment("ts"),
        ..RecordStamp::default()
    };
    for _ in fields.items("images") {
        script.note_not_kept("an image", None, None);
    }
    if let Some(thought) = fields.text("reasoning") {
        script.think(&stamp, thought);
    }
    let text = fields.text("text").unwrap_or_default();
    let kind = fields.any_text(&["say", "ask"]).unwrap_or_default();
    match kind.as_str() {
        said if is_typed(said, first) => script.say(&stamp, HUMAN, text),
        "text" | "completion_result" | "followup" | "plan_mode_respond" => {
            script.say(&stamp, ASSISTANT, text);
        }
        "reasoning" => script.think(&stamp, text),
        "tool" | "use_mcp_server" | "browser_action_launch" | "browser_action" => {
            script.call_tool(&stamp, Some(kind), None, text);
        }
        "command" => {
            script.call_tool(&stamp, Some("execute_command".to_owned()), None, text);
        }
        "command_output" => script.answer(&stamp, Some("execute_command".to_owned()), None, text),
        "mcp_server_response" | "browser_action_result" => script.answer(&stamp, Some(kind), None, text),
        // Requests repeat what was said, with the program's own figures.
        "api_req_started" | "api_req_finished" | "api_req_retried" | "api_req_deleted"
        | "checkpoint_created" | "checkpoint_saved" => {}
        _ => script.say(&stamp, SYSTEM, text),
    }
}
