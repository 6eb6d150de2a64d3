//! Folders that real releases of Chroma wrote: copies to read and to damage, and what is in them.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::Connection;
use serde_json::Value as Json;
use tempfile::TempDir;

/// The releases that `scripts/chroma-fixtures` installs, oldest first.
pub(crate) const RELEASES: [&str; 7] = ["0.4.14", "0.4.24", "0.5.23", "0.6.3", "1.0.20", "1.3.7", "1.5.9"];

/// The last release that keeps sequence numbers as bytes, and the newest.
pub(crate) const BOTH_KINDS: [&str; 2] = ["0.6.3", "1.5.9"];

/// How much of a file is compared; only one that is mostly holes has more.
const COMPARED: u64 = 8 << 20;

/// Where the folders are. A machine without them has nothing to show, which is a failure and not a success.
pub(crate) fn root() -> PathBuf {
    let named = std::env::var_os("LOCI_TEST_CHROMA").expect(
        "LOCI_TEST_CHROMA is not set: name the folder that `bash scripts/chroma-fixtures FOLDER` filled; \
         `bash scripts/test` does so by itself",
    );
    PathBuf::from(named)
}

/// A private copy of a folder, with what its own release said of it.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Which release wrote it and what it is called.
    pub(crate) name: String,
    /// What it holds.
    pub(crate) expected: Json,
    place: TempDir,
}

impl Folder {
    /// Copies the folder `name` of a release.
    pub(crate) fn copy(release: &str, name: &str) -> Self {
        let from = root().join(release).join(name);
        let text = fs::read_to_string(from.join("expected.json")).unwrap_or_else(|error| {
            panic!("{}: {error}; run `bash scripts/chroma-fixtures`", from.display())
        });
        let place = tempfile::tempdir().unwrap();
        copy_all(&from.join("db"), place.path());
        Self {
            name: format!("{release}/{name}"),
            expected: serde_json::from_str(&text).unwrap(),
            place,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.place.path()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path().join("chroma.sqlite3")
    }

    /// The folder of the only segment whose graph was saved or begun.
    pub(crate) fn segment(&self) -> PathBuf {
        let mut found: Vec<PathBuf> = entries(self.path())
            .into_iter()
            .filter(|path| path.is_dir())
            .collect();
        assert_eq!(found.len(), 1, "{}: {found:?}", self.name);
        found.remove(0)
    }

    /// The name of the folder that holds the graph of a collection.
    pub(crate) fn segment_of(&self, collection: &str) -> String {
        let sql = "SELECT s.id FROM segments s JOIN collections c ON c.id = s.collection \
                   WHERE c.name = ?1 AND s.scope = 'VECTOR'";
        let connection = Connection::open(self.database()).unwrap();
        connection.query_row(sql, [collection], |row| row.get(0)).unwrap()
    }

    /// Runs statements as a careless tool would.
    pub(crate) fn sql(&self, statements: &str) {
        let connection = Connection::open(self.database()).unwrap();
        connection.execute_batch(statements).unwrap();
    }

    /// A number that a statement gives.
    pub(crate) fn number(&self, statement: &str) -> i64 {
        let connection = Connection::open(self.database()).unwrap();
        connection.query_row(statement, [], |row| row.get(0)).unwrap()
    }

    /// Changes a file as a whole.
    pub(crate) fn change(&self, file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(file).unwrap();
        let before = bytes.clone();
        change(&mut bytes);
        assert!(bytes != before, "{}: nothing was damaged", file.display());
        fs::write(file, bytes).unwrap();
    }

    /// Every file by its name, with its bytes as a hash, its length and its time.
    pub(crate) fn look(&self) -> BTreeMap<PathBuf, (u64, u64, SystemTime)> {
        let mut found = BTreeMap::new();
        look_into(self.path(), &mut found);
        found
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    found
}

fn copy_all(from: &Path, to: &Path) {
    for path in entries(from) {
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => {
                fs::create_dir(&target).unwrap();
                copy_all(&path, &target);
            }
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

fn look_into(folder: &Path, found: &mut BTreeMap<PathBuf, (u64, u64, SystemTime)>) {
    for path in entries(folder) {
        let metadata = fs::metadata(&path).unwrap();
        if metadata.is_dir() {
            found.insert(path.clone(), (0, 0, SystemTime::UNIX_EPOCH));
            look_into(&path, found);
            continue;
        }
        let mut bytes = Vec::new();
        let file = File::open(&path).unwrap();
        file.take(COMPARED).read_to_end(&mut bytes).unwrap();
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let modified = metadata.modified().unwrap();
        found.insert(path, (hasher.finish(), metadata.len(), modified));
    }
}
