//! Chats of older versions of Cursor: whole, under one key of the workspace's file.

use std::path::Path;

use loci_core::Result;

use super::vscdb::{StoredValue, VscdbFile};
use super::{bubble, composer};
use crate::conversation::{Conversation, MessageKind};
use crate::formats::ConversationSink;
use crate::formats::json::{JsonFields, JsonSlice};
use crate::formats::transcript::{MessageRecord, TranscriptBuilder};
use crate::keys::ConversationKeys;

/// Reads the tabs of the chat panel, and the chats of the composer list.
pub(super) fn read_older_chats(
    store: &VscdbFile,
    path: &Path,
    keys: &mut ConversationKeys,
    said: &mut TranscriptBuilder,
    sink: &mut ConversationSink<'_>,
) -> Result<()> {
    let lists = [
        ("workbench.panel.aichat.view.aichat.chatdata", "tabs", "bubbles"),
        ("composer.composerData", "allComposers", "conversation"),
    ];
    for (key, list, messages) in lists {
        let mut read = Ok(());
        store.visit_value(key, &mut |value| {
            let text = match value {
                StoredValue::Text(text) => text,
                StoredValue::NotText => return,
                StoredValue::TooLarge(why) => return said.note(format!("{key} was left out: {why}")),
            };
            read = match JsonFields::read(text) {
                Ok(whole) => read_list(&whole, [list, messages], path, keys, said, sink),
                Err(_) => {
                    said.note(format!("{key} is broken JSON; it was left out"));
                    Ok(())
                }
            };
        });
        read?;
    }
    Ok(())
}

/// Reads the chats of one list; `names` are those of the list and of the messages in a chat.
fn read_list(
    whole: &JsonFields<'_>,
    [list, messages]: [&str; 2],
    path: &Path,
    keys: &mut ConversationKeys,
    said: &mut TranscriptBuilder,
    sink: &mut ConversationSink<'_>,
) -> Result<()> {
    for chat in whole.objects(list) {
        let inner = chat
            .items(messages)
            .into_iter()
            .chain(chat.items("messages"))
            .filter_map(JsonSlice::fields);
        inner.for_each(|inner| bubble::add_bubble(said, &inner, "", false));
        let id = chat.any_nonempty_text(&["tabId", "composerId", "id"]);
        // Newer versions leave an index without messages here; its chats must not use up keys.
        if !said.conversation.messages.is_empty() {
            let key = Some(keys.claim_in_export(id.clone()));
            said.hand_over(
                Conversation {
                    key,
                    ..composer::chat_conversation(&chat, id, path)
                },
                sink,
            )?;
        }
    }
    Ok(())
}

/// Reads the list of prompts, for files that hold nothing else.
pub(super) fn read_prompts(
    store: &VscdbFile,
    path: &Path,
    said: &mut TranscriptBuilder,
    sink: &mut ConversationSink<'_>,
) -> Result<()> {
    for (key, text) in [
        ("aiService.prompts", "text"),
        ("aiService.generations", "textDescription"),
    ] {
        store.visit_value(key, &mut |value| match value {
            StoredValue::Text(value) => add_prompts(value, text, said),
            StoredValue::NotText => {}
            StoredValue::TooLarge(why) => said.note(format!("{key} was left out: {why}")),
        });
        if !said.conversation.messages.is_empty() {
            let about = composer::chat_conversation(&JsonFields::default(), None, path);
            // Both lists record the same prompts; the first one with any text is enough.
            return said.hand_over(
                Conversation {
                    key: Some(key.to_owned()),
                    ..about
                },
                sink,
            );
        }
    }
    Ok(())
}

/// Adds every prompt of a list; `text` is the name of its text.
fn add_prompts(list: &str, text: &str, said: &mut TranscriptBuilder) {
    let asked = JsonSlice::parse(list).ok().and_then(JsonSlice::items);
    for prompt in asked.into_iter().flatten().filter_map(JsonSlice::fields) {
        let mut record = MessageRecord::new(MessageKind::Human, "user");
        record.id = prompt.nonempty_text("generationUUID");
        record.at = prompt.timestamp("unixMs");
        said.push(&record, prompt.text(text).unwrap_or_default());
    }
}
