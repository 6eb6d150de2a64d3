//! Copies of the file that were taken with `cp` while a server was using it, and put back in its place.

use std::fs;

use super::{ServedPalace, add_elsewhere, assert_refused, ids, list, list_elsewhere};
use crate::scene::raw;
use loci_core::*;
use loci_store::EmbeddedBackend;

/// Copies the log into the file, as much as the mode does.
pub(super) fn checkpoint(served: &ServedPalace, mode: &str) {
    raw::connect(&served.folder())
        .query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))
        .unwrap();
}

#[test]
fn a_copy_from_the_time_of_the_present_log_is_noticed_and_the_log_brings_everything_back() {
    // A copy of the first page alone, and of a file with tables.
    for copied in [false, true] {
        let served = ServedPalace::new();
        if copied {
            checkpoint(&served, "TRUNCATE");
            served.add(5).unwrap();
        }
        let older = fs::read(served.file("")).unwrap();
        (6..8).for_each(|n| served.add(n).unwrap());
        checkpoint(&served, "PASSIVE");
        fs::write(served.file(""), older).unwrap();
        // All of the log counts as copied, so that readers would take the older pages, and the next write a new log.
        assert_refused(add_elsewhere(&served.folder(), 10), ErrorKind::Conflict);
        assert!(list_elsewhere(&served.folder()).is_err());
        // Once the server lets go of the files, they are recovered from the log, and it goes on.
        served.add(11).unwrap();
        let warnings = served.collection.info().unwrap().warnings;
        assert!(
            warnings.iter().any(|warning| warning.code == "overwritten_file"),
            "{warnings:?}"
        );
        let folder = served.folder();
        drop(served.collection);
        served.server.close();
        let kept = (0..5).chain(copied.then_some(5)).chain(6..8).chain([11]);
        assert_eq!(list_elsewhere(&folder).unwrap(), ids(kept));
        assert!(EmbeddedBackend::new().examine(&folder).unwrap().healthy);
    }
}

#[test]
fn a_copy_that_asks_for_its_log_goes_on_asking_after_the_server_has_looked() {
    let served = ServedPalace::new();
    let copy = fs::read(served.file("")).unwrap();
    checkpoint(&served, "TRUNCATE");
    fs::remove_file(served.file("-wal")).unwrap();
    fs::remove_file(served.file("-shm")).unwrap();
    fs::write(served.file(""), copy).unwrap();
    let answer = list(&*served.collection);
    let told = answer.is_err() || !served.collection.info().unwrap().warnings.is_empty();
    assert!(told, "{answer:?}");
    let elsewhere = EmbeddedBackend::new().examine(&served.folder());
    assert!(elsewhere.is_err() || !elsewhere.unwrap().healthy);
}

#[test]
fn a_refused_newcomer_removes_no_file_of_the_server_and_changes_no_byte() {
    let served = ServedPalace::new();
    let copy = fs::read(served.file("")).unwrap();
    checkpoint(&served, "TRUNCATE");
    let aside = served.root.path().join("aside.db");
    fs::write(&aside, &copy).unwrap();
    fs::rename(&aside, served.file("")).unwrap();
    for _ in 0..2 {
        assert!(add_elsewhere(&served.folder(), 10).is_err());
    }
    assert!(
        fs::read(served.file("")).unwrap() == copy,
        "the copy is as it was"
    );
    assert!(served.file("-shm").exists() && served.file("-wal").exists());
}
