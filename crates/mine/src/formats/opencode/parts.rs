//! The parts of an OpenCode message.

use super::super::json::{JsonFields, JsonSlice};
use super::super::transcript::{HUMAN, RecordStamp, RecordVoice, SYSTEM, TranscriptBuilder, parse_data_url};

/// Adds one part.
pub(super) fn add_part(
    script: &mut TranscriptBuilder,
    stamp: &RecordStamp,
    voice: RecordVoice,
    part: &JsonFields<'_>,
) {
    let began = part.fields("time").timestamp("start");
    let stamp = RecordStamp {
        at: began.or(stamp.at),
        ..stamp.clone()
    };
    let text = || part.text("text").unwrap_or_default();
    match part.text("type").as_deref() {
        // The program adds texts of its own to a person's message.
        Some("text") if part.is_true("synthetic") && voice == HUMAN => {
            script.add_text(&stamp, SYSTEM, text())
        }
        Some("text") => script.add_text(&stamp, voice, text()),
        Some("reasoning") => script.add_thought(&stamp, text()),
        Some("tool") => add_tool_call(script, &stamp, part),
        Some("file") => note_file(script, part),
        Some("subtask") => script.add_text(&stamp, SYSTEM, part.text("prompt").unwrap_or_default()),
        Some("retry") => {
            let error = part.fields("error").object("data");
            let error = error.and_then(|error| error.text("message"));
            script.add_text(&stamp, SYSTEM, error.unwrap_or_default());
        }
        Some("step-start" | "step-finish" | "snapshot" | "patch" | "agent" | "compaction") => {}
        // A file without an object was already noted when it was read.
        None if part.len() == 0 => {}
        _ => match part.any_text(&["text", "content"]) {
            Some(text) => script.add_text(&stamp, SYSTEM, text),
            None => script.note_unknown(part),
        },
    }
}

/// Adds a call and its outcome.
fn add_tool_call(script: &mut TranscriptBuilder, stamp: &RecordStamp, part: &JsonFields<'_>) {
    let state = part.fields("state");
    let time = state.fields("time");
    let (tool, id) = (part.text("tool"), part.text("callID"));
    let input = state.get("input").map_or("", JsonSlice::raw);
    let called = RecordStamp {
        at: time.timestamp("start").or(stamp.at),
        ..stamp.clone()
    };
    script.add_model_call(&called, tool.clone(), id.clone(), input.to_owned());
    let mut answered = RecordStamp {
        at: time.timestamp("end").or(called.at),
        ..called
    };
    if let Some(output) = state.get("output").and_then(JsonSlice::text_or_raw) {
        script.add_answer(&answered, tool.clone(), id.clone(), output);
    }
    if let Some(error) = state.text("error") {
        answered.about.insert("error", true);
        script.add_answer(&answered, tool, id, error);
    }
    for value in state.items("attachments") {
        note_file(script, &value.fields().unwrap_or_default());
    }
}

fn note_file(script: &mut TranscriptBuilder, part: &JsonFields<'_>) {
    let address = part.text("url").unwrap_or_default();
    let (_, size) = parse_data_url(&address);
    let named = match part.text("filename") {
        Some(name) => format!("the attached file {name}"),
        None => "an attached file".to_owned(),
    };
    script.note_not_kept(&named, part.text("mime").as_deref(), size);
}
