//! What is folded in a transcript: calls and output of tools, thoughts, and words of the software, each with one line.

use loci_engine::view::DrawerView;
use serde_json::{Map, Value as Json};

/// The most characters of the one line.
const LINE: usize = 140;
/// The longest call whose arguments are read.
const LONGEST_CALL: usize = 1 << 16;

/// The arguments that tell best what a call does, the best first.
const TELLING: [&str; 12] = [
    "description",
    "command",
    "cmd",
    "file_path",
    "filePath",
    "path",
    "pattern",
    "query",
    "url",
    "prompt",
    "name",
    "input",
];

/// A sort of message that is folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoldedKind {
    Call,
    Output,
    Thought,
    Software,
}

impl FoldedKind {
    /// Returns the sort of a drawer; none if its words are read as they stand.
    pub(super) fn from_drawer(drawer: &DrawerView) -> Option<Self> {
        match drawer.kind.as_deref()? {
            "tool_call" => Some(Self::Call),
            "tool_result" => Some(Self::Output),
            "thinking" => Some(Self::Thought),
            "system" => Some(Self::Software),
            _ => None,
        }
    }

    /// Returns what it is called.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Call => "Tool call",
            Self::Output => "Tool output",
            Self::Thought => "Thinking",
            Self::Software => "Software",
        }
    }

    /// Returns one line that tells what is in a text.
    pub(super) fn summarize(self, text: &str) -> String {
        let arguments = match self {
            Self::Call if text.len() <= LONGEST_CALL => serde_json::from_str::<Map<String, Json>>(text).ok(),
            _ => None,
        };
        let told = arguments.as_ref().and_then(find_telling);
        told.map(first_line)
            .filter(|line| !line.is_empty())
            .unwrap_or_else(|| first_line(text))
    }
}

/// Returns the argument that tells best what a call does.
fn find_telling(arguments: &Map<String, Json>) -> Option<&str> {
    let best = TELLING.iter().find_map(|name| arguments.get(*name)?.as_str());
    best.or_else(|| arguments.values().find_map(Json::as_str))
}

/// Returns the first line with words, cut to what fits in one line.
fn first_line(text: &str) -> String {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| line.chars().take(LINE).any(char::is_alphanumeric));
    let line = line.unwrap_or_else(|| text.trim());
    let mut chars = line.chars();
    let mut shown: String = chars.by_ref().take(LINE).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: FoldedKind, text: &str, expect: &str) {
        assert_eq!(kind.summarize(text), expect, "{text:?}");
    }

    #[test]
    fn a_call_is_told_by_its_most_telling_argument() {
        check(
            FoldedKind::Call,
            r#"{"timeout": 3, "command": "git log\n-p"}"#,
            "git log",
        );
        check(
            FoldedKind::Call,
            r#"{"a": 1, "z": "last", "b": "first"}"#,
            "first",
        );
        check(FoldedKind::Call, r#"{"a": 1}"#, r#"{"a": 1}"#);
        check(FoldedKind::Call, r#"{"command": ""}"#, r#"{"command": ""}"#);
        check(FoldedKind::Call, "{\n  \"cut", "\"cut");
        check(
            FoldedKind::Call,
            &"[".repeat(60_000),
            &format!("{}…", "[".repeat(LINE)),
        );
    }

    #[test]
    fn any_other_text_is_told_by_its_first_line_with_words() {
        check(
            FoldedKind::Output,
            "\n---\n  4be21f7 Run it  \nmore",
            "4be21f7 Run it",
        );
        check(FoldedKind::Thought, "", "");
        check(FoldedKind::Software, "---", "---");
        check(
            FoldedKind::Output,
            &"é".repeat(200),
            &format!("{}…", "é".repeat(LINE)),
        );
    }
}
