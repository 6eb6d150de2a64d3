//! Damage to the log while it is in use, and the journal that a file is made with before it has one.

use super::*;

/// A database whose rows are all in the log, and where the pages of the log begin.
fn logged(folder: &Path) -> (Connection, std::path::PathBuf, Vec<u64>) {
    let connection = open(&folder.join("palace.db")).unwrap();
    connection.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    fill(&connection, 0..30).unwrap();
    let log = folder.join("palace.db-wal");
    let frame = PAGE + 24;
    let frames = (std::fs::metadata(&log).unwrap().len() - 32) / frame;
    (connection, log, (0..frames).map(|n| 32 + n * frame).collect())
}

#[test]
fn a_flipped_byte_in_any_frame_is_refused_and_never_copied_into_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (_writer, log, frames) = logged(folder.path());
    let mut refused = 0;
    for (n, frame) in frames.iter().enumerate() {
        // The page, its number, and its checksum. The log holds no lock, so it may be opened here.
        for at in [24 + n as u64 * 61 % PAGE, 3, 19] {
            flip(&log, frame + at, 0x10);
            let connection = bare(&folder.path().join("palace.db")).unwrap();
            for id in 0..30 {
                match read(&connection, id) {
                    Ok(found) => assert_eq!(found, text(id)),
                    Err(error) if is_damage(&error) => refused += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            flip(&log, frame + at, 0x10);
        }
    }
    assert!(refused > frames.len());
    let connection = bare(&folder.path().join("palace.db")).unwrap();
    flip(&log, frames.last().unwrap() + 100, 1);
    let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    assert!(copied.is_err_and(|error| is_damage(&error)));
    flip(&log, frames.last().unwrap() + 100, 1);
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    assert_whole(&connection);
}

#[test]
fn a_transaction_larger_than_the_cache_reads_its_own_frames() {
    let folder = tempfile::tempdir().unwrap();
    let connection = open(&folder.path().join("palace.db")).unwrap();
    connection
        .execute_batch("PRAGMA cache_size = 3; PRAGMA wal_autocheckpoint = 50")
        .unwrap();
    for round in 0..6_i64 {
        fill(&connection, 0..60).unwrap();
        connection.execute_batch("BEGIN").unwrap();
        for id in 0..60 {
            connection
                .execute(
                    "UPDATE drawers SET text = text || 'x' WHERE id = ?1",
                    [id * 7 % 60],
                )
                .unwrap();
            connection
                .execute("UPDATE drawers SET text = ?2 WHERE id = ?1", (id, text(id)))
                .unwrap();
            assert_eq!(read(&connection, id).unwrap(), text(id));
        }
        connection
            .execute_batch(if round % 2 == 0 { "ROLLBACK" } else { "COMMIT" })
            .unwrap();
        assert_eq!(read(&connection, 59).unwrap(), text(59));
        assert_whole(&bare(&folder.path().join("palace.db")).unwrap());
    }
}

#[test]
fn frames_that_a_commit_has_settled_are_verified_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let connection = open(&path).unwrap();
    connection
        .execute_batch("PRAGMA cache_size = 3; PRAGMA wal_autocheckpoint = 0")
        .unwrap();
    fill(&connection, 0..60).unwrap();
    let log = folder.path().join("palace.db-wal");
    let before = std::fs::metadata(&log).unwrap().len();
    // Each row twice: the pages of the first time have been spilled, and are overwritten in the log.
    connection.execute_batch("BEGIN").unwrap();
    for more in ["x", ""] {
        for id in 0..60 {
            let text = text(id) + more;
            connection
                .execute("UPDATE drawers SET text = ?2 WHERE id = ?1", (id, text))
                .unwrap();
        }
    }
    connection.execute_batch("COMMIT").unwrap();
    let frames = (before..std::fs::metadata(&log).unwrap().len()).step_by(PAGE as usize + 24);
    assert!(frames.clone().count() > 60);
    frames.for_each(|frame| flip(&log, frame + 24 + 2000, 0x10));
    let refused = (0..60).filter(|id| read(&connection, *id).is_err_and(|error| is_damage(&error)));
    assert!(refused.count() > 50);
}

#[test]
fn a_connection_that_is_older_than_the_file_may_ask_for_pages_of_another_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let early = bare(&path).unwrap();
    let maker = bare(&path).unwrap();
    maker.execute_batch("PRAGMA page_size = 8192").unwrap();
    reserve_checksums(&maker).unwrap();
    maker.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    // The first frame of the log is page 1, the only version of it.
    maker
        .execute_batch("BEGIN; CREATE TABLE t (x); INSERT INTO t VALUES (7); COMMIT")
        .unwrap();
    let found: i64 = early.query_row("SELECT x FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(found, 7);
    assert_eq!(damaged_pages(&path), Vec::<u32>::new());
}

#[test]
fn a_file_whose_making_was_cut_off_before_its_journal_was_removed_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    drop(open(&path).unwrap());
    assert_eq!(
        std::fs::metadata(&path).unwrap().len(),
        PAGE,
        "it has no content yet"
    );
    // The journal of that first page: it holds none, and goes back to a file of no length.
    let mut journal = vec![0; 512];
    journal[..8].copy_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    journal[20..24].copy_from_slice(&512_u32.to_be_bytes());
    journal[24..28].copy_from_slice(&(PAGE as u32).to_be_bytes());
    let beside = folder.path().join("palace.db-journal");
    std::fs::write(&beside, journal).unwrap();
    let connection = open(&path).unwrap();
    assert!(!beside.exists(), "it was rolled back");
    fill(&connection, 0..5).unwrap();
    assert_whole(&connection);
}
