//! The items that went to the model and came from it.

use super::super::json::{Fields, Json};
use super::super::transcript::{
    ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder, Voice, blocks, decoded_size,
};
use super::echoes::Said;

/// Writes down an item, and says whose it is.
pub(super) fn item(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    model: Option<String>,
    fields: &Fields<'_>,
) -> Said {
    let kind = fields.text("type").unwrap_or_else(|| "message".to_owned());
    let by_model = stamp.clone().with("model", model);
    match kind.as_str() {
        "message" => return message(script, stamp, &by_model, fields),
        "reasoning" => {
            for value in fields.items("summary").into_iter().chain(fields.items("content")) {
                let text = value.fields().and_then(|part| part.text("text"));
                script.think(&by_model, text.or_else(|| value.text()).unwrap_or_default());
            }
            return Said::Thought;
        }
        "local_shell_call" => call(script, &by_model, fields, Some("local_shell"), &["action"]),
        "web_search_call" => call(script, &by_model, fields, Some("web_search"), &["action"]),
        "tool_search_call" => call(script, &by_model, fields, Some("tool_search"), &["arguments"]),
        "tool_search_output" => output(script, stamp, fields, "tools"),
        "image_generation_call" => {
            call(
                script,
                &by_model,
                fields,
                Some("image_generation"),
                &["revised_prompt"],
            );
            let size = fields.text("result").map(|image| decoded_size(&image));
            script.note_not_kept("a generated image", None, size);
        }
        kind if kind.ends_with("_call_output") => output(script, stamp, fields, "output"),
        kind if kind.ends_with("_call") => {
            call(
                script,
                &by_model,
                fields,
                None,
                &["arguments", "input", "summary"],
            );
        }
        "ghost_snapshot" | "compaction" | "compaction_summary" | "context_compaction" => {}
        _ => {
            if let Some(value) = fields.get("content").or_else(|| fields.get("message")) {
                blocks::content(script, &stamp.spoken(SYSTEM), value);
            }
        }
    }
    Said::Other
}

fn message(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    by_model: &RecordStamp,
    fields: &Fields<'_>,
) -> Said {
    let (stamp, voice, said): (&RecordStamp, Voice, Said) = match fields.text("role").as_deref() {
        Some("assistant") => (by_model, ASSISTANT, Said::Assistant),
        Some("user") => (stamp, HUMAN, Said::ForUser),
        _ => (stamp, SYSTEM, Said::Other),
    };
    if let Some(content) = fields.get("content") {
        blocks::content(script, &stamp.spoken(voice), content);
    }
    said
}

/// A call: the arguments under the first of the keys that is there, a text as it is, all else as it is written.
fn call(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    fields: &Fields<'_>,
    tool: Option<&str>,
    keys: &[&str],
) {
    let tool = fields.text("name").or_else(|| tool.map(str::to_owned));
    let id = fields.any_text(&["call_id", "id"]);
    let arguments = keys.iter().find_map(|key| fields.get(key)).map(verbatim);
    script.call_tool(stamp, tool, id, arguments.unwrap_or_default());
}

fn verbatim(value: Json<'_>) -> String {
    value.text().unwrap_or_else(|| value.raw().to_owned())
}

/// What a tool answered: a text, parts, or an object that holds one of these.
fn output(script: &mut TranscriptBuilder, stamp: &RecordStamp, fields: &Fields<'_>, key: &str) {
    let (tool, id) = (fields.text("name"), fields.text("call_id"));
    let Some(value) = fields.get(key) else { return };
    let inner = value.fields().and_then(|object| object.get("content"));
    let value = inner.unwrap_or(value);
    let parts = match key {
        "output" => value.items(),
        _ => None,
    };
    for value in parts.unwrap_or_else(|| vec![value]) {
        let part = value.fields().unwrap_or_default();
        match part.text("type").as_deref() {
            Some("input_image" | "image") => blocks::content(script, &stamp.spoken(SYSTEM), value),
            _ => {
                let text = part.text("text").unwrap_or_else(|| verbatim(value));
                script.answer(stamp, tool.clone(), id.clone(), text);
            }
        }
    }
}
