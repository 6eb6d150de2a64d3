//! Idempotency keys: remembered for a day, whatever ends the process, and then forgotten a few at a time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::scene::{raw, truth};
use loci_core::*;
use loci_store::EmbeddedBackend;

const DIMENSION: usize = 4;

/// Set for a child process: where to apply the batch.
const FOLDER: &str = "LOCI_TEST_FOLDER";

fn open(folder: &Path) -> Arc<dyn Collection> {
    truth::open(&EmbeddedBackend::new(), folder, DIMENSION, true).unwrap()
}

fn key(name: &str) -> IdempotencyKey {
    IdempotencyKey::new(name).unwrap()
}

fn apply(collection: &dyn Collection, name: &str, drawers: std::ops::Range<usize>) -> Result<Receipt> {
    let batch: Vec<Write> = drawers
        .map(|n| Write::Upsert(truth::drawer(n, 0, DIMENSION)))
        .collect();
    collection.apply(&ApplyRequest::from_writes(&batch).under_key(&key(name)))
}

const OLDER_BY_TWO_DAYS: &str = "UPDATE receipts SET at = at - 2 * 24 * 60 * 60 * 1000000";

#[test]
fn a_key_whose_day_is_over_is_free_for_another_batch() {
    let folder = tempfile::tempdir().unwrap();
    let first = apply(&*open(folder.path()), "a", 0..3).unwrap();
    assert_eq!(first, apply(&*open(folder.path()), "a", 0..3).unwrap());
    raw::execute(
        folder.path(),
        "UPDATE receipts SET at = at - 23 * 60 * 60 * 1000000",
    );
    assert_eq!(first, apply(&*open(folder.path()), "a", 0..3).unwrap());
    let refused = apply(&*open(folder.path()), "a", 0..4).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    raw::execute(folder.path(), OLDER_BY_TWO_DAYS);
    let anew = apply(&*open(folder.path()), "a", 0..4).unwrap();
    assert_eq!((anew.replaced.len(), anew.added.len()), (3, 1));
    assert_eq!(raw::number(folder.path(), "SELECT count(*) FROM receipts"), 1);
}

#[test]
fn old_keys_are_forgotten_a_few_with_each_write() {
    let folder = tempfile::tempdir().unwrap();
    let collection = open(folder.path());
    (0..150).for_each(|n| drop(apply(&*collection, &format!("old{n}"), n..n + 1).unwrap()));
    raw::execute(folder.path(), OLDER_BY_TWO_DAYS);
    let left = || {
        raw::number(
            folder.path(),
            "SELECT count(*) FROM receipts WHERE key LIKE 'old%'",
        )
    };
    for expected in [150 - 64, 150 - 128, 0, 0] {
        apply(&*collection, &format!("new{expected}{}", left()), 0..1).unwrap();
        assert_eq!(left(), expected);
    }
    let written = raw::number(folder.path(), "SELECT count(*) FROM receipts");
    assert!(written >= 3, "those of today are kept: {written}");
}

#[test]
fn callers_who_see_different_drawers_share_no_keys() {
    let folder = tempfile::tempdir().unwrap();
    open(folder.path());
    let seeing = |wing: &str| {
        let options = OpenOptions {
            visible: Filter::text_equals("wing", wing),
            ..OpenOptions::for_writing()
        };
        let name = CollectionName::new("drawers").unwrap();
        EmbeddedBackend::new()
            .open(&PalaceRef::local(folder.path()), &name, &options)
            .unwrap()
    };
    let filed = |wing: &str, id: usize| NewDrawer {
        place: DrawerPlace {
            wing: Some(wing.into()),
            ..DrawerPlace::default()
        },
        ..NewDrawer::new(truth::id(id), "text")
    };
    for (wing, n) in [("a", 1), ("b", 2)] {
        let batch = [Write::Add(filed(wing, n))];
        let receipt = seeing(wing)
            .apply(&ApplyRequest::from_writes(&batch).under_key(&key("same")))
            .unwrap();
        assert_eq!(receipt.added.len(), 1, "another's key is not there for {wing}");
        let again = seeing(wing)
            .apply(&ApplyRequest::from_writes(&batch).under_key(&key("same")))
            .unwrap();
        assert_eq!(again, receipt, "the key of {wing} itself is");
    }
}

/// Not a test of its own: the next one starts it as another process.
#[test]
fn a_child_process_applies_a_batch() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    apply(&*open(&PathBuf::from(folder)), "crash", 0..3).unwrap();
}

#[test]
fn a_key_is_remembered_exactly_if_its_batch_is() {
    for (point, applied) in [
        ("receipt-kept", false),
        ("before-commit", false),
        ("after-commit", true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        drop(open(folder.path()));
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["receipts::a_child_process_applies_a_batch", "--exact"])
            .env(FOLDER, folder.path())
            .env("LOCI_CRASH_AT", point)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(!status.success(), "it ended at {point}");
        let kept = raw::number(folder.path(), "SELECT count(*) FROM receipts");
        let filed = raw::number(folder.path(), "SELECT count(*) FROM drawers");
        assert_eq!((kept, filed), if applied { (1, 3) } else { (0, 0) }, "{point}");
        let receipt = apply(&*open(folder.path()), "crash", 0..3).unwrap();
        assert_eq!(
            receipt.added.len(),
            3,
            "the first receipt or a first time: {point}"
        );
        assert_eq!(
            apply(&*open(folder.path()), "crash", 0..4).unwrap_err().kind(),
            ErrorKind::Conflict
        );
        assert_eq!(
            EmbeddedBackend::new().examine(folder.path()).unwrap().findings,
            []
        );
    }
}

#[test]
fn a_receipt_that_no_writer_can_have_left_is_found() {
    for damage in [
        "UPDATE receipts SET receipt = '{'",
        "UPDATE receipts SET batch = x'00'",
        "UPDATE receipts SET scope = x'00'",
        "PRAGMA foreign_keys = OFF; UPDATE receipts SET collection = 99",
    ] {
        let folder = tempfile::tempdir().unwrap();
        apply(&*open(folder.path()), "a", 0..3).unwrap();
        raw::execute(folder.path(), damage);
        let codes: Vec<String> = EmbeddedBackend::new()
            .examine(folder.path())
            .unwrap()
            .findings
            .into_iter()
            .map(|finding| finding.code)
            .collect();
        assert!(codes.contains(&"receipt_stray".to_owned()), "{damage}: {codes:?}");
    }
}
