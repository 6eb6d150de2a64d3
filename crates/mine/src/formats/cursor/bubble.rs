//! One message of Cursor, called a bubble: prose, a thought, a tool call and its answer.

use loci_core::Timestamp;

use crate::conversation::MessageKind;
use crate::formats::json::{JsonFields, JsonSlice};
use crate::formats::transcript::{MessageRecord, ToolCall, TranscriptBuilder};

/// Adds the content of a bubble; `name` is its id if it has none of its own.
pub(super) fn add_bubble(said: &mut TranscriptBuilder, bubble: &JsonFields<'_>, name: &str, edited: bool) {
    let record = bubble_record(bubble, name, edited);
    add_thoughts(said, &record, bubble);
    let text = bubble_text(bubble).unwrap_or_default();
    said.push(&record, text.as_str());
    add_code_blocks(said, &record, bubble, &text);
    add_tool_call(said, &record, bubble);
    let error = bubble
        .fields("errorDetails")
        .any_nonempty_text(&["message", "error"]);
    let software = record.as_kind(MessageKind::System).spoken_by("cursor");
    said.push(
        &software.with_about("error", Some(true)),
        error.unwrap_or_default(),
    );
    for image in bubble.items("images") {
        let name = image
            .fields()
            .and_then(|image| image.any_nonempty_text(&["path", "uuid"]))
            .unwrap_or_default();
        said.note(format!(
            "message {}: image {name:?} is not text; it was left out",
            record.id.as_deref().unwrap_or_default()
        ));
    }
}

fn bubble_record(bubble: &JsonFields<'_>, name: &str, edited: bool) -> MessageRecord {
    let kind = bubble.get("type").map(JsonSlice::raw).unwrap_or_default();
    let role = bubble.text("role").unwrap_or_default();
    // Bubbles carry a number for their type, older ones a word, and the oldest a role.
    let (kind, speaker) = match (kind, role.as_str()) {
        ("1" | "\"user\"", _) | (_, "user") => (MessageKind::Human, "user"),
        ("2" | "\"ai\"" | "\"assistant\"", _) | (_, "assistant") => (MessageKind::Assistant, "assistant"),
        _ => (MessageKind::System, "cursor"),
    };
    let model = bubble
        .fields("modelInfo")
        .nonempty_text("modelName")
        .or_else(|| bubble.nonempty_text("modelType"));
    let model = model.filter(|_| kind == MessageKind::Assistant);
    let mut record = MessageRecord::new(kind, speaker)
        .with_about("model", model)
        .with_about("branch", Some("edited").filter(|_| edited));
    let own = bubble.any_nonempty_text(&["bubbleId", "id"]);
    record.id = own.or_else(|| Some(name.to_owned()).filter(|name| !name.is_empty()));
    record.at = bubble_time(bubble);
    record
}

/// Returns the time of a bubble: its own, or that of its requests.
pub(super) fn bubble_time(bubble: &JsonFields<'_>) -> Option<Timestamp> {
    let timing = bubble.fields("timingInfo");
    let own = ["createdAt", "timestamp"]
        .iter()
        .find_map(|name| bubble.timestamp(name));
    let names = [
        "clientStartTime",
        "clientRpcSendTime",
        "clientSettleTime",
        "clientEndTime",
    ];
    own.or_else(|| names.iter().find_map(|name| timing.timestamp(name)))
}

/// Returns the text of a bubble; older versions store a question elsewhere.
fn bubble_text(bubble: &JsonFields<'_>) -> Option<String> {
    let own = bubble.any_nonempty_text(&["text", "rawText", "content"]);
    own.or_else(|| bubble.fields("delegate").nonempty_text("a"))
}

fn add_thoughts(said: &mut TranscriptBuilder, record: &MessageRecord, bubble: &JsonFields<'_>) {
    let record = record.as_kind(MessageKind::Thinking);
    let own = bubble
        .nonempty_text("thinking")
        .or_else(|| bubble.fields("thinking").any_nonempty_text(&["text", "thinking"]));
    match own {
        Some(text) => said.push(&record, text),
        None => {
            for block in bubble.items("allThinkingBlocks") {
                let text = block
                    .text()
                    .or_else(|| block.fields()?.any_nonempty_text(&["text", "thinking"]));
                said.push(&record, text.unwrap_or_default());
            }
        }
    }
}

/// Adds code blocks that are not part of the prose.
fn add_code_blocks(
    said: &mut TranscriptBuilder,
    record: &MessageRecord,
    bubble: &JsonFields<'_>,
    text: &str,
) {
    if record.kind != MessageKind::Assistant {
        return;
    }
    for block in bubble.objects("codeBlocks") {
        let uri = block.fields("uri");
        let record = record
            .clone()
            .with_about("file", uri.any_nonempty_text(&["fsPath", "path"]));
        // Code that is also in the prose would be filed twice.
        let code = block
            .nonempty_text("content")
            .filter(|code| !text.contains(code.trim()));
        said.push(&record, code.unwrap_or_default());
    }
}

/// Adds a tool call, as the model wrote it if that is stored, and its outcome.
fn add_tool_call(said: &mut TranscriptBuilder, record: &MessageRecord, bubble: &JsonFields<'_>) {
    let tool = bubble.fields("toolFormerData");
    let (name, id) = (tool.nonempty_text("name"), tool.nonempty_text("toolCallId"));
    let written = |name: &str| {
        tool.get(name)
            .and_then(JsonSlice::text_or_raw)
            .filter(|text| !text.is_empty() && text != "{}")
    };
    // `rawArgs` is the model's own text, `params` what Cursor parsed it into; either may be an empty object.
    let given = written("rawArgs").or_else(|| written("params"));
    let record = record.clone().with_about("status", tool.nonempty_text("status"));
    // A call without arguments is still a call; without a text, `push` would drop it.
    let empty = || {
        ["rawArgs", "params"]
            .iter()
            .find_map(|name| tool.get(name))
            .and_then(JsonSlice::text_or_raw)
    };
    said.add_call(
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
        tool.get("result")
            .and_then(JsonSlice::text_or_raw)
            .unwrap_or_default(),
    );
    let error = tool.get("error").and_then(JsonSlice::text_or_raw);
    said.push(&answer.with_about("error", Some(true)), error.unwrap_or_default());
}
