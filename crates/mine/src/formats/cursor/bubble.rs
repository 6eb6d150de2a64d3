//! One message of Cursor, which it calls a bubble: prose, a thought, a tool call and its answer.

use loci_core::Timestamp;

use crate::conversation::Kind;
use crate::formats::json::{Fields, Json};
use crate::formats::transcript::{MessageRecord, ToolCall, TranscriptBuilder};

/// Adds what a bubble says; `name` is its id where it gives itself none.
pub(super) fn add(said: &mut TranscriptBuilder, bubble: &Fields<'_>, name: &str, edited: bool) {
    let record = record(bubble, name, edited);
    thoughts(said, &record, bubble);
    let text = prose(bubble).unwrap_or_default();
    said.push(&record, text.as_str());
    code(said, &record, bubble, &text);
    tool(said, &record, bubble);
    let error = bubble.fields("errorDetails").any_word(&["message", "error"]);
    let software = record.of_kind(Kind::System).spoken_by("cursor");
    said.push(&software.about("error", Some(true)), error.unwrap_or_default());
    for image in bubble.items("images") {
        let name = image
            .fields()
            .and_then(|image| image.any_word(&["path", "uuid"]))
            .unwrap_or_default();
        said.note(format!(
            "message {}: image {name:?} is no text; it was left out",
            record.id.as_deref().unwrap_or_default()
        ));
    }
}

fn record(bubble: &Fields<'_>, name: &str, edited: bool) -> MessageRecord {
    let kind = bubble.get("type").map(Json::raw).unwrap_or_default();
    let role = bubble.text("role").unwrap_or_default();
    let (kind, speaker) = match (kind, role.as_str()) {
        ("1" | "\"user\"", _) | (_, "user") => (Kind::Human, "user"),
        ("2" | "\"ai\"" | "\"assistant\"", _) | (_, "assistant") => (Kind::Assistant, "assistant"),
        _ => (Kind::System, "cursor"),
    };
    let model = bubble
        .fields("modelInfo")
        .word("modelName")
        .or_else(|| bubble.word("modelType"));
    let model = model.filter(|_| kind == Kind::Assistant);
    let mut record = MessageRecord::new(kind, speaker)
        .about("model", model)
        .about("branch", Some("edited").filter(|_| edited));
    let own = bubble.any_word(&["bubbleId", "id"]);
    record.id = own.or_else(|| Some(name.to_owned()).filter(|name| !name.is_empty()));
    record.at = time(bubble);
    record
}

/// When a bubble was made: it says so, or its requests were timed.
pub(super) fn time(bubble: &Fields<'_>) -> Option<Timestamp> {
    let timing = bubble.fields("timingInfo");
    let own = ["createdAt", "timestamp"]
        .iter()
        .find_map(|name| bubble.moment(name));
    let names = [
        "clientStartTime",
        "clientRpcSendTime",
        "clientSettleTime",
        "clientEndTime",
    ];
    own.or_else(|| names.iter().find_map(|name| timing.moment(name)))
}

/// What was written; older versions keep a question's text elsewhere.
fn prose(bubble: &Fields<'_>) -> Option<String> {
    let own = bubble.any_word(&["text", "rawText", "content"]);
    own.or_else(|| bubble.fields("delegate").word("a"))
}

fn thoughts(said: &mut TranscriptBuilder, record: &MessageRecord, bubble: &Fields<'_>) {
    let record = record.of_kind(Kind::Thinking);
    let own = bubble
        .word("thinking")
        .or_else(|| bubble.fields("thinking").any_word(&["text", "thinking"]));
    match own {
        Some(text) => said.push(&record, text),
        None => {
            for block in bubble.items("allThinkingBlocks") {
                let text = block
                    .text()
                    .or_else(|| block.fields()?.any_word(&["text", "thinking"]));
                said.push(&record, text.unwrap_or_default());
            }
        }
    }
}

/// Code that is shown beside the prose and not in it.
fn code(said: &mut TranscriptBuilder, record: &MessageRecord, bubble: &Fields<'_>, text: &str) {
    if record.kind != Kind::Assistant {
        return;
    }
    for block in bubble.objects("codeBlocks") {
        let uri = block.fields("uri");
        let record = record.clone().about("file", uri.any_word(&["fsPath", "path"]));
        let code = block.word("content").filter(|code| !text.contains(code.trim()));
        said.push(&record, code.unwrap_or_default());
    }
}

/// The call of a tool, as the model wrote it where that is kept, and what came of it.
fn tool(said: &mut TranscriptBuilder, record: &MessageRecord, bubble: &Fields<'_>) {
    let tool = bubble.fields("toolFormerData");
    let (name, id) = (tool.word("name"), tool.word("toolCallId"));
    let written = |name: &str| {
        tool.get(name)
            .and_then(Json::text_or_raw)
            .filter(|text| !text.is_empty() && text != "{}")
    };
    let given = written("rawArgs").or_else(|| written("params"));
    let record = record.clone().about("status", tool.word("status"));
    let empty = || {
        ["rawArgs", "params"]
            .iter()
            .find_map(|name| tool.get(name))
            .and_then(Json::text_or_raw)
    };
    said.call(
        &record,
        ToolCall {
            tool: name.clone(),
            id: id.clone(),
            arguments: given.or_else(empty),
        },
    );
    let answer = said.answer_record(&record, name, id);
    said.push(
        &answer,
        tool.get("result").and_then(Json::text_or_raw).unwrap_or_default(),
    );
    let error = tool.get("error").and_then(Json::text_or_raw);
    said.push(&answer.about("error", Some(true)), error.unwrap_or_default());
}
