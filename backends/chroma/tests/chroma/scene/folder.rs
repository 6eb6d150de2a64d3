//! Folders that real releases of Chroma wrote: copies to read and to damage, and what is in them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use loci_testkit::{chroma_folder, left_out_releases};
use rusqlite::Connection;
use serde_json::Value as Json;
use tempfile::TempDir;
use zip::ZipArchive;

/// The releases that `scripts/chroma-fixtures` installs, oldest first.
const RELEASES: [&str; 7] = ["0.4.14", "0.4.24", "0.5.23", "0.6.3", "1.0.20", "1.3.7", "1.5.9"];

/// The last release that keeps sequence numbers as bytes, and the newest.
const BOTH_KINDS: [&str; 2] = ["0.6.3", "1.5.9"];

/// The number of bytes of a file that are compared; only a sparse file has more.
const COMPARED: u64 = 8 << 20;

/// The releases whose folders are there, oldest first.
pub(crate) fn releases() -> Vec<&'static str> {
    RELEASES.into_iter().filter(|release| runs(release)).collect()
}

/// The last release that keeps sequence numbers as bytes, where it is there, and the newest.
pub(crate) fn both_kinds() -> Vec<&'static str> {
    BOTH_KINDS.into_iter().filter(|release| runs(release)).collect()
}

/// Whether the Python at hand ran a release; says so where it did not, and `scripts/test` says it again at its end.
fn runs(release: &str) -> bool {
    let left_out = left_out_releases().into_iter().find(|(name, _)| name == release);
    if let Some((_, reason)) = &left_out {
        println!("left out: chromadb {release}, since {reason}");
    }
    left_out.is_none()
}

/// A private copy of a folder, with what its own release said of it.
#[derive(Debug)]
pub(crate) struct Folder {
    /// Which release wrote it and what it is called.
    pub(crate) name: String,
    /// Its expected content.
    pub(crate) expected: Json,
    place: TempDir,
}

impl Folder {
    /// Copies the folder `name` of a release that is there.
    pub(crate) fn copy(release: &str, name: &str) -> Self {
        let from = chroma_folder().join(release).join(name);
        let text = fs::read_to_string(from.join("expected.json"))
            .unwrap_or_else(|error| panic!("{}: {error}; run `bash scripts/prepare`", from.display()));
        let place = tempfile::tempdir().unwrap();
        copy_all(&from.join("db"), place.path());
        Self {
            name: format!("{release}/{name}"),
            expected: serde_json::from_str(&text).unwrap(),
            place,
        }
    }

    /// The same, where every release that wrote it is there.
    pub(crate) fn find(release: &str, name: &str) -> Option<Self> {
        let written = runs(release) && (name != "upgraded" || runs("0.6.3"));
        written.then(|| Self::copy(release, name))
    }

    /// A small folder of a release that the tree itself keeps, whichever Python is at hand.
    pub(crate) fn kept(release: &str) -> Self {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/kept-").to_owned() + release + ".zip";
        let unpacked = tempfile::tempdir().unwrap();
        let mut archive = ZipArchive::new(File::open(file).unwrap()).unwrap();
        archive.extract(unpacked.path()).unwrap();
        let text = fs::read_to_string(unpacked.path().join("expected.json")).unwrap();
        let place = tempfile::tempdir().unwrap();
        copy_all(&unpacked.path().join("db"), place.path());
        Self {
            name: format!("{release}/kept in the tree"),
            expected: serde_json::from_str(&text).unwrap(),
            place,
        }
    }

    /// A folder that a test wrote itself.
    pub(crate) fn at(place: TempDir, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            expected: Json::Null,
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

pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
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
        if path.is_dir() {
            fs::create_dir(&target).unwrap();
            copy_all(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
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
