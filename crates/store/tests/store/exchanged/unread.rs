//! A disk whose reads fail: that is no exchange of files, and hides none.

use std::fs;
use std::sync::Arc;

use super::{DIMENSION, ServedPalace, ids, list};
use crate::power::unreadable::{self, FailingReads, with_failing};
use crate::scene::{raw, truth};
use loci_core::*;
use loci_store::EmbeddedBackend;

/// Opens a served palace a second time, through reads that may fail.
fn open_unreadable(served: &ServedPalace) -> (EmbeddedBackend, Arc<dyn Collection>) {
    unreadable::register();
    let backend = EmbeddedBackend::over_vfs(unreadable::NAME);
    let collection = truth::open(&backend, &served.folder(), DIMENSION, false).unwrap();
    (backend, collection)
}

fn add(collection: &dyn Collection, n: usize) -> Result<()> {
    collection.add_drawer(truth::drawer(n, 0, DIMENSION)).map(drop)
}

#[test]
fn a_disk_that_cannot_be_read_does_not_pass_for_exchanged_files() {
    let served = ServedPalace::new();
    let (_backend, collection) = open_unreadable(&served);
    add(&*collection, 5).unwrap();
    let error = with_failing(FailingReads::OneIn(1), || add(&*collection, 6).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Io, "{error:?}");
    let error = with_failing(FailingReads::OneIn(1), || list(&*collection).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Io, "{error:?}");
    assert_eq!(list(&*collection).unwrap(), ids(0..6));
    add(&*collection, 6).unwrap();
    assert_eq!(collection.info().unwrap().warnings, Vec::new());
}

#[test]
fn a_commit_after_which_nothing_can_be_read_has_an_unknown_outcome() {
    let served = ServedPalace::new();
    let (backend, collection) = open_unreadable(&served);
    let error = with_failing(FailingReads::AfterSync, || add(&*collection, 5).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Io, "{error:?}");
    assert!(
        error
            .context()
            .iter()
            .any(|(key, value)| *key == "outcome" && value == "unknown"),
        "{error:?}"
    );
    drop(collection);
    let collection = truth::open(&backend, &served.folder(), DIMENSION, false).unwrap();
    assert_eq!(list(&*collection).unwrap(), ids(0..6), "it was stored");
    assert_eq!(collection.info().unwrap().warnings, Vec::new());
}

#[test]
fn reads_that_fail_now_and_then_hide_no_file_that_was_overwritten() {
    for one_in in [2, 3, 5, 7] {
        let served = ServedPalace::new();
        let older = fs::read(served.file("")).unwrap();
        let (_backend, collection) = open_unreadable(&served);
        add(&*collection, 5).unwrap();
        super::older_copies::checkpoint(&served, "PASSIVE");
        fs::write(served.file(""), &older).unwrap();
        let error = with_failing(FailingReads::OneIn(one_in), || add(&*collection, 6)).unwrap_err();
        // Where every look meets a failing read, the next one that can be taken tells.
        let told = error.kind() == ErrorKind::Conflict
            || match collection.info() {
                Ok(info) => info
                    .warnings
                    .iter()
                    .any(|warning| warning.code == "overwritten_file"),
                Err(error) => error.kind() == ErrorKind::Conflict,
            };
        assert!(told, "one read in {one_in} fails: {error:?}");
    }
}

#[test]
fn a_copy_put_in_place_while_nothing_could_be_read_is_known_by_the_write_it_lacks() {
    let served = ServedPalace::new();
    let (_backend, collection) = open_unreadable(&served);
    drop(served.collection);
    served.server.close();
    let file = served.root.path().join("palace").join("palace.db");
    // Nothing but its content tells the copy from the palace: the log is empty, and the memory goes with the last
    // connection, which could not compare it with what it knows.
    let settle = || {
        raw::connect(&served.root.path().join("palace"))
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
    };
    settle();
    let older = fs::read(&file).unwrap();
    add(&*collection, 5).unwrap();
    settle();
    fs::write(&file, &older).unwrap();
    let error = with_failing(FailingReads::OneIn(1), || list(&*collection).unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Io, "{error:?}");
    let warnings = collection.info().unwrap().warnings;
    assert!(
        warnings.iter().any(|warning| warning.code == "lost_write"),
        "{warnings:?}"
    );
}
