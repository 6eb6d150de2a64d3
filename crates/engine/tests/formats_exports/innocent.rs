//! Files that look a little like chats and are none: no format claims them.

use std::path::Path;

use crate::claimed_by;

const INNOCENT: [(&str, &str); 38] = [
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
    (
        "claude.jsonl",
        "{\"type\":\"user\",\"uuid\":\"u\",\"sessionId\":\"s\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n",
    ),
    (
        "codex.jsonl",
        "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}\n{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}\n",
    ),
    (
        "other.jsonl",
        "{\"type\":\"session.start\",\"payload\":{}}\n{\"type\":\"user.message\",\"payload\":{\"content\":\"hi\"}}\n",
    ),
    (
        "gemini.json",
        r#"{"sessionId":"s","projectHash":"p","messages":[{"id":"1","type":"user","content":"hi"},{"id":"2","type":"gemini","content":"yo"}]}"#,
    ),
    (
        "api_conversation_history.json",
        r#"[{"role":"user","content":[{"type":"text","text":"task"}]},{"role":"assistant","content":[]}]"#,
    ),
];

#[test]
fn what_only_looks_like_a_chat_is_left_to_others() {
    for (name, text) in INNOCENT {
        assert_eq!(claimed_by(Path::new(name), text), [""; 0], "{name}");
    }
}

#[test]
fn nesting_without_end_is_refused_without_a_crash() {
    for (open, close) in [("[", "]"), ("{\"messages\":[", "]}"), ("{\"mapping\":", "}")] {
        let deep = format!("{}{}", open.repeat(50_000), close.repeat(50_000));
        assert_eq!(claimed_by(Path::new("deep.json"), &deep), [""; 0], "{open}");
    }
}
