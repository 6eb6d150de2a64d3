//! Contents in parts, as the Gemini API has them: text, thoughts, calls of functions and their responses, data.

use super::super::json::{Fields, Json};
use super::super::transcript::{RecordStamp, TranscriptBuilder, Voice, decoded_size};

/// Writes down contents: a text, a part, or a list of these.
pub(super) fn parts(script: &mut TranscriptBuilder, stamp: &RecordStamp, voice: Voice, value: Json<'_>) {
    for value in value.all() {
        match (value.text(), value.fields()) {
            (Some(text), _) => script.say(stamp, voice, text),
            (None, Some(part)) => one(script, stamp, voice, &part),
            (None, None) if value.raw() == "null" => {}
            (None, None) => script.note("a part that is neither a text nor an object is not kept"),
        }
    }
}

fn one(script: &mut TranscriptBuilder, stamp: &RecordStamp, voice: Voice, part: &Fields<'_>) {
    if let Some(text) = part.text("text") {
        match part.is_true("thought") {
            true => script.think(stamp, text),
            false => script.say(stamp, voice, text),
        }
    } else if let Some(call) = part.object("functionCall") {
        let arguments = call.get("args").map_or("", Json::raw);
        script.call_tool(stamp, call.text("name"), call.text("id"), arguments.to_owned());
    } else if let Some(response) = part.object("functionResponse") {
        function_response(script, stamp, &response, (None, None));
    } else if let Some(code) = part.object("executableCode") {
        let tool = Some("code_execution".to_owned());
        script.call_tool(stamp, tool, None, code.text("code").unwrap_or_default());
    } else if let Some(result) = part.object("codeExecutionResult") {
        let tool = Some("code_execution".to_owned());
        script.answer(stamp, tool, None, result.text("output").unwrap_or_default());
    } else if let Some(data) = part.object("inlineData") {
        inline(script, &data);
    } else if let Some(file) = part.object("fileData") {
        script.note_not_kept("a file", file.text("mimeType").as_deref(), None);
    } else {
        script.note_unknown(part);
    }
}

fn inline(script: &mut TranscriptBuilder, data: &Fields<'_>) {
    let media_type = data.text("mimeType").unwrap_or_default();
    let what = match media_type.starts_with("image/") {
        true => "an image",
        false => "inline data",
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

/// A call as the recording has it: the arguments and the result in one.
pub(super) fn tool_call(script: &mut TranscriptBuilder, stamp: &RecordStamp, call: &Fields<'_>) {
    let at = call.moment("timestamp").or(stamp.at);
    let mut stamp = RecordStamp { at, ..stamp.clone() };
    let (tool, id) = (call.text("name"), call.text("id"));
    let arguments = call.get("args").map_or("", Json::raw);
    script.call_tool(&stamp, tool.clone(), id.clone(), arguments.to_owned());
    if call.text("status").as_deref() == Some("error") {
        stamp.about.insert("error", true);
    }
    let before = script.len();
    if let Some(result) = call.get("result") {
        for value in result.all() {
            result_part(script, &stamp, (&tool, &id), value);
        }
    }
    // What was shown counts where what went to the model says nothing.
    if !script.grew(before)
        && let Some(shown) = call.text("resultDisplay")
    {
        script.answer(&stamp, tool, id, shown);
    }
}

fn result_part(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    call: (&Option<String>, &Option<String>),
    value: Json<'_>,
) {
    let (tool, id) = (call.0.clone(), call.1.clone());
    let part = value.fields().unwrap_or_default();
    if let Some(text) = value.text().or_else(|| part.text("text")) {
        script.answer(stamp, tool, id, text);
    } else if let Some(response) = part.object("functionResponse") {
        function_response(script, stamp, &response, (tool, id));
    } else if let Some(data) = part.object("inlineData") {
        inline(script, &data);
    } else if part.has("fileData") {
        script.note_not_kept("a file", None, None);
    } else if value.raw() != "null" {
        // What a tool answered is kept as it is written where nothing better is known of it.
        script.answer(stamp, tool, id, value.raw().to_owned());
    }
}

/// What a function answered: the text under the only key, or the whole as it is written.
fn function_response(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    response: &Fields<'_>,
    (tool, id): (Option<String>, Option<String>),
) {
    let tool = tool.or_else(|| response.text("name"));
    let id = id.or_else(|| response.text("id"));
    let Some(value) = response.get("response") else {
        return;
    };
    let inner = value.fields().unwrap_or_default();
    let only = (inner.len() == 1).then(|| inner.any_text(&["output", "error", "content", "result"]));
    let text = only.flatten().or_else(|| value.text());
    script.answer(stamp, tool, id, text.unwrap_or_else(|| value.raw().to_owned()));
}
