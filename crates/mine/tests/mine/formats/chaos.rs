//! Any text, and every fixture cut off and bent, is read or refused: nothing panics, nothing is made of nothing.

use std::path::Path;

use loci_mine::formats::{ParserInput, text_formats};
use proptest::prelude::*;

use super::{Fixture, fixture_names};

/// Formats that refuse text that is not JSON, or that hand over an empty conversation for it.
const STRICT: [&str; 8] = [
    "claude-code",
    "cline",
    "codex",
    "deepseek",
    "gemini-cli",
    "gemini-web",
    "kimi",
    "pi",
];

/// Shows a text to every format: to recognise it, and to read it as if it were theirs.
fn show_to_all(path: &Path, text: &str) {
    let given = ParserInput { path, text };
    for format in text_formats() {
        let (name, strict) = (format.name, STRICT.contains(&format.name));
        (format.recognise)(&given);
        let notes = (format.parse)(&given, &mut |conversation| {
            let messages = &conversation.messages;
            assert!(
                strict || !messages.is_empty(),
                "{name}: a conversation without messages"
            );
            assert!(
                messages.iter().all(|message| !message.text.is_empty()),
                "{name}: an empty message"
            );
            Ok(())
        });
        assert!(strict || notes.is_ok(), "{name}: {notes:?}");
    }
}

/// The building blocks of JSON, chats and marks.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"",
        "\\",
        "\\ud83d",
        "null",
        "1e999",
        "-",
        "\"type\":",
        "\"payload\":",
        "\"tool\"",
        "\"role\"",
        "\"user\"",
        "\"content\"",
        "\"messages\"",
        "\"mapping\"",
        "\"message\"",
        "\"parent\"",
        "\"chat_messages\"",
        "\"requests\"",
        "\"kind\":0,",
        "\"history\"",
        "\"ts\"",
        "\n",
        "\r\n",
        "#### ",
        "> ",
        "# aider chat started at ",
        "Human: ",
        "Assistant: ",
        "```",
        "---",
        "é",
        "\u{feff}",
        "  ",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        show_to_all(Path::new("a/b/agent-1.jsonl"), &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        show_to_all(Path::new("x.txt"), &text);
    }

    #[test]
    fn any_pile_of_pieces_is_read_or_refused(text in pieces()) {
        show_to_all(Path::new("agent-transcripts/x.md"), &text);
    }

    #[test]
    fn a_fixture_cut_off_and_bent_is_read_or_refused(
        which in prop::sample::select(fixture_names()),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
        halved in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let fixture = Fixture::new(&which);
        let mut lines: Vec<&str> = fixture.text.split('\n').collect();
        for at in halved {
            let at = at.index(lines.len());
            let half = lines[at].floor_char_boundary(lines[at].len() / 2);
            lines[at] = &lines[at][..half];
        }
        let mut bytes = lines.join("\n").into_bytes();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() * 2 + 1));
        show_to_all(&fixture.path, &String::from_utf8_lossy(&bytes));
    }
}
