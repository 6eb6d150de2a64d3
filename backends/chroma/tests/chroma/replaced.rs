//! A handle notices when its folder is replaced, vanishes, appears or is written to, and answers with what is there now.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::writer::write_chroma;
use loci_chroma::ChromaBackend;
use loci_conformance::TwinWriter;
use loci_core::{
    Backend, Collection, CollectionExt, CollectionName, CreateMode, DrawerCondition, DrawerId, ErrorKind,
    GetRequest, NewDrawer, OpenOptions, PalaceRef, Write,
};
use rusqlite::Connection;

fn name() -> CollectionName {
    CollectionName::new("drawers").unwrap()
}

/// Makes a Chroma folder that holds these texts.
fn make(folder: &Path, texts: &[&str]) {
    let made = TwinWriter::new(write_chroma)
        .create(
            &PalaceRef::local(folder),
            &name(),
            CreateMode::OpenExisting,
            &OpenOptions::for_writing(),
        )
        .unwrap();
    let batch: Vec<Write> = texts
        .iter()
        .map(|text| Write::Add(NewDrawer::new(DrawerId::new(*text).unwrap(), *text)))
        .collect();
    made.apply_batch(&batch).unwrap();
}

fn open(folder: &Path) -> Arc<dyn Collection> {
    ChromaBackend::new()
        .open(&PalaceRef::local(folder), &name(), &OpenOptions::default())
        .unwrap()
}

fn texts(collection: &dyn Collection) -> Vec<String> {
    let drawers = collection.get(&GetRequest::default()).unwrap();
    drawers
        .into_iter()
        .map(|drawer| drawer.document.unwrap())
        .collect()
}

fn is_gone(collection: &dyn Collection) -> bool {
    let refused = collection.get(&GetRequest::default()).unwrap_err();
    refused.kind() == ErrorKind::NotFound && collection.count(&DrawerCondition::default()).is_err()
}

#[test]
fn a_folder_that_is_replaced_is_read_anew() {
    let root = tempfile::tempdir().unwrap();
    let (palace, other) = (root.path().join("palace"), root.path().join("other"));
    make(&palace, &["old"]);
    make(&other, &["new", "newer"]);
    let held = open(&palace);
    assert_eq!(texts(held.as_ref()), ["old"]);
    fs::rename(&palace, root.path().join("before")).unwrap();
    fs::rename(&other, &palace).unwrap();
    assert_eq!(texts(held.as_ref()), ["new", "newer"]);
    assert_eq!(held.info().unwrap().drawers, 2);
}

#[test]
fn a_database_that_vanishes_is_not_answered_for_and_one_that_comes_back_is() {
    let root = tempfile::tempdir().unwrap();
    let palace = root.path().join("palace");
    make(&palace, &["old"]);
    let held = open(&palace);
    assert_eq!(texts(held.as_ref()), ["old"]);
    let database = palace.join("chroma.sqlite3");
    fs::rename(&database, root.path().join("kept")).unwrap();
    assert!(is_gone(held.as_ref()));
    fs::rename(root.path().join("kept"), &database).unwrap();
    assert_eq!(texts(held.as_ref()), ["old"]);
    fs::remove_dir_all(&palace).unwrap();
    assert!(is_gone(held.as_ref()));
    make(&palace, &["made anew"]);
    assert_eq!(texts(held.as_ref()), ["made anew"]);
}

#[test]
fn a_folder_that_appears_after_it_was_asked_for_is_found() {
    let root = tempfile::tempdir().unwrap();
    let palace = root.path().join("palace");
    let chroma = ChromaBackend::new();
    let reference = PalaceRef::local(&palace);
    let missing = chroma.open(&reference, &name(), &OpenOptions::default());
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!palace.exists(), "asking makes nothing");
    make(&palace, &["here now"]);
    let found = chroma.open(&reference, &name(), &OpenOptions::default()).unwrap();
    assert_eq!(texts(found.as_ref()), ["here now"]);
}

#[test]
fn what_another_process_writes_is_seen_by_the_next_read() {
    let root = tempfile::tempdir().unwrap();
    make(root.path(), &["a", "b"]);
    let held = open(root.path());
    assert_eq!(texts(held.as_ref()), ["a", "b"]);
    let database = root.path().join("chroma.sqlite3");
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let before = inode(&database);
    let connection = Connection::open(&database).unwrap();
    connection
        .execute(
            "UPDATE embedding_metadata SET string_value = 'B' WHERE string_value = 'b'",
            [],
        )
        .unwrap();
    drop(connection);
    assert_eq!(inode(&database), before, "it is the same file");
    assert_eq!(texts(held.as_ref()), ["a", "B"]);
}
