//! Guards against acknowledged records that a killed process loses, and chains that it breaks.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::Duration;

use loci_team::{AuditFilter, AuditHead, AuditLogOptions, read_records, verify_log};

use crate::child::{child_command, log_path, open_key, open_log, record, task_folder};

/// Writers in the child, and how often it is killed.
const WRITERS: u64 = 4;
const ROUNDS: u64 = 12;

/// Small, so that processes are also killed while a new file is begun.
const OPTIONS: AuditLogOptions = AuditLogOptions {
    part_bytes: 20_000,
    flush_after: Duration::from_millis(20),
};

/// Not a test of its own: the next one starts it as another process and kills it.
#[test]
fn a_child_appends_until_it_is_killed() {
    let Some(folder) = task_folder("append") else {
        return;
    };
    let log = open_log(&folder, OPTIONS);
    let say = |line: String| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").unwrap();
        out.flush().unwrap();
    };
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (log, say) = (&log, &say);
            scope.spawn(move || {
                for nth in 0.. {
                    let ticket = log.append(record(writer, nth)).unwrap();
                    // Every third record is one that nobody waits for, as those of reads are.
                    if nth % 3 != 0 {
                        ticket.wait_durable().unwrap();
                        say(format!("durable {} {writer}-{nth}", ticket.number()));
                    }
                    if nth % 50 == 49 {
                        say(format!("head {}", log.head().unwrap()));
                    }
                }
            });
        }
    });
}

#[test]
fn a_process_that_is_killed_loses_nothing_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged: BTreeMap<u64, String> = BTreeMap::new();
    let mut heads: Vec<AuditHead> = Vec::new();
    for round in 0..ROUNDS {
        let mut child = child_command(
            ":",
            "audit_kill::a_child_appends_until_it_is_killed",
            "append",
            folder.path(),
        )
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        // Another number of acknowledgements in each round, so that it dies in other places.
        let enough = 1 + round * 37 % 200;
        for line in lines.by_ref().map_while(Result::ok) {
            seen += note_line(&line, &mut acknowledged, &mut heads);
            if seen >= enough {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(seen >= enough, "the child ended on its own");
    }
    // One more opening closes the last torn line.
    drop(open_log(folder.path(), OPTIONS));
    let report = verify_log(&log_path(folder.path()), &open_key(folder.path()), &heads).unwrap();
    assert!(report.is_whole(), "{report:?}");
    assert!(report.parts > 1, "{report:?}");
    let page = read_records(&log_path(folder.path()), &AuditFilter::default(), usize::MAX).unwrap();
    let stored: BTreeMap<u64, &str> = page
        .entries
        .iter()
        .filter_map(|entry| Some((entry.number, entry.record.subject.drawers.first()?.as_str())))
        .collect();
    for (number, drawer) in &acknowledged {
        assert_eq!(
            stored.get(number).copied(),
            Some(drawer.as_str()),
            "record {number}"
        );
    }
}

/// Notes an acknowledgement or a head; returns how many acknowledgements the line has.
fn note_line(line: &str, acknowledged: &mut BTreeMap<u64, String>, heads: &mut Vec<AuditHead>) -> u64 {
    let mut words = line.split(' ');
    match (words.next(), words.next(), words.next()) {
        (Some("durable"), Some(number), Some(drawer)) => {
            let before = acknowledged.insert(number.parse().unwrap(), drawer.to_owned());
            assert_eq!(before, None, "the number {number} was given twice");
            1
        }
        (Some("head"), Some(head), None) => {
            heads.push(head.parse().unwrap());
            0
        }
        // The lines of the test program itself.
        _ => 0,
    }
}
