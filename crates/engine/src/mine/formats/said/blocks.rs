//! Content in blocks, as model makers write it: text, thoughts, tool calls and their answers, images.

use super::{Call, Record, Said};
use crate::mine::conversation::Kind;
use crate::mine::formats::json::{Fields, Json};

/// Adds what a message's content says: a text, a block, or an array of blocks and texts.
pub(crate) fn content(said: &mut Said, record: &Record, content: Json<'_>) {
    match content.items() {
        Some(items) => items.into_iter().for_each(|item| one(said, record, item)),
        None => one(said, record, content),
    }
}

/// Adds one block or text.
fn one(said: &mut Said, record: &Record, item: Json<'_>) {
    if let Some(text) = item.text() {
        return said.push(record, text);
    }
    match item.fields() {
        Some(fields) => block(said, record, &fields, item),
        None if record.kind == Kind::ToolResult && item.raw() != "null" => said.push(record, item.raw()),
        None => {}
    }
}

/// Adds one block by its type.
pub(crate) fn block(said: &mut Said, record: &Record, fields: &Fields<'_>, whole: Json<'_>) {
    let thought = || record.of_kind(Kind::Thinking);
    let kind = fields.text("type").unwrap_or_default();
    match kind.as_str() {
        "text" | "input_text" | "output_text" | "summary_text" => texts(said, record, fields, &["text"]),
        "thinking" | "think" | "reasoning" | "reasoning_text" => {
            texts(
                said,
                &thought(),
                fields,
                &["thinking", "think", "reasoning", "text"],
            );
            summaries(said, &thought(), fields);
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" | "toolCall" | "tool-call" | "tool_call"
        | "function_call" => {
            said.call(record, call(fields));
        }
        "refusal" => texts(said, record, fields, &["refusal"]),
        _ if is_answer(&kind) => answer(said, record, fields, whole),
        _ if is_picture(&kind) => picture(said, record, fields, &kind),
        _ => part(said, record, fields, whole),
    }
}

fn is_answer(kind: &str) -> bool {
    kind.ends_with("tool_result") || matches!(kind, "tool-result" | "toolResult" | "function_call_output")
}

fn is_picture(kind: &str) -> bool {
    const PICTURES: [&str; 5] = ["image", "audio", "video", "file", "document"];
    let kind = kind.strip_prefix("input_").unwrap_or(kind);
    PICTURES.iter().any(|picture| kind.starts_with(picture))
}

/// Adds the first of these members that is text.
fn texts(said: &mut Said, record: &Record, fields: &Fields<'_>, names: &[&str]) {
    if let Some(text) = fields.any_word(names) {
        said.push(record, text);
    }
}

/// Thoughts that are given as summaries only.
fn summaries(said: &mut Said, record: &Record, fields: &Fields<'_>) {
    if fields
        .any_word(&["thinking", "think", "reasoning", "text"])
        .is_some()
    {
        return;
    }
    for item in fields
        .items("summary")
        .into_iter()
        .chain(fields.items("summaries"))
    {
        let text = item
            .text()
            .or_else(|| item.fields()?.any_word(&["text", "summary"]));
        said.push(record, text.unwrap_or_default());
    }
}

/// A tool call in any of the spellings.
pub(crate) fn call(fields: &Fields<'_>) -> Call {
    let function = fields.fields("function");
    let arguments = ["input", "arguments", "args", "rawArgs", "params"];
    let given = fields.any(&arguments).or_else(|| function.any(&arguments));
    Call {
        tool: fields
            .any_word(&["name", "toolName", "tool_name"])
            .or_else(|| function.word("name")),
        id: fields.any_word(&["id", "call_id", "toolCallId", "tool_call_id"]),
        arguments: given.and_then(Json::text_or_raw),
    }
}

/// A tool's answer. One inside another is kept as it stands.
fn answer(said: &mut Said, record: &Record, fields: &Fields<'_>, whole: Json<'_>) {
    if record.kind == Kind::ToolResult {
        return said.push(record, whole.raw());
    }
    let id = fields.any_word(&["tool_use_id", "toolCallId", "tool_call_id", "call_id"]);
    let record = said.answer(record, fields.any_word(&["name", "toolName"]), id);
    let record = record.about("error", Some(true).filter(|_| fields.is_true("is_error")));
    if let Some(given) = fields.any(&["content", "output", "result"]) {
        content(said, &record, given);
    }
}

/// Something that is no text. A document may be one after all.
fn picture(said: &mut Said, record: &Record, fields: &Fields<'_>, kind: &str) {
    let source = fields.fields("source");
    let name = fields.any_word(&["name", "title", "filename", "file_name"]);
    if source.text("type").as_deref() == Some("text") {
        let record = record.clone().about("attachment", name);
        return texts(said, &record, &source, &["data"]);
    }
    let name = name.map(|name| format!(" {name:?}")).unwrap_or_default();
    let within = record
        .id
        .as_ref()
        .map(|id| format!(" of message {id}"))
        .unwrap_or_default();
    said.note(format!(
        "a part{name}{within} is no text but {kind}; it was left out"
    ));
}

/// A part without a type, as Gemini writes them, or with one that is not known here.
fn part(said: &mut Said, record: &Record, fields: &Fields<'_>, whole: Json<'_>) {
    let call_of = fields
        .any(&["functionCall", "function_call"])
        .and_then(Json::fields);
    let answer_of = fields
        .any(&["functionResponse", "function_response"])
        .and_then(Json::fields);
    if let Some(call_of) = call_of {
        said.call(record, call(&call_of));
    } else if let Some(answer_of) = answer_of {
        let record = said.answer(record, answer_of.word("name"), answer_of.word("id"));
        said.push(
            &record,
            answer_of
                .get("response")
                .and_then(Json::text_or_raw)
                .unwrap_or_default(),
        );
    } else if let Some(text) = fields.text("text") {
        let thought = fields.is_true("thought") || fields.is_true("isThought");
        said.push(
            &record.of_kind(if thought { Kind::Thinking } else { record.kind }),
            text,
        );
    } else if record.kind == Kind::ToolResult {
        said.push(record, whole.raw());
    } else if ["inlineData", "inline_data", "fileData", "file_data"]
        .iter()
        .any(|name| fields.has(name))
    {
        picture(said, record, fields, "a file");
    } else if !fields
        .text("type")
        .is_some_and(|kind| kind.contains("token_budget") || kind == "redacted_thinking")
    {
        let kind = fields.text("type").unwrap_or_else(|| "unknown".to_owned());
        said.note(format!(
            "a part of type {kind:?} holds no text that is known here; it was left out"
        ));
    }
}
