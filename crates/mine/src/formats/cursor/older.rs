//! Chats of older versions of Cursor: whole, under one key of the workspace's file.

use std::path::Path;

use loci_core::Result;

use super::vscdb::VscdbFile;
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
        let Some(text) = store.value(key) else { continue };
        let Some(whole) = JsonFields::read(&text).ok() else {
            said.note(format!("{key} is broken JSON; it was left out"));
            continue;
        };
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
        let value = store.value(key).unwrap_or_default();
        let asked = JsonSlice::parse(&value)
            .ok()
            .and_then(JsonSlice::items)
            .unwrap_or_default();
        for prompt in asked.into_iter().filter_map(JsonSlice::fields) {
            let mut record = MessageRecord::new(MessageKind::Human, "user");
            record.id = prompt.nonempty_text("generationUUID");
            record.at = prompt.timestamp("unixMs");
            said.push(&record, prompt.text(text).unwrap_or_default());
        }
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
