//! Any text is read as a conversation of each format, or refused; what is read says something.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use loci_mine::formats::{ParserInput, text_formats};

/// The formats that refuse what is no JSON at all, or hand over a conversation in which nothing was said.
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

/// Paths that some formats look at.
const PATHS: [&str; 2] = ["-a-b/s/subagents/agent-1.jsonl", "agent-transcripts/chat.md"];

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for path in PATHS {
        let given = ParserInput { path: Path::new(path), text: &text };
        for format in text_formats() {
            let strict = STRICT.contains(&format.name);
            (format.recognise)(&given);
            let notes = (format.parse)(&given, &mut |conversation| {
                assert!(strict || !conversation.messages.is_empty());
                assert!(conversation.messages.iter().all(|message| !message.text.is_empty()));
                Ok(())
            });
            assert!(strict || notes.is_ok());
        }
    }
});
