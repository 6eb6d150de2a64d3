//! One message of ChatGPT: its parts by content type.

use super::tree::ChatgptTurn;
use crate::conversation::MessageKind;
use crate::formats::json::{JsonFields, JsonSlice};
use crate::formats::transcript::{MessageRecord, ToolCall, TranscriptBuilder};

/// Adds the texts of one message.
pub(super) fn add_message(said: &mut TranscriptBuilder, turn: &ChatgptTurn<'_, '_>) {
    let message = turn.message;
    let content = message.fields("content");
    let record = message_record(turn, &content);
    let before = said.conversation.messages.len();
    let pictures = said.notes.len();
    add_body(said, &record, &content, message);
    add_custom_instructions(said, &record, message);
    note_generated_images(said, &record, message);
    note_attachments(said, &record, message, pictures);
    // ChatGPT adds content types without notice. One that gave neither text nor note must not vanish
    // silently; the types below are known to be empty at times.
    let silent = said.conversation.messages.len() == before && said.notes.len() == pictures;
    let kind = content.text("content_type").unwrap_or_default();
    if silent
        && !matches!(
            kind.as_str(),
            "" | "text" | "multimodal_text" | "code" | "execution_output" | "thoughts"
        )
    {
        note_left_out(
            said,
            &record,
            &format!("content of type {kind:?} without any text known here"),
        );
    }
}

fn message_record(turn: &ChatgptTurn<'_, '_>, content: &JsonFields<'_>) -> MessageRecord {
    let message = turn.message;
    let author = message.fields("author");
    let role = author
        .nonempty_text("role")
        .unwrap_or_else(|| "unknown".to_owned());
    let kind = message_kind(&role, content.text("content_type").as_deref());
    let speaker = author.nonempty_text("name").unwrap_or_else(|| role.clone());
    let model = message
        .fields("metadata")
        .nonempty_text("model_slug")
        .or_else(|| message.nonempty_text("model"));
    let mut record = MessageRecord::new(kind, speaker)
        .with_about("model", model)
        .with_about("tool", author.nonempty_text("name").filter(|_| role == "tool"))
        .with_about("channel", message.nonempty_text("channel"))
        .with_about("branch", Some("edited").filter(|_| !turn.current))
        .with_about("reply_to", turn.reply_to.clone());
    record.id = message.nonempty_text("id");
    record.at = message.timestamp("create_time");
    record
}

fn message_kind(role: &str, content_type: Option<&str>) -> MessageKind {
    match (role, content_type.unwrap_or_default()) {
        (_, "thoughts" | "reasoning_recap") => MessageKind::Thinking,
        (_, "user_editable_context" | "model_editable_context") | ("system" | "developer", _) => {
            MessageKind::System
        }
        ("user", _) => MessageKind::Human,
        ("tool" | "function", _) => MessageKind::ToolResult,
        ("assistant", _) => MessageKind::Assistant,
        _ => MessageKind::System,
    }
}

/// Adds the parts, the text, or any other member that holds the words of this content type.
fn add_body(
    said: &mut TranscriptBuilder,
    record: &MessageRecord,
    content: &JsonFields<'_>,
    message: &JsonFields<'_>,
) {
    // A message of the model that is addressed to a tool is a call; everything else goes to "all".
    let recipient = message
        .nonempty_text("recipient")
        .filter(|recipient| recipient != "all");
    let tool = recipient.filter(|_| record.kind == MessageKind::Assistant);
    let mut say = |text: String| match &tool {
        Some(tool) => said.add_call(
            record,
            ToolCall {
                tool: Some(tool.clone()),
                id: None,
                arguments: Some(text),
            },
        ),
        None => said.push(record, text),
    };
    const WORDS: [&str; 10] = [
        "text",
        "result",
        "content",
        "output_str",
        "summary",
        "snippet",
        "user_profile",
        "user_instructions",
        "model_set_context",
        "refusal",
    ];
    for name in WORDS {
        content.text(name).into_iter().for_each(&mut say);
    }
    let parts = content.items("parts");
    for part in &parts {
        let text = part.text().or_else(|| part.fields()?.text("text"));
        text.into_iter().for_each(&mut say);
    }
    for part in parts
        .into_iter()
        .filter_map(JsonSlice::fields)
        .filter(|part| part.text("text").is_none())
    {
        note_part(said, record, &part);
    }
    add_thoughts(said, record, content);
}

/// Adds thoughts; each has a heading, which is kept as well.
fn add_thoughts(said: &mut TranscriptBuilder, record: &MessageRecord, content: &JsonFields<'_>) {
    for thought in content.objects("thoughts") {
        said.push(record, thought.text("summary").unwrap_or_default());
        match thought.nonempty_text("content") {
            Some(text) => said.push(record, text),
            None => thought
                .items("chunks")
                .into_iter()
                .filter_map(JsonSlice::text)
                .for_each(|text| said.push(record, text)),
        }
    }
}

/// Notes an image or a recording, which is elsewhere in the export, if anywhere.
fn note_part(said: &mut TranscriptBuilder, record: &MessageRecord, part: &JsonFields<'_>) {
    let kind = part
        .nonempty_text("content_type")
        .unwrap_or_else(|| "unknown part".to_owned());
    let name = part
        .any_nonempty_text(&["asset_pointer", "name"])
        .or_else(|| part.fields("audio_asset_pointer").nonempty_text("asset_pointer"));
    note_left_out(said, record, &format!("{kind} {}", name.unwrap_or_default()));
}

/// Adds the person's custom instructions, in exports that keep them in the metadata of an empty message.
fn add_custom_instructions(said: &mut TranscriptBuilder, record: &MessageRecord, message: &JsonFields<'_>) {
    let given = message.fields("metadata").fields("user_context_message_data");
    let record = record.as_kind(MessageKind::System);
    for name in ["about_user_message", "about_model_message"] {
        said.push(&record, given.text(name).unwrap_or_default());
    }
}

/// Notes the images that a tool generated.
fn note_generated_images(said: &mut TranscriptBuilder, record: &MessageRecord, message: &JsonFields<'_>) {
    let result = message.fields("metadata").fields("aggregate_result");
    for picture in result.objects("messages") {
        if let Some(address) = picture.nonempty_text("image_url") {
            note_left_out(said, record, &format!("image {address}"));
        }
    }
}

/// Notes the files attached to the message, except those that a part has already named.
fn note_attachments(
    said: &mut TranscriptBuilder,
    record: &MessageRecord,
    message: &JsonFields<'_>,
    first_note: usize,
) {
    for file in message.fields("metadata").objects("attachments") {
        let id = file.nonempty_text("id").unwrap_or_default();
        let noted = said.notes.get(first_note..).unwrap_or_default();
        // An uploaded image is listed both as a part and as an attachment; the asset pointer holds the same
        // id.
        if id.is_empty() || !noted.iter().any(|note| note.text.contains(&id)) {
            note_left_out(
                said,
                record,
                &format!("attachment {}", file.nonempty_text("name").unwrap_or(id)),
            );
        }
    }
}

fn note_left_out(said: &mut TranscriptBuilder, record: &MessageRecord, what: &str) {
    let id = record.id.as_deref().unwrap_or("without an id");
    said.note(format!("message {id}: {what} was left out"));
}
