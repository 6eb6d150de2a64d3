//! The files and folders that MemPalace makes, by name: those that are carried, and those that are not, with the reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use loci_core::{FindingSeverity, PalaceFinding};

/// The text files that are carried. The settings are not among them, since they may hold API keys.
const TEXTS: [&str; 11] = [
    "tunnels.json",
    "hallways.json",
    "identity.txt",
    "known_entities.json",
    "entity_registry.json",
    "known_names.json",
    "mempalace_embedder.json",
    "people_map.json",
    "wing_config.json",
    "aaak_entities.md",
    "critical_facts.md",
];
/// The SQLite files that are carried.
const TABLES: [&str; 2] = ["knowledge_graph.sqlite3", "logstream.sqlite3"];
/// The folders within a palace whose files are carried.
const FOLDERS: [&str; 5] = ["kg", "tunnels", "rooms", "wings", ".mempalace"];
/// The databases by which palaces are recognised.
const DATABASES: [&str; 2] = ["chroma.sqlite3", "sqlite_exact.sqlite3"];
/// The endings of the files that SQLite makes beside a database.
const ENDINGS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The entries that are not carried, with the reason.
const LEFT: [(&str, &str); 17] = [
    ("config.json", SETTINGS),
    ("peers.json", SETTINGS),
    ("replica.json", STATE),
    ("locks", STATE),
    ("hook_state", STATE),
    ("server", STATE),
    ("daemon", STATE),
    ("watch", STATE),
    ("state", STATE),
    ("updates.json", STATE),
    (".blob_seq_ids_migrated", STATE),
    (".collection_type_fixed", STATE),
    ("wal", "a log of writes, without their texts"),
    ("milvus.db", BACKEND),
    ("qdrant_backend.json", BACKEND),
    ("pgvector_backend.json", BACKEND),
    ("backups", "copies of palaces"),
];
const SETTINGS: &str = "settings, which may hold keys";
const STATE: &str = "the state of MemPalace's own programs";
const BACKEND: &str = "a palace on a backend that is not read here";
const PALACE: &str = "another palace, or a copy of one; name it with --from";

/// The reason for entries whose names MemPalace does not use.
pub(super) const UNKNOWN: &str = "not a file that MemPalace is known to write";
/// The reason for files of an installation to which the palace does not belong.
pub(super) const ELSEWHERE: &str = "they belong to another palace of this user; if they belong to this one, set \
                                    MEMPALACE_PALACE_PATH to its path and run the command again";

/// The most names of one finding.
const MOST_NAMED: usize = 12;

/// What an entry of a folder is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A text file that is carried.
    Text,
    /// A SQLite file that is carried.
    Tables,
    /// A folder whose files are carried if it is within a palace.
    Folder,
    /// Belongs to the SQLite file beside it.
    Attached,
    /// Not carried, for this reason.
    Left(&'static str),
    /// Anything else.
    Unknown,
}

impl EntryKind {
    /// Classifies an entry.
    pub(super) fn classify(name: &str, path: &Path) -> Self {
        let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
        if TEXTS.contains(&name) {
            Self::Text
        } else if TABLES.contains(&name) {
            Self::Tables
        } else if stem.is_some_and(|stem| TABLES.contains(&stem) || DATABASES.contains(&stem)) {
            Self::Attached
        } else if FOLDERS.contains(&name) {
            Self::Folder
        } else if let Some((_, reason)) = LEFT.iter().find(|(left, _)| *left == name) {
            Self::Left(reason)
        } else if DATABASES.contains(&name) || DATABASES.iter().any(|file| path.join(file).is_file()) {
            Self::Left(PALACE)
        } else {
            Self::Unknown
        }
    }
}

/// The entries that are not carried, by folder and reason.
#[derive(Debug, Default)]
pub(super) struct LeftEntries(BTreeMap<(PathBuf, &'static str), Vec<String>>);

impl LeftEntries {
    /// Adds an entry of `folder`.
    pub(super) fn add_entry(&mut self, folder: &Path, reason: &'static str, name: String) {
        let entries = self.0.entry((folder.to_path_buf(), reason)).or_default();
        entries.push(name);
    }

    /// Returns a note for each folder and reason.
    pub(super) fn findings(&self) -> impl Iterator<Item = PalaceFinding> {
        self.0.iter().map(|((folder, reason), names)| {
            let shown = names.iter().take(MOST_NAMED).map(String::as_str);
            let mut shown = shown.collect::<Vec<_>>().join(", ");
            let more = names.len().saturating_sub(MOST_NAMED);
            if more > 0 {
                shown.push_str(&format!(" and {more} more"));
            }
            let message = format!("not carried from {}: {shown} ({reason})", folder.display());
            PalaceFinding::new(PalaceFinding::LEFT_BEHIND, FindingSeverity::Note, message)
        })
    }
}
