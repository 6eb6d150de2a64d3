//! The events that harnesses send to hooks and the answers they accept: one file per harness, pure functions.

mod claude_code;
mod codex;
mod cursor;
mod fields;
mod gemini;
pub(crate) mod recall;
pub(crate) mod stdin;

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

pub(crate) use fields::HookFields;

/// The moment at which a hook is called, independent of the harness's own name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookMoment {
    /// A session begins or is resumed.
    Start,
    /// A prompt was sent and is not answered yet.
    Prompt,
    /// A prompt is answered.
    Turn,
    /// The conversation is about to be compacted.
    Compact,
    /// A session ends.
    End,
}

impl HookMoment {
    /// Whether the transcript may hold messages that are not mined yet.
    ///
    /// A start or a prompt brings none: earlier messages were reported at the end of their turn, and the prompt itself is
    /// not in the transcript yet when its hook is called.
    pub(crate) fn has_news(self) -> bool {
        matches!(self, Self::Turn | Self::Compact | Self::End)
    }
}

/// The fields of an event that hooks use, as far as it has them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HookEvent {
    /// The conversation.
    pub(crate) session: Option<String>,
    /// The file it is written to.
    pub(crate) transcript: Option<String>,
    /// The folder it takes place in.
    pub(crate) cwd: Option<String>,
    /// The prompt.
    pub(crate) prompt: Option<String>,
}

/// The folders of harnesses on this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HarnessHomes<'a> {
    /// The user's home.
    pub(crate) user: Option<&'a Path>,
    /// The folder of Codex.
    pub(crate) codex: Option<&'a Path>,
}

/// A harness: its events, and how they are read and answered.
#[derive(Debug)]
pub(crate) struct HarnessKind {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// The moments of its events, by their folded names.
    moments: &'static [(&'static str, HookMoment)],
    /// Reads an event.
    pub(crate) read: fn(&HookFields) -> HookEvent,
    /// Builds the answer, with a text for the model if that moment accepts one.
    pub(crate) answer: fn(HookMoment, Option<&str>) -> Json,
    /// Finds the transcript of a session, for events that do not name it.
    pub(crate) find: fn(HarnessHomes<'_>, &HookEvent) -> Option<PathBuf>,
    /// Whether its transcripts name their folder; otherwise the event does.
    pub(crate) transcripts_name_their_folder: bool,
}

static HARNESSES: [&HarnessKind; 4] = [
    &claude_code::CLAUDE_CODE,
    &codex::CODEX,
    &gemini::GEMINI,
    &cursor::CURSOR,
];

impl HarnessKind {
    /// Finds the harness with this name.
    pub(crate) fn find_harness(name: &str) -> Option<&'static Self> {
        let name = fold_name(name);
        let name = match name.as_str() {
            "claude" => "claudecode",
            "geminicli" => "gemini",
            other => other,
        };
        HARNESSES.into_iter().find(|one| fold_name(one.name) == name)
    }

    /// Returns the moment of an event, by its name in any spelling.
    pub(crate) fn moment(&self, event: &str) -> Option<HookMoment> {
        let event = fold_name(event);
        let known = self.moments.iter().find(|(name, _)| *name == event);
        known.map(|(_, moment)| *moment)
    }
}

/// Folds a name: without capitals, hyphens and underscores.
fn fold_name(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Reads the fields that most harnesses send, under the same names in snake case.
fn usual_home(fields: &HookFields) -> HookEvent {
    HookEvent {
        session: fields.text("session_id"),
        transcript: fields.text("transcript_path"),
        cwd: fields.text("cwd"),
        prompt: fields.text("prompt"),
    }
}

/// Builds the answer that most harnesses accept: a text for the model beside the name of the event.
fn with_context(event: &str, context: Option<&str>) -> Json {
    match context {
        Some(context) => json!({
            "hookSpecificOutput": { "hookEventName": event, "additionalContext": context }
        }),
        None => json!({}),
    }
}

fn found_nowhere(_: HarnessHomes<'_>, _: &HookEvent) -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harnesses_and_events_are_known_in_every_spelling() {
        for name in ["claude-code", "Claude_Code", "claudecode", "claude"] {
            assert_eq!(
                HarnessKind::find_harness(name).unwrap().name,
                "claude-code",
                "{name}"
            );
        }
        let claude = HarnessKind::find_harness("claude-code").unwrap();
        for event in ["UserPromptSubmit", "user-prompt-submit", "USER_PROMPT_SUBMIT"] {
            assert_eq!(claude.moment(event), Some(HookMoment::Prompt), "{event}");
        }
        assert!(claude.moment("PreToolUse").is_none());
        assert!(HarnessKind::find_harness("emacs").is_none());
    }

    #[test]
    fn no_answer_ever_blocks_anything() {
        let moments = [
            HookMoment::Start,
            HookMoment::Prompt,
            HookMoment::Turn,
            HookMoment::Compact,
            HookMoment::End,
        ];
        for harness in HARNESSES {
            for moment in moments {
                for context in [None, Some("text")] {
                    let answer = (harness.answer)(moment, context);
                    assert!(answer.is_object(), "{}", harness.name);
                    assert_ne!(answer["continue"], false);
                    for word in ["decision", "stopReason", "permission", "followup_message"] {
                        assert!(answer.get(word).is_none(), "{} {moment:?}", harness.name);
                    }
                }
            }
        }
    }
}
