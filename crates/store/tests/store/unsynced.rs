//! Syncs that fail and lose what they should have made safe, then a power cut: the palace still knows its own log.

use std::path::PathBuf;

use crate::power::forgetful::{self, DiskFault, with_fault};
use crate::scene::{raw, truth};
use loci_core::*;
use loci_store::{EmbeddedBackend, testing};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

const DIMENSION: usize = 8;
const DRAWERS: usize = 5;
/// A write that no reader of drawers sees.
const WRITE: &str = "CREATE TABLE scratch (x)";

/// A palace with some drawers, all of them in its file, on a disk that forgets.
struct ForgetfulPalace {
    folder: TempDir,
}

impl ForgetfulPalace {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let backend = EmbeddedBackend::new();
        let collection = truth::open(&backend, folder.path(), DIMENSION, true).unwrap();
        for n in 0..DRAWERS {
            collection.add_drawer(truth::drawer(n, 0, DIMENSION)).unwrap();
        }
        drop(collection);
        backend.close();
        forgetful::register();
        Self { folder }
    }

    /// A connection as a process of its own has it.
    fn connect(&self) -> Connection {
        let name = testing::file_system(Some(forgetful::NAME)).unwrap();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags_and_vfs(raw::file(self.folder.path()), flags, name).unwrap();
        connection
            .execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0")
            .unwrap();
        connection
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("palace.db-wal")
    }

    /// The palace as the next process finds it after a power cut that kept only what was synced.
    fn cut_power(&self) -> TempDir {
        let left = raw::folder_with(&forgetful::after_cut(&raw::file(self.folder.path())));
        std::fs::write(
            left.path().join("palace.db-wal"),
            forgetful::after_cut(&self.log()),
        )
        .unwrap();
        left
    }
}

/// Shows that a palace opens without a complaint and holds all its drawers.
#[track_caller]
fn assert_kept(left: &TempDir) {
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, left.path(), DIMENSION, false).unwrap();
    let found = collection.count(&Filter::All.into()).unwrap();
    assert_eq!(found as usize, DRAWERS);
    assert_eq!(collection.info().unwrap().warnings, Vec::new());
}

/// Begins a log whose header is shown and not on disk, then has another begun whose mark alone gets there.
fn lose_header(palace: &ForgetfulPalace) {
    let before = forgetful::after_cut(&palace.log());
    let (second, third) = (palace.connect(), palace.connect());
    with_fault(DiskFault::LogSyncs, || second.execute_batch(WRITE).unwrap_err());
    let shown = std::fs::read(palace.log()).unwrap();
    assert!(shown[..32] != before[..32], "a new log was begun");
    assert!(
        forgetful::after_cut(&palace.log()) == before,
        "it did not reach the disk"
    );
    with_fault(DiskFault::LogCalls, || third.execute_batch(WRITE).unwrap_err());
}

#[test]
fn a_log_that_never_held_a_commit_is_known_after_the_header_over_it_was_lost() {
    let palace = ForgetfulPalace::new();
    let first = palace.connect();
    with_fault(DiskFault::Frames, || first.execute_batch(WRITE).unwrap_err());
    lose_header(&palace);
    assert_kept(&palace.cut_power());
}

#[test]
fn a_log_that_was_copied_is_known_after_the_header_over_it_was_lost() {
    let palace = ForgetfulPalace::new();
    let first = palace.connect();
    first
        .execute_batch("CREATE TABLE copied (x); PRAGMA wal_checkpoint(PASSIVE)")
        .unwrap();
    lose_header(&palace);
    assert_kept(&palace.cut_power());
}

#[test]
fn a_log_is_known_although_the_first_attempt_to_announce_it_was_lost() {
    let palace = ForgetfulPalace::new();
    let connection = palace.connect();
    connection
        .execute_batch("CREATE TABLE copied (x); PRAGMA wal_checkpoint(PASSIVE)")
        .unwrap();
    // Neither does the mark reach the disk, nor can the one before it be put back.
    with_fault(DiskFault::DatabaseSync, || {
        connection.execute_batch(WRITE).unwrap_err()
    });
    connection.execute_batch(WRITE).unwrap();
    let left = palace.cut_power();
    assert_kept(&left);
    let stored = "SELECT count(*) FROM sqlite_schema WHERE name = 'scratch'";
    assert_eq!(raw::number(left.path(), stored), 1, "it was acknowledged");
}
