//! Vacuum, backup, attached and temporary databases.

use super::*;
use rusqlite::backup::Backup;

#[test]
fn vacuum_of_every_kind_leaves_sealed_pages() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open(&folder.path().join("palace.db")).unwrap();
    for round in 0..6 {
        fill(&connection, 0..120).unwrap();
        connection
            .execute("DELETE FROM drawers WHERE id % 3 = ?1", [round % 3])
            .unwrap();
        match round % 3 {
            0 => connection.execute_batch("PRAGMA incremental_vacuum(7)").unwrap(),
            1 => connection.execute_batch("VACUUM").unwrap(),
            _ => connection
                .execute_batch("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
                .unwrap(),
        }
        assert_whole(&connection);
    }
    connection
        .execute_batch("PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = FULL; VACUUM")
        .unwrap();
    fill(&connection, 0..200).unwrap();
    connection
        .execute("DELETE FROM drawers WHERE id % 7 < 5", [])
        .unwrap();
    assert_whole(&connection);
}

#[test]
fn a_database_without_a_log_is_sealed_too_even_when_its_cache_spills() {
    let folder = tempfile::tempdir().unwrap();
    for (name, asked) in [("asked.db", true), ("later.db", false)] {
        let connection = bare(&folder.path().join(name)).unwrap();
        connection
            .execute_batch("PRAGMA page_size = 4096; PRAGMA cache_size = 4")
            .unwrap();
        reserve_checksums(&connection).unwrap();
        if !asked {
            // As for a database that `VACUUM INTO` makes: the shim was not asked for checks before the header came.
            super::super::connection::with_file(&connection, |_, pages| {
                *pages = super::super::pages::DatabasePages::new(name.to_owned());
            })
            .unwrap();
        }
        connection
            .execute_batch("BEGIN; CREATE TABLE t (x); CREATE TABLE gone (x);")
            .unwrap();
        for id in 0..80 {
            connection
                .execute("INSERT INTO t VALUES (?1)", [text(id)])
                .unwrap();
            connection
                .execute("INSERT INTO gone VALUES (zeroblob(20000))", [])
                .unwrap();
        }
        connection.execute_batch("DROP TABLE gone; COMMIT;").unwrap();
        assert_whole(&connection);
        copy(&connection, &folder.path().join(format!("copy-{name}")), 3);
    }
}

#[test]
fn a_plain_database_keeps_every_byte_of_pages_that_spill_before_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.db");
    let connection = bare(&path).unwrap();
    connection
        .execute_batch(
            "PRAGMA cache_size = 4; BEGIN; CREATE TABLE drawers (id INTEGER PRIMARY KEY, text TEXT)",
        )
        .unwrap();
    fill_open(&connection, 0..60);
    assert!(
        std::fs::metadata(&path).unwrap().len() > PAGE,
        "pages were spilled"
    );
    connection.execute_batch("COMMIT").unwrap();
    drop(connection);
    let plain = Connection::open(&path).unwrap();
    for id in 0..60 {
        assert_eq!(read(&plain, id).unwrap(), text(id));
    }
    assert_eq!(integrity(&plain).as_deref(), Ok("ok"));
}

/// Copies with the backup API, `pages` at a time, and shows that the copy is whole.
fn copy(source: &Connection, path: &Path, pages: i32) {
    let mut target = bare(path).unwrap();
    reserve_checksums(&target).unwrap();
    Backup::new(source, &mut target)
        .unwrap()
        .run_to_completion(pages, Duration::ZERO, None)
        .unwrap();
    assert_whole(&target);
}

#[test]
fn a_backup_taken_in_steps_while_others_write_is_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let source = open(&path).unwrap();
    fill(&source, 0..200).unwrap();
    source
        .execute("DELETE FROM drawers WHERE id % 2 = 0", [])
        .unwrap();
    let mut target = bare(&folder.path().join("copy.db")).unwrap();
    target.execute_batch("PRAGMA cache_size = 5").unwrap();
    let backup = Backup::new(&source, &mut target).unwrap();
    let writer = open(&path).unwrap();
    for id in 0.. {
        if backup.step(40).unwrap() == rusqlite::backup::StepResult::Done {
            break;
        }
        if id < 8 {
            fill(&writer, id * 10..id * 10 + 10).unwrap();
        }
    }
    drop(backup);
    assert_whole(&target);
    copy(&target, &folder.path().join("second.db"), 1_000);
}

#[test]
fn vacuum_into_makes_a_sealed_copy() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open(&folder.path().join("palace.db")).unwrap();
    fill(&connection, 0..400).unwrap();
    connection.execute_batch("PRAGMA cache_size = 5").unwrap();
    let path = folder.path().join("into.db");
    connection
        .execute("VACUUM INTO ?1", [path.to_str().unwrap()])
        .unwrap();
    let copy = bare(&path).unwrap();
    assert_whole(&copy);
    assert_eq!(read(&copy, 399).unwrap(), text(399));
}

#[test]
fn a_plain_database_passes_unchecked_and_gains_checks_by_vacuum() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.db");
    let plain = Connection::open(&path).unwrap();
    plain.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    fill(&plain, 0..100).unwrap();
    drop(plain);
    let connection = bare(&path).unwrap();
    let other = bare(&path).unwrap();
    assert_eq!(read(&other, 7).unwrap(), text(7));
    assert!(!is_checked(&connection).unwrap());
    assert!(scan_pages(&connection).is_err());
    fill(&connection, 50..120).unwrap();
    reserve_checksums(&connection).unwrap();
    connection
        .execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    assert_whole(&connection);
    fill(&other, 60..90).unwrap();
    other.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    assert_whole(&other);
}

#[test]
fn attached_temporary_and_memory_databases_work() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open(&folder.path().join("palace.db")).unwrap();
    fill(&connection, 0..50).unwrap();
    drop(open(&folder.path().join("other.db")).unwrap());
    connection
        .execute(
            "ATTACH ?1 AS other",
            [folder.path().join("other.db").to_str().unwrap()],
        )
        .unwrap();
    connection
        .execute_batch(
            "PRAGMA temp_store = FILE; PRAGMA cache_size = 5; ATTACH ':memory:' AS memory; ATTACH '' AS temporary;
             CREATE TABLE other.t AS SELECT * FROM drawers; CREATE TABLE memory.t AS SELECT * FROM drawers;
             CREATE TABLE temporary.t AS SELECT * FROM drawers; CREATE TEMP TABLE u AS SELECT * FROM drawers;
             SELECT * FROM other.t JOIN temporary.t USING (id) JOIN u USING (id) JOIN memory.t USING (id);",
        )
        .unwrap();
    drop(connection);
    let other = bare(&folder.path().join("other.db")).unwrap();
    assert_whole(&other);
    let memory = bare(Path::new(":memory:")).unwrap();
    fill(&memory, 0..5).unwrap();
    assert_eq!(read(&memory, 4).unwrap(), text(4));
}

#[test]
fn a_change_of_page_size_in_place_is_refused_whole() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open(&folder.path().join("palace.db")).unwrap();
    fill(&connection, 0..50).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = DELETE; PRAGMA page_size = 8192")
        .unwrap();
    let grown = connection.execute_batch("VACUUM");
    assert!(grown.is_err(), "pages written in halves cannot be sealed");
    assert_whole(&connection);
    connection
        .execute_batch("PRAGMA page_size = 1024; VACUUM")
        .unwrap();
    assert_whole(&connection);
    assert_eq!(read(&connection, 44).unwrap(), text(44));
}

#[test]
fn free_pages_that_were_never_filled_are_sealed_in_a_database_without_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open(&folder.path().join("palace.db")).unwrap();
    fill(&connection, 0..5).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = DELETE; BEGIN; CREATE TABLE t (x);")
        .unwrap();
    connection
        .execute_batch("INSERT INTO t VALUES (zeroblob(300000))")
        .unwrap();
    fill_open(&connection, 5..10);
    connection.execute_batch("DELETE FROM t; COMMIT").unwrap();
    assert_whole(&connection);
    copy(&connection, &folder.path().join("copy.db"), 1_000);
}

/// Writes rows within the open transaction.
fn fill_open(connection: &Connection, ids: std::ops::Range<i64>) {
    for id in ids {
        connection
            .execute("INSERT OR REPLACE INTO drawers VALUES (?1, ?2)", (id, text(id)))
            .unwrap();
    }
}
