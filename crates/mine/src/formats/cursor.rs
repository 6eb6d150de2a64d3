//! Cursor's `state.vscdb`: an SQLite file in which every chat and every message of it is a value under a key.

mod bubble;
mod composer;
mod older;
mod vscdb;

use std::path::{Path, PathBuf};

use loci_core::Result;

use super::transcript::{CallSpeaker, TranscriptBuilder};
use super::{BundleFormat, Sink};
use crate::conversation::Note;
use crate::keys::ConversationKeys;
use vscdb::Vscdb;

/// Cursor's chats in an SQLite file.
pub(super) const CURSOR_VSCDB: BundleFormat = BundleFormat {
    name: "cursor-vscdb",
    files,
    parse,
};

/// What every key of a chat begins with.
const COMPOSER: &str = "composerData:";

/// What every key of a message begins with; the chat's id and the message's follow.
const BUBBLE: &str = "bubbleId:";

/// Keys of one table that hold chats of older versions, or their index.
const OLDER: [&str; 4] = [
    "composer.composerData",
    "workbench.panel.aichat.view.aichat.chatdata",
    "aiService.prompts",
    "aiService.generations",
];

fn files(path: &Path) -> Option<Vec<PathBuf>> {
    if !vscdb::is_one(path) {
        return None;
    }
    let store = Vscdb::open(path).ok()?;
    let chats = !store.keys(COMPOSER, 1).is_empty() || !store.keys(BUBBLE, 1).is_empty();
    if !chats
        && !OLDER
            .iter()
            .any(|key| store.value(key).is_some_and(|value| value.len() > 2))
    {
        return None;
    }
    let log = loci_foreign::path_beside(path, "-wal");
    Some(
        [path.to_owned(), log]
            .into_iter()
            .filter(|file| file.is_file())
            .collect(),
    )
}

fn parse(path: &Path, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    let store = Vscdb::open(path)?;
    if store.lacks_log {
        said.note("what Cursor has not yet written into the file itself could not be read; close Cursor and mine again");
    }
    let mut chats = 0;
    let mut counted = |conversation| {
        chats += 1;
        sink(conversation)
    };
    let mut keys = ConversationKeys::default();
    composer::all(&store, path, &mut keys, &mut said, &mut counted)?;
    older::all(&store, path, &mut keys, &mut said, &mut counted)?;
    if chats == 0 {
        older::prompts(&store, path, &mut said, sink)?;
    }
    store
        .troubles()
        .into_iter()
        .for_each(|trouble| said.note(format!("a part of the file cannot be read: {trouble}")));
    Ok(said.notes)
}
