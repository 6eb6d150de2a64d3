//! Tests of the audit log: its chain under every change, crashes, full files, and what is found again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use loci_core::{ErrorKind, Timestamp};
use tempfile::TempDir;

use super::*;
use crate::caller::{SignInRefusal, TeamActor};

mod reading;
mod tampering;

fn time(second: i64) -> Timestamp {
    Timestamp::from_micros(1_780_000_000_000_000 + second * 1_000_000).unwrap()
}

fn record(second: i64) -> AuditRecord {
    let anna = TeamActor::User("anna".into());
    let mut record = AuditRecord::new(time(second), anna, AuditAct::SEARCH, AuditOutcome::Done);
    record.subject.query_chars = Some(second.unsigned_abs());
    record
}

/// A folder with a log and its key.
struct TestLog {
    folder: TempDir,
    key: AuditKey,
}

impl TestLog {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = AuditKey::open_or_make(&folder.path().join("audit.key")).unwrap();
        Self { folder, key }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("audit.log")
    }

    fn open(&self) -> AuditLog {
        self.open_with(AuditLogOptions::default())
    }

    fn open_with(&self, options: AuditLogOptions) -> AuditLog {
        AuditLog::open(self.path(), self.key.clone(), options).unwrap()
    }

    /// Appends records and closes the log.
    fn fill(&self, seconds: std::ops::Range<i64>) -> AuditHead {
        let log = self.open();
        for second in seconds {
            log.append(record(second)).unwrap();
        }
        log.head().unwrap()
    }

    fn verify(&self, heads: &[AuditHead]) -> AuditReport {
        verify_log(&self.path(), &self.key, heads).unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    fn replace(&self, bytes: &[u8]) {
        fs::write(self.path(), bytes).unwrap();
    }
}

#[test]
fn records_are_numbered_and_the_chain_goes_on_after_a_restart() {
    let test = TestLog::new();
    let first = test.fill(0..5);
    let second = test.fill(5..8);
    // The first record is the log's own.
    assert_eq!((first.number, second.number), (6, 9));
    let report = test.verify(&[first, second]);
    assert!(report.is_whole(), "{report:?}");
    assert_eq!((report.records, report.head, report.parts), (9, Some(second), 1));
    assert_eq!(report.starts_after, None);
}

#[test]
fn an_empty_log_is_whole_and_a_missing_one_is_named() {
    let test = TestLog::new();
    let error = verify_log(&test.path(), &test.key, &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    drop(test.open());
    drop(test.open());
    let report = test.verify(&[]);
    assert!(report.is_whole() && report.records == 0 && report.head.is_none());
}

#[test]
fn a_line_that_a_crash_cut_off_stays_and_is_closed_by_a_record() {
    let test = TestLog::new();
    test.fill(0..3);
    let whole = test.bytes();
    let last_line = whole[..whole.len() - 1]
        .iter()
        .rposition(|b| *b == b'\n')
        .unwrap()
        + 1;
    for cut in (last_line..whole.len())
        .step_by(7)
        .chain([whole.len() - 2, whole.len() - 1])
    {
        test.replace(&whole[..cut]);
        let unfinished = test.verify(&[]);
        assert!(unfinished.is_whole(), "{cut}: {unfinished:?}");
        let head = test.fill(3..5);
        let report = test.verify(&[head]);
        assert!(report.is_whole(), "{cut}: {report:?}");
        // Cut behind the last brace or at the line's start, no record was torn.
        let is_torn = cut > last_line && cut < whole.len() - 1;
        assert_eq!(report.torn_lines, u64::from(is_torn), "{cut}");
        assert!(test.bytes().starts_with(&whole[..cut]), "no byte is dropped");
    }
}

#[test]
fn a_torn_line_cannot_be_made_up_changed_or_removed() {
    let test = TestLog::new();
    test.fill(0..3);
    let whole = test.bytes();
    test.replace(&whole[..whole.len() - 30]);
    let head = test.fill(3..5);
    let torn = test.bytes();
    let mut changed = torn.clone();
    changed[whole.len() - 40] ^= 1;
    test.replace(&changed);
    assert!(!test.verify(&[head]).is_whole());
    let lines: Vec<&[u8]> = torn.split_inclusive(|b| *b == b'\n').collect();
    let place = lines
        .iter()
        .position(|line| line.windows(9).any(|w| w == b"line_torn"))
        .unwrap();
    let without: Vec<&[u8]> = lines
        .iter()
        .enumerate()
        .filter(|(nth, _)| *nth != place - 1)
        .map(|(_, l)| *l)
        .collect();
    test.replace(&without.concat());
    let report = test.verify(&[]);
    assert_eq!(report.breaks[0].kind, AuditBreakKind::TornLineGone, "{report:?}");
    // A second line in its place, as if more had been torn.
    let mut doubled = lines.clone();
    doubled.insert(place, b"{\"n\":4\n");
    test.replace(&doubled.concat());
    assert!(!test.verify(&[]).is_whole());
}

#[test]
fn the_very_first_line_may_be_torn() {
    let test = TestLog::new();
    test.fill(0..1);
    let whole = test.bytes();
    test.replace(&whole[..20]);
    let head = test.fill(0..2);
    let report = test.verify(&[head]);
    assert!(report.is_whole() && report.torn_lines == 1, "{report:?}");
    assert_eq!(report.starts_after, None);
}

#[test]
fn a_log_whose_end_was_changed_is_not_continued() {
    let test = TestLog::new();
    test.fill(0..5);
    let whole = test.bytes();
    let mut changed = whole.clone();
    let place = whole.len() - 120;
    changed[place] = if changed[place] == b'7' { b'8' } else { b'7' };
    test.replace(&changed);
    let error = AuditLog::open(test.path(), test.key.clone(), AuditLogOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert_eq!(test.bytes(), changed);
    test.replace(&whole);
    let other = AuditKey::open_or_make(&test.folder.path().join("other.key")).unwrap();
    let error = AuditLog::open(test.path(), other.clone(), AuditLogOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IdentityMismatch, "{error}");
    assert!(error.message().contains(&test.key.fingerprint()));
    let report = verify_log(&test.path(), &other, &[]).unwrap();
    assert_eq!(report.breaks[0].kind, AuditBreakKind::OtherKey);
    assert_eq!(test.bytes(), whole);
}

#[test]
fn one_process_has_a_log_open_and_the_next_is_told_which() {
    let test = TestLog::new();
    let log = test.open();
    let error = AuditLog::open(test.path(), test.key.clone(), AuditLogOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(
        error
            .message()
            .contains(&format!("process {}", std::process::id())),
        "{error}"
    );
    drop(log);
    drop(test.open());
}

#[test]
fn a_full_file_is_set_aside_and_the_chain_goes_on_in_the_next() {
    let test = TestLog::new();
    let options = AuditLogOptions {
        part_bytes: 2000,
        ..AuditLogOptions::default()
    };
    let log = test.open_with(options);
    let mut heads = Vec::new();
    for second in 0..40 {
        log.append(record(second)).unwrap();
        heads.push(log.head().unwrap());
    }
    drop(log);
    let report = test.verify(&heads);
    assert!(report.is_whole() && report.parts > 3, "{report:?}");
    assert_eq!(report.head, heads.last().copied());
    let part = |number| parts::part_path(&test.path(), number);
    // Without the oldest file the rest still holds, and says where it begins.
    let moved = test.folder.path().join("away");
    fs::rename(part(1), &moved).unwrap();
    let report = test.verify(&heads[20..]);
    assert!(report.is_whole() && report.starts_after.is_some(), "{report:?}");
    assert!(
        test.verify(&heads[..1])
            .breaks
            .iter()
            .any(|b| matches!(b.kind, AuditBreakKind::HeadMissing { .. }))
    );
    fs::rename(&moved, part(1)).unwrap();
    // Without one in the middle it does not.
    fs::rename(part(2), &moved).unwrap();
    assert!(matches!(
        test.verify(&[]).breaks[..],
        [AuditBreak {
            kind: AuditBreakKind::Missing { .. },
            ..
        }]
    ));
    fs::rename(part(3), part(2)).unwrap();
    fs::rename(&moved, part(3)).unwrap();
    assert!(!test.verify(&[]).is_whole(), "in another order");
}

#[test]
fn a_crash_between_two_files_loses_nothing() {
    let test = TestLog::new();
    let before = test.fill(0..5);
    // The full file was set aside, and the new one not made, or made and not written.
    fs::rename(test.path(), parts::part_path(&test.path(), 1)).unwrap();
    let after = test.fill(5..6);
    assert!(test.verify(&[before, after]).is_whole());
    fs::rename(test.path(), parts::part_path(&test.path(), 2)).unwrap();
    test.replace(b"");
    fs::set_permissions(test.path(), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    fs::write(opening::fresh_path(&test.path()), b"").unwrap();
    let last = test.fill(6..7);
    let report = test.verify(&[before, after, last]);
    assert!(report.is_whole() && report.parts == 3, "{report:?}");
    assert!(!opening::fresh_path(&test.path()).exists());
}

#[test]
fn after_a_failed_sync_everything_is_written_again() {
    let test = TestLog::new();
    let log = test.open();
    log.append(record(0)).unwrap().wait_durable().unwrap();
    // A device that takes every byte, keeps none, and refuses to sync stands for a disk that fails.
    let null = File::options().append(true).open("/dev/null").unwrap();
    let real = std::mem::replace(&mut log.shared().lock().file, Arc::new(null));
    let lost = log.append(record(1)).unwrap();
    assert!(lost.wait_durable().is_err());
    let refused = log.append(record(2)).unwrap_err();
    assert!(
        refused.hint_text().unwrap().contains("nothing was done"),
        "{refused:?}"
    );
    log.shared().lock().file = real;
    log.append(record(3)).unwrap().wait_durable().unwrap();
    lost.wait_durable().unwrap();
    let head = log.head().unwrap();
    assert_eq!(log.counters().missed, 1);
    drop(log);
    let report = test.verify(&[head]);
    assert!(report.is_whole() && report.missed_acts == 1, "{report:?}");
    // The log's own two, and the records 0, 1 and 3.
    assert_eq!(report.records, 5);
}

#[test]
fn a_record_that_nobody_waits_for_is_durable_soon() {
    let test = TestLog::new();
    let log = test.open();
    log.append(record(0)).unwrap();
    let shared = log.shared();
    let begun = Instant::now();
    let mut state = shared.lock();
    while state.durable.number < 2 {
        state = shared
            .synced
            .wait_timeout(state, Duration::from_secs(10))
            .unwrap()
            .0;
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "it was not made durable"
        );
    }
    assert_eq!((state.counters.syncs, state.unsynced.len()), (1, 0));
}

#[test]
fn callers_that_wait_at_once_share_a_sync() {
    const THREADS: u64 = 20;
    const EACH: u64 = 50;
    let test = TestLog::new();
    let log = test.open();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for second in 0..EACH {
                    log.append(record(second.cast_signed()))
                        .unwrap()
                        .wait_durable()
                        .unwrap();
                }
            });
        }
    });
    let counters = log.counters();
    assert_eq!(counters.appended, THREADS * EACH);
    // One by one it would be as many syncs as records. How few it is depends on the disk; the figure is in decision 039.
    assert!(counters.syncs * 2 < counters.appended, "{counters:?}");
    let head = log.head().unwrap();
    drop(log);
    let report = test.verify(&[head]);
    assert!(
        report.is_whole() && report.records == THREADS * EACH + 1,
        "{report:?}"
    );
}

#[test]
fn a_record_of_the_log_itself_cannot_be_appended() {
    let test = TestLog::new();
    let log = test.open();
    for act in [AuditAct::CHAIN_BEGUN, AuditAct::LINE_TORN] {
        let forged = AuditRecord::new(time(0), TeamActor::Server, act, AuditOutcome::Done);
        assert_eq!(log.append(forged).unwrap_err().kind(), ErrorKind::Invalid);
    }
    for wrong in ["", "Sign in", "sign-in", "s1"] {
        assert!(AuditAct::try_from(wrong.to_owned()).is_err(), "{wrong}");
    }
}
