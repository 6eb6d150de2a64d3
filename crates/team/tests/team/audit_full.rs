//! Guards against records that are acknowledged, or torn, on a disk without room.

use loci_core::ErrorKind;
use loci_team::{AuditLogOptions, verify_log};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::child::{child_command, log_path, open_key, open_log, record, task_folder};

/// Not a test of its own: the next one starts it as another process, whose files may not grow.
#[test]
fn a_child_fills_its_log() {
    let Some(folder) = task_folder("fill") else { return };
    let Rlimit { maximum, .. } = getrlimit(Resource::Fsize);
    let limit = |current| setrlimit(Resource::Fsize, Rlimit { current, maximum }).unwrap();
    let log = open_log(&folder, AuditLogOptions::default());
    let mut head = log.head().unwrap();
    // Limits that end at different places of a line, one after the other.
    for (round, room) in [20_000, 20_001, 20_100, 20_357, 21_111].into_iter().enumerate() {
        let round = round as u64;
        limit(Some(room + round * 20_000));
        let mut written = 0;
        let error = loop {
            match log.append(record(round, written)) {
                Ok(ticket) => ticket.wait_durable().unwrap(),
                Err(error) => break error,
            }
            written += 1;
        };
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(
            error.hint_text().unwrap().contains("nothing was done"),
            "{error:?}"
        );
        assert!(
            log.append(record(round, written)).is_err(),
            "as long as there is no room"
        );
        // The log is whole while it is full, and goes on once there is room.
        let whole = verify_log(&log_path(&folder), &open_key(&folder), &[head]).unwrap();
        assert!(whole.is_whole() && whole.unfinished_bytes == 0, "{whole:?}");
        assert_eq!(whole.missed_acts, round * 2);
        limit(maximum);
        log.append(record(round, written))
            .unwrap()
            .wait_durable()
            .unwrap();
        head = log.head().unwrap();
        println!("\nround {round}: {written} records fitted");
    }
    assert_eq!(log.counters().missed, 10);
    drop(log);
    let report = verify_log(&log_path(&folder), &open_key(&folder), &[head]).unwrap();
    assert!(
        report.is_whole() && report.missed_acts == 10 && report.torn_lines == 0,
        "{report:?}"
    );
    println!("\nall rounds done");
}

#[test]
fn a_record_that_does_not_fit_is_refused_and_the_log_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    // Without the signal a write beyond the limit is an error, as on a disk that is full.
    let mut command = child_command(
        "trap '' XFSZ",
        "audit_full::a_child_fills_its_log",
        "fill",
        folder.path(),
    );
    let output = command.output().unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("all rounds done"),
        "{said}"
    );
}
