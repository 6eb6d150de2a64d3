//! Contents in parts, as in the Gemini API: text, thoughts, function calls and their responses, data.

use super::super::json::{JsonFields, JsonSlice};
use super::super::transcript::{RecordStamp, RecordVoice, TranscriptBuilder, decoded_size};

/// Adds contents: a text, a part, or a list of these.
pub(super) fn add_parts(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    voice: RecordVoice,
    value: JsonSlice<'_>,
) {
    for value in value.items_or_self() {
        match (value.text(), value.fields()) {
            (Some(text), _) => script.add_text(stamp, voice, text),
            (None, Some(part)) => add_part(script, stamp, voice, &part),
            (None, None) if value.raw() == "null" => {}
            (None, None) => script.note("a part that is neither a text nor an object is not kept"),
        }
    }
}

fn add_part(script: &mut TranscriptBuilder, stamp: &RecordStamp, voice: RecordVoice, part: &JsonFields<'_>) {
    if let Some(text) = part.text("text") {
        if part.is_true("thought") {
            script.add_thought(stamp, text);
        } else {
            script.add_text(stamp, voice, text);
        }
    } else if let Some(call) = part.object("functionCall") {
        let arguments = call.get("args").map_or("", JsonSlice::raw);
        script.add_model_call(stamp, call.text("name"), call.text("id"), arguments.to_owned());
    } else if let Some(response) = part.object("functionResponse") {
        add_function_response(script, stamp, &response, (None, None));
    } else if let Some(code) = part.object("executableCode") {
        let tool = Some("code_execution".to_owned());
        script.add_model_call(stamp, tool, None, code.text("code").unwrap_or_default());
    } else if let Some(result) = part.object("codeExecutionResult") {
        let tool = Some("code_execution".to_owned());
        script.add_answer(stamp, tool, None, result.text("output").unwrap_or_default());
    } else if let Some(data) = part.object("inlineData") {
        note_inline_data(script, &data);
    } else if let Some(file) = part.object("fileData") {
        script.note_not_kept("a file", file.text("mimeType").as_deref(), None);
    } else {
        script.note_unknown(part);
    }
}

fn note_inline_data(script: &mut TranscriptBuilder, data: &JsonFields<'_>) {
    let media_type = data.text("mimeType").unwrap_or_default();
    let what = if media_type.starts_with("image/") {
        "an image"
    } else {
        "inline data"
    };
    let size = data.text("data").map(|data| decoded_size(&data));
    script.note_not_kept(
        what,
        Some(&media_type)
            .filter(|kind| !kind.is_empty())
            .map(String::as_str),
        size,
    );
}

/// Adds a recorded call, which holds both the arguments and the result.
pub(super) fn add_tool_call(script: &mut TranscriptBuilder, stamp: &RecordStamp, call: &JsonFields<'_>) {
    let at = call.timestamp("timestamp").or(stamp.at);
    let mut stamp = RecordStamp { at, ..stamp.clone() };
    let (tool, id) = (call.text("name"), call.text("id"));
    let arguments = call.get("args").map_or("", JsonSlice::raw);
    script.add_model_call(&stamp, tool.clone(), id.clone(), arguments.to_owned());
    if call.text("status").as_deref() == Some("error") {
        stamp.about.insert("error", true);
    }
    let before = script.len();
    if let Some(result) = call.get("result") {
        for value in result.items_or_self() {
            add_result_part(script, &stamp, (&tool, &id), value);
        }
    }
    // The displayed result counts only if the one sent to the model has no text.
    if !script.has_grown_since(before)
        && let Some(shown) = call.text("resultDisplay")
    {
        script.add_answer(&stamp, tool, id, shown);
    }
}

fn add_result_part(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    call: (&Option<String>, &Option<String>),
    value: JsonSlice<'_>,
) {
    let (tool, id) = (call.0.clone(), call.1.clone());
    let part = value.fields().unwrap_or_default();
    if let Some(text) = value.text().or_else(|| part.text("text")) {
        script.add_answer(stamp, tool, id, text);
    } else if let Some(response) = part.object("functionResponse") {
        add_function_response(script, stamp, &response, (tool, id));
    } else if let Some(data) = part.object("inlineData") {
        note_inline_data(script, &data);
    } else if part.has("fileData") {
        script.note_not_kept("a file", None, None);
    } else if value.raw() != "null" {
        // The answer of a tool is kept verbatim if its structure is unknown.
        script.add_answer(stamp, tool, id, value.raw().to_owned());
    }
}

/// Adds the response of a function: the text under its only key, or the whole response verbatim.
fn add_function_response(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    response: &JsonFields<'_>,
    (tool, id): (Option<String>, Option<String>),
) {
    let tool = tool.or_else(|| response.text("name"));
    let id = id.or_else(|| response.text("id"));
    let Some(value) = response.get("response") else {
        return;
    };
    let inner = value.fields().unwrap_or_default();
    // An object with more members is kept whole: picking one of them would lose the others.
    let only = (inner.len() == 1).then(|| inner.any_text(&["output", "error", "content", "result"]));
    let text = only.flatten().or_else(|| value.text());
    script.add_answer(stamp, tool, id, text.unwrap_or_else(|| value.raw().to_owned()));
}
