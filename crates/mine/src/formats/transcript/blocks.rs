//! Content in blocks, as model APIs have it: text, thoughts, tool calls and their answers, images and files.
//!
//! One reader for every format, so that the same block gives the same message everywhere. A block without text is
//! noted; the answer of a tool is kept verbatim if its structure is unknown.

use super::{MessageRecord, ToolCall, TranscriptBuilder, decoded_size, parse_data_url};
use crate::conversation::MessageKind;
use crate::formats::json::{JsonFields, JsonSlice};

/// Members that hold the text of a block whose type is not known.
const TEXTS: [&str; 2] = ["text", "content"];

/// Members that hold a thought.
const THOUGHTS: [&str; 4] = ["thinking", "think", "reasoning", "text"];

/// Adds the content of a message: a text, a block, or an array of blocks and texts.
pub(crate) fn add_content(
    transcript: &mut TranscriptBuilder,
    record: &MessageRecord,
    content: JsonSlice<'_>,
) {
    for item in content.items_or_self() {
        add_item(transcript, record, item);
    }
}

/// Adds one block or text.
fn add_item(transcript: &mut TranscriptBuilder, record: &MessageRecord, item: JsonSlice<'_>) {
    if let Some(text) = item.text() {
        return transcript.push(record, text);
    }
    match item.fields() {
        Some(fields) => add_block(transcript, record, &fields, item),
        None if item.raw() == "null" => {}
        // Tools may answer with bare numbers and booleans; in a message of a person or a model they mean
        // nothing.
        None if record.kind == MessageKind::ToolResult => transcript.push(record, item.raw()),
        None => transcript.note("a part that is neither a text nor an object is not kept"),
    }
}

/// Adds one block by its type.
fn add_block(
    transcript: &mut TranscriptBuilder,
    record: &MessageRecord,
    fields: &JsonFields<'_>,
    whole: JsonSlice<'_>,
) {
    let kind = fields.text("type").unwrap_or_default();
    match kind.as_str() {
        "text" | "input_text" | "output_text" | "summary_text" => {
            transcript.push(record, fields.text("text").unwrap_or_default());
        }
        "thinking" | "think" | "reasoning" | "reasoning_text" => add_thought(transcript, record, fields),
        "refusal" => transcript.push(
            record,
            fields.any_nonempty_text(&["refusal", "text"]).unwrap_or_default(),
        ),
        // Neither holds text: one is encrypted, the other a counter.
        "redacted_thinking" => {}
        kind if kind.contains("token_budget") => {}
        // The answer of a tool search names the tools it found and holds no other text.
        "tool_reference" if record.kind == MessageKind::ToolResult => {
            transcript.push(record, fields.text("tool_name").unwrap_or_default());
        }
        kind if is_call(kind) => transcript.add_call(record, parse_call(fields)),
        kind if is_answer(kind) => add_answer(transcript, record, fields, whole),
        kind if is_media(kind) => add_or_note_media(transcript, record, fields, kind),
        _ => add_untyped_part(transcript, record, fields, whole),
    }
}

fn is_call(kind: &str) -> bool {
    kind.ends_with("tool_use") || matches!(kind, "toolCall" | "tool-call" | "tool_call" | "function_call")
}

fn is_answer(kind: &str) -> bool {
    kind.ends_with("tool_result") || matches!(kind, "tool-result" | "toolResult" | "function_call_output")
}

fn is_media(kind: &str) -> bool {
    const PICTURES: [&str; 5] = ["image", "audio", "video", "file", "document"];
    let kind = kind.strip_prefix("input_").unwrap_or(kind);
    PICTURES.iter().any(|picture| kind.starts_with(picture))
}

/// Adds a thought, or its summaries if the thought itself is missing.
fn add_thought(transcript: &mut TranscriptBuilder, record: &MessageRecord, fields: &JsonFields<'_>) {
    let record = record.as_thought();
    if let Some(text) = fields.any_nonempty_text(&THOUGHTS) {
        return transcript.push(&record, text);
    }
    let summaries = fields.items("summary").into_iter();
    for item in summaries.chain(fields.items("summaries")) {
        let text = item
            .text()
            .or_else(|| item.fields()?.any_nonempty_text(&["text", "summary"]));
        transcript.push(&record, text.unwrap_or_default());
    }
}

/// Parses a tool call in any of its spellings.
pub(crate) fn parse_call(fields: &JsonFields<'_>) -> ToolCall {
    let function = fields.fields("function");
    let arguments = ["input", "arguments", "args", "rawArgs", "params"];
    let given = fields
        .get_any(&arguments)
        .or_else(|| function.get_any(&arguments));
    ToolCall {
        tool: fields
            .any_nonempty_text(&["name", "toolName", "tool_name"])
            .or_else(|| function.nonempty_text("name")),
        id: fields.any_nonempty_text(&["id", "call_id", "toolCallId", "tool_call_id"]),
        arguments: given.and_then(JsonSlice::text_or_raw),
    }
}

/// Adds a tool's answer. An answer nested in another is kept verbatim.
fn add_answer(
    transcript: &mut TranscriptBuilder,
    record: &MessageRecord,
    fields: &JsonFields<'_>,
    whole: JsonSlice<'_>,
) {
    // A nested answer has no call of its own, so it stays part of the outer one.
    if record.kind == MessageKind::ToolResult {
        return transcript.push(record, whole.raw());
    }
    let id = fields.any_nonempty_text(&["tool_use_id", "toolCallId", "tool_call_id", "call_id"]);
    let record = transcript.answer_record(record, fields.any_nonempty_text(&["name", "toolName"]), id);
    let record = record.with_about("error", Some(true).filter(|_| fields.is_true("is_error")));
    if let Some(given) = fields.get_any(&["content", "output", "result"]) {
        add_content(transcript, &record, given);
    }
}

/// Notes a picture, a recording or a file; a document may turn out to be text and is added.
fn add_or_note_media(
    transcript: &mut TranscriptBuilder,
    record: &MessageRecord,
    fields: &JsonFields<'_>,
    kind: &str,
) {
    let source = fields.object("source").unwrap_or_else(|| fields.clone());
    let name = fields.any_nonempty_text(&["name", "title", "filename", "file_name"]);
    if source.text("type").as_deref() == Some("text") {
        let record = record.clone().with_about("attachment", name);
        return transcript.push(&record, source.text("data").unwrap_or_default());
    }
    let kind = kind.strip_prefix("input_").unwrap_or(kind);
    let mut what = match kind {
        _ if kind.starts_with("image") => "an image".to_owned(),
        _ if kind.starts_with("audio") => "an audio recording".to_owned(),
        other => format!("a {}", other.replace('_', " ")),
    };
    if let Some(name) = name {
        what.push_str(&format!(" {name:?}"));
    }
    // The line number of a note already identifies the message.
    if let Some(id) = record.id.as_ref().filter(|_| transcript.line.is_none()) {
        what.push_str(&format!(" of message {id}"));
    }
    note_media(transcript, &what, &source);
}

/// Notes media that are given as data with a type, or as a URL.
fn note_media(transcript: &mut TranscriptBuilder, what: &str, source: &JsonFields<'_>) {
    let address = source
        .fields("image_url")
        .text("url")
        .or_else(|| source.any_text(&["image_url", "url"]));
    if let Some(address) = address {
        let (media_type, size) = parse_data_url(&address);
        return transcript.note_not_kept(what, media_type, size);
    }
    let media_type = source.any_text(&["media_type", "mimeType", "mime_type"]);
    let size = source.text("data").map(|data| decoded_size(&data));
    let size = size.filter(|size| *size > 0);
    transcript.note_not_kept(what, media_type.as_deref(), size);
}

/// Adds a part without a type, as Gemini writes them, or of an unknown type.
fn add_untyped_part(
    transcript: &mut TranscriptBuilder,
    record: &MessageRecord,
    fields: &JsonFields<'_>,
    whole: JsonSlice<'_>,
) {
    let object = |names: &[&str]| fields.get_any(names).and_then(JsonSlice::fields);
    if let Some(called) = object(&["functionCall", "function_call"]) {
        transcript.add_call(record, parse_call(&called));
    } else if let Some(answered) = object(&["functionResponse", "function_response"]) {
        let record = transcript.answer_record(
            record,
            answered.nonempty_text("name"),
            answered.nonempty_text("id"),
        );
        let response = answered.get("response").and_then(JsonSlice::text_or_raw);
        transcript.push(&record, response.unwrap_or_default());
    } else if let Some(text) = fields.any_text(&TEXTS) {
        if fields.is_true("thought") || fields.is_true("isThought") {
            transcript.push(&record.as_thought(), text);
        } else {
            transcript.push(record, text);
        }
    // After the text members: an object of a tool is kept whole only if no known member holds its words.
    } else if record.kind == MessageKind::ToolResult {
        transcript.push(record, whole.raw());
    } else if let Some(data) = object(&["inlineData", "inline_data", "fileData", "file_data"]) {
        add_or_note_media(transcript, record, &data, "file");
    } else {
        transcript.note_unknown(fields);
    }
}
