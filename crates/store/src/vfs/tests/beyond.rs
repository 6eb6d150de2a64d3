//! Pages of the file beyond the end of the database: a vacuum gave them up, and a power cut may have torn them.

use super::{PAGE, fill, integrity, is_damage, open};
use rusqlite::Connection;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Fills the pages of a file from `first` on with bytes that were never sealed.
fn damage_from(path: &Path, first: u64) -> u64 {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    let pages = file.metadata().unwrap().len() / PAGE;
    for number in first..=pages {
        file.write_all_at(&[0xab; PAGE as usize], (number - 1) * PAGE)
            .unwrap();
    }
    pages + 1 - first
}

fn count_pages(connection: &Connection) -> u64 {
    connection
        .query_row("PRAGMA page_count", [], |row| row.get::<_, u32>(0).map(u64::from))
        .unwrap()
}

/// A database that was vacuumed while a reader kept its file as long as it was; returns the writer, and the reader in
/// its moment.
fn vacuumed_under_reader(path: &Path) -> (Connection, Connection) {
    let writer = open(path).unwrap();
    writer.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    fill(&writer, 0..60).unwrap();
    writer.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let reader = open(path).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")
        .unwrap();
    writer.execute_batch("DELETE FROM drawers WHERE id > 5").unwrap();
    // Each step gives up one page.
    let mut vacuum = writer.prepare("PRAGMA incremental_vacuum").unwrap();
    let mut steps = vacuum.query([]).unwrap();
    while steps.next().unwrap().is_some() {}
    drop(steps);
    drop(vacuum);
    writer.execute_batch("PRAGMA wal_checkpoint(PASSIVE)").unwrap();
    (writer, reader)
}

/// Makes so many tables at once that SQLite moves pages out of their way and then out of the way of others, and reads
/// pages that it has only just taken.
fn make_tables(connection: &Connection) -> rusqlite::Result<()> {
    let tables: String = (0..40).map(|n| format!("CREATE TABLE t{n} (x);")).collect();
    connection.execute_batch(&format!("BEGIN IMMEDIATE; {tables} COMMIT"))
}

#[test]
fn a_page_that_the_database_gave_up_may_hold_anything_when_it_is_taken_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let (writer, reader) = vacuumed_under_reader(&path);
    assert!(damage_from(&path, count_pages(&writer) + 1) > 10);
    make_tables(&writer).unwrap();
    drop(reader);
    writer.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    super::assert_whole(&writer);
}

#[test]
fn a_reader_of_an_older_moment_is_told_of_damage_that_the_newest_one_has_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let (writer, reader) = vacuumed_under_reader(&path);
    damage_from(&path, count_pages(&writer) + 1);
    assert_told(&reader);
    assert_eq!(integrity(&writer).as_deref(), Ok("ok"));
}

#[test]
fn a_reader_of_an_older_moment_is_told_that_its_pages_were_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let (writer, reader) = vacuumed_under_reader(&path);
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(count_pages(&writer) * PAGE).unwrap();
    assert_told(&reader);
    make_tables(&writer).unwrap();
    assert_eq!(integrity(&writer).as_deref(), Ok("ok"));
}

/// Shows that reading every row ends with damage, and not with rows of zeros.
#[track_caller]
fn assert_told(reader: &Connection) {
    let read: rusqlite::Result<i64> =
        reader.query_row("SELECT sum(length(text)) FROM drawers", [], |row| row.get(0));
    assert!(read.as_ref().is_err_and(is_damage), "{read:?}");
}
