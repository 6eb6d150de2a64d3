//! Content in blocks is read alike wherever it stands: the same blocks give the same messages in every format that has
//! them, and nothing said is lost without a note.

use std::path::Path;

use loci_mine::conversation::{ConversationMessage, MessageKind};
use loci_mine::formats::ParserInput;

use super::{read, text_format};

/// Formats whose messages have such blocks, each with a file around `CONTENT` as said by the model.
const AROUND: [(&str, &str, &str); 8] = [
    (
        "claude-code",
        "s.jsonl",
        r#"{"type":"assistant","uuid":"m","sessionId":"s","message":{"role":"assistant","content":CONTENT}}"#,
    ),
    (
        "openai-messages",
        "chat.json",
        r#"[{"role":"assistant","id":"m","content":CONTENT}]"#,
    ),
    (
        "claude-ai",
        "conversations.json",
        r#"[{"uuid":"c","chat_messages":[{"uuid":"m","sender":"assistant","content":CONTENT}]}]"#,
    ),
    (
        "cursor-agent",
        "agent.jsonl",
        r#"{"role":"assistant","id":"m","message":{"content":CONTENT}}"#,
    ),
    (
        "cline",
        "api_conversation_history.json",
        r#"[{"role":"assistant","id":"m","content":CONTENT}]"#,
    ),
    (
        "kimi",
        "context.jsonl",
        r#"{"role":"assistant","id":"m","content":CONTENT}"#,
    ),
    (
        "pi",
        "s.jsonl",
        r#"{"type":"message","id":"m","message":{"role":"assistant","content":CONTENT}}"#,
    ),
    (
        "codex",
        "rollout.jsonl",
        r#"{"type":"response_item","payload":{"type":"message","id":"m","role":"assistant","content":CONTENT}}"#,
    ),
];

/// Takes the name of a format, what it read and what it noted.
type ReadingCheck<'a> = dyn Fn(&str, &[ConversationMessage], &[String]) + 'a;

/// Everything the model says in `content`, and what is noted, as each of the formats reads it.
fn each_reading(content: &str, check: &ReadingCheck<'_>) {
    for (name, path, around) in AROUND {
        // A record of JSONL is one line.
        let text = around.replace("CONTENT", &content.replace('\n', " "));
        let given = ParserInput {
            path: Path::new(path),
            text: &text,
        };
        let (conversations, notes) = read(text_format(name), &given).unwrap();
        let messages: Vec<ConversationMessage> =
            conversations.into_iter().flat_map(|one| one.messages).collect();
        let notes: Vec<String> = notes.into_iter().map(|note| note.text).collect();
        check(name, &messages, &notes);
    }
}

/// Checks that every format reads these messages, of these kinds and texts, and these notes.
fn check(content: &str, messages: &[(MessageKind, &str)], notes: &[&str]) {
    each_reading(content, &|name, found, noted| {
        let found: Vec<(MessageKind, &str)> = found.iter().map(|one| (one.kind, one.text.as_str())).collect();
        assert_eq!(found, messages, "{name}");
        // Exports without lines say of which message a thing was.
        let noted: Vec<String> = noted
            .iter()
            .map(|note| note.replace(" of message m", ""))
            .collect();
        assert_eq!(noted, notes, "{name}");
    });
}

#[test]
fn the_answer_of_a_tool_that_is_an_object_is_kept_as_it_is_written() {
    check(
        r#"[{"type":"tool_use","id":"t","name":"look","input":{"at": 1.50}},
            {"type":"tool_result","tool_use_id":"t","content":{"found": [1, 2],"why":"x"}}]"#,
        &[
            (MessageKind::ToolCall, r#"{"at": 1.50}"#),
            (MessageKind::ToolResult, r#"{"found": [1, 2],"why":"x"}"#),
        ],
        &[],
    );
}

#[test]
fn the_answer_of_a_tool_keeps_blocks_of_unknown_types_and_bare_values() {
    check(
        r#"[{"type":"tool_result","tool_use_id":"t","content":["plain",
            {"type":"text","text":"a text"},{"type":"hologram","light":3},{"x":1},42,
            {"type":"search","content":"what it says"},{"type":"tool_reference","tool_name":"Grep"},
            {"type":"document","source":{"type":"text","data":"a document"}}]}]"#,
        &[
            (MessageKind::ToolResult, "plain"),
            (MessageKind::ToolResult, "a text"),
            (MessageKind::ToolResult, r#"{"type":"hologram","light":3}"#),
            (MessageKind::ToolResult, r#"{"x":1}"#),
            (MessageKind::ToolResult, "42"),
            (MessageKind::ToolResult, "what it says"),
            (MessageKind::ToolResult, "Grep"),
            (MessageKind::ToolResult, "a document"),
        ],
        &[],
    );
}

#[test]
fn an_answer_belongs_to_its_call_and_says_whether_it_failed() {
    let content = r#"[{"type":"tool_use","id":"t","name":"look","input":{}},
                      {"type":"tool_result","tool_use_id":"t","is_error":true,"content":"no"}]"#;
    each_reading(content, &|name, found, _| {
        let answer = found.last().unwrap();
        assert_eq!(answer.speaker.as_deref(), Some("look"), "{name}");
        let about = |key: &str| serde_json::to_string(&answer.about.get(key)).unwrap();
        assert_eq!(about("tool"), "\"look\"", "{name}");
        assert_eq!(about("call_id"), "\"t\"", "{name}");
        assert_eq!(about("error"), "true", "{name}");
    });
}

#[test]
fn a_refusal_is_kept() {
    check(
        r#"[{"type":"refusal","refusal":"I will not."},{"type":"text","text":"Sorry."}]"#,
        &[
            (MessageKind::Assistant, "I will not."),
            (MessageKind::Assistant, "Sorry."),
        ],
        &[],
    );
}

#[test]
fn thoughts_in_every_spelling_are_the_models() {
    check(
        r#"[{"type":"thinking","thinking":"one"},{"type":"think","think":"two"},{"type":"reasoning","text":"three"},
            {"type":"reasoning","summary":[{"type":"summary_text","text":"four"}]},{"type":"redacted_thinking","data":"eA=="}]"#,
        &[
            (MessageKind::Thinking, "one"),
            (MessageKind::Thinking, "two"),
            (MessageKind::Thinking, "three"),
            (MessageKind::Thinking, "four"),
        ],
        &[],
    );
}

#[test]
fn everything_that_is_not_text_is_noted() {
    check(
        r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}},
            {"type":"document","title":"plan.pdf","source":{"type":"base64","media_type":"application/pdf","data":"aGkh"}},
            {"type":"hologram","light":3},{"nothing":"known"},7,null]"#,
        &[],
        &[
            "an image (image/png, 2 bytes) is not kept",
            "a document \"plan.pdf\" (application/pdf, 3 bytes) is not kept",
            "a block of the kind \"hologram\" is not kept",
            "a block of the kind \"unknown\" is not kept",
            "a part that is neither a text nor an object is not kept",
        ],
    );
}

#[test]
fn gemini_cli_keeps_what_its_tools_answered_and_notes_parts_it_does_not_know() {
    let text = r#"{"sessionId":"s","projectHash":"p","messages":[
        {"id":"1","type":"user","content":[{"text":"hi"},{"hologram":{"x":1}},7,null]},
        {"id":"2","type":"gemini","content":"yo","toolCalls":[
            {"id":"c","name":"look","args":{},"result":[{"table":[1,2]},null]}]}]}"#;
    let given = ParserInput {
        path: Path::new("session.json"),
        text,
    };
    let (conversations, notes) = read(text_format("gemini-cli"), &given).unwrap();
    let messages = conversations.into_iter().flat_map(|one| one.messages);
    let texts: Vec<(MessageKind, String)> = messages.map(|one| (one.kind, one.text)).collect();
    let expect = [
        (MessageKind::Human, "hi"),
        (MessageKind::Assistant, "yo"),
        (MessageKind::ToolCall, "{}"),
        (MessageKind::ToolResult, r#"{"table":[1,2]}"#),
    ];
    assert_eq!(texts, expect.map(|(kind, text)| (kind, text.to_owned())));
    let notes: Vec<String> = notes.into_iter().map(|note| note.text).collect();
    assert_eq!(
        notes,
        [
            r#"a block of the kind "unknown" is not kept"#,
            "a part that is neither a text nor an object is not kept"
        ]
    );
}
