//! Chats as older versions of Cursor kept them: whole, under one key of the workspace's file.

use std::path::Path;

use loci_core::Result;

use super::vscdb::Vscdb;
use super::{bubble, composer};
use crate::conversation::{Conversation, Kind};
use crate::formats::Sink;
use crate::formats::json::{Fields, Json};
use crate::formats::transcript::{MessageRecord, TranscriptBuilder};
use crate::keys::ConversationKeys;

/// Reads the tabs of the chat panel, and chats kept in their own list.
pub(super) fn all(
    store: &Vscdb,
    path: &Path,
    keys: &mut ConversationKeys,
    said: &mut TranscriptBuilder,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let lists = [
        ("workbench.panel.aichat.view.aichat.chatdata", "tabs", "bubbles"),
        ("composer.composerData", "allComposers", "conversation"),
    ];
    for (key, list, messages) in lists {
        let Some(text) = store.value(key) else { continue };
        let Some(whole) = Fields::read(&text).ok() else {
            said.note(format!("{key} is broken JSON; it was left out"));
            continue;
        };
        for chat in whole.objects(list) {
            let inner = chat
                .items(messages)
                .into_iter()
                .chain(chat.items("messages"))
                .filter_map(Json::fields);
            inner.for_each(|inner| bubble::add(said, &inner, "", false));
            let id = chat.any_word(&["tabId", "composerId", "id"]);
            if !said.conversation.messages.is_empty() {
                let key = Some(keys.claim_in_export(id.clone()));
                said.hand_over(
                    Conversation {
                        key,
                        ..composer::about(&chat, id, path)
                    },
                    sink,
                )?;
            }
        }
    }
    Ok(())
}

/// Reads what was asked, where the file keeps nothing else.
pub(super) fn prompts(
    store: &Vscdb,
    path: &Path,
    said: &mut TranscriptBuilder,
    sink: &mut Sink<'_>,
) -> Result<()> {
    for (key, text) in [
        ("aiService.prompts", "text"),
        ("aiService.generations", "textDescription"),
    ] {
        let value = store.value(key).unwrap_or_default();
        let asked = Json::parse(&value).ok().and_then(Json::items).unwrap_or_default();
        for prompt in asked.into_iter().filter_map(Json::fields) {
            let mut record = MessageRecord::new(Kind::Human, "user");
            record.id = prompt.word("generationUUID");
            record.at = prompt.moment("unixMs");
            said.push(&record, prompt.text(text).unwrap_or_default());
        }
        if !said.conversation.messages.is_empty() {
            let about = composer::about(&Fields::default(), None, path);
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
