//! Content in blocks, as model makers write it: text, thoughts, tool calls and their answers, images and files.
//!
//! One reader for every format, so that the same block gives the same message wherever it stands. A block that holds
//! no text is noted; the answer of a tool is kept as it is written where nothing better is known of it.

use super::{MessageRecord, ToolCall, TranscriptBuilder, data_url, decoded_size};
use crate::conversation::Kind;
use crate::formats::json::{Fields, Json};

/// Members that hold the text of a block whose type is not known.
const TEXTS: [&str; 2] = ["text", "content"];

/// Members that hold a thought.
const THOUGHTS: [&str; 4] = ["thinking", "think", "reasoning", "text"];

/// Adds what a message's content says: a text, a block, or an array of blocks and texts.
pub(crate) fn content(transcript: &mut TranscriptBuilder, record: &MessageRecord, content: Json<'_>) {
    for item in content.all() {
        one(transcript, record, item);
    }
}

/// Adds one block or text.
fn one(transcript: &mut TranscriptBuilder, record: &MessageRecord, item: Json<'_>) {
    if let Some(text) = item.text() {
        return transcript.push(record, text);
    }
    match item.fields() {
        Some(fields) => block(transcript, record, &fields, item),
        None if item.raw() == "null" => {}
        None if record.kind == Kind::ToolResult => transcript.push(record, item.raw()),
        None => transcript.note("a part that is neither a text nor an object is not kept"),
    }
}

/// Adds one block by its type.
fn block(transcript: &mut TranscriptBuilder, record: &MessageRecord, fields: &Fields<'_>, whole: Json<'_>) {
    let kind = fields.text("type").unwrap_or_default();
    match kind.as_str() {
        "text" | "input_text" | "output_text" | "summary_text" => {
            transcript.push(record, fields.text("text").unwrap_or_default());
        }
        "thinking" | "think" | "reasoning" | "reasoning_text" => thought(transcript, record, fields),
        "refusal" => transcript.push(record, fields.any_word(&["refusal", "text"]).unwrap_or_default()),
        // Neither holds a word: one is encrypted, the other a count.
        "redacted_thinking" => {}
        kind if kind.contains("token_budget") => {}
        "tool_reference" if record.kind == Kind::ToolResult => {
            transcript.push(record, fields.text("tool_name").unwrap_or_default());
        }
        kind if is_call(kind) => transcript.call(record, call(fields)),
        kind if is_answer(kind) => answer(transcript, record, fields, whole),
        kind if is_picture(kind) => picture(transcript, record, fields, kind),
        _ => part(transcript, record, fields, whole),
    }
}

fn is_call(kind: &str) -> bool {
    kind.ends_with("tool_use") || matches!(kind, "toolCall" | "tool-call" | "tool_call" | "function_call")
}

fn is_answer(kind: &str) -> bool {
    kind.ends_with("tool_result") || matches!(kind, "tool-result" | "toolResult" | "function_call_output")
}

fn is_picture(kind: &str) -> bool {
    const PICTURES: [&str; 5] = ["image", "audio", "video", "file", "document"];
    let kind = kind.strip_prefix("input_").unwrap_or(kind);
    PICTURES.iter().any(|picture| kind.starts_with(picture))
}

/// A thought, or where there is none, the summaries of it.
fn thought(transcript: &mut TranscriptBuilder, record: &MessageRecord, fields: &Fields<'_>) {
    let record = record.as_thought();
    if let Some(text) = fields.any_word(&THOUGHTS) {
        return transcript.push(&record, text);
    }
    let summaries = fields.items("summary").into_iter();
    for item in summaries.chain(fields.items("summaries")) {
        let text = item
            .text()
            .or_else(|| item.fields()?.any_word(&["text", "summary"]));
        transcript.push(&record, text.unwrap_or_default());
    }
}

/// A tool call in any of the spellings.
pub(crate) fn call(fields: &Fields<'_>) -> ToolCall {
    let function = fields.fields("function");
    let arguments = ["input", "arguments", "args", "rawArgs", "params"];
    let given = fields.any(&arguments).or_else(|| function.any(&arguments));
    ToolCall {
        tool: fields
            .any_word(&["name", "toolName", "tool_name"])
            .or_else(|| function.word("name")),
        id: fields.any_word(&["id", "call_id", "toolCallId", "tool_call_id"]),
        arguments: given.and_then(Json::text_or_raw),
    }
}

/// A tool's answer. One inside another is kept as it stands.
fn answer(transcript: &mut TranscriptBuilder, record: &MessageRecord, fields: &Fields<'_>, whole: Json<'_>) {
    if record.kind == Kind::ToolResult {
        return transcript.push(record, whole.raw());
    }
    let id = fields.any_word(&["tool_use_id", "toolCallId", "tool_call_id", "call_id"]);
    let record = transcript.answer_record(record, fields.any_word(&["name", "toolName"]), id);
    let record = record.about("error", Some(true).filter(|_| fields.is_true("is_error")));
    if let Some(given) = fields.any(&["content", "output", "result"]) {
        content(transcript, &record, given);
    }
}

/// Something that is not text; a document may be one after all.
fn picture(transcript: &mut TranscriptBuilder, record: &MessageRecord, fields: &Fields<'_>, kind: &str) {
    let source = fields.object("source").unwrap_or_else(|| fields.clone());
    let name = fields.any_word(&["name", "title", "filename", "file_name"]);
    if source.text("type").as_deref() == Some("text") {
        let record = record.clone().about("attachment", name);
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
    // Where lines are numbered, the number says which message it is of.
    if let Some(id) = record.id.as_ref().filter(|_| transcript.line.is_none()) {
        what.push_str(&format!(" of message {id}"));
    }
    note_picture(transcript, &what, &source);
}

/// Notes something that is given as data beside its type, or at an address.
fn note_picture(transcript: &mut TranscriptBuilder, what: &str, source: &Fields<'_>) {
    let address = source
        .fields("image_url")
        .text("url")
        .or_else(|| source.any_text(&["image_url", "url"]));
    if let Some(address) = address {
        let (media_type, size) = data_url(&address);
        return transcript.note_not_kept(what, media_type, size);
    }
    let media_type = source.any_text(&["media_type", "mimeType", "mime_type"]);
    let size = source.text("data").map(|data| decoded_size(&data));
    let size = size.filter(|size| *size > 0);
    transcript.note_not_kept(what, media_type.as_deref(), size);
}

/// A part without a type, as Gemini writes them, or with one that is not known here.
fn part(transcript: &mut TranscriptBuilder, record: &MessageRecord, fields: &Fields<'_>, whole: Json<'_>) {
    let object = |names: &[&str]| fields.any(names).and_then(Json::fields);
    if let Some(called) = object(&["functionCall", "function_call"]) {
        transcript.call(record, call(&called));
    } else if let Some(answered) = object(&["functionResponse", "function_response"]) {
        let record = transcript.answer_record(record, answered.word("name"), answered.word("id"));
        let response = answered.get("response").and_then(Json::text_or_raw);
        transcript.push(&record, response.unwrap_or_default());
    } else if let Some(text) = fields.any_text(&TEXTS) {
        if fields.is_true("thought") || fields.is_true("isThought") {
            transcript.push(&record.as_thought(), text);
        } else {
            transcript.push(record, text);
        }
    } else if record.kind == Kind::ToolResult {
        transcript.push(record, whole.raw());
    } else if let Some(data) = object(&["inlineData", "inline_data", "fileData", "file_data"]) {
        picture(transcript, record, &data, "file");
    } else {
        transcript.note_unknown(fields);
    }
}
