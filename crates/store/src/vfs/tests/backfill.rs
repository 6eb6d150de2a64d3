//! Logs that were damaged after a checkpoint had copied some or all of them.

use super::super::recovery::TORN_LOG;
use super::marks::{checkpoint, frames, is_whole, killed_now, log};
use super::*;

/// A database of ten rows whose log holds them twice over, and the number of frames of each half.
fn rewritten(folder: &Path) -> (Connection, std::path::PathBuf, u32) {
    let path = folder.join("palace.db");
    fill(&open(&path).unwrap(), 0..3).unwrap();
    let connection = open(&path).unwrap();
    connection.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    fill(&connection, 0..10).unwrap();
    let first = frames(&path);
    (connection, path, first)
}

/// Damages one frame, counted from one, of a closed log.
fn hurt(path: &Path, frame: u32) {
    flip(&log(path), 32 + u64::from(frame - 1) * (PAGE + 24) + 700, 0x08);
}

fn cut(path: &Path, frames: u32) {
    let file = std::fs::File::options().write(true).open(log(path)).unwrap();
    file.set_len(32 + u64::from(frames) * (PAGE + 24)).unwrap();
}

#[test]
fn a_log_that_is_wholly_in_the_file_may_be_damaged_or_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (connection, path, first) = rewritten(folder.path());
    fill(&connection, 0..12).unwrap();
    checkpoint(&connection, "PASSIVE");
    for frame in [1, first / 2, first, first + 3] {
        let (_copy, path, mark) = killed_now(&path);
        assert!(mark.needed && mark.frames > first);
        hurt(&path, frame);
        is_whole(&path, 12);
    }
    let (_copy, path, _) = killed_now(&path);
    std::fs::remove_file(log(&path)).unwrap();
    is_whole(&path, 12);
}

#[test]
fn a_deleted_log_that_comes_back_in_part_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (connection, path, first) = rewritten(folder.path());
    fill(&connection, 0..12).unwrap();
    let all = frames(&path);
    let log_before = std::fs::read(log(&path)).unwrap();
    drop(connection);
    assert!(!log(&path).exists(), "the last connection removes its log");
    // A power cut forgets the deletion, and what the disk never got of the log.
    for left in [0, 1, first, all - 1, all] {
        let (_copy, path, mark) = killed_now(&path);
        assert!(!mark.needed && mark.frames == all);
        std::fs::write(log(&path), &log_before).unwrap();
        cut(&path, left);
        is_whole(&path, 12);
    }
}

#[test]
fn what_is_left_of_a_log_is_not_read_over_newer_pages_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (connection, path, first) = rewritten(folder.path());
    fill(&connection, 0..12).unwrap();
    // A reader keeps the log from being begun anew.
    let reader = bare(&path).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM drawers").unwrap();
    checkpoint(&connection, "PASSIVE");
    let copied = frames(&path);
    fill(&connection, 12..20).unwrap();
    for frame in [2, first + 1, copied + 1, frames(&path)] {
        let (_copy, path, mark) = killed_now(&path);
        assert!(mark.frames > copied);
        hurt(&path, frame);
        let connection = bare(&path).unwrap();
        for id in 0..12 {
            assert_eq!(read(&connection, id).unwrap(), text(id), "what the file holds");
        }
        assert!(read(&connection, 19).is_err());
        assert_eq!(integrity(&connection).as_deref(), Ok("ok"));
        let loss = lost_log(&connection).unwrap().unwrap();
        assert_eq!(loss.pages, Some((mark.frames, copied)), "frame {frame}");
        assert!(loss.kept.unwrap().is_file());
        assert_whole(&connection);
    }
}

#[test]
fn a_log_that_was_lost_in_the_middle_of_a_copy_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (connection, path, first) = rewritten(folder.path());
    // Of pages that are in later frames too, a checkpoint up to this reader copies nothing.
    let reader = bare(&path).unwrap();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM drawers")
        .unwrap();
    fill(&connection, 5..15).unwrap();
    checkpoint(&connection, "PASSIVE");
    let all = frames(&path);
    for left in [0, 1, first - 1] {
        let (_copy, path, _) = killed_now(&path);
        cut(&path, left);
        let before = std::fs::read(&path).unwrap();
        let error = read(&bare(&path).unwrap(), 3).unwrap_err();
        let code = error.sqlite_error().map(|failure| failure.extended_code);
        assert_eq!(code, Some(TORN_LOG), "{left} frames left: {error}");
        assert!(before == std::fs::read(&path).unwrap(), "nothing was changed");
    }
    for left in [first, first + 1, all - 1] {
        let (_copy, path, mark) = killed_now(&path);
        cut(&path, left);
        let connection = bare(&path).unwrap();
        for id in 0..10 {
            assert_eq!(read(&connection, id).unwrap(), text(id));
        }
        assert_eq!(
            lost_log(&connection).unwrap().unwrap().pages,
            Some((mark.frames, first))
        );
        assert_whole(&connection);
    }
    let (_copy, path, _) = killed_now(&path);
    is_whole(&path, 15);
}
