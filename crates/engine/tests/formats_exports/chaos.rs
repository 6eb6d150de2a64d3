//! Any text, and every fixture cut off and bent, is read or refused: nothing panics, nothing is made of nothing.

use std::fs;
use std::path::Path;

use loci_engine::mine::formats::Given;
use proptest::prelude::*;

use crate::{FIXTURES, folder, formats};

/// Shows a text to every format: to recognise it, and to read it as if it were theirs.
fn show_to_all(path: &Path, text: &str) {
    let given = Given { path, text };
    for format in formats() {
        (format.recognise)(&given);
        let notes = (format.parse)(&given, &mut |conversation| {
            assert!(
                !conversation.messages.is_empty(),
                "{}: a conversation without messages",
                format.name
            );
            assert!(
                conversation
                    .messages
                    .iter()
                    .all(|message| !message.text.is_empty()),
                "{}: an empty message",
                format.name
            );
            Ok(())
        });
        assert!(notes.is_ok(), "{}: {:?}", format.name, notes);
    }
}

fn texts() -> Vec<(String, Vec<u8>)> {
    FIXTURES
        .iter()
        .map(|name| ((*name).to_owned(), fs::read(folder().join(name)).unwrap()))
        .collect()
}

/// What JSON, chats and marks are made of.
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
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

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
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let texts = texts();
        let (name, bytes) = &texts[which.index(texts.len())];
        let mut bytes = bytes.clone();
        for (at, byte) in &flips {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        show_to_all(&folder().join(name), &String::from_utf8_lossy(&bytes));
    }
}
