//! The transcripts of coding agents: each format reads its fixtures as written down beside them, claims nobody else's
//! files, and survives any bytes.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use loci_core::Result;
use loci_engine::mine::conversation::{Conversation, Message, Note};
use loci_engine::mine::formats::{
    Given, TextFormat, claude_code::CLAUDE_CODE, cline::CLINE, codex::CODEX, deepseek::DEEPSEEK,
    gemini_cli::GEMINI_CLI, gemini_web::GEMINI_WEB, kimi::KIMI, opencode::OPENCODE, pi::PI,
};
use proptest::prelude::*;

const FORMATS: [&TextFormat; 8] = [
    &CLAUDE_CODE,
    &CODEX,
    &GEMINI_CLI,
    &PI,
    &CLINE,
    &KIMI,
    &DEEPSEEK,
    &GEMINI_WEB,
];

/// Every fixture below the folder of its format.
const FIXTURES: [&str; 19] = [
    "claude-code/-home-ada-garden/11111111-aaaa-4bbb-8ccc-000000000001.jsonl",
    "claude-code/-home-ada-garden/11111111-aaaa-4bbb-8ccc-000000000001/subagents/agent-a1b2c3.jsonl",
    "claude-code/loglines.json",
    "claude-code/turned-back.jsonl",
    "codex/rollout.jsonl",
    "codex/bare.jsonl",
    "codex/oldest.json",
    "codex/paginated.jsonl",
    "gemini-cli/session.json",
    "gemini-cli/chats/parent-session/gem-2.jsonl",
    "gemini-cli/metadata.jsonl",
    "gemini-cli/checkpoint-soil.json",
    "pi/session.jsonl",
    "pi/without-ids.jsonl",
    "cline/1750000000000/api_conversation_history.json",
    "cline/1750000000000/ui_messages.json",
    "cline/shown-only/ui_messages.json",
    "kimi/session-1/context.jsonl",
    "kimi/session-1/wire.jsonl",
];

/// Fixtures that are exports of sites.
const EXPORTS: [&str; 3] = [
    "deepseek/conversations.json",
    "deepseek/list.json",
    "gemini-web/conversations.json",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats")
}

fn fixtures() -> impl Iterator<Item = (&'static TextFormat, PathBuf)> {
    FIXTURES.iter().chain(&EXPORTS).map(|fixture| {
        let name = fixture.split('/').next().unwrap();
        let format = FORMATS.iter().find(|format| format.name == name).unwrap();
        (*format, folder().join(fixture))
    })
}

fn read(format: &TextFormat, path: &Path, text: &str) -> Result<(Vec<Conversation>, Vec<Note>)> {
    let mut conversations = Vec::new();
    let notes = (format.parse)(&Given { path, text }, &mut |conversation| {
        conversations.push(conversation);
        Ok(())
    })?;
    Ok((conversations, notes))
}

fn render(conversations: &[Conversation], notes: &[Note]) -> String {
    let mut out = String::new();
    for conversation in conversations {
        writeln!(out, "conversation").unwrap();
        for (name, value) in [
            ("key", &conversation.key),
            ("id", &conversation.id),
            ("title", &conversation.title),
            ("cwd", &conversation.cwd),
            ("parent", &conversation.parent),
        ] {
            if let Some(value) = value {
                writeln!(out, "  {name}: {value}").unwrap();
            }
        }
        for message in &conversation.messages {
            render_message(&mut out, message);
        }
    }
    for note in notes {
        let line = note
            .line
            .map(|line| format!(" at line {line}"))
            .unwrap_or_default();
        writeln!(out, "note{line}: {}", note.text).unwrap();
    }
    out
}

fn render_message(out: &mut String, message: &Message) {
    let speaker = message.speaker.as_deref().unwrap_or("-");
    let id = message.id.as_deref().unwrap_or("-");
    let at = message.at.map_or("-".to_owned(), |at| at.to_string());
    write!(out, "{} {speaker} {id} {at}", message.kind.name()).unwrap();
    for (key, value) in message.about.iter() {
        write!(out, " {key}={}", serde_json::to_string(value).unwrap()).unwrap();
    }
    writeln!(out, "\n    {:?}", message.text).unwrap();
}

/// Compares with what is written beside the fixture; `LOCI_UPDATE=1` writes it anew.
fn check(path: &Path, got: &str) {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".txt");
    if std::env::var_os("LOCI_UPDATE").is_some() {
        fs::write(&beside, got).unwrap();
    }
    let expected = fs::read_to_string(&beside).unwrap_or_default();
    assert_eq!(got, expected, "{} is read otherwise", path.display());
}

#[test]
fn every_fixture_is_read_as_written_beside_it() {
    for (format, path) in fixtures() {
        let text = fs::read_to_string(&path).unwrap();
        let (conversations, notes) = read(format, &path, &text).unwrap();
        check(&path, &render(&conversations, &notes));
    }
}

#[test]
fn a_storage_of_opencode_is_read_as_written_beside_it() {
    let root = folder().join("opencode/storage");
    let files = (OPENCODE.files)(&root).unwrap();
    assert_eq!(files.len(), 15, "{files:?}");
    let mut conversations = Vec::new();
    let notes = (OPENCODE.parse)(&root, &mut |conversation| {
        conversations.push(conversation);
        Ok(())
    })
    .unwrap();
    check(&root, &render(&conversations, &notes));
}

#[test]
fn every_fixture_is_claimed_by_its_own_format_only() {
    for (format, path) in fixtures() {
        let text = fs::read_to_string(&path).unwrap();
        let claimed = claimed(&path, &text);
        assert_eq!(claimed, [format.name], "{}", path.display());
    }
}

#[test]
fn a_broken_first_line_does_not_hide_a_transcript() {
    for (format, path) in fixtures() {
        let text = fs::read_to_string(&path).unwrap();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            let broken = format!("\u{feff}{{\"type\": \"us\r\n\n{text}");
            assert_eq!(claimed(&path, &broken), [format.name], "{}", path.display());
        }
    }
}

fn claimed(path: &Path, text: &str) -> Vec<&'static str> {
    let given = Given { path, text };
    let claims = FORMATS.iter().filter(|format| (format.recognise)(&given));
    claims.map(|format| format.name).collect()
}

#[test]
fn what_is_no_transcript_is_not_claimed() {
    let others = [
        "",
        "[]",
        "{}",
        "null",
        "\"sessionId messages role parts\"",
        "Just a text.\nWith two lines.",
        r#"{"name":"app","version":"1.0.0","dependencies":{"a":"1"},"type":"module"}"#,
        r#"{"cells":[{"cell_type":"code","source":["x"]}],"metadata":{},"nbformat":4}"#,
        r#"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point"}}]}"#,
        "{\"level\":\"info\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"message\":\"up\",\"type\":\"system\"}\n{\"level\":\"warn\",\"message\":\"down\"}",
        "{\"type\":\"message\",\"text\":\"hello\",\"user\":\"U1\"}\n{\"type\":\"session\",\"ok\":true}",
        r#"[{"role":"user","content":"hello"},{"role":"assistant","content":"hi"}]"#,
        r#"{"messages":[{"role":"user","content":"hello"}],"model":"some-model"}"#,
        r#"[{"title":"t","mapping":{"a":{"message":{"content":{"parts":["x"]},"author":{"role":"user"}}}}}]"#,
        r#"[{"uuid":"1","name":"n","chat_messages":[{"sender":"human","text":"hi"}]}]"#,
        r#"[{"type":"message","user":"U1","text":"hi","ts":"1700000000.000100"}]"#,
        "{\"role\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}\n{\"role\":\"assistant\",\"message\":{\"content\":[]}}",
        "{\"method\":\"generateContentStream\",\"response\":[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"B\"}],\"role\":\"model\"}}]}]}",
        r#"{"session":"abc","items":[1,2,3],"id":7}"#,
        "{\"timestamp\":1770000100.0,\"message\":{\"type\":\"TurnBegin\"}}",
    ];
    for text in others {
        assert_eq!(claimed(Path::new("some/file.json"), text), [""; 0], "{text}");
    }
    let empty = tempfile::tempdir().unwrap();
    for name in ["session", "message", "part"] {
        assert!((OPENCODE.files)(empty.path()).is_none());
        fs::create_dir(empty.path().join(name)).unwrap();
    }
    assert!((OPENCODE.files)(empty.path()).is_none(), "there is nothing in it");
}

#[test]
fn an_error_of_the_sink_ends_the_reading() {
    for (format, path) in fixtures() {
        let text = fs::read_to_string(&path).unwrap();
        let (conversations, _) = read(format, &path, &text).unwrap();
        let stopped = (format.parse)(
            &Given {
                path: &path,
                text: &text,
            },
            &mut |_| Err(loci_core::Error::invalid("full")),
        );
        assert_eq!(stopped.is_err(), !conversations.is_empty(), "{}", path.display());
    }
}

#[test]
fn what_is_not_json_at_all_is_refused_by_name() {
    for format in [&GEMINI_CLI, &CLINE, &DEEPSEEK, &GEMINI_WEB] {
        let error = read(format, Path::new("talk.json"), "[{\"role\":").unwrap_err();
        assert!(error.message().contains("talk.json"), "{error}");
    }
}

/// Reads a text with every format; nothing but a panic is wrong.
fn survive(path: &Path, text: &str) {
    for format in FORMATS {
        (format.recognise)(&Given { path, text });
        if let Ok((conversations, _)) = read(format, path, text) {
            let mut messages = conversations.iter().flat_map(|one| &one.messages);
            assert!(messages.all(|message| !message.text.is_empty()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survive(Path::new("a/b/c.jsonl"), &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn json_of_any_shape_is_survived(text in "(\\{\"(type|role|message|content|payload|messages|ts)\":|\\[|\"(user|message|tool)\"|[0-9]{1,25}|null|,|\\]|\\}|\n){0,60}") {
        survive(Path::new("agent-1.jsonl"), &text);
    }

    #[test]
    fn damaged_transcripts_are_survived(
        which in 0..FIXTURES.len() + EXPORTS.len(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
        lines_lost in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let (_, path) = fixtures().nth(which).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<&str> = text.split('\n').collect();
        for lost in lines_lost {
            let at = lost.index(lines.len());
            let line = lines[at];
            let half = line.char_indices().nth(line.chars().count() / 2).map_or(0, |(at, _)| at);
            lines[at] = &line[..half];
        }
        let mut bytes = lines.join("\n").into_bytes();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() * 2 + 1).max(1));
        survive(&path, &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn a_damaged_storage_of_opencode_is_survived(
        which in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let from = folder().join("opencode/storage");
        let to = tempfile::tempdir().unwrap();
        let files = (OPENCODE.files)(&from).unwrap();
        let damaged = which.index(files.len());
        for (at, file) in files.iter().enumerate() {
            let mut bytes = fs::read(file).unwrap();
            for (place, byte) in flips.iter().filter(|_| at == damaged) {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            let copy = to.path().join(file.strip_prefix(&from).unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::write(copy, bytes).unwrap();
        }
        (OPENCODE.parse)(to.path(), &mut |_| Ok(())).unwrap();
    }
}
