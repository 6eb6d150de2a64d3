//! Gemini CLI: JSON in snake case on standard input, and a text for the model at the start and before the agent.

use serde_json::Value as Json;

use super::{Harness, Moment, found_nowhere, usual, with_context};

/// Gemini CLI.
pub(super) static GEMINI: Harness = Harness {
    name: "gemini",
    moments: &[
        ("sessionstart", Moment::Start),
        ("beforeagent", Moment::Prompt),
        ("afteragent", Moment::Turn),
        ("precompress", Moment::Compact),
        ("sessionend", Moment::End),
    ],
    read: usual,
    answer,
    find: found_nowhere,
    transcripts_name_their_folder: false,
};

fn answer(moment: Moment, context: Option<&str>) -> Json {
    match moment {
        Moment::Start => with_context("SessionStart", context),
        Moment::Prompt => with_context("BeforeAgent", context),
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
        assert_eq!(answer(Moment::Prompt, Some("text")), expected);
        assert_eq!(answer(Moment::Compact, Some("text")), json!({}));
    }
}
