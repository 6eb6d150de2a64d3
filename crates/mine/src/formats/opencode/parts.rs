//! The parts of a message.

use super::super::json::{Fields, Json};
use super::super::transcript::{HUMAN, RecordStamp, SYSTEM, TranscriptBuilder, Voice, data_url};

/// Writes down one part.
pub(super) fn part(script: &mut TranscriptBuilder, stamp: &RecordStamp, voice: Voice, part: &Fields<'_>) {
    let began = part.fields("time").moment("start");
    let stamp = RecordStamp {
        at: began.or(stamp.at),
        ..stamp.clone()
    };
    let text = || part.text("text").unwrap_or_default();
    match part.text("type").as_deref() {
        // The program adds texts of its own to what a person said.
        Some("text") if part.is_true("synthetic") && voice == HUMAN => script.say(&stamp, SYSTEM, text()),
        Some("text") => script.say(&stamp, voice, text()),
        Some("reasoning") => script.think(&stamp, text()),
        Some("tool") => tool(script, &stamp, part),
        Some("file") => file(script, part),
        Some("subtask") => script.say(&stamp, SYSTEM, part.text("prompt").unwrap_or_default()),
        Some("retry") => {
            let error = part.fields("error").object("data");
            let error = error.and_then(|error| error.text("message"));
            script.say(&stamp, SYSTEM, error.unwrap_or_default());
        }
        Some("step-start" | "step-finish" | "snapshot" | "patch" | "agent" | "compaction") => {}
        // A file without an object in it is noted where it is read.
        None if part.len() == 0 => {}
        _ => match part.any_text(&["text", "content"]) {
            Some(text) => script.say(&stamp, SYSTEM, text),
            None => script.note_unknown(part),
        },
    }
}

/// A call and what came of it.
fn tool(script: &mut TranscriptBuilder, stamp: &RecordStamp, part: &Fields<'_>) {
    let state = part.fields("state");
    let time = state.fields("time");
    let (tool, id) = (part.text("tool"), part.text("callID"));
    let input = state.get("input").map_or("", Json::raw);
    let called = RecordStamp {
        at: time.moment("start").or(stamp.at),
        ..stamp.clone()
    };
    script.call_tool(&called, tool.clone(), id.clone(), input.to_owned());
    let mut answered = RecordStamp {
        at: time.moment("end").or(called.at),
        ..called
    };
    if let Some(output) = state.get("output").and_then(Json::text_or_raw) {
        script.answer(&answered, tool.clone(), id.clone(), output);
    }
    if let Some(error) = state.text("error") {
        answered.about.insert("error", true);
        script.answer(&answered, tool, id, error);
    }
    for value in state.items("attachments") {
        file(script, &value.fields().unwrap_or_default());
    }
}

fn file(script: &mut TranscriptBuilder, part: &Fields<'_>) {
    let address = part.text("url").unwrap_or_default();
    let (_, size) = data_url(&address);
    let named = match part.text("filename") {
        Some(name) => format!("the attached file {name}"),
        None => "an attached file".to_owned(),
    };
    script.note_not_kept(&named, part.text("mime").as_deref(), size);
}
