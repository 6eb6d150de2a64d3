//! Files removed, replaced, overwritten, cut or reached by a second name under a running process: nothing that was
//! acknowledged is lost without a message, and no process dies.
//!
//! Each backend here has its own descriptors and locks, as a process of its own has.

mod campaign;
mod older_copies;
mod unread;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::scene::raw;
use crate::scene::truth;
use loci_core::*;
use loci_store::EmbeddedBackend;
use tempfile::TempDir;

const DIMENSION: usize = 8;

/// A palace that a server has open, with some drawers of its own.
struct ServedPalace {
    root: TempDir,
    server: EmbeddedBackend,
    collection: Arc<dyn Collection>,
}

impl ServedPalace {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let server = EmbeddedBackend::new();
        let collection = truth::open(&server, &root.path().join("palace"), DIMENSION, true).unwrap();
        let served = Self {
            root,
            server,
            collection,
        };
        (0..5).for_each(|n| served.add(n).unwrap());
        served
    }

    fn folder(&self) -> PathBuf {
        self.root.path().join("palace")
    }

    fn file(&self, suffix: &str) -> PathBuf {
        self.folder().join(format!("palace.db{suffix}"))
    }

    /// Files drawer `n` through the server.
    fn add(&self, n: usize) -> Result<()> {
        self.collection
            .add_drawer(truth::drawer(n, 0, DIMENSION))
            .map(drop)
    }

    fn backup(&self) -> PathBuf {
        let copy = self.root.path().join("copy.db");
        self.server
            .backup(&PalaceRef::local(self.folder()), &copy, &mut |_| {})
            .unwrap();
        copy
    }
}

/// Files drawer `n` as a command of its own does.
fn add_elsewhere(folder: &Path, n: usize) -> Result<()> {
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, DIMENSION, false)?;
    collection.add_drawer(truth::drawer(n, 0, DIMENSION)).map(drop)
}

fn list_elsewhere(folder: &Path) -> Result<Vec<String>> {
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, DIMENSION, false)?;
    list(&*collection)
}

fn list(collection: &dyn Collection) -> Result<Vec<String>> {
    let page = collection.get(&GetRequest::default())?;
    Ok(page.iter().map(|drawer| drawer.id.to_string()).collect())
}

fn ids(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|n| truth::id(n).to_string()).collect()
}

/// Another palace, closed, in one file.
fn another_palace(root: &Path) -> PathBuf {
    let folder = root.join("another");
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, &folder, DIMENSION, true).unwrap();
    collection.add_drawer(truth::drawer(900, 0, DIMENSION)).unwrap();
    drop(collection);
    backend.close();
    raw::file(&folder)
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(result: Result<T>, kind: ErrorKind) -> String {
    let error = result.expect_err("it must be refused");
    assert_eq!(error.kind(), kind, "{error:?}");
    assert!(error.hint_text().is_some(), "{error:?}");
    error.message().to_owned()
}

#[test]
fn a_newcomer_is_refused_while_a_server_uses_the_removed_shared_memory() {
    for removed in [&["-shm"][..], &["-wal", "-shm"], &["-wal"]] {
        let served = ServedPalace::new();
        for suffix in removed {
            fs::remove_file(served.file(suffix)).unwrap();
        }
        let message = assert_refused(add_elsewhere(&served.folder(), 10), ErrorKind::Conflict);
        assert!(message.contains("palace.db-shm"), "{message}");
        // The server itself goes on, and brings along what only its open log held.
        served.add(5).unwrap();
        assert_eq!(list(&*served.collection).unwrap(), ids(0..6), "{removed:?}");
        add_elsewhere(&served.folder(), 6).unwrap();
        assert_eq!(list_elsewhere(&served.folder()).unwrap(), ids(0..7));
        assert_eq!(list(&*served.collection).unwrap(), ids(0..7));
        assert!(EmbeddedBackend::new().examine(&served.folder()).unwrap().healthy);
    }
}

#[test]
fn a_server_that_ends_after_its_log_was_removed_leaves_everything_in_the_file() {
    let served = ServedPalace::new();
    fs::remove_file(served.file("-wal")).unwrap();
    fs::remove_file(served.file("-shm")).unwrap();
    drop(served.collection);
    served.server.close();
    let folder = served.root.path().join("palace");
    assert_eq!(list_elsewhere(&folder).unwrap(), ids(0..5));
    assert!(EmbeddedBackend::new().examine(&folder).unwrap().healthy);
}

#[test]
fn another_palace_renamed_over_the_file_takes_no_write_and_mixes_no_page() {
    let served = ServedPalace::new();
    let another = another_palace(served.root.path());
    let before = fs::read(&another).unwrap();
    fs::rename(&another, served.file("")).unwrap();
    assert!(served.add(5).is_err());
    assert!(list(&*served.collection).is_err());
    // The log of the palace that was there still stands beside the new file, which does not know it.
    assert_refused(add_elsewhere(&served.folder(), 6), ErrorKind::Corrupt);
    assert_refused(list_elsewhere(&served.folder()), ErrorKind::Corrupt);
    assert_eq!(
        fs::read(served.file("")).unwrap(),
        before,
        "not a byte was changed"
    );
    // Once that log is out of the way, the new palace serves a new process, and the old server still refuses.
    fs::rename(served.file("-wal"), served.root.path().join("kept-wal")).unwrap();
    assert_eq!(list_elsewhere(&served.folder()).unwrap(), ids([900]));
    let message = assert_refused(served.add(7), ErrorKind::Conflict);
    assert!(message.contains("another palace"), "{message}");
    assert_refused(list(&*served.collection), ErrorKind::Conflict);
    add_elsewhere(&served.folder(), 901).unwrap();
    assert_eq!(list_elsewhere(&served.folder()).unwrap(), ids([900, 901]));
}

#[test]
fn the_same_palace_behind_a_new_file_is_served_and_said() {
    let served = ServedPalace::new();
    let copy = served.backup();
    served.add(5).unwrap();
    // As a careful person restores: every file is taken away, then the copy is put in place.
    for suffix in ["", "-wal", "-shm"] {
        fs::rename(
            served.file(suffix),
            served.root.path().join(format!("old{suffix}")),
        )
        .unwrap();
    }
    fs::rename(copy, served.file("")).unwrap();
    assert_eq!(list(&*served.collection).unwrap(), ids(0..5));
    let warnings = served.collection.info().unwrap().warnings;
    assert!(
        warnings.iter().any(|warning| warning.code == "replaced_file"),
        "{warnings:?}"
    );
    served.add(6).unwrap();
    assert_eq!(list_elsewhere(&served.folder()).unwrap(), ids([0, 1, 2, 3, 4, 6]));
    // What was taken away is whole, too: its log has not been touched.
    let old = served.root.path().join("old-palace");
    fs::create_dir(&old).unwrap();
    for suffix in ["", "-wal"] {
        fs::rename(
            served.root.path().join(format!("old{suffix}")),
            old.join(format!("palace.db{suffix}")),
        )
        .unwrap();
    }
    assert_eq!(list_elsewhere(&old).unwrap(), ids(0..6));
}

#[test]
fn a_restore_is_refused_while_a_process_or_a_log_of_the_removed_palace_is_there() {
    let served = ServedPalace::new();
    let copy = served.backup();
    fs::remove_file(served.file("")).unwrap();
    let restore = || EmbeddedBackend::new().restore(&copy, &PalaceRef::local(served.folder()), &mut |_| {});
    let message = assert_refused(restore(), ErrorKind::Conflict);
    assert!(message.contains("still uses"), "{message}");
    assert!(!served.file("").exists());
    // The server ends; its log, with writes that may be nowhere else, stays and still stands in the way.
    drop(served.collection);
    served.server.close();
    let folder = served.root.path().join("palace");
    let again = || EmbeddedBackend::new().restore(&copy, &PalaceRef::local(&folder), &mut |_| {});
    let message = assert_refused(again(), ErrorKind::Conflict);
    assert!(message.contains("palace.db-wal"), "{message}");
    fs::rename(folder.join("palace.db-wal"), served.root.path().join("kept")).unwrap();
    assert_eq!(again().unwrap().drawers, 5);
    assert_eq!(list_elsewhere(&folder).unwrap(), ids(0..5));
    assert!(EmbeddedBackend::new().examine(&folder).unwrap().healthy);
}

#[test]
fn a_second_name_of_the_file_is_refused_while_the_first_is_in_use() {
    let served = ServedPalace::new();
    let second = served.root.path().join("second");
    fs::create_dir(&second).unwrap();
    fs::hard_link(served.file(""), second.join("palace.db")).unwrap();
    assert_refused(list_elsewhere(&second), ErrorKind::Conflict);
    assert_refused(add_elsewhere(&second, 50), ErrorKind::Conflict);
    served.add(5).unwrap();
    assert_eq!(list(&*served.collection).unwrap(), ids(0..6));
    // A copy by links of the whole folder shares log and memory, and so is the same palace by another name.
    let linked = served.root.path().join("linked");
    fs::create_dir(&linked).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        fs::hard_link(served.file(suffix), linked.join(format!("palace.db{suffix}"))).unwrap();
    }
    add_elsewhere(&linked, 6).unwrap();
    assert_eq!(list(&*served.collection).unwrap(), ids(0..7));
    // Once the server has ended, the second name works.
    drop(served.collection);
    served.server.close();
    assert_eq!(list_elsewhere(&second).unwrap(), ids(0..7));
}

#[test]
fn a_file_overwritten_in_place_is_noticed_before_anything_is_acknowledged() {
    for later_writes in [false, true] {
        let served = ServedPalace::new();
        let copy = served.backup();
        if later_writes {
            served.add(5).unwrap();
        }
        let other = if later_writes {
            fs::read(&copy).unwrap()
        } else {
            fs::read(another_palace(served.root.path())).unwrap()
        };
        // Like `cp`: the same file is cut and filled anew.
        fs::write(served.file(""), other).unwrap();
        assert!(served.add(6).is_err());
        assert!(list(&*served.collection).is_err());
        assert!(list_elsewhere(&served.folder()).is_err());
        assert!(add_elsewhere(&served.folder(), 7).is_err());
    }
}

#[test]
fn a_file_overwritten_while_the_log_is_empty_is_noticed_too() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("palace");
    let maker = EmbeddedBackend::new();
    truth::open(&maker, &folder, DIMENSION, true)
        .unwrap()
        .add_drawer(truth::drawer(0, 0, DIMENSION))
        .unwrap();
    let copy = root.path().join("copy.db");
    maker
        .backup(&PalaceRef::local(&folder), &copy, &mut |_| {})
        .unwrap();
    maker.close();
    add_elsewhere(&folder, 1).unwrap();
    let server = EmbeddedBackend::new();
    let collection = truth::open(&server, &folder, DIMENSION, false).unwrap();
    assert_eq!(list(&*collection).unwrap(), ids(0..2));
    fs::write(raw::file(&folder), fs::read(&copy).unwrap()).unwrap();
    // Either refused once or answered from the new content, never from both.
    let first = list(&*collection);
    assert!(
        first.as_ref().is_ok_and(|found| *found == ids([0])) || first.is_err(),
        "{first:?}"
    );
    assert_eq!(list(&*collection).unwrap(), ids([0]));
    collection.add_drawer(truth::drawer(2, 0, DIMENSION)).unwrap();
    assert_eq!(list_elsewhere(&folder).unwrap(), ids([0, 2]));
    assert!(EmbeddedBackend::new().examine(&folder).unwrap().healthy);
}

#[test]
fn a_cut_shared_memory_kills_no_process_and_loses_nothing() {
    let served = ServedPalace::new();
    for (n, length) in [(5, 0), (6, 100), (7, 4096)] {
        let memory = fs::File::options().write(true).open(served.file("-shm")).unwrap();
        memory.set_len(length).unwrap();
        // The first answer after it may be a refusal; nothing is acknowledged that does not last.
        if served.add(n).is_err() {
            served.add(n).unwrap();
        }
        assert_eq!(list(&*served.collection).unwrap(), ids(0..=n));
        assert_eq!(list_elsewhere(&served.folder()).unwrap(), ids(0..=n));
    }
    assert!(EmbeddedBackend::new().examine(&served.folder()).unwrap().healthy);
}

#[test]
fn a_newcomer_does_not_read_past_an_index_of_which_half_was_cut() {
    let served = ServedPalace::new();
    let memory = fs::OpenOptions::new()
        .write(true)
        .open(served.file("-shm"))
        .unwrap();
    // The header of the index stays, the places of the pages go: a reader who believed it would see an empty file.
    memory.set_len(memory.metadata().unwrap().len() / 2).unwrap();
    match list_elsewhere(&served.folder()) {
        Ok(found) => assert_eq!(found, ids(0..5)),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error:?}"),
    }
    assert_eq!(list(&*served.collection).unwrap(), ids(0..5));
    assert_eq!(list_elsewhere(&served.folder()).unwrap(), ids(0..5));
}

#[test]
fn a_cut_log_takes_no_write_and_the_next_command_says_what_is_lost() {
    let served = ServedPalace::new();
    let log = fs::File::options().write(true).open(served.file("-wal")).unwrap();
    log.set_len(5_000).unwrap();
    assert!(served.add(5).is_err());
    drop(served.collection);
    served.server.close();
    let folder = served.root.path().join("palace");
    let backend = EmbeddedBackend::new();
    match truth::open(&backend, &folder, DIMENSION, false) {
        Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}"),
        Ok(collection) => assert!(!collection.info().unwrap().warnings.is_empty()),
    }
}

#[test]
fn a_folder_that_was_moved_away_is_not_made_anew_by_a_server() {
    let served = ServedPalace::new();
    let moved = served.root.path().join("moved");
    fs::rename(served.folder(), &moved).unwrap();
    assert_refused(served.add(5), ErrorKind::NotFound);
    let created = truth::open(&served.server, &served.folder(), DIMENSION, true);
    assert_refused(created.map(drop), ErrorKind::NotFound);
    assert!(!served.folder().exists());
    // It goes on where it was moved to, also with the server still there, and in its own place once it is back.
    assert_eq!(list_elsewhere(&moved).unwrap(), ids(0..5));
    fs::rename(&moved, served.folder()).unwrap();
    served.add(5).unwrap();
    assert_eq!(list_elsewhere(&served.folder()).unwrap(), ids(0..6));
}

#[test]
fn a_link_that_leads_to_another_palace_now_is_refused() {
    let served = ServedPalace::new();
    let link = served.root.path().join("link");
    std::os::unix::fs::symlink(served.folder(), &link).unwrap();
    let by_link = truth::open(&served.server, &link, DIMENSION, false).unwrap();
    assert_eq!(list(&*by_link).unwrap(), ids(0..5));
    let another = another_palace(served.root.path());
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(another.parent().unwrap(), &link).unwrap();
    let opened = truth::open(&served.server, &link, DIMENSION, false).map(drop);
    assert_refused(opened, ErrorKind::Conflict);
}
