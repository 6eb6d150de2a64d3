//! Chats of Cursor: the order of their messages under one key, each message under its own.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use loci_core::{Result, Timestamp};

use super::vscdb::Vscdb;
use super::{BUBBLE, COMPOSER, bubble};
use crate::conversation::Conversation;
use crate::formats::Sink;
use crate::formats::json::Fields;
use crate::formats::transcript::TranscriptBuilder;
use crate::formats::workspace::{path_of_address, workspace_folder};
use crate::keys::ConversationKeys;

/// Reads every chat, also one of which only the messages are left.
pub(super) fn all(
    store: &Vscdb,
    path: &Path,
    keys: &mut ConversationKeys,
    said: &mut TranscriptBuilder,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let chat_of = |key: &str| Some(key.strip_prefix(BUBBLE)?.split_once(':')?.0.to_owned());
    let listed = store.keys(COMPOSER, i64::MAX).into_iter();
    let mut ids: BTreeSet<String> = listed
        .filter_map(|key| Some(key.strip_prefix(COMPOSER)?.to_owned()))
        .collect();
    ids.extend(store.keys(BUBBLE, i64::MAX).iter().filter_map(|key| chat_of(key)));
    for id in ids {
        let text = store.value(&format!("{COMPOSER}{id}"));
        let chat = text.as_deref().and_then(|text| Fields::read(text).ok());
        if text.is_some() && chat.is_none() {
            said.note(format!(
                "chat {id}: its order and title are broken; its messages were read by their times"
            ));
        }
        let chat = chat.unwrap_or_default();
        messages(store, &id, &chat, said);
        let key = Some(keys.claim_in_export(Some(id.clone())));
        said.hand_over(
            Conversation {
                key,
                ..about(&chat, Some(id), path)
            },
            sink,
        )?;
    }
    Ok(())
}

/// What a chat says about itself.
pub(super) fn about(chat: &Fields<'_>, id: Option<String>, path: &Path) -> Conversation {
    let uri = chat.fields("workspaceIdentifier").fields("uri");
    let named = uri
        .any_word(&["fsPath", "path"])
        .or_else(|| uri.word("external").map(|address| path_of_address(&address)));
    Conversation {
        id,
        title: chat.any_word(&["name", "chatTitle"]),
        cwd: named.or_else(|| workspace_folder(path.parent()?)),
        parent: chat.fields("subagentInfo").word("parentComposerId"),
        ..Conversation::default()
    }
}

/// One message as it is stored.
struct Row {
    id: String,
    own_id: Option<String>,
    at: Option<Timestamp>,
    text: Option<String>,
}

impl Row {
    fn new(key: &str, text: Option<String>) -> Self {
        let id = key
            .strip_prefix(BUBBLE)
            .and_then(|key| key.split_once(':'))
            .map(|(_, id)| id.to_owned());
        let fields = text
            .as_deref()
            .and_then(|text| Fields::read(text).ok())
            .unwrap_or_default();
        Self {
            id: id.unwrap_or_default(),
            own_id: fields.text("bubbleId"),
            at: bubble::time(&fields),
            text,
        }
    }
}

/// Adds the messages in the order the chat gives; those it does not name are what was said before an edit.
fn messages(store: &Vscdb, id: &str, chat: &Fields<'_>, said: &mut TranscriptBuilder) {
    let entries = store.entries(&format!("{BUBBLE}{id}:"));
    let mut rows: Vec<Option<Row>> = entries
        .into_iter()
        .map(|(key, text)| Some(Row::new(&key, text)))
        .collect();
    let places = places(&rows);
    let within = chat.fields("conversationMap");
    let headers: Vec<Fields<'_>> = chat.objects("fullConversationHeadersOnly").collect();
    for header in &headers {
        let name = header.text("bubbleId").unwrap_or_default();
        let row = places
            .get(&name)
            .and_then(|place| rows.get_mut(*place))
            .and_then(Option::take);
        match (row, within.object(&name)) {
            (Some(row), _) => add(said, &row, false),
            (None, Some(inner)) => bubble::add(said, &inner, &name, false),
            (None, None) => said.note(format!("chat {id}: message {name:?} is not in the file")),
        }
    }
    for inner in chat.objects("conversation").filter(|_| headers.is_empty()) {
        let name = inner.text("bubbleId").unwrap_or_default();
        if let Some(row) = places.get(&name).and_then(|place| rows.get_mut(*place)) {
            *row = None;
        }
        bubble::add(said, &inner, &name, false);
    }
    let ordered = !headers.is_empty() || !chat.items("conversation").is_empty();
    let mut left: Vec<Row> = rows.into_iter().flatten().collect();
    // Equal times keep the order of the rows.
    left.sort_by_key(|row| row.at);
    left.iter().for_each(|row| add(said, row, ordered));
}

/// Where a message is, by its key and by the id it gives itself; its key goes first.
fn places(rows: &[Option<Row>]) -> HashMap<String, usize> {
    let known = || {
        rows.iter()
            .enumerate()
            .filter_map(|(place, row)| Some((place, row.as_ref()?)))
    };
    let own = known().filter_map(|(place, row)| Some((row.own_id.clone()?, place)));
    own.chain(known().map(|(place, row)| (row.id.clone(), place)))
        .collect()
}

fn add(said: &mut TranscriptBuilder, row: &Row, edited: bool) {
    let Some(text) = &row.text else {
        return said.note(format!("message {} has no text; it was left out", row.id));
    };
    match Fields::read(text).ok() {
        Some(fields) => bubble::add(said, &fields, &row.id, edited),
        None => said.note(format!("message {} is broken JSON; it was left out", row.id)),
    }
}
