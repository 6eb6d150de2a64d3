//! Databases of other programs in every state they are found in: read whole, of one moment, and left as they were.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: a panic is a red line"
)]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::ErrorKind;
use loci_foreign::{ForeignDatabase, ForeignFailure, ForeignOpener, ForeignReading, path_beside};
use rusqlite::Connection;
use tempfile::TempDir;

/// A folder with a database named oddly, held open by its writer.
struct Scene {
    folder: TempDir,
    writer: Connection,
}

impl Scene {
    fn new(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let writer = Connection::open(folder.path().join(NAME)).unwrap();
        writer.execute_batch(settings).unwrap();
        writer
            .execute_batch("CREATE TABLE words (word TEXT); INSERT INTO words VALUES ('first');")
            .unwrap();
        Self { folder, writer }
    }

    fn in_log_mode() -> Self {
        Self::new("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;")
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    fn write(&self, word: &str) {
        self.writer
            .execute("INSERT INTO words VALUES (?1)", [word])
            .unwrap();
    }

    /// The same files in another folder, without their writer.
    fn left_behind(&self, endings: &[&str]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for ending in endings {
            let to = path_beside(&folder.path().join(NAME), ending);
            fs::copy(path_beside(&self.path(), ending), to).unwrap();
        }
        folder
    }
}

const NAME: &str = "odd %41 #name?.db";

fn words_of(database: &ForeignDatabase) -> Vec<String> {
    let mut statement = database
        .connection
        .prepare("SELECT word FROM words ORDER BY rowid")
        .unwrap();
    let words = statement.query_map([], |row| row.get(0)).unwrap();
    words.collect::<rusqlite::Result<_>>().unwrap()
}

fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// Opens and reads the database in `folder`; nothing in the folder may change.
fn read_without_a_trace(folder: &Path, opener: &ForeignOpener<'_>) -> (Vec<String>, ForeignReading) {
    let before = contents(folder);
    let database = opener.open(&folder.join(NAME)).unwrap();
    let words = words_of(&database);
    let reading = database.reading;
    drop(database.connection);
    assert!(contents(folder) == before, "a file was made or changed");
    (words, reading)
}

#[test]
fn a_file_alone_is_read_in_place() {
    let scene = Scene::new("");
    let (words, reading) = read_without_a_trace(scene.folder.path(), &ForeignOpener::default());
    assert_eq!(words, ["first"]);
    assert!(matches!(reading, ForeignReading::InPlace));
}

#[test]
fn a_file_in_log_mode_without_a_log_gets_no_files_beside_it() {
    let scene = Scene::in_log_mode();
    scene
        .writer
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let alone = scene.left_behind(&[""]);
    let (words, reading) = read_without_a_trace(alone.path(), &ForeignOpener::default());
    assert_eq!(words, ["first"]);
    assert!(matches!(reading, ForeignReading::InPlace));
    assert_eq!(contents(alone.path()).len(), 1);
}

#[test]
fn a_log_is_read_from_a_copy_and_in_place_where_that_is_allowed() {
    let scene = Scene::in_log_mode();
    let (words, reading) = read_without_a_trace(scene.folder.path(), &ForeignOpener::default());
    assert_eq!(words, ["first"]);
    assert!(matches!(reading, ForeignReading::Copied { beside: "-wal", .. }));
    let live = ForeignOpener {
        reads_live_logs: true,
        ..ForeignOpener::default()
    };
    let database = live.open(&scene.path()).unwrap();
    assert_eq!(words_of(&database), ["first"]);
    assert!(matches!(database.reading, ForeignReading::InPlace));
    // Within one process, SQLite shares the index between connections; another process only reads it.
    let with_index = scene.left_behind(&["", "-wal", "-shm"]);
    let (words, reading) = read_without_a_trace(with_index.path(), &live);
    assert_eq!(words, ["first"]);
    assert!(matches!(reading, ForeignReading::InPlace));
    let without_index = scene.left_behind(&["", "-wal"]);
    let (words, reading) = read_without_a_trace(without_index.path(), &live);
    assert_eq!(words, ["first"]);
    assert!(matches!(reading, ForeignReading::Copied { beside: "-wal", .. }));
}

#[test]
fn a_journal_of_an_unfinished_transaction_is_rolled_back_in_a_copy() {
    // A small cache makes the writer spill its pages before it commits.
    let scene = Scene::new("PRAGMA cache_size = 1; PRAGMA synchronous = OFF;");
    let many = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) \
                INSERT INTO words SELECT 'half ' || i FROM n";
    scene.writer.execute_batch(&format!("BEGIN; {many}")).unwrap();
    let dead = scene.left_behind(&["", "-journal"]);
    assert!(fs::metadata(dead.path().join(NAME)).unwrap().len() > 100_000);
    let (words, reading) = read_without_a_trace(dead.path(), &ForeignOpener::default());
    assert_eq!(words, ["first"]);
    assert!(matches!(
        reading,
        ForeignReading::Copied {
            beside: "-journal",
            ..
        }
    ));
}

#[test]
fn a_writer_that_changes_the_file_while_it_is_copied_is_noticed_and_the_copy_made_again() {
    let scene = Scene::in_log_mode();
    let copies = Cell::new(0);
    let opener = ForeignOpener {
        on_copied: &|attempt| {
            copies.set(attempt);
            if attempt < 3 {
                scene.write(&format!("while copy {attempt} was made"));
            }
        },
        ..ForeignOpener::default()
    };
    let database = opener.open(&scene.path()).unwrap();
    assert_eq!(copies.get(), 3);
    let expected = ["first", "while copy 1 was made", "while copy 2 was made"];
    assert_eq!(words_of(&database), expected);
    assert!(database.is_unchanged());
    scene.write("afterwards");
    assert!(!database.is_unchanged());
    assert_eq!(words_of(&database), expected, "a copy stays what it is");
}

#[test]
fn a_checkpoint_while_the_file_is_copied_is_noticed() {
    let scene = Scene::in_log_mode();
    let copies = Cell::new(0);
    let opener = ForeignOpener {
        on_copied: &|attempt| {
            copies.set(attempt);
            if attempt == 1 {
                scene.write("second");
                scene
                    .writer
                    .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
                    .unwrap();
                scene.write("third");
            }
        },
        ..ForeignOpener::default()
    };
    let database = opener.open(&scene.path()).unwrap();
    assert_eq!(copies.get(), 2);
    assert_eq!(words_of(&database), ["first", "second", "third"]);
}

#[test]
fn a_file_that_changes_with_every_copy_is_given_up_with_a_clear_error() {
    let scene = Scene::in_log_mode();
    let copies = Cell::new(0);
    let opener = ForeignOpener {
        on_copied: &|attempt| {
            copies.set(attempt);
            scene.write("again");
        },
        ..ForeignOpener::default()
    };
    let failure = opener.open(&scene.path()).unwrap_err();
    assert!(matches!(failure, ForeignFailure::Changing(_)));
    assert!(failure.is_passing());
    assert_eq!(copies.get(), 5);
    let error = failure.into_error(&scene.path());
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.message().contains("could not be copied whole"), "{error}");
    assert!(error.hint_text().unwrap().contains("nothing was changed"));
}

#[test]
fn copies_are_this_users_alone_and_go_with_the_database() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::in_log_mode();
    let database = ForeignOpener::default().open(&scene.path()).unwrap();
    let ForeignReading::Copied { copy, .. } = &database.reading else {
        panic!("a file with a log is copied");
    };
    let path = copy.path();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    drop(database);
    assert!(!path.parent().unwrap().exists());
}

#[test]
fn a_writer_that_holds_the_file_is_waited_for_and_then_named() {
    let scene = Scene::new("");
    scene.writer.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let opener = ForeignOpener {
        patience: Duration::from_millis(1),
        ..ForeignOpener::default()
    };
    let failure = opener.open(&scene.path()).unwrap_err();
    assert!(failure.is_passing(), "{failure}");
    assert_eq!(failure.into_error(&scene.path()).kind(), ErrorKind::Locked);
}

#[test]
fn what_stands_where_a_log_would_and_is_not_a_file_is_never_opened() {
    let scene = Scene::new("");
    let pipe = path_beside(&scene.path(), "-journal");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let database = ForeignOpener::default().open(&scene.path()).unwrap();
    assert_eq!(words_of(&database), ["first"]);
}

#[test]
fn a_log_of_holes_is_not_copied_whole() {
    let scene = Scene::new("");
    let log = fs::File::create(path_beside(&scene.path(), "-wal")).unwrap();
    log.set_len(1 << 40).unwrap();
    let database = ForeignOpener::default().open(&scene.path()).unwrap();
    assert_eq!(words_of(&database), ["first"]);
    assert!(matches!(
        database.reading,
        ForeignReading::Copied { beside: "-wal", .. }
    ));
}
