//! Chats of Cursor: one key holds the order of the messages, and each message has a key of its own.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use loci_core::{Result, Timestamp};

use super::vscdb::{EntryPlace, StoredValue, VscdbFile};
use super::{BUBBLE, COMPOSER, bubble};
use crate::conversation::Conversation;
use crate::formats::ConversationSink;
use crate::formats::json::JsonFields;
use crate::formats::transcript::TranscriptBuilder;
use crate::formats::workspace::{path_of_address, workspace_folder};
use crate::keys::ConversationKeys;

/// Reads every chat, even if only its messages are left.
pub(super) fn read_chats(
    store: &VscdbFile,
    path: &Path,
    keys: &mut ConversationKeys,
    said: &mut TranscriptBuilder,
    sink: &mut ConversationSink<'_>,
) -> Result<()> {
    let chat_of = |key: &str| Some(key.strip_prefix(BUBBLE)?.split_once(':')?.0.to_owned());
    let listed = store.keys(COMPOSER, i64::MAX).into_iter();
    // Sorted, so that keys and their numbers are the same each time the file is mined.
    let mut ids: BTreeSet<String> = listed
        .filter_map(|key| Some(key.strip_prefix(COMPOSER)?.to_owned()))
        .collect();
    ids.extend(store.keys(BUBBLE, i64::MAX).iter().filter_map(|key| chat_of(key)));
    for id in ids {
        let mut read = None;
        store.visit_value(&format!("{COMPOSER}{id}"), &mut |value| {
            let chat = match value {
                StoredValue::Text(text) => JsonFields::read(text).ok().ok_or("broken".to_owned()),
                StoredValue::NotText => Ok(JsonFields::default()),
                StoredValue::TooLarge(why) => Err(format!("left out ({why})")),
            };
            let chat = chat.unwrap_or_else(|why| {
                said.note(format!(
                    "chat {id}: its order and title are {why}; its messages were read by their times"
                ));
                JsonFields::default()
            });
            read = Some(read_chat(store, path, &id, &chat, keys, said, sink));
        });
        let without = || read_chat(store, path, &id, &JsonFields::default(), keys, said, sink);
        read.unwrap_or_else(without)?;
    }
    Ok(())
}

fn read_chat(
    store: &VscdbFile,
    path: &Path,
    id: &str,
    chat: &JsonFields<'_>,
    keys: &mut ConversationKeys,
    said: &mut TranscriptBuilder,
    sink: &mut ConversationSink<'_>,
) -> Result<()> {
    add_messages(store, id, chat, said);
    let key = Some(keys.claim_in_export(Some(id.to_owned())));
    said.hand_over(
        Conversation {
            key,
            ..chat_conversation(chat, Some(id.to_owned()), path)
        },
        sink,
    )
}

/// Returns the conversation that a chat describes, without its messages.
pub(super) fn chat_conversation(chat: &JsonFields<'_>, id: Option<String>, path: &Path) -> Conversation {
    let uri = chat.fields("workspaceIdentifier").fields("uri");
    let named = uri.any_nonempty_text(&["fsPath", "path"]).or_else(|| {
        uri.nonempty_text("external")
            .map(|address| path_of_address(&address))
    });
    Conversation {
        id,
        title: chat.any_nonempty_text(&["name", "chatTitle"]),
        cwd: named.or_else(|| workspace_folder(path.parent()?)),
        parent: chat.fields("subagentInfo").nonempty_text("parentComposerId"),
        ..Conversation::default()
    }
}

/// One stored message. Its text stays in the file until its turn comes.
struct BubbleRow {
    id: String,
    own_id: Option<String>,
    at: Option<Timestamp>,
    place: EntryPlace,
}

impl BubbleRow {
    fn new(key: &str, place: EntryPlace, value: &StoredValue<'_>) -> Self {
        let id = key
            .strip_prefix(BUBBLE)
            .and_then(|key| key.split_once(':'))
            .map(|(_, id)| id.to_owned());
        let fields = match value {
            StoredValue::Text(text) => JsonFields::read(text).unwrap_or_default(),
            StoredValue::NotText | StoredValue::TooLarge(_) => JsonFields::default(),
        };
        Self {
            id: id.unwrap_or_default(),
            own_id: fields.text("bubbleId"),
            at: bubble::bubble_time(&fields),
            place,
        }
    }
}

/// Adds the messages in the order of the chat; messages that it does not list are from before an edit.
fn add_messages(store: &VscdbFile, id: &str, chat: &JsonFields<'_>, said: &mut TranscriptBuilder) {
    let mut rows: Vec<Option<BubbleRow>> = Vec::new();
    store.visit_entries(&format!("{BUBBLE}{id}:"), &mut |key, place, value| {
        rows.push(Some(BubbleRow::new(&key, place, &value)));
    });
    let places = row_places(&rows);
    let within = chat.fields("conversationMap");
    let headers: Vec<JsonFields<'_>> = chat.objects("fullConversationHeadersOnly").collect();
    for header in &headers {
        let name = header.text("bubbleId").unwrap_or_default();
        let row = places
            .get(&name)
            .and_then(|place| rows.get_mut(*place))
            .and_then(Option::take);
        match (row, within.object(&name)) {
            (Some(row), _) => add_row(store, said, &row, false),
            (None, Some(inner)) => bubble::add_bubble(said, &inner, &name, false),
            (None, None) => said.note(format!("chat {id}: message {name:?} is not in the file")),
        }
    }
    // Older chats hold their messages inline; a row for the same message would add it twice.
    for inner in chat.objects("conversation").filter(|_| headers.is_empty()) {
        let name = inner.text("bubbleId").unwrap_or_default();
        if let Some(row) = places.get(&name).and_then(|place| rows.get_mut(*place)) {
            *row = None;
        }
        bubble::add_bubble(said, &inner, &name, false);
    }
    let ordered = !headers.is_empty() || !chat.items("conversation").is_empty();
    let mut left: Vec<BubbleRow> = rows.into_iter().flatten().collect();
    // The sort is stable, so equal times keep the order of the rows.
    left.sort_by_key(|row| row.at);
    left.iter().for_each(|row| add_row(store, said, row, ordered));
}

/// Returns the places of messages by their keys and by their own ids; the key takes precedence.
fn row_places(rows: &[Option<BubbleRow>]) -> HashMap<String, usize> {
    let known = || {
        rows.iter()
            .enumerate()
            .filter_map(|(place, row)| Some((place, row.as_ref()?)))
    };
    let own = known().filter_map(|(place, row)| Some((row.own_id.clone()?, place)));
    // Later entries replace earlier ones in the map, so the keys come last.
    own.chain(known().map(|(place, row)| (row.id.clone(), place)))
        .collect()
}

fn add_row(store: &VscdbFile, said: &mut TranscriptBuilder, row: &BubbleRow, edited: bool) {
    store.visit_place(row.place, &mut |value| match value {
        StoredValue::Text(text) => match JsonFields::read(text) {
            Ok(fields) => bubble::add_bubble(said, &fields, &row.id, edited),
            Err(_) => said.note(format!("message {} is broken JSON; it was left out", row.id)),
        },
        StoredValue::NotText => said.note(format!("message {} has no text; it was left out", row.id)),
        StoredValue::TooLarge(why) => said.note(format!("message {} was left out: {why}", row.id)),
    });
}
