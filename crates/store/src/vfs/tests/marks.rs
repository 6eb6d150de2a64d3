//! The file's record of its log, step by step, and how it is judged.

use super::super::mark::LogMark;
use super::super::recovery::FOREIGN_LOG;
use super::*;
use std::path::PathBuf;
use tempfile::TempDir;

/// The mark as it stands in the file. The descriptor is closed again: only where this process holds no lock.
fn mark(bytes: &[u8]) -> LogMark {
    let page = PAGE as usize;
    LogMark::parse(&bytes[page - LogMark::LENGTH..page]).expect("the mark is sound")
}

pub(super) fn log(path: &Path) -> PathBuf {
    path.with_extension("db-wal")
}

/// The database and its log as a killed process would leave them now, and the mark in them.
pub(super) fn killed_now(path: &Path) -> (TempDir, PathBuf, LogMark) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("palace.db");
    // A copy by another process: closing a second descriptor here would drop SQLite's locks.
    let copied = std::process::Command::new("cp")
        .args([path, &log(path), folder.path()])
        .status();
    assert!(copied.is_ok());
    let found = mark(&std::fs::read(&copy).unwrap());
    (folder, copy, found)
}

pub(super) fn frames(path: &Path) -> u32 {
    let length = std::fs::metadata(log(path)).map_or(0, |found| found.len());
    (length.saturating_sub(32) / (PAGE + 24)) as u32
}

pub(super) fn is_whole(path: &Path, rows: i64) {
    let connection = bare(path).unwrap();
    for id in 0..rows {
        assert_eq!(read(&connection, id).unwrap(), text(id));
    }
    assert_eq!(lost_log(&connection).unwrap(), None);
    assert_whole(&connection);
}

pub(super) fn checkpoint(connection: &Connection, mode: &str) {
    connection
        .execute_batch(&format!("PRAGMA wal_checkpoint({mode})"))
        .unwrap();
}

#[test]
fn the_mark_follows_the_log_and_a_kill_at_each_step_leaves_both_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let connection = open(&path).unwrap();
    connection.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    fill(&connection, 0..10).unwrap();
    let (_a, copy, first) = killed_now(&path);
    assert_eq!((first.needed, first.frames), (true, frames(&copy)));
    is_whole(&copy, 10);

    fill(&connection, 10..20).unwrap();
    let (_b, copy, second) = killed_now(&path);
    assert!(second.log == first.log && second.frames > first.frames);
    is_whole(&copy, 20);

    checkpoint(&connection, "PASSIVE");
    let (_c, copy, copied) = killed_now(&path);
    assert_eq!(
        copied, second,
        "a checkpoint writes page 1 and leaves the mark alone"
    );
    is_whole(&copy, 20);

    fill(&connection, 20..21).unwrap();
    let (_d, copy, restarted) = killed_now(&path);
    assert!(restarted.log != second.log && restarted.frames < second.frames && restarted.needed);
    is_whole(&copy, 21);

    checkpoint(&connection, "TRUNCATE");
    let (_e, copy, emptied) = killed_now(&path);
    assert_eq!(
        emptied,
        LogMark {
            needed: false,
            ..restarted
        }
    );
    is_whole(&copy, 21);

    fill(&connection, 21..22).unwrap();
    let (_f, copy, anew) = killed_now(&path);
    assert!(anew.log != restarted.log && anew.needed);
    is_whole(&copy, 22);
    drop(connection);
    let closed = mark(&std::fs::read(&path).unwrap());
    assert_eq!(
        closed,
        LogMark {
            needed: false,
            ..anew
        }
    );
    is_whole(&path, 22);
}

#[test]
fn a_rolled_back_transaction_and_a_checkpoint_in_it_raise_no_mark() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let (writer, other) = (open(&path).unwrap(), open(&path).unwrap());
    writer
        .execute_batch("PRAGMA cache_size = 3; PRAGMA wal_autocheckpoint = 0")
        .unwrap();
    fill(&writer, 0..10).unwrap();
    let (_a, _, before) = killed_now(&path);
    writer
        .execute_batch("BEGIN IMMEDIATE; DELETE FROM drawers")
        .unwrap();
    for id in 100..140 {
        writer
            .execute("INSERT INTO drawers VALUES (?1, ?2)", (id, text(id)))
            .unwrap();
    }
    assert!(frames(&path) > before.frames, "the transaction spilled");
    checkpoint(&other, "PASSIVE");
    let (_b, copy, within) = killed_now(&path);
    assert_eq!(within, before);
    is_whole(&copy, 10);
    writer.execute_batch("ROLLBACK").unwrap();
    checkpoint(&writer, "PASSIVE");
    fill(&other, 0..11).unwrap();
    let (_c, copy, _) = killed_now(&path);
    is_whole(&copy, 11);
}

#[test]
fn a_kill_between_the_header_of_a_new_log_and_its_first_commit_leaves_all_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let connection = open(&path).unwrap();
    connection
        .execute_batch("PRAGMA cache_size = 3; PRAGMA wal_autocheckpoint = 0")
        .unwrap();
    fill(&connection, 0..10).unwrap();
    for mode in ["PASSIVE", "TRUNCATE"] {
        checkpoint(&connection, mode);
        let (_a, _, before) = killed_now(&path);
        // The transaction spills: a new header is written, and frames without a commit.
        connection
            .execute_batch("BEGIN IMMEDIATE; UPDATE drawers SET text = text || 'x'")
            .unwrap();
        let (_b, copy, announced) = killed_now(&path);
        assert!(
            announced.next != before.log && !announced.needed,
            "{mode}: {announced:?}"
        );
        is_whole(&copy, 10);
        connection.execute_batch("ROLLBACK").unwrap();
        fill(&connection, 0..10).unwrap();
    }
}

#[test]
fn a_loss_stays_on_record_until_its_note_is_committed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    fill(&open(&path).unwrap(), 0..5).unwrap();
    let writer = open(&path).unwrap();
    fill(&writer, 5..10).unwrap();
    let (_copy, path, promised) = killed_now(&path);
    std::fs::remove_file(log(&path)).unwrap();

    let connection = open(&path).unwrap();
    let loss = lost_log(&connection).unwrap().unwrap();
    assert_eq!(loss.pages, Some((promised.frames, 0)));
    assert_eq!(read(&connection, 4).unwrap(), text(4));
    assert!(read(&connection, 5).is_err());
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    note_loss(&connection).unwrap();
    connection.execute_batch("ROLLBACK").unwrap();
    fill(&connection, 5..6).unwrap();
    assert!(lost_log(&connection).unwrap().is_some(), "nothing was noted");
    drop(connection);

    let connection = open(&path).unwrap();
    assert!(lost_log(&connection).unwrap().is_some(), "a new process is told");
    connection
        .execute_batch("BEGIN IMMEDIATE; INSERT INTO drawers VALUES (50, 'noted')")
        .unwrap();
    note_loss(&connection).unwrap();
    connection.execute_batch("COMMIT").unwrap();
    assert_eq!(lost_log(&connection).unwrap(), None);
    drop(connection);
    assert_eq!(lost_log(&open(&path).unwrap()).unwrap(), None);
}

#[test]
fn a_refused_log_is_not_copied_into_the_file_even_when_the_connection_closes() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("palace.db"), folder.path().join("other.db"));
    fill(&open(&path).unwrap(), 0..10).unwrap();
    let stranger = open(&other).unwrap();
    fill(&stranger, 0..30).unwrap();
    std::fs::copy(log(&other), log(&path)).unwrap();
    let before = std::fs::read(&path).unwrap();
    for _ in 0..3 {
        let connection = bare(&path).unwrap();
        let error = read(&connection, 3).unwrap_err();
        let refused = matches!(&error, rusqlite::Error::SqliteFailure(failure, _) if failure.extended_code == FOREIGN_LOG);
        assert!(refused, "{error:?}");
        assert!(read(&connection, 3).is_err());
    }
    assert!(before == std::fs::read(&path).unwrap(), "nothing was changed");
    std::fs::remove_file(log(&path)).unwrap();
    is_whole(&path, 10);
}

#[test]
fn the_log_beside_a_file_that_was_emptied_is_not_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let writer = open(&path).unwrap();
    fill(&writer, 0..10).unwrap();
    let (_copy, path, _) = killed_now(&path);
    let before = std::fs::read(log(&path)).unwrap();
    std::fs::write(&path, b"").unwrap();
    let opened = bare(&path).and_then(|connection| connection.execute_batch("CREATE TABLE t (x)"));
    assert!(opened.is_err());
    assert!(before == std::fs::read(log(&path)).unwrap());
}

#[test]
fn a_damaged_mark_is_a_damaged_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let writer = open(&path).unwrap();
    fill(&writer, 0..10).unwrap();
    for at in 1..=super::super::page::ROOM as u64 {
        let (_copy, path, _) = killed_now(&path);
        flip(&path, PAGE - at, 0x04);
        let error = read(&bare(&path).unwrap(), 3).unwrap_err();
        assert!(is_damage(&error), "byte {at} from the end: {error}");
        flip(&path, PAGE - at, 0x04);
        is_whole(&path, 10);
    }
}
