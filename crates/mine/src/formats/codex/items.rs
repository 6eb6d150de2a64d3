//! The items exchanged with the model.

use super::super::json::{JsonFields, JsonSlice};
use super::super::transcript::{
    ASSISTANT, HUMAN, RecordStamp, RecordVoice, SYSTEM, TranscriptBuilder, blocks, decoded_size,
};
use super::echoes::CodexSpeaker;

/// Adds an item, and returns its speaker.
pub(super) fn add_item(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    model: Option<String>,
    fields: &JsonFields<'_>,
) -> CodexSpeaker {
    let kind = fields.text("type").unwrap_or_else(|| "message".to_owned());
    // Outputs of tools and messages of the user keep the plain stamp: no model made them.
    let by_model = stamp.clone().with("model", model);
    match kind.as_str() {
        "message" => return add_message(script, stamp, &by_model, fields),
        "reasoning" => {
            for value in fields.items("summary").into_iter().chain(fields.items("content")) {
                let text = value.fields().and_then(|part| part.text("text"));
                script.add_thought(&by_model, text.or_else(|| value.text()).unwrap_or_default());
            }
            return CodexSpeaker::Thought;
        }
        "local_shell_call" => add_call(script, &by_model, fields, Some("local_shell"), &["action"]),
        "web_search_call" => add_call(script, &by_model, fields, Some("web_search"), &["action"]),
        "tool_search_call" => add_call(script, &by_model, fields, Some("tool_search"), &["arguments"]),
        "tool_search_output" => add_output(script, stamp, fields, "tools"),
        "image_generation_call" => {
            add_call(
                script,
                &by_model,
                fields,
                Some("image_generation"),
                &["revised_prompt"],
            );
            let size = fields.text("result").map(|image| decoded_size(&image));
            script.note_not_kept("a generated image", None, size);
        }
        kind if kind.ends_with("_call_output") => add_output(script, stamp, fields, "output"),
        kind if kind.ends_with("_call") => {
            add_call(
                script,
                &by_model,
                fields,
                None,
                &["arguments", "input", "summary"],
            );
        }
        // Commit ids and encrypted summaries; neither holds readable text.
        "ghost_snapshot" | "compaction" | "compaction_summary" | "context_compaction" => {}
        _ => {
            if let Some(value) = fields.get("content").or_else(|| fields.get("message")) {
                blocks::add_content(script, &stamp.record_for(SYSTEM), value);
            }
        }
    }
    CodexSpeaker::Other
}

fn add_message(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    by_model: &RecordStamp,
    fields: &JsonFields<'_>,
) -> CodexSpeaker {
    let (stamp, voice, said): (&RecordStamp, RecordVoice, CodexSpeaker) = match fields.text("role").as_deref()
    {
        Some("assistant") => (by_model, ASSISTANT, CodexSpeaker::Assistant),
        // Whether it was a person is decided at the end, when all events of typed text are known.
        Some("user") => (stamp, HUMAN, CodexSpeaker::ForUser),
        _ => (stamp, SYSTEM, CodexSpeaker::Other),
    };
    if let Some(content) = fields.get("content") {
        blocks::add_content(script, &stamp.record_for(voice), content);
    }
    said
}

/// Adds a call. Its arguments are under the first of the keys that is present, kept verbatim.
fn add_call(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    fields: &JsonFields<'_>,
    tool: Option<&str>,
    keys: &[&str],
) {
    let tool = fields.text("name").or_else(|| tool.map(str::to_owned));
    let id = fields.any_text(&["call_id", "id"]);
    let arguments = keys.iter().find_map(|key| fields.get(key)).map(verbatim_text);
    script.add_model_call(stamp, tool, id, arguments.unwrap_or_default());
}

fn verbatim_text(value: JsonSlice<'_>) -> String {
    value.text().unwrap_or_else(|| value.raw().to_owned())
}

/// Adds the answer of a tool: a text, parts, or an object that holds one of these.
fn add_output(script: &mut TranscriptBuilder, stamp: &RecordStamp, fields: &JsonFields<'_>, key: &str) {
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
            Some("input_image" | "image") => blocks::add_content(script, &stamp.record_for(SYSTEM), value),
            _ => {
                let text = part.text("text").unwrap_or_else(|| verbatim_text(value));
                script.add_answer(stamp, tool.clone(), id.clone(), text);
            }
        }
    }
}
