//! Recognition: the table of formats decides in order, and files that only look like chats match no format.

use std::path::Path;

use loci_mine::formats::{ParserInput, bundle_formats, recognise_format, text_formats};

use super::{fixture_names, fixtures, folder, opencode, slack, vscdb};

/// Fixtures that several formats claim, and all that do: the first in the table has it. Those that are told by a mark
/// of their own stand before `openai-messages`, which takes any messages with roles; DeepSeek's tree is ChatGPT's with
/// fragments in it.
const DECIDED_BY_ORDER: [(&str, &[&str]); 5] = [
    ("deepseek/conversations.json", &["deepseek", "chatgpt"]),
    (
        "gemini-cli/checkpoint-soil.json",
        &["gemini-cli", "openai-messages"],
    ),
    (
        "gemini-web/conversations.json",
        &["gemini-web", "openai-messages"],
    ),
    ("kimi/session-1/context.jsonl", &["kimi", "openai-messages"]),
    // Lines with the counts that Kimi writes among them: with `--as openai-messages` they are read as well.
    ("openai-messages/lines.jsonl", &["kimi", "openai-messages"]),
];

/// Files of which the shape says whose they are.
const OWNED: [(&str, &str, &str); 10] = [
    (
        "claude.jsonl",
        "{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"s\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
        "claude-code",
    ),
    (
        "codex.jsonl",
        "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}\n{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}\n",
        "codex",
    ),
    (
        "other.jsonl",
        "{\"type\":\"session.start\",\"payload\":{}}\n{\"type\":\"user.message\",\"payload\":{\"content\":\"hi\"}}\n",
        "codex",
    ),
    (
        "gemini.json",
        r#"{"sessionId":"s","projectHash":"p","messages":[{"id":"1","type":"user","content":"hi"},{"id":"2","type":"gemini","content":"yo"}]}"#,
        "gemini-cli",
    ),
    (
        "api_conversation_history.json",
        r#"[{"role":"user","content":[{"type":"text","text":"task"}]},{"role":"assistant","content":[]}]"#,
        "cline",
    ),
    (
        "some/file.json",
        r#"[{"role":"user","content":"hello"},{"role":"assistant","content":"hi"}]"#,
        "openai-messages",
    ),
    (
        "some/file.json",
        r#"{"messages":[{"role":"user","content":"hello"}],"model":"some-model"}"#,
        "openai-messages",
    ),
    (
        "some/file.json",
        r#"[{"uuid":"1","name":"n","chat_messages":[{"sender":"human","text":"hi"}]}]"#,
        "claude-ai",
    ),
    (
        "some/file.json",
        r#"[{"type":"message","user":"U1","text":"hi","ts":"1700000000.000100"}]"#,
        "slack-day",
    ),
    (
        "some/file.json",
        "{\"role\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}\n{\"role\":\"assistant\",\"message\":{\"content\":[]}}",
        "cursor-agent",
    ),
];

/// Files that look a little like chats but are not.
const INNOCENT: [(&str, &str); 45] = [
    ("empty.txt", ""),
    ("empty.json", "{}"),
    ("array.json", "[]"),
    ("numbers.json", "[1, 2, 3]"),
    (
        "prose.md",
        "Note: this is prose.\n\nUser: is a word.\nNothing more.\n",
    ),
    ("one_side.txt", "User: hello\nUser: anybody?\n"),
    ("later.md", "Some words first.\n\nHuman: hi\nAssistant: hello\n"),
    ("settings.yaml", "User: x\nAssistant: y\n"),
    ("settings.txt", "user: x\nassistant: y\n"),
    ("keys.yml", "user:\n  name: x\nassistant:\n  name: y\n"),
    ("laptop.txt", "User: bob\nModel: T480\nSystem: Linux\n"),
    ("faq.md", "# FAQ\n\nQ: Why?\nA: Because.\n\nQ: How?\nA: Thus.\n"),
    (
        "app.log",
        "2024-01-01 INFO User: logged in\n2024-01-01 INFO Assistant: started\n",
    ),
    (
        "README.md",
        "# Tool\n\nIt talks:\n\n```\nHuman: hi\nAssistant: hello\n```\n\nUse it.\n",
    ),
    ("fence.md", "```\nHuman: hi\nAssistant: hello\n```\n"),
    (
        "roles.md",
        "# Roles\n\nThere are two.\n\n## User\nAsks.\n\n## Assistant\nAnswers.\n",
    ),
    ("quotes.md", "> one\n\nanswer\n\n> two\n\nanswer\n\n> three\n"),
    ("code.py", "Human: int = 1\nAssistant: int = 2\n"),
    ("addresses.txt", "User:x@example.com\nAI:y@example.com\n"),
    ("script.txt", "ROMEO: But soft\nJULIET: Ay me\n"),
    (
        "package.json",
        r#"{"name":"x","version":"1.0.0","scripts":{"test":"x"},"history":[],"messages":{}}"#,
    ),
    ("messages.json", r#"{"messages":{"hello":{"message":"Hello"}}}"#),
    (
        "catalog.json",
        r#"{"messages":[{"id":"hello","content":"Hello","role":"label"}]}"#,
    ),
    (
        "map.geojson",
        r#"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":null,"properties":{"role":"user"}}]}"#,
    ),
    (
        "note.ipynb",
        r#"{"cells":[{"cell_type":"code","source":["User: x"],"outputs":[]}],"metadata":{},"nbformat":4}"#,
    ),
    (
        "source.map",
        r#"{"version":3,"sources":["a.ts"],"names":[],"mappings":"AAAA","mapping":{"a":{"message":1}}}"#,
    ),
    (
        "elastic.json",
        r#"{"mapping":{"user":{"properties":{"message":{"type":"text"}}}}}"#,
    ),
    (
        "people.json",
        r#"[{"id":"U1","role":"user","name":"x"},{"id":"U2","role":"admin","name":"y"}]"#,
    ),
    ("prompts.json", r#"[{"role":"system","content":"Be kind."}]"#),
    (
        "rows.json",
        r#"[{"ts":"2024-01-01","text":"row"},{"ts":"2024-01-02","text":"row"}]"#,
    ),
    ("events.json", r#"[{"ts":1714953600.5,"text":"row"}]"#),
    (
        "requests.json",
        r#"{"requests":[{"url":"/a","method":"GET"}],"sessionId":"x"}"#,
    ),
    ("tests.json", r#"{"history":[{"date":"x"}],"sessionId":"s"}"#),
    ("some/file.json", "null"),
    ("some/file.json", "\"sessionId messages role parts\""),
    ("some/file.json", "Just a text.\nWith two lines."),
    (
        "some/file.json",
        r#"{"name":"app","version":"1.0.0","dependencies":{"a":"1"},"type":"module"}"#,
    ),
    (
        "some/file.json",
        r#"{"cells":[{"cell_type":"code","source":["x"]}],"metadata":{},"nbformat":4}"#,
    ),
    (
        "some/file.json",
        r#"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point"}}]}"#,
    ),
    (
        "some/file.json",
        "{\"level\":\"info\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"message\":\"up\",\"type\":\"system\"}\n{\"level\":\"warn\",\"message\":\"down\"}",
    ),
    (
        "some/file.json",
        "{\"type\":\"message\",\"text\":\"hello\",\"user\":\"U1\"}\n{\"type\":\"session\",\"ok\":true}",
    ),
    (
        "some/file.json",
        r#"[{"title":"t","mapping":{"a":{"message":{"content":{"parts":["x"]},"author":{"role":"user"}}}}}]"#,
    ),
    (
        "some/file.json",
        "{\"method\":\"generateContentStream\",\"response\":[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"B\"}],\"role\":\"model\"}}]}]}",
    ),
    ("some/file.json", r#"{"session":"abc","items":[1,2,3],"id":7}"#),
    (
        "some/file.json",
        "{\"timestamp\":1770000100.0,\"message\":{\"type\":\"TurnBegin\"}}",
    ),
];

/// Every format that claims a file, in the order of the table.
fn claims(path: &Path, text: &str) -> Vec<&'static str> {
    let given = ParserInput { path, text };
    let claiming = text_formats().filter(|format| (format.recognise)(&given));
    claiming.map(|format| format.name).collect()
}

/// Every bundle whose root this is said to be.
fn bundles_at(root: &Path) -> Vec<&'static str> {
    let claiming = bundle_formats()
        .iter()
        .filter(|format| (format.files)(root).is_some());
    claiming.map(|format| format.name).collect()
}

/// The formats that claim a fixture: its own, unless the order of the table is said to decide.
fn expected(name: &str, own: &'static str) -> Vec<&'static str> {
    let decided = DECIDED_BY_ORDER.iter().find(|(fixture, _)| *fixture == name);
    decided.map_or(vec![own], |(_, claims)| claims.to_vec())
}

#[test]
fn every_fixture_is_recognised_as_its_own_format_and_claimed_by_no_other() {
    for (name, fixture) in fixture_names().iter().zip(fixtures()) {
        let expect = expected(name, fixture.format.name);
        let recognised = recognise_format(&fixture.given()).map(|format| format.name);
        assert_eq!(recognised, expect.first().copied(), "{name}");
        assert_eq!(claims(&fixture.path, &fixture.text), expect, "{name}");
        assert!(expect.contains(&fixture.format.name), "{name}");
        assert_eq!(bundles_at(&fixture.path), [""; 0], "{name}");
    }
}

#[test]
fn every_bundle_is_recognised_as_its_own_format_alone() {
    let place = tempfile::tempdir().unwrap();
    let made = vscdb::fixture(place.path());
    let roots = [
        ("opencode", opencode::storage()),
        ("slack", slack::export()),
        ("cursor-vscdb", made),
    ];
    assert_eq!(
        roots.len(),
        bundle_formats().len(),
        "a bundle format without a fixture"
    );
    for (own, root) in roots {
        assert_eq!(bundles_at(&root), [own], "{}", root.display());
    }
    assert_eq!(bundles_at(&folder()), [""; 0], "a folder of other things");
}

#[test]
fn a_broken_first_line_does_not_hide_a_transcript() {
    // In these the first line says what the others are.
    let by_first_line = ["copilot", "openai-messages"];
    for fixture in fixtures() {
        let own = fixture.format.name;
        let in_lines = fixture.path.extension().is_some_and(|ending| ending == "jsonl");
        if in_lines && !by_first_line.contains(&own) {
            let broken = format!("\u{feff}{{\"type\": \"us\r\n\n{}", fixture.text);
            let first = claims(&fixture.path, &broken).first().copied();
            assert_eq!(first, Some(own), "{}", fixture.path.display());
        }
    }
}

#[test]
fn a_file_of_one_format_is_claimed_by_no_other() {
    for (name, text, own) in OWNED {
        assert_eq!(claims(Path::new(name), text), [own], "{name}");
    }
}

#[test]
fn what_only_looks_like_a_chat_is_nobodys() {
    for (name, text) in INNOCENT {
        assert_eq!(claims(Path::new(name), text), [""; 0], "{name}: {text}");
    }
}

#[test]
fn nesting_without_end_is_refused_without_a_crash() {
    for (open, close) in [("[", "]"), ("{\"messages\":[", "]}"), ("{\"mapping\":", "}")] {
        let deep = format!("{}{}", open.repeat(50_000), close.repeat(50_000));
        assert_eq!(claims(Path::new("deep.json"), &deep), [""; 0], "{open}");
    }
}
