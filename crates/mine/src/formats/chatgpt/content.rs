//! One message of ChatGPT: its parts by their content type.

use super::tree::Turn;
use crate::conversation::Kind;
use crate::formats::json::{Fields, Json};
use crate::formats::transcript::{MessageRecord, ToolCall, TranscriptBuilder};

/// Adds what one message says.
pub(super) fn message(said: &mut TranscriptBuilder, turn: &Turn<'_, '_>) {
    let message = turn.message;
    let content = message.fields("content");
    let record = record(turn, &content);
    let before = said.conversation.messages.len();
    let pictures = said.notes.len();
    body(said, &record, &content, message);
    custom_instructions(said, &record, message);
    drawn(said, &record, message);
    attachments(said, &record, message, pictures);
    let silent = said.conversation.messages.len() == before && said.notes.len() == pictures;
    let kind = content.text("content_type").unwrap_or_default();
    if silent
        && !matches!(
            kind.as_str(),
            "" | "text" | "multimodal_text" | "code" | "execution_output" | "thoughts"
        )
    {
        note(
            said,
            &record,
            &format!("content of type {kind:?} without any text known here"),
        );
    }
}

fn record(turn: &Turn<'_, '_>, content: &Fields<'_>) -> MessageRecord {
    let message = turn.message;
    let author = message.fields("author");
    let role = author.word("role").unwrap_or_else(|| "unknown".to_owned());
    let kind = kind(&role, content.text("content_type").as_deref());
    let speaker = author.word("name").unwrap_or_else(|| role.clone());
    let model = message
        .fields("metadata")
        .word("model_slug")
        .or_else(|| message.word("model"));
    let mut record = MessageRecord::new(kind, speaker)
        .about("model", model)
        .about("tool", author.word("name").filter(|_| role == "tool"))
        .about("channel", message.word("channel"))
        .about("branch", Some("edited").filter(|_| !turn.current))
        .about("reply_to", turn.reply_to.clone());
    record.id = message.word("id");
    record.at = message.moment("create_time");
    record
}

fn kind(role: &str, content_type: Option<&str>) -> Kind {
    match (role, content_type.unwrap_or_default()) {
        (_, "thoughts" | "reasoning_recap") => Kind::Thinking,
        (_, "user_editable_context" | "model_editable_context") | ("system" | "developer", _) => Kind::System,
        ("user", _) => Kind::Human,
        ("tool" | "function", _) => Kind::ToolResult,
        ("assistant", _) => Kind::Assistant,
        _ => Kind::System,
    }
}

/// Adds the parts, the text, or whatever else this type of content keeps its words in.
fn body(said: &mut TranscriptBuilder, record: &MessageRecord, content: &Fields<'_>, message: &Fields<'_>) {
    let recipient = message.word("recipient").filter(|recipient| recipient != "all");
    let tool = recipient.filter(|_| record.kind == Kind::Assistant);
    let mut say = |text: String| match &tool {
        Some(tool) => said.call(
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
        .filter_map(Json::fields)
        .filter(|part| part.text("text").is_none())
    {
        part_note(said, record, &part);
    }
    thoughts(said, record, content);
}

/// Thoughts come with a heading each; both are kept.
fn thoughts(said: &mut TranscriptBuilder, record: &MessageRecord, content: &Fields<'_>) {
    for thought in content.objects("thoughts") {
        said.push(record, thought.text("summary").unwrap_or_default());
        match thought.word("content") {
            Some(text) => said.push(record, text),
            None => thought
                .items("chunks")
                .into_iter()
                .filter_map(Json::text)
                .for_each(|text| said.push(record, text)),
        }
    }
}

/// An image or a sound: it lies elsewhere in the export, if anywhere.
fn part_note(said: &mut TranscriptBuilder, record: &MessageRecord, part: &Fields<'_>) {
    let kind = part
        .word("content_type")
        .unwrap_or_else(|| "unknown part".to_owned());
    let name = part
        .any_word(&["asset_pointer", "name"])
        .or_else(|| part.fields("audio_asset_pointer").word("asset_pointer"));
    note(said, record, &format!("{kind} {}", name.unwrap_or_default()));
}

/// What the person told every conversation about themselves, in exports that keep it beside an empty message.
fn custom_instructions(said: &mut TranscriptBuilder, record: &MessageRecord, message: &Fields<'_>) {
    let given = message.fields("metadata").fields("user_context_message_data");
    let record = record.of_kind(Kind::System);
    for name in ["about_user_message", "about_model_message"] {
        said.push(&record, given.text(name).unwrap_or_default());
    }
}

/// Pictures that a tool drew.
fn drawn(said: &mut TranscriptBuilder, record: &MessageRecord, message: &Fields<'_>) {
    let result = message.fields("metadata").fields("aggregate_result");
    for picture in result.objects("messages") {
        if let Some(address) = picture.word("image_url") {
            note(said, record, &format!("image {address}"));
        }
    }
}

/// Files given with the message, without those that a part has named already.
fn attachments(
    said: &mut TranscriptBuilder,
    record: &MessageRecord,
    message: &Fields<'_>,
    first_note: usize,
) {
    for file in message.fields("metadata").objects("attachments") {
        let id = file.word("id").unwrap_or_default();
        let noted = said.notes.get(first_note..).unwrap_or_default();
        if id.is_empty() || !noted.iter().any(|note| note.text.contains(&id)) {
            note(
                said,
                record,
                &format!("attachment {}", file.word("name").unwrap_or(id)),
            );
        }
    }
}

fn note(said: &mut TranscriptBuilder, record: &MessageRecord, what: &str) {
    let id = record.id.as_deref().unwrap_or("without an id");
    said.note(format!("message {id}: {what} was left out"));
}
