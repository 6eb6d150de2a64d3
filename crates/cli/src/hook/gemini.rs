//! Gemini CLI: JSON in snake case on standard input, and a text for the model at the start and before the agent.

use serde_json::Value as Json;

use super::{HarnessKind, HookMoment, found_nowhere, usual_home, with_context};

/// Gemini CLI.
pub(super) static GEMINI: HarnessKind = HarnessKind {
    name: "gemini",
    moments: &[
        ("sessionstart", HookMoment::Start),
        ("beforeagent", HookMoment::Prompt),
        ("afteragent", HookMoment::Turn),
        ("precompress", HookMoment::Compact),
        ("sessionend", HookMoment::End),
    ],
    read: usual_home,
    answer,
    find: found_nowhere,
    transcripts_name_their_folder: false,
};

fn answer(moment: HookMoment, context: Option<&str>) -> Json {
    match moment {
        HookMoment::Start => with_context("SessionStart", context),
        HookMoment::Prompt => with_context("BeforeAgent", context),
        _ => with_context("", None),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_for_the_model_goes_with_the_name_gemini_gives_the_event() {
        let expected = json!({"hookSpecificOutput":
            {"hookEventName": "BeforeAgent", "additionalContext": "text"}});
        assert_eq!(answer(HookMoment::Prompt, Some("text")), expected);
        assert_eq!(answer(HookMoment::Compact, Some("text")), json!({}));
    }
}
