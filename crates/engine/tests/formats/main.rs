//! The formats conversations come in: each reads its fixtures as written down beside them, is told by its structure
//! alone, and survives any bytes.
//!
//! `LOCI_UPDATE=1` writes what is found as what is expected; read the difference before you keep it.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

mod chaos;
mod opencode;
mod recognised;
mod render;
mod slack;
mod vscdb;

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::Result;
use loci_engine::mine::conversation::{Conversation, Note};
use loci_engine::mine::formats::{BundleFormat, Given, TextFormat, texts};

/// The fixtures of text formats, each in a folder named for its format.
const FIXTURES: [&str; 43] = [
    "aider/.aider.chat.history.md",
    "aider/tidied.md",
    "chat-text/bold.md",
    "chat-text/copied.txt",
    "chat-text/headings.md",
    "chat-text/plain.txt",
    "chatgpt/conversations.json",
    "chatgpt/cut_off.json",
    "claude-ai/conversations.json",
    "claude-code/-home-ada-garden/11111111-aaaa-4bbb-8ccc-000000000001.jsonl",
    "claude-code/-home-ada-garden/11111111-aaaa-4bbb-8ccc-000000000001/subagents/agent-a1b2c3.jsonl",
    "claude-code/loglines.json",
    "claude-code/turned-back.jsonl",
    "cline/1750000000000/api_conversation_history.json",
    "cline/1750000000000/ui_messages.json",
    "cline/shown-only/ui_messages.json",
    "codex/bare.jsonl",
    "codex/oldest.json",
    "codex/paginated.jsonl",
    "codex/rollout.jsonl",
    "continue/session.json",
    "copilot-cli/abc/events.jsonl",
    "copilot/log.jsonl",
    "copilot/ws/chatSessions/one.json",
    "cursor-agent/agent-transcripts/day/day.jsonl",
    "cursor-agent/agent-transcripts/day/subagents/explore.jsonl",
    "deepseek/conversations.json",
    "deepseek/list.json",
    "gemini-cli/chats/parent-session/gem-2.jsonl",
    "gemini-cli/checkpoint-soil.json",
    "gemini-cli/metadata.jsonl",
    "gemini-cli/session.json",
    "gemini-web/conversations.json",
    "kimi/session-1/context.jsonl",
    "kimi/session-1/wire.jsonl",
    "openai-messages/array.json",
    "openai-messages/chat_lines.jsonl",
    "openai-messages/chats.json",
    "openai-messages/lines.jsonl",
    "openai-messages/studio.json",
    "pi/session.jsonl",
    "pi/without-ids.jsonl",
    "slack-day/team/2024-05-06.json",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats")
}

/// A fixture and the format it is of.
struct Fixture {
    format: &'static TextFormat,
    path: PathBuf,
    text: String,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let own = name.split('/').next().unwrap();
        let path = folder().join(name);
        Self {
            format: texts().iter().find(|format| format.name == own).unwrap(),
            text: fs::read_to_string(&path).unwrap(),
            path,
        }
    }

    fn given(&self) -> Given<'_> {
        Given {
            path: &self.path,
            text: &self.text,
        }
    }
}

fn fixtures() -> impl Iterator<Item = Fixture> {
    FIXTURES.iter().map(|name| Fixture::new(name))
}

fn read(format: &TextFormat, given: &Given<'_>) -> Result<(Vec<Conversation>, Vec<Note>)> {
    let mut conversations = Vec::new();
    let notes = (format.parse)(given, &mut |conversation| {
        conversations.push(conversation);
        Ok(())
    })?;
    Ok((conversations, notes))
}

fn read_bundle(format: &BundleFormat, root: &Path) -> (Vec<Conversation>, Vec<Note>) {
    let mut conversations = Vec::new();
    let notes = (format.parse)(root, &mut |conversation| {
        conversations.push(conversation);
        Ok(())
    });
    (conversations, notes.unwrap())
}

/// The file beside a fixture with this behind its name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Compares with what is expected, or writes it where that is asked for.
fn check(expected: &Path, found: &str) {
    if std::env::var_os("LOCI_UPDATE").is_some() {
        fs::write(expected, found).unwrap();
    }
    let expect = fs::read_to_string(expected).unwrap_or_default();
    assert!(expect == found, "{} differs; found:\n{found}", expected.display());
}

#[test]
fn every_fixture_is_read_as_written_beside_it() {
    for fixture in fixtures() {
        let (conversations, notes) = read(fixture.format, &fixture.given()).unwrap();
        let columns = beside(&fixture.path, ".txt");
        if columns.is_file() {
            check(&columns, &render::columns(&conversations, &notes));
        } else {
            let found = render::named(&conversations, &notes);
            check(&beside(&fixture.path, ".expected.txt"), &found);
        }
    }
}

#[test]
fn an_error_of_the_sink_ends_the_reading_and_comes_back() {
    for fixture in fixtures() {
        let (conversations, _) = read(fixture.format, &fixture.given()).unwrap();
        let mut taken = 0;
        let stopped = (fixture.format.parse)(&fixture.given(), &mut |_| {
            taken += 1;
            Err(loci_core::Error::invalid("the disk is full"))
        });
        let name = fixture.path.display();
        assert_eq!(taken, conversations.len().min(1), "{name}");
        match stopped {
            Ok(_) => assert_eq!(taken, 0, "{name}"),
            Err(error) => assert!(error.to_string().contains("the disk is full"), "{name}"),
        }
    }
}

#[test]
fn what_is_not_json_at_all_is_refused_by_name() {
    for name in ["gemini-cli", "cline", "deepseek", "gemini-web"] {
        let format = texts().iter().find(|format| format.name == name).unwrap();
        let given = Given {
            path: Path::new("talk.json"),
            text: "[{\"role\":",
        };
        let error = read(format, &given).unwrap_err();
        assert!(error.message().contains("talk.json"), "{error}");
    }
}
