//! Claude's export: `conversations.json` with the chats of an account.

use std::collections::{HashMap, HashSet};

use loci_core::Result;

use super::json::{Fields, Json, top};
use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder, blocks};
use super::{Given, Sink, TextFormat};
use crate::conversation::{Conversation, Kind, Note};
use crate::keys::ConversationKeys;

/// Claude's `conversations.json`, or one conversation of it.
pub(super) const CLAUDE_AI: TextFormat = TextFormat {
    name: "claude-ai",
    recognise,
    parse,
};

fn recognise(given: &Given<'_>) -> bool {
    top::opens(given.text)
        && given.text.contains("\"chat_messages\"")
        && top::any_object(given.text, 3, is_conversation)
}

fn is_conversation(fields: &Fields<'_>) -> bool {
    let chats = fields.get("chat_messages").is_some_and(Json::is_array);
    chats && (fields.has("uuid") || fields.has("name"))
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    let mut keys = ConversationKeys::default();
    said.read_each(given.text, &mut |said, value| {
        conversation(value, &mut keys, said, sink)
    })?;
    Ok(said.notes)
}

fn conversation(
    value: Json<'_>,
    keys: &mut ConversationKeys,
    said: &mut TranscriptBuilder,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let fields = value.fields().unwrap_or_default();
    let id = fields.any_word(&["uuid", "id"]);
    let key = keys.claim_in_export(id.clone());
    if !fields.get("chat_messages").is_some_and(Json::is_array) {
        said.note(format!("conversation {key} has no messages; it was left out"));
        return Ok(());
    }
    let messages = said.read_objects(fields.items("chat_messages"), "a message");
    let current = current_branch(&messages, fields.word("current_leaf_message_uuid"));
    let model = fields.word("model");
    for message in &messages {
        let edited = message
            .word("uuid")
            .is_some_and(|id| current.as_ref().is_some_and(|on| !on.contains(&id)));
        add(said, message, record(message, edited, model.clone()));
    }
    let title = fields.word("name");
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

/// The ids on the way from the current leaf up, where the export says which leaf that is.
fn current_branch(messages: &[Fields<'_>], leaf: Option<String>) -> Option<HashSet<String>> {
    let parent = |message: &Fields<'_>| Some((message.word("uuid")?, message.word("parent_message_uuid")?));
    let parents: HashMap<String, String> = messages.iter().filter_map(parent).collect();
    let mut here = leaf.filter(|leaf| parents.contains_key(leaf));
    here.as_ref()?;
    let mut branch = HashSet::new();
    while let Some(id) = here.filter(|id| branch.insert(id.clone())) {
        here = parents.get(&id).cloned();
    }
    Some(branch)
}

fn record(message: &Fields<'_>, edited: bool, model: Option<String>) -> MessageRecord {
    let (kind, speaker) = match message.any_word(&["sender", "role"]).as_deref() {
        Some("human" | "user") => (Kind::Human, "user".to_owned()),
        Some("assistant") => (Kind::Assistant, "assistant".to_owned()),
        other => (Kind::System, other.unwrap_or("unknown").to_owned()),
    };
    let model = message
        .word("model")
        .or(model)
        .filter(|_| kind == Kind::Assistant);
    let mut record = MessageRecord::new(kind, speaker)
        .about("model", model)
        .about("branch", Some("edited").filter(|_| edited))
        .about("reply_to", message.word("parent_message_uuid").filter(|_| edited));
    record.id = message.word("uuid");
    record.at = message.moment("created_at");
    record
}

/// Adds the blocks; the message's own text only where no block has any.
fn add(said: &mut TranscriptBuilder, message: &Fields<'_>, record: MessageRecord) {
    let content = message.get("content");
    let given: Vec<Fields<'_>> = content
        .and_then(Json::items)
        .unwrap_or_default()
        .into_iter()
        .filter_map(Json::fields)
        .collect();
    let is_text = |block: &Fields<'_>| {
        block.text("type").is_none_or(|kind| kind == "text") && block.word("text").is_some()
    };
    let written =
        given.iter().any(is_text) || content.and_then(Json::text).is_some_and(|text| !text.is_empty());
    if let Some(content) = content {
        blocks::content(said, &record, content);
    }
    if !written {
        said.push(&record, message.text("text").unwrap_or_default());
    }
    attachments(said, message, &record);
    files(said, message, &record);
}

/// Text the person gave as a file: their words as much as what they typed.
fn attachments(said: &mut TranscriptBuilder, message: &Fields<'_>, record: &MessageRecord) {
    for file in message.objects("attachments") {
        let name = file
            .any_word(&["file_name", "name", "id"])
            .unwrap_or_else(|| "attachment".to_owned());
        match file.word("extracted_content") {
            Some(text) => said.push(&record.clone().about("attachment", Some(name)), text),
            None => note(said, record, &name),
        }
    }
}

/// Files that are not in the export, each once.
fn files(said: &mut TranscriptBuilder, message: &Fields<'_>, record: &MessageRecord) {
    let given = message
        .items("files")
        .into_iter()
        .chain(message.items("files_v2"));
    let mut noted = HashSet::new();
    for file in given.filter_map(Json::fields) {
        let name = file
            .any_word(&["file_name", "file_uuid", "uuid"])
            .unwrap_or_else(|| "without a name".to_owned());
        if noted.insert(name.clone()) {
            note(said, record, &name);
        }
    }
}

fn note(said: &mut TranscriptBuilder, record: &MessageRecord, name: &str) {
    let id = record.id.as_deref().unwrap_or("without an id");
    said.note(format!(
        "message {id}: file {name:?} is not in the export; it was left out"
    ));
}
