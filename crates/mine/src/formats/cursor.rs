//! Cursor's `state.vscdb`: an SQLite file that stores every chat and every message as a value under a key.

mod bubble;
mod composer;
mod older;
mod vscdb;

use std::path::{Path, PathBuf};

use loci_core::Result;

use super::transcript::{CallSpeaker, TranscriptBuilder};
use super::{BundleFormat, BundleInput, ConversationSink};
use crate::conversation::ReadingNote;
use crate::keys::ConversationKeys;
use vscdb::VscdbFile;

/// Cursor's chats in an SQLite file.
pub(super) const CURSOR_VSCDB: BundleFormat = BundleFormat {
    name: "cursor-vscdb",
    files: find_files,
    parse,
};

/// The prefix of a chat's key.
const COMPOSER: &str = "composerData:";

/// The prefix of a message's key; the ids of the chat and of the message follow.
const BUBBLE: &str = "bubbleId:";

/// Keys under which older versions store chats, or an index of them.
const OLDER: [&str; 4] = [
    "composer.composerData",
    "workbench.panel.aichat.view.aichat.chatdata",
    "aiService.prompts",
    "aiService.generations",
];

fn find_files(path: &Path) -> Option<Vec<PathBuf>> {
    if !vscdb::is_vscdb(path) {
        return None;
    }
    let store = VscdbFile::open(path, 0).ok()?;
    let chats = !store.keys(COMPOSER, 1).is_empty() || !store.keys(BUBBLE, 1).is_empty();
    if !chats
        && !OLDER
            .iter()
            // VS Code itself keeps a `state.vscdb` without chats. `{}` and `[]` hold nothing either.
            .any(|key| store.value_bytes(key) > 2)
    {
        return None;
    }
    // The log is part of the fingerprint: it changes long before Cursor writes to the main file.
    let log = loci_foreign::path_beside(path, "-wal");
    Some(
        [path.to_owned(), log]
            .into_iter()
            .filter(|file| file.is_file())
            .collect(),
    )
}

fn parse(given: &BundleInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let path = given.path;
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    let store = VscdbFile::open(path, given.max_bytes)?;
    if store.lacks_log {
        said.note("changes that Cursor has not yet written into the file could not be read; close Cursor and mine again");
    }
    let mut chats = 0;
    let mut counted = |conversation| {
        chats += 1;
        sink(conversation)
    };
    let mut keys = ConversationKeys::default();
    composer::read_chats(&store, path, &mut keys, &mut said, &mut counted)?;
    older::read_older_chats(&store, path, &mut keys, &mut said, &mut counted)?;
    if chats == 0 {
        // The list of prompts repeats the questions of the chats, so it counts only if there are none.
        older::read_prompts(&store, path, &mut said, sink)?;
    }
    store
        .take_troubles()
        .into_iter()
        .for_each(|trouble| said.note(format!("a part of the file cannot be read: {trouble}")));
    Ok(said.notes)
}
