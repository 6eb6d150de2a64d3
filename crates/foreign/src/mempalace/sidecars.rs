//! MemPalace's files around a palace, as drawers: knowledge graph, tunnels, hallways, identity, entities.
//!
//! They lie in the palace's folder, in the folder around it, and in the folders of the user's installation. Everything
//! else that lies there is named with the reason why it is not carried, so that nothing is left behind unnoticed.

mod entries;
mod tables;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{
    CollectionInfo, CollectionName, Cursor, Drawer, DrawerId, DrawerPlace, FindingSeverity, IdentityState,
    IndexCoverage, Metadata, Metric, PalaceFinding,
};
use serde_json::Value as Json;

use super::MempalaceInstallation;
use super::installation::resolve_links;
use entries::{EntryKind, LeftEntries};

/// The collection of the drawers that are made of these files.
pub const SIDECAR_COLLECTION: &str = "mempalace_sidecars";

/// The files that MemPalace keeps beside the folder of a palace, wherever that lies.
const LINKS: [&str; 2] = ["tunnels.json", "hallways.json"];
/// The size of the largest text file that is read.
const LARGEST: u64 = 64 << 20;
/// The most files of a folder within the palace that are read.
const MOST_FILES: usize = 10_000;

/// The files around a palace, as drawers in the byte order of their ids.
#[derive(Debug, Default)]
pub struct SidecarFiles {
    /// The drawers.
    pub drawers: Vec<Drawer>,
    /// The files that could not be read, with the reason.
    pub unread: Vec<(String, String)>,
    /// The files and folders that are not carried.
    left: LeftEntries,
    /// The names under which files were read.
    names: BTreeSet<String>,
}

/// A palace whose surroundings are searched.
pub struct SidecarSearch<'a> {
    /// Its folder.
    pub folder: &'a Path,
    /// The installation of the user who asks.
    pub installation: &'a MempalaceInstallation,
    /// Whether its collections are those of MemPalace.
    pub is_mempalace: bool,
    /// Returns whether an entry of its folder belongs to the database itself.
    pub is_own: &'a dyn Fn(&str) -> bool,
}

/// A folder that is searched.
struct SidecarPlace {
    path: PathBuf,
    /// The prefix of names that another place has taken.
    label: &'static str,
    kind: PlaceKind,
}

/// The kind of a folder, which decides what in it is MemPalace's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    /// The palace's own.
    Palace,
    /// One of MemPalace's.
    Installed,
    /// A folder of any program in which the palace happens to lie.
    Neighbour,
}

impl SidecarFiles {
    /// Returns whether there are no such files.
    pub fn is_empty(&self) -> bool {
        self.drawers.is_empty()
    }

    /// Describes the collection.
    pub fn info(&self, name: &CollectionName) -> CollectionInfo {
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
            approximate: false,
            seq: Cursor(0),
            warnings: Vec::new(),
        }
    }

    /// Lists the files that cannot be read, and everything that is not carried.
    pub fn findings(&self) -> Vec<PalaceFinding> {
        let unread = self.unread.iter().map(|(file, why)| {
            let message = format!("{file} beside the database cannot be read: {why}");
            PalaceFinding::new("sidecar_unread", FindingSeverity::Warning, message)
        });
        unread.chain(self.left.findings()).collect()
    }

    fn add_drawer(&mut self, id: String, document: String, file: &str) {
        let Ok(id) = DrawerId::new(id) else {
            self.add_unread(file, "its name is too long for the id of a drawer");
            return;
        };
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

    fn add_unread(&mut self, file: &str, why: impl Into<String>) {
        self.unread.push((file.to_owned(), why.into()));
    }

    /// Reads one text file.
    fn read_text_file(&mut self, path: &Path, name: &str, label: &str) {
        if !self.is_regular_file(path, name) {
            return;
        }
        let Ok(found) = fs::metadata(path) else { return };
        if found.len() > LARGEST {
            self.add_unread(name, format!("it has {} bytes", found.len()));
            return;
        }
        match fs::read(path).map(String::from_utf8) {
            Ok(Ok(document)) => {
                if let Some(name) = self.claim_text_name(name, label, &document) {
                    self.add_drawer(name.clone(), document, &name);
                }
            }
            Ok(Err(_)) => self.add_unread(name, "it is not text"),
            Err(cause) => self.add_unread(name, cause.to_string()),
        }
    }

    /// Returns the name for a text, unless the same text was read under its name already.
    fn claim_text_name(&mut self, name: &str, label: &str, document: &str) -> Option<String> {
        let is_same =
            |drawer: &Drawer| drawer.id.as_str() == name && drawer.document.as_deref() == Some(document);
        if self.names.contains(name) && self.drawers.iter().any(is_same) {
            return None;
        }
        Some(self.claim_name(name, label))
    }

    /// Returns the name of a file, qualified by its folder if a file of another folder has the name.
    fn claim_name(&mut self, name: &str, label: &str) -> String {
        let name = if self.names.contains(name) {
            format!("{label}/{name}")
        } else {
            name.to_owned()
        };
        self.names.insert(name.clone());
        name
    }

    /// Returns whether `path` is a regular file; anything else that exists there is recorded as unread.
    fn is_regular_file(&mut self, path: &Path, name: &str) -> bool {
        let is_file = path.is_file();
        // A dangling link or a pipe under the name of a sidecar must not vanish silently from a migration.
        if !is_file && fs::symlink_metadata(path).is_ok() {
            self.add_unread(name, "it is not a file");
        }
        is_file
    }

    /// Reads one SQLite file.
    fn read_database(&mut self, path: &Path, name: &str, label: &str) {
        if self.is_regular_file(path, name) {
            let name = self.claim_name(name, label);
            tables::read_tables(path, &name, self);
        }
    }

    /// Reads the files of a folder within the palace, and those of the folders in it.
    fn read_folder(&mut self, folder: &Path, name: &str, label: &str) {
        let mut waiting = vec![(folder.to_path_buf(), name.to_owned())];
        let mut count = 0;
        while let Some((folder, name)) = waiting.pop() {
            for (entry, path) in list_entries(&folder) {
                let name = format!("{name}/{entry}");
                count += 1;
                if count > MOST_FILES {
                    self.add_unread(&name, format!("it and others follow {MOST_FILES} files"));
                    return;
                }
                // A link to a folder may lead back up; as a file it is reported as unread.
                let is_folder = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
                if is_folder {
                    waiting.push((path, name));
                } else {
                    self.read_text_file(&path, &name, label);
                }
            }
        }
    }
}

impl SidecarSearch<'_> {
    /// Reads the files around the palace.
    pub fn read_sidecars(&self) -> SidecarFiles {
        let mut sidecars = SidecarFiles::default();
        let places = self.list_places();
        for place in &places {
            self.read_place(place, &mut sidecars);
        }
        self.name_files_elsewhere(&places, &mut sidecars);
        sidecars.drawers.sort_by(|one, other| one.id.cmp(&other.id));
        sidecars.drawers.dedup_by(|later, earlier| later.id == earlier.id);
        sidecars
    }

    /// Returns the folders to search; files in an earlier one keep their plain names.
    fn list_places(&self) -> Vec<SidecarPlace> {
        let mut places = vec![SidecarPlace {
            path: self.folder.to_path_buf(),
            label: "palace",
            kind: PlaceKind::Palace,
        }];
        let is_owned = self.installation.owns_palace(self.folder);
        if let Some(around) = self.folder.parent() {
            let name = around.file_name().unwrap_or_default().to_string_lossy();
            let kind = if name.to_lowercase().contains("mempalace") || is_owned {
                PlaceKind::Installed
            } else {
                // A palace may lie in any folder, where files of these names may belong to another program.
                PlaceKind::Neighbour
            };
            places.push(SidecarPlace {
                path: around.to_path_buf(),
                label: "beside",
                kind,
            });
        }
        let installed = self.installation.folders().into_iter().filter(|_| is_owned);
        for folder in installed {
            let path = resolve_links(&folder.path);
            if !places.iter().any(|place| resolve_links(&place.path) == path) {
                places.push(SidecarPlace {
                    path: folder.path,
                    label: folder.label,
                    kind: PlaceKind::Installed,
                });
            }
        }
        places
    }

    fn read_place(&self, place: &SidecarPlace, sidecars: &mut SidecarFiles) {
        if place.kind == PlaceKind::Neighbour {
            // The place says nothing about whose files these are; their content does.
            let links = LINKS.map(|name| (name, place.path.join(name)));
            for (name, path) in links
                .iter()
                .filter(|(_, path)| self.is_mempalace && are_links(path))
            {
                sidecars.read_text_file(path, name, place.label);
            }
            return;
        }
        let palace = resolve_links(self.folder);
        // Other programs keep files beside a Chroma database as they please.
        let is_ours = self.is_mempalace || place.kind == PlaceKind::Installed;
        for (name, path) in list_entries(&place.path) {
            let is_own = place.kind == PlaceKind::Palace && (self.is_own)(&name);
            if is_own || resolve_links(&path) == palace {
                continue;
            }
            match EntryKind::classify(&name, &path) {
                EntryKind::Text => sidecars.read_text_file(&path, &name, place.label),
                EntryKind::Tables => sidecars.read_database(&path, &name, place.label),
                EntryKind::Folder if place.kind == PlaceKind::Palace => {
                    sidecars.read_folder(&path, &name, place.label);
                }
                EntryKind::Left(reason) if is_ours => sidecars.left.add_entry(&place.path, reason, name),
                EntryKind::Folder | EntryKind::Unknown if is_ours => {
                    sidecars.left.add_entry(&place.path, entries::UNKNOWN, name);
                }
                _ => {}
            }
        }
    }

    /// Names the files of the user's installation if the palace is MemPalace's but not one of this installation.
    fn name_files_elsewhere(&self, places: &[SidecarPlace], sidecars: &mut SidecarFiles) {
        if !self.is_mempalace {
            return;
        }
        for folder in self.installation.folders() {
            let path = resolve_links(&folder.path);
            if places
                .iter()
                .any(|place| place.kind != PlaceKind::Neighbour && resolve_links(&place.path) == path)
            {
                continue;
            }
            for (name, path) in list_entries(&folder.path) {
                if matches!(
                    EntryKind::classify(&name, &path),
                    EntryKind::Text | EntryKind::Tables
                ) {
                    sidecars.left.add_entry(&folder.path, entries::ELSEWHERE, name);
                }
            }
        }
    }
}

fn list_entries(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<(String, PathBuf)> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .collect();
    entries.sort_unstable();
    entries
}

/// Returns whether a file holds the tunnels or hallways of a palace.
fn are_links(path: &Path) -> bool {
    let small = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
    let json = small.then(|| fs::read(path).ok()).flatten();
    let json = json.and_then(|bytes| serde_json::from_slice::<Vec<Json>>(&bytes).ok());
    let first = json.as_deref().and_then(<[Json]>::first);
    let has = |keys: [&str; 2]| first.is_some_and(|first| keys.iter().all(|key| first.get(key).is_some()));
    has(["source", "target"]) || has(["entity_a", "entity_b"])
}

#[cfg(test)]
mod tests;
