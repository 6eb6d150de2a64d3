//! Chat exports and editors' chats: each fixture is recognised by its own format alone and says exactly what it says.
//!
//! `LOCI_UPDATE=1` writes what is found as what is expected; read the difference before you keep it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

#[path = "formats_exports/chaos.rs"]
mod chaos;
#[path = "formats_exports/innocent.rs"]
mod innocent;
#[path = "formats_exports/render.rs"]
mod render;
#[path = "formats_exports/slack.rs"]
mod slack_export;
#[path = "formats_exports/vscdb.rs"]
mod vscdb;

use std::fs;
use std::path::{Path, PathBuf};

use loci_engine::mine::formats::{
    Given, TextFormat, aider, chatgpt, claude_ai, continue_dev, copilot, copilot_cli, cursor_agent,
    openai_messages, plain, slack,
};

/// Every text format that is tried here.
fn formats() -> [TextFormat; 10] {
    [
        aider::AIDER,
        chatgpt::CHATGPT,
        claude_ai::CLAUDE_AI,
        continue_dev::CONTINUE,
        copilot::COPILOT,
        copilot_cli::COPILOT_CLI,
        cursor_agent::CURSOR_AGENT,
        openai_messages::OPENAI_MESSAGES,
        plain::CHAT_TEXT,
        slack::SLACK_DAY,
    ]
}

/// The fixtures, each in a folder named for its format.
const FIXTURES: [&str; 19] = [
    "aider/.aider.chat.history.md",
    "aider/tidied.md",
    "chat-text/bold.md",
    "chat-text/copied.txt",
    "chat-text/headings.md",
    "chat-text/plain.txt",
    "chatgpt/conversations.json",
    "chatgpt/cut_off.json",
    "claude-ai/conversations.json",
    "continue/session.json",
    "copilot-cli/abc/events.jsonl",
    "copilot/log.jsonl",
    "copilot/ws/chatSessions/one.json",
    "cursor-agent/agent-transcripts/day/day.jsonl",
    "cursor-agent/agent-transcripts/day/subagents/explore.jsonl",
    "openai-messages/array.json",
    "openai-messages/chat_lines.jsonl",
    "openai-messages/chats.json",
    "openai-messages/lines.jsonl",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats")
}

/// The names of all formats that claim this file.
fn claimed_by(path: &Path, text: &str) -> Vec<&'static str> {
    let given = Given { path, text };
    let formats = formats().into_iter().filter(|format| (format.recognise)(&given));
    formats.map(|format| format.name).collect()
}

/// Compares with what is expected, or writes it where that is asked for.
fn check(expected: &Path, found: &str) {
    if std::env::var_os("LOCI_UPDATE").is_some() {
        fs::write(expected, found).unwrap();
    }
    let expect = fs::read_to_string(expected).unwrap_or_default();
    assert!(expect == found, "{} differs; found:\n{found}", expected.display());
}

fn check_text(name: &str) {
    let path = folder().join(name);
    let text = fs::read_to_string(&path).unwrap();
    let own = name.split('/').next().unwrap();
    assert_eq!(claimed_by(&path, &text), [own], "{name}");
    let format = formats().into_iter().find(|format| format.name == own).unwrap();
    let mut conversations = Vec::new();
    let given = Given {
        path: &path,
        text: &text,
    };
    let notes = (format.parse)(&given, &mut |conversation| {
        conversations.push(conversation);
        Ok(())
    });
    let found = render::all(&conversations, &notes.unwrap());
    check(&folder().join(format!("{name}.expected.txt")), &found);
}

#[test]
fn every_fixture_is_claimed_by_its_own_format_alone_and_read_as_expected() {
    for name in FIXTURES
        .into_iter()
        .chain(["openai-messages/studio.json", "slack-day/team/2024-05-06.json"])
    {
        check_text(name);
    }
}

#[test]
fn an_error_of_the_sink_ends_the_reading_and_comes_back() {
    for name in FIXTURES {
        let path = folder().join(name);
        let text = fs::read_to_string(&path).unwrap();
        let own = name.split('/').next().unwrap();
        let format = formats().into_iter().find(|format| format.name == own).unwrap();
        let mut taken = 0;
        let stopped = (format.parse)(
            &Given {
                path: &path,
                text: &text,
            },
            &mut |_| {
                taken += 1;
                Err(loci_core::Error::invalid("the disk is full"))
            },
        );
        assert_eq!(taken, 1, "{name}");
        assert!(
            stopped.unwrap_err().to_string().contains("the disk is full"),
            "{name}"
        );
    }
}
