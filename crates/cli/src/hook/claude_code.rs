//! Claude Code: JSON in snake case on standard input, and a text for the model at the start and at prompts.

use serde_json::Value as Json;

use super::{HarnessKind, HookMoment, found_nowhere, usual_home, with_context};

/// Claude Code.
pub(super) static CLAUDE_CODE: HarnessKind = HarnessKind {
    name: "claude-code",
    moments: &[
        ("sessionstart", HookMoment::Start),
        ("userpromptsubmit", HookMoment::Prompt),
        ("stop", HookMoment::Turn),
        ("precompact", HookMoment::Compact),
        ("sessionend", HookMoment::End),
    ],
    read: usual_home,
    answer,
    find: found_nowhere,
    transcripts_name_their_folder: true,
};

/// Also what Codex takes, which speaks the same language.
pub(super) fn answer(moment: HookMoment, context: Option<&str>) -> Json {
    match moment {
        HookMoment::Start => with_context("SessionStart", context),
        HookMoment::Prompt => with_context("UserPromptSubmit", context),
        _ => with_context("", None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{HookEvent, HookFields};
    use super::*;

    #[test]
    fn an_event_tells_its_session_transcript_folder_and_prompt() {
        let fields = HookFields::read(
            br#"{"session_id":"s","transcript_path":"~/t.jsonl","cwd":"/w","hook_event_name":"UserPromptSubmit","prompt":"why?"}"#,
        );
        let told = HookEvent {
            session: Some("s".into()),
            transcript: Some("~/t.jsonl".into()),
            cwd: Some("/w".into()),
            prompt: Some("why?".into()),
        };
        assert_eq!((CLAUDE_CODE.read)(&fields), told);
    }

    #[test]
    fn a_text_for_the_model_is_given_where_it_is_taken() {
        let expected = json!({"hookSpecificOutput":
            {"hookEventName": "UserPromptSubmit", "additionalContext": "text"}});
        assert_eq!(answer(HookMoment::Prompt, Some("text")), expected);
        assert_eq!(answer(HookMoment::Turn, Some("text")), json!({}));
        assert_eq!(answer(HookMoment::Start, None), json!({}));
    }
}
