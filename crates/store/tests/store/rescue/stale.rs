//! Pages whose last write was lost: older versions of themselves, with a right checksum.

use std::collections::BTreeSet;
use std::path::Path;

use super::{make_palace, remains, rescued};
use crate::scene::raw::{self, PAGE};
use crate::scene::spaces::{self, model};
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;

const DIMENSION: usize = 16;

/// Applies a batch to a closed palace and closes it again.
fn apply(folder: &Path, batch: &[Write]) -> Truth {
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, DIMENSION, false).unwrap();
    collection.apply_batch(batch).unwrap();
    let truth = Truth::read(collection.as_ref()).unwrap();
    drop(collection);
    backend.close();
    truth
}

/// Puts an older version of a page back, but for the bytes behind its checksum.
fn put_back(folder: &Path, before: &[u8], number: usize) {
    let mut bytes = std::fs::read(raw::file(folder)).unwrap();
    let place = (number - 1) * PAGE..number * PAGE - 28;
    bytes[place.clone()].copy_from_slice(&before[place]);
    std::fs::write(raw::file(folder), bytes).unwrap();
}

#[test]
fn a_drawer_in_an_older_state_is_given_and_listed_as_doubtful() {
    let folder = tempfile::tempdir().unwrap();
    let old = make_palace(folder.path(), DIMENSION);
    remember(folder.path(), "loci:secret:1f4a09c2b7d35e8a6c01");
    let before = std::fs::read(raw::file(folder.path())).unwrap();
    let changed = DrawerPatch {
        metadata: [("tag".to_owned(), Some(MetadataValue::from("new")))].into(),
        ..DrawerPatch::new(truth::id(150))
    };
    let new = apply(folder.path(), &[Write::Update(changed)]);
    let row = raw::number(folder.path(), "SELECT row FROM drawers WHERE id = 'd00150'");
    let leaf = raw::row_pages(folder.path(), "drawers")[&row][0];
    put_back(folder.path(), &before, leaf);
    let found = remains(folder.path());
    assert_eq!(found.lost, []);
    let doubtful: Vec<&str> = found.doubtful.iter().map(|drawer| drawer.id.as_str()).collect();
    assert_eq!(doubtful, ["d00150"]);
    assert!(found.doubtful[0].reason.contains("older"), "{:?}", found.doubtful);
    let drawers = rescued(&found, "drawers").drawers;
    assert_eq!(drawers.len(), new.drawers.len());
    assert_eq!(drawers[&truth::id(150)], old.drawers[&truth::id(150)]);
    // Mining must not take the newer state of a source for filed; a secret stands for no source.
    let records = rescued(&found, "drawers").records;
    let names: Vec<&String> = records.keys().collect();
    assert_eq!(names, ["loci:secret:1f4a09c2b7d35e8a6c01"]);
}

/// Stores a record of this name.
fn remember(folder: &Path, name: &str) {
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, DIMENSION, true).unwrap();
    let revision = SourceRevision {
        source: name.to_owned(),
        expects: None,
        stamp: Some("stamp".to_owned()),
        parts: Box::new(std::iter::empty()),
    };
    let ledger = collection.require_sources().unwrap();
    ledger.revise(vec![revision]).unwrap();
    drop(collection);
    backend.close();
}

#[test]
fn an_older_pointer_map_hides_no_drawer() {
    let folder = tempfile::tempdir().unwrap();
    make_palace(folder.path(), DIMENSION);
    let gone: Vec<DrawerId> = (60..200).map(truth::id).collect();
    apply(folder.path(), &[Write::Delete(DeleteSelection::Ids(gone))]);
    let before = std::fs::read(raw::file(folder.path())).unwrap();
    let more: Vec<Write> = (400..640)
        .map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)))
        .collect();
    let truth = apply(folder.path(), &more);
    put_back(folder.path(), &before, 2);
    let found = remains(folder.path());
    assert_eq!(found.lost, []);
    assert_eq!(truth.difference(&rescued(&found, "drawers")), None);
}

#[test]
fn an_older_pointer_map_mixes_no_vectors_of_two_models() {
    let folder = tempfile::tempdir().unwrap();
    make_palace(folder.path(), DIMENSION);
    let second = model("second", DIMENSION);
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder.path(), DIMENSION, false).unwrap();
    spaces::switch_to(collection.as_ref(), &second);
    backend.close();
    let before = std::fs::read(raw::file(folder.path())).unwrap();
    let backend = EmbeddedBackend::new();
    let collection = truth::open_as(&backend, folder.path(), Some(second), false).unwrap();
    let more: Vec<Write> = (400..640)
        .map(|n| Write::Add(truth::drawer(n, 0, DIMENSION)))
        .collect();
    collection.apply_batch(&more).unwrap();
    let truth = Truth::read(collection.as_ref()).unwrap();
    backend.close();
    put_back(folder.path(), &before, 2);
    let found = remains(folder.path());
    assert_eq!(truth.difference(&rescued(&found, "drawers")), None);
}

#[test]
fn an_older_pointer_map_brings_no_removed_drawer_back_as_certain() {
    let folder = tempfile::tempdir().unwrap();
    make_palace(folder.path(), DIMENSION);
    let before = std::fs::read(raw::file(folder.path())).unwrap();
    let gone: Vec<DrawerId> = (60..200).map(truth::id).collect();
    let truth = apply(folder.path(), &[Write::Delete(DeleteSelection::Ids(gone))]);
    raw::execute(folder.path(), "DELETE FROM tombstones");
    put_back(folder.path(), &before, 2);
    let found = remains(folder.path());
    let doubtful: BTreeSet<&str> = found.doubtful.iter().map(|drawer| drawer.id.as_str()).collect();
    let drawers = rescued(&found, "drawers").drawers;
    let returned: Vec<&DrawerId> = drawers
        .keys()
        .filter(|id| !truth.drawers.contains_key(*id) && !doubtful.contains(id.as_str()))
        .collect();
    assert_eq!(returned, [] as [&DrawerId; 0]);
    assert_eq!(drawers.len(), truth.drawers.len() + doubtful.len());
}

/// Asserts that each drawer is given as it is, or listed.
fn assert_told(what: &str, found: &PalaceRemains, truth: &Truth) {
    let drawers = rescued(found, "drawers").drawers;
    let doubtful: BTreeSet<&str> = found.doubtful.iter().map(|drawer| drawer.id.as_str()).collect();
    for (id, drawer) in drawers.iter().filter(|(id, _)| !doubtful.contains(id.as_str())) {
        let expected = truth
            .drawers
            .get(id)
            .unwrap_or_else(|| panic!("{what}: {id} was removed"));
        let embedding = drawer.embedding.clone().or(expected.embedding.clone());
        let given = Drawer {
            embedding,
            ..drawer.clone()
        };
        assert_eq!(&given, expected, "{what}");
    }
    let listed: BTreeSet<&str> = found.lost.iter().filter_map(|lost| lost.id.as_deref()).collect();
    let mut missing = truth.drawers.keys().filter(|id| !drawers.contains_key(*id));
    assert_eq!(missing.find(|id| !listed.contains(id.as_str())), None, "{what}");
    let bare = drawers
        .iter()
        .any(|(id, drawer)| drawer.embedding.is_none() && truth.drawers[id].embedding.is_some());
    let told = found
        .findings
        .iter()
        .any(|finding| finding.code == "vectors_lost");
    assert!(told || !bare, "{what}: {:?}", found.findings);
}

#[test]
fn no_single_older_page_gives_a_wrong_state_as_certain() {
    let folder = tempfile::tempdir().unwrap();
    make_palace(folder.path(), DIMENSION);
    let before = std::fs::read(raw::file(folder.path())).unwrap();
    let changed = |n| DrawerPatch {
        metadata: [("tag".to_owned(), Some(MetadataValue::from("new")))].into(),
        ..DrawerPatch::new(truth::id(n))
    };
    let mut batch: Vec<Write> = (20..200).step_by(6).map(|n| Write::Update(changed(n))).collect();
    let gone = (210..260).map(truth::id).collect();
    batch.push(Write::Delete(DeleteSelection::Ids(gone)));
    batch.extend((700..760).map(|n| Write::Add(truth::drawer(n, 0, DIMENSION))));
    let truth = apply(folder.path(), &batch);
    let after = std::fs::read(raw::file(folder.path())).unwrap();
    let differs = |number: &usize| {
        let place = (number - 1) * PAGE..number * PAGE - 28;
        before[place.clone()] != after[place]
    };
    let numbers: Vec<usize> = (1..=before.len() / PAGE).filter(differs).collect();
    assert!(numbers.len() > 20, "{numbers:?}");
    for number in numbers {
        let copy = raw::folder_with(&after);
        put_back(copy.path(), &before, number);
        assert_told(&format!("page {number}"), &remains(copy.path()), &truth);
    }
}
