//! What harnesses say at their hooks, and what they take for an answer: one file each, pure functions.

mod claude_code;
mod codex;
mod cursor;
mod fields;
mod gemini;
pub(crate) mod recall;
pub(crate) mod stdin;

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

pub(crate) use fields::Fields;

/// When a hook is called, whatever its harness calls that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// A session begins or goes on.
    Start,
    /// Somebody sent a prompt, which nobody has answered yet.
    Prompt,
    /// A prompt is answered.
    Turn,
    /// What was said is about to be made shorter.
    Compact,
    /// A session ends.
    End,
}

impl Moment {
    /// Whether something may have been said that is not mined yet. What came before a prompt or a start was said at
    /// the end of a turn, and a prompt is not in the transcript yet when its hook is called.
    pub(crate) fn has_news(self) -> bool {
        matches!(self, Self::Turn | Self::Compact | Self::End)
    }
}

/// What an event tells, as far as it does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// The conversation.
    pub(crate) session: Option<String>,
    /// The file it is written to.
    pub(crate) transcript: Option<String>,
    /// The folder it is had in.
    pub(crate) cwd: Option<String>,
    /// What was asked.
    pub(crate) prompt: Option<String>,
}

/// Where harnesses keep things on this machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Homes<'a> {
    /// The user's home.
    pub(crate) user: Option<&'a Path>,
    /// The folder of Codex.
    pub(crate) codex: Option<&'a Path>,
}

/// One harness.
#[derive(Debug)]
pub(crate) struct Harness {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What its events are, by their [`folded`] names.
    moments: &'static [(&'static str, Moment)],
    /// What an event tells.
    pub(crate) read: fn(&Fields) -> Told,
    /// The answer to a moment, with a text for the model where it takes one.
    pub(crate) answer: fn(Moment, Option<&str>) -> Json,
    /// Where the transcript of a session lies, for events that do not say.
    pub(crate) find: fn(Homes<'_>, &Told) -> Option<PathBuf>,
    /// Whether its transcripts say in which folder they were had; where not, the event does.
    pub(crate) transcripts_name_their_folder: bool,
}

static HARNESSES: [&Harness; 4] = [
    &claude_code::CLAUDE_CODE,
    &codex::CODEX,
    &gemini::GEMINI,
    &cursor::CURSOR,
];

impl Harness {
    /// The harness of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        let name = folded(name);
        let name = match name.as_str() {
            "claude" => "claudecode",
            "geminicli" => "gemini",
            other => other,
        };
        HARNESSES.into_iter().find(|one| folded(one.name) == name)
    }

    /// What an event is, by its name in any spelling.
    pub(crate) fn moment(&self, event: &str) -> Option<Moment> {
        let event = folded(event);
        let known = self.moments.iter().find(|(name, _)| *name == event);
        known.map(|(_, moment)| *moment)
    }
}

/// A name without its capitals, hyphens and underscores.
fn folded(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '-' | '_'));
    letters.flat_map(char::to_lowercase).collect()
}

/// What most harnesses send: the same names in snake case.
fn usual(fields: &Fields) -> Told {
    Told {
        session: fields.text("session_id"),
        transcript: fields.text("transcript_path"),
        cwd: fields.text("cwd"),
        prompt: fields.text("prompt"),
    }
}

/// What most harnesses take: a text for the model beside the name of the event.
fn with_context(event: &str, context: Option<&str>) -> Json {
    match context {
        Some(context) => json!({
            "hookSpecificOutput": { "hookEventName": event, "additionalContext": context }
        }),
        None => json!({}),
    }
}

fn found_nowhere(_: Homes<'_>, _: &Told) -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harnesses_and_events_are_known_in_every_spelling() {
        for name in ["claude-code", "Claude_Code", "claudecode", "claude"] {
            assert_eq!(Harness::named(name).unwrap().name, "claude-code", "{name}");
        }
        let claude = Harness::named("claude-code").unwrap();
        for event in ["UserPromptSubmit", "user-prompt-submit", "USER_PROMPT_SUBMIT"] {
            assert_eq!(claude.moment(event), Some(Moment::Prompt), "{event}");
        }
        assert!(claude.moment("PreToolUse").is_none());
        assert!(Harness::named("emacs").is_none());
    }

    #[test]
    fn no_answer_ever_blocks_anything() {
        let moments = [
            Moment::Start,
            Moment::Prompt,
            Moment::Turn,
            Moment::Compact,
            Moment::End,
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
