//! The export of claude.ai: `conversations.json` with the chats of an account.

use std::collections::{HashMap, HashSet};

use loci_core::Result;

use super::json::{JsonFields, JsonSlice, top};
use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder, blocks};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::{Conversation, MessageKind, ReadingNote};
use crate::keys::ConversationKeys;

/// Claude's `conversations.json`, or one conversation of it.
pub(super) const CLAUDE_AI: TextFormat = TextFormat {
    name: "claude-ai",
    recognise,
    parse,
};

fn recognise(given: &ParserInput<'_>) -> bool {
    top::opens_container(given.text)
        && given.text.contains("\"chat_messages\"")
        && top::any_object(given.text, 3, is_conversation)
}

fn is_conversation(fields: &JsonFields<'_>) -> bool {
    let chats = fields.get("chat_messages").is_some_and(JsonSlice::is_array);
    chats && (fields.has("uuid") || fields.has("name"))
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    let mut keys = ConversationKeys::default();
    said.read_each(given.text, &mut |said, value| {
        read_conversation(value, &mut keys, said, sink)
    })?;
    Ok(said.notes)
}

fn read_conversation(
    value: JsonSlice<'_>,
    keys: &mut ConversationKeys,
    said: &mut TranscriptBuilder,
    sink: &mut ConversationSink<'_>,
) -> Result<()> {
    let fields = value.fields().unwrap_or_default();
    let id = fields.any_nonempty_text(&["uuid", "id"]);
    let key = keys.claim_in_export(id.clone());
    if !fields.get("chat_messages").is_some_and(JsonSlice::is_array) {
        said.note(format!("conversation {key} has no messages; it was left out"));
        return Ok(());
    }
    let messages = said.read_objects(fields.items("chat_messages"), "a message");
    let current = current_branch(&messages, fields.nonempty_text("current_leaf_message_uuid"));
    let model = fields.nonempty_text("model");
    for message in &messages {
        let edited = message
            .nonempty_text("uuid")
            .is_some_and(|id| current.as_ref().is_some_and(|on| !on.contains(&id)));
        add_message(said, message, message_record(message, edited, model.clone()));
    }
    let title = fields.nonempty_text("name");
    said.hand_over(
        Conversation {
            key: Some(key),
            id,
            title,
            ..Conversation::default()
        },
        sink,
    )
}

/// Returns the ids from the current leaf up to the root, if the export names the current leaf.
fn current_branch(messages: &[JsonFields<'_>], leaf: Option<String>) -> Option<HashSet<String>> {
    let parent = |message: &JsonFields<'_>| {
        Some((
            message.nonempty_text("uuid")?,
            message.nonempty_text("parent_message_uuid")?,
        ))
    };
    let parents: HashMap<String, String> = messages.iter().filter_map(parent).collect();
    let mut here = leaf.filter(|leaf| parents.contains_key(leaf));
    // A leaf that is not in the export proves nothing; then no message is marked as edited.
    here.as_ref()?;
    let mut branch = HashSet::new();
    while let Some(id) = here.filter(|id| branch.insert(id.clone())) {
        here = parents.get(&id).cloned();
    }
    Some(branch)
}

fn message_record(message: &JsonFields<'_>, edited: bool, model: Option<String>) -> MessageRecord {
    let (kind, speaker) = match message.any_nonempty_text(&["sender", "role"]).as_deref() {
        Some("human" | "user") => (MessageKind::Human, "user".to_owned()),
        Some("assistant") => (MessageKind::Assistant, "assistant".to_owned()),
        other => (MessageKind::System, other.unwrap_or("unknown").to_owned()),
    };
    let model = message
        .nonempty_text("model")
        .or(model)
        .filter(|_| kind == MessageKind::Assistant);
    let mut record = MessageRecord::new(kind, speaker)
        .with_about("model", model)
        .with_about("branch", Some("edited").filter(|_| edited))
        .with_about(
            "reply_to",
            message.nonempty_text("parent_message_uuid").filter(|_| edited),
        );
    record.id = message.nonempty_text("uuid");
    record.at = message.timestamp("created_at");
    record
}

/// Adds the blocks, and the message's own text only if no block has text.
fn add_message(said: &mut TranscriptBuilder, message: &JsonFields<'_>, record: MessageRecord) {
    let content = message.get("content");
    let given: Vec<JsonFields<'_>> = content
        .and_then(JsonSlice::items)
        .unwrap_or_default()
        .into_iter()
        .filter_map(JsonSlice::fields)
        .collect();
    let is_text = |block: &JsonFields<'_>| {
        block.text("type").is_none_or(|kind| kind == "text") && block.nonempty_text("text").is_some()
    };
    // `text` repeats the blocks in most exports; adding both would file every answer twice.
    let written = given.iter().any(is_text)
        || content
            .and_then(JsonSlice::text)
            .is_some_and(|text| !text.is_empty());
    if let Some(content) = content {
        blocks::add_content(said, &record, content);
    }
    if !written {
        said.push(&record, message.text("text").unwrap_or_default());
    }
    add_attachments(said, message, &record);
    note_files(said, message, &record);
}

/// Adds text that the person attached as a file.
fn add_attachments(said: &mut TranscriptBuilder, message: &JsonFields<'_>, record: &MessageRecord) {
    for file in message.objects("attachments") {
        let name = file
            .any_nonempty_text(&["file_name", "name", "id"])
            .unwrap_or_else(|| "attachment".to_owned());
        // Attached text is the person's words as much as what they typed, so it is filed as theirs.
        match file.nonempty_text("extracted_content") {
            Some(text) => said.push(&record.clone().with_about("attachment", Some(name)), text),
            None => note_missing_file(said, record, &name),
        }
    }
}

/// Notes files that are not in the export, each once.
fn note_files(said: &mut TranscriptBuilder, message: &JsonFields<'_>, record: &MessageRecord) {
    let given = message
        .items("files")
        .into_iter()
        // The same files under two versions of the schema.
        .chain(message.items("files_v2"));
    let mut noted = HashSet::new();
    for file in given.filter_map(JsonSlice::fields) {
        let name = file
            .any_nonempty_text(&["file_name", "file_uuid", "uuid"])
            .unwrap_or_else(|| "without a name".to_owned());
        if noted.insert(name.clone()) {
            note_missing_file(said, record, &name);
        }
    }
}

fn note_missing_file(said: &mut TranscriptBuilder, record: &MessageRecord, name: &str) {
    let id = record.id.as_deref().unwrap_or("without an id");
    said.note(format!(
        "message {id}: file {name:?} is not in the export; it was left out"
    ));
}
