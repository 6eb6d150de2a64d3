//! What MemPalace keeps beside the database, as a collection of its own, so that it moves with everything else.
//!
//! Text and JSON files become one drawer each, word for word; of a SQLite file every row becomes one, as JSON. Ids
//! name the file and the row. Nothing here is interpreted.

mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{
    CollectionInfo, CollectionName, Coverage, Cursor, Drawer, DrawerId, IdentityState, Metadata, Metric,
    Place,
};

/// What the collection is called.
pub(crate) const NAME: &str = "mempalace_sidecars";

/// Files of text, in the palace's folder or beside it. Its config is not among them: it may hold keys of services.
const TEXTS: [&str; 7] = [
    "tunnels.json",
    "hallways.json",
    "identity.txt",
    "known_entities.json",
    "entity_registry.json",
    "known_names.json",
    "mempalace_embedder.json",
];
/// SQLite files, in the palace's folder or beside it.
const DATABASES: [&str; 2] = ["knowledge_graph.sqlite3", "logstream.sqlite3"];
/// Folders within the palace whose JSON files belong to it.
const FOLDERS: [&str; 5] = ["kg", "tunnels", "rooms", "wings", ".mempalace"];
/// The longest text file that is taken.
const LARGEST: u64 = 64 << 20;

/// The files beside a database, as drawers in byte order of their ids.
#[derive(Debug, Default)]
pub(crate) struct Sidecars {
    /// The drawers.
    pub(crate) drawers: Vec<Drawer>,
    /// Files that are there and could not be read, with the reason.
    pub(crate) unread: Vec<(String, String)>,
}

impl Sidecars {
    /// Whether MemPalace left nothing there.
    pub(crate) fn is_empty(&self) -> bool {
        self.drawers.is_empty()
    }

    /// What the collection says of itself.
    pub(crate) fn info(&self, name: &CollectionName) -> CollectionInfo {
        let drawers = self.drawers.len() as u64;
        CollectionInfo {
            name: name.clone(),
            metric: Metric::default(),
            dimension: None,
            identity: IdentityState::Unset,
            drawers,
            coverage: Coverage {
                lexical: drawers,
                ..Coverage::default()
            },
            seq: Cursor(0),
            warnings: Vec::new(),
        }
    }

    fn take(&mut self, id: String, document: String, file: &str) {
        let Ok(id) = DrawerId::new(id) else { return };
        let source = Some(file.to_owned());
        self.drawers.push(Drawer {
            document: Some(document),
            metadata: Some(Metadata::new().with("file", file)),
            place: Place {
                source,
                ..Place::default()
            },
            ..Drawer::bare(id)
        });
    }
}

/// Reads what lies in and beside the folder.
pub(crate) fn read(folder: &Path) -> Sidecars {
    let mut sidecars = Sidecars::default();
    for place in places(folder) {
        for name in TEXTS {
            text(&place.join(name), name, &mut sidecars);
        }
        for name in DATABASES {
            let path = place.join(name);
            if is_file(&path, name, &mut sidecars)
                && !sidecars
                    .drawers
                    .iter()
                    .any(|drawer| drawer.place.source.as_deref() == Some(name))
            {
                tables::read(&path, name, &mut sidecars);
            }
        }
    }
    for within in FOLDERS {
        for path in files(&folder.join(within)) {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            text(&path, &format!("{within}/{name}"), &mut sidecars);
        }
    }
    sidecars.drawers.sort_by(|one, other| one.id.cmp(&other.id));
    sidecars.drawers.dedup_by(|later, earlier| later.id == earlier.id);
    sidecars
}

/// The palace's folder, and the one around it where that is MemPalace's own.
fn places(folder: &Path) -> Vec<PathBuf> {
    let mut places = vec![folder.to_path_buf()];
    if let Some(around) = folder.parent() {
        let name = around
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        if name.contains("mempalace") {
            places.push(around.to_path_buf());
        }
    }
    places
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    files.sort_unstable();
    files
}

/// Takes one file of text; the first of a name counts.
fn text(path: &Path, name: &str, sidecars: &mut Sidecars) {
    if sidecars.drawers.iter().any(|drawer| drawer.id.as_str() == name) {
        return;
    }
    if !is_file(path, name, sidecars) {
        return;
    }
    let Ok(found) = fs::metadata(path) else { return };
    if found.len() > LARGEST {
        sidecars
            .unread
            .push((name.to_owned(), format!("it has {} bytes", found.len())));
        return;
    }
    match fs::read(path).map(String::from_utf8) {
        Ok(Ok(document)) => sidecars.take(name.to_owned(), document, name),
        Ok(Err(_)) => sidecars
            .unread
            .push((name.to_owned(), "it is no text".to_owned())),
        Err(cause) => sidecars.unread.push((name.to_owned(), cause.to_string())),
    }
}

/// Whether a regular file stands there; something else that does is written down.
fn is_file(path: &Path, name: &str, sidecars: &mut Sidecars) -> bool {
    let is_file = path.is_file();
    if !is_file && fs::symlink_metadata(path).is_ok() {
        sidecars
            .unread
            .push((name.to_owned(), "it is no file".to_owned()));
    }
    is_file
}
