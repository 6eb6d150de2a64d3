//! Dropped collections: nothing of one is left, its number is never given again, and no kill leaves half of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier};

use crate::scene::{raw, spaces, truth};
use loci_core::*;
use loci_store::EmbeddedBackend;

const DIMENSION: usize = 4;

/// Set for a child process: where to drop the collection.
const FOLDER: &str = "LOCI_TEST_FOLDER";

fn name(name: &str) -> CollectionName {
    CollectionName::new(name).unwrap()
}

fn create(folder: &Path, collection: &str, mode: CreateMode) -> Result<Arc<dyn Collection>> {
    let options = OpenOptions::default();
    EmbeddedBackend::new().create(&PalaceRef::local(folder), &name(collection), mode, &options)
}

/// A palace with two collections that have a bit of everything: sealed rows, gone rows, records, keys, two spaces.
fn filled() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for collection in ["drawers", "other"] {
        let options = OpenOptions {
            embedder: Some(spaces::model("test", DIMENSION)),
            ..OpenOptions::default()
        };
        let palace = PalaceRef::local(folder.path());
        let handle = EmbeddedBackend::new()
            .create(&palace, &name(collection), CreateMode::OpenExisting, &options)
            .unwrap();
        let batch: Vec<Write> = (0..1040)
            .map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)))
            .collect();
        let key = IdempotencyKey::new("filled").unwrap();
        handle
            .apply(&ApplyRequest::from_writes(&batch).under_key(&key))
            .unwrap();
        let gone = (5..9).map(truth::id).collect();
        handle
            .apply_batch(&[Write::Delete(DeleteSelection::Ids(gone))])
            .unwrap();
        let revision = SourceRevision {
            source: "a.md".into(),
            expects: None,
            stamp: Some("1".into()),
            parts: Box::new(std::iter::empty()),
        };
        handle.require_sources().unwrap().revise(vec![revision]).unwrap();
        spaces::switch_to(&*handle, &spaces::model("newer", 3));
    }
    folder
}

fn drop_drawers(folder: &Path) -> Result<()> {
    EmbeddedBackend::new().drop_collection(&PalaceRef::local(folder), &name("drawers"))
}

#[test]
fn nothing_of_a_dropped_collection_is_left_and_others_are_unchanged() {
    let folder = filled();
    let other = create(folder.path(), "other", CreateMode::OpenExisting).unwrap();
    let before = truth::Truth::read(&*other).unwrap();
    drop_drawers(folder.path()).unwrap();
    for table in [
        "drawers",
        "tombstones",
        "sources",
        "places",
        "receipts",
        "spaces",
        "collections",
    ] {
        let sql = format!("SELECT count(*) FROM {table} WHERE collection = 1");
        assert_eq!(raw::number(folder.path(), &sql), 0, "{table}");
    }
    let homeless = "SELECT count(*) FROM segments WHERE space NOT IN (SELECT space FROM spaces)";
    assert_eq!(raw::number(folder.path(), homeless), 0);
    let dead = "SELECT count(*) FROM dead WHERE space NOT IN (SELECT space FROM spaces)";
    assert_eq!(raw::number(folder.path(), dead), 0);
    // Two spaces and one projection of five tables are left, of the other collection.
    let own = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'
        AND (name GLOB 'vectors_*' OR name GLOB 'words_*' OR name GLOB 'attributes_*')";
    assert_eq!(raw::number(folder.path(), own), 7);
    assert_eq!(before.difference(&truth::Truth::read(&*other).unwrap()), None);
    assert_eq!(
        EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
        []
    );
}

#[test]
fn a_handle_on_a_dropped_collection_does_not_take_its_namesake_for_it() {
    let folder = filled();
    let handle = create(folder.path(), "drawers", CreateMode::OpenExisting).unwrap();
    for _ in 0..3 {
        drop_drawers(folder.path()).unwrap();
        let new = create(folder.path(), "drawers", CreateMode::Exclusive).unwrap();
        new.add_drawer(NewDrawer::new(truth::id(1), "text")).unwrap();
        let errors = [
            handle.count(&Filter::All.into()).unwrap_err(),
            handle
                .add_drawer(NewDrawer::new(truth::id(2), "text"))
                .unwrap_err(),
            handle.moment().unwrap_err(),
            handle
                .require_upkeep()
                .unwrap()
                .run(&MaintenanceKind::COMPACT)
                .unwrap_err(),
        ];
        assert!(
            errors.iter().all(|error| error.kind() == ErrorKind::NotFound),
            "{errors:?}"
        );
        assert_eq!(new.count(&Filter::All.into()).unwrap(), 1);
    }
    let numbers = "SELECT group_concat(collection, ' ') FROM (SELECT collection FROM collections ORDER BY 1)";
    let numbers: String = raw::connect(folder.path())
        .query_row(numbers, [], |row| row.get(0))
        .unwrap();
    assert_eq!(numbers, "2 5", "no number is given twice");
}

#[test]
fn of_many_exclusive_creations_one_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let start = Barrier::new(8);
    let made = std::thread::scope(|scope| {
        let attempt = || {
            start.wait();
            match create(folder.path(), "drawers", CreateMode::Exclusive) {
                Ok(_) => 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}");
                    0
                }
            }
        };
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(attempt)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .sum::<i32>()
    });
    assert_eq!(made, 1);
}

/// Not a test of its own: the next one starts it as another process.
#[test]
fn a_child_process_drops_a_collection() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    drop_drawers(&PathBuf::from(folder)).unwrap();
}

#[test]
fn a_drop_that_is_killed_leaves_the_collection_whole() {
    for (point, there) in [
        ("drop-collection-half", true),
        ("before-commit", true),
        ("after-commit", false),
    ] {
        let folder = filled();
        let before =
            truth::Truth::read(&*create(folder.path(), "drawers", CreateMode::OpenExisting).unwrap());
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["dropped::a_child_process_drops_a_collection", "--exact"])
            .env(FOLDER, folder.path())
            .env("LOCI_CRASH_AT", point)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!status.success(), "it ended at {point}");
        let found = EmbeddedBackend::new().open(
            &PalaceRef::local(folder.path()),
            &name("drawers"),
            &OpenOptions::default(),
        );
        match found {
            Ok(found) if there => {
                let now = truth::Truth::read(&*found).unwrap();
                assert_eq!(before.unwrap().difference(&now), None);
            }
            Err(error) if !there => assert_eq!(error.kind(), ErrorKind::NotFound),
            other => panic!("{point}: {other:?}"),
        }
        assert_eq!(
            EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
            []
        );
    }
}
