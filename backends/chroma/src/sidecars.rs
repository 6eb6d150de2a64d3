//! MemPalace's files beside the database, as a separate collection that moves with everything else.
//!
//! Text and JSON files become one drawer each, verbatim; every row of a SQLite file becomes one, as JSON. Ids name
//! the file and the row. The content is not interpreted.

mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{
    CollectionInfo, CollectionName, Cursor, Drawer, DrawerId, DrawerPlace, IdentityState, IndexCoverage,
    Metadata, Metric,
};

/// The name of the collection.
pub(crate) const NAME: &str = "mempalace_sidecars";

/// The text files, in the palace's folder or beside it. The config is excluded, since it may hold API keys.
const TEXTS: [&str; 7] = [
    "tunnels.json",
    "hallways.json",
    "identity.txt",
    "known_entities.json",
    "entity_registry.json",
    "known_names.json",
    "mempalace_embedder.json",
];
/// The SQLite files, in the palace's folder or beside it.
const DATABASES: [&str; 2] = ["knowledge_graph.sqlite3", "logstream.sqlite3"];
/// The folders within the palace whose JSON files belong to it.
const FOLDERS: [&str; 5] = ["kg", "tunnels", "rooms", "wings", ".mempalace"];
/// The size of the largest text file that is read.
const LARGEST: u64 = 64 << 20;

/// The files beside a database, as drawers in the byte order of their ids.
#[derive(Debug, Default)]
pub(crate) struct SidecarFiles {
    /// The drawers.
    pub(crate) drawers: Vec<Drawer>,
    /// The files that could not be read, with the reason.
    pub(crate) unread: Vec<(String, String)>,
}

impl SidecarFiles {
    /// Returns whether there are no such files.
    pub(crate) fn is_empty(&self) -> bool {
        self.drawers.is_empty()
    }

    /// Describes the collection.
    pub(crate) fn info(&self, name: &CollectionName) -> CollectionInfo {
        let drawers = self.drawers.len() as u64;
        CollectionInfo {
            name: name.clone(),
            metric: Metric::default(),
            dimension: None,
            identity: IdentityState::Unset,
            drawers,
            coverage: IndexCoverage {
                lexical: drawers,
                ..IndexCoverage::default()
            },
            seq: Cursor(0),
            warnings: Vec::new(),
        }
    }

    fn add_drawer(&mut self, id: String, document: String, file: &str) {
        let Ok(id) = DrawerId::new(id) else { return };
        let source = Some(file.to_owned());
        self.drawers.push(Drawer {
            document: Some(document),
            metadata: Some(Metadata::new().with_entry("file", file)),
            place: DrawerPlace {
                source,
                ..DrawerPlace::default()
            },
            ..Drawer::with_id_only(id)
        });
    }
}

/// Reads the files in and beside the folder.
pub(crate) fn read_sidecars(folder: &Path) -> SidecarFiles {
    let mut sidecars = SidecarFiles::default();
    for place in sidecar_folders(folder) {
        for name in TEXTS {
            read_text_file(&place.join(name), name, &mut sidecars);
        }
        for name in DATABASES {
            let path = place.join(name);
            if is_regular_file(&path, name, &mut sidecars)
                // The file in the palace's own folder wins over one of the same name around it.
                && !sidecars
                    .drawers
                    .iter()
                    .any(|drawer| drawer.place.source.as_deref() == Some(name))
            {
                tables::read_tables(&path, name, &mut sidecars);
            }
        }
    }
    for within in FOLDERS {
        for path in list_files(&folder.join(within)) {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            read_text_file(&path, &format!("{within}/{name}"), &mut sidecars);
        }
    }
    sidecars.drawers.sort_by(|one, other| one.id.cmp(&other.id));
    // The sort is stable, so of two drawers with one id the first that was read stays.
    sidecars.drawers.dedup_by(|later, earlier| later.id == earlier.id);
    sidecars
}

/// Returns the palace's folder, and its parent if that is MemPalace's own.
fn sidecar_folders(folder: &Path) -> Vec<PathBuf> {
    let mut places = vec![folder.to_path_buf()];
    if let Some(around) = folder.parent() {
        let name = around
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        // A palace may lie in any folder, where files of these names may belong to another program.
        if name.contains("mempalace") {
            places.push(around.to_path_buf());
        }
    }
    places
}

fn list_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    files.sort_unstable();
    files
}

/// Reads one text file; the first one of a name counts.
fn read_text_file(path: &Path, name: &str, sidecars: &mut SidecarFiles) {
    if sidecars.drawers.iter().any(|drawer| drawer.id.as_str() == name) {
        return;
    }
    if !is_regular_file(path, name, sidecars) {
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
        Ok(Ok(document)) => sidecars.add_drawer(name.to_owned(), document, name),
        Ok(Err(_)) => sidecars
            .unread
            .push((name.to_owned(), "it is not text".to_owned())),
        Err(cause) => sidecars.unread.push((name.to_owned(), cause.to_string())),
    }
}

/// Returns whether `path` is a regular file; anything else that exists there is recorded as unread.
fn is_regular_file(path: &Path, name: &str, sidecars: &mut SidecarFiles) -> bool {
    let is_file = path.is_file();
    // A dangling link or a pipe under the name of a sidecar must not vanish silently from a migration.
    if !is_file && fs::symlink_metadata(path).is_ok() {
        sidecars
            .unread
            .push((name.to_owned(), "it is not a file".to_owned()));
    }
    is_file
}
