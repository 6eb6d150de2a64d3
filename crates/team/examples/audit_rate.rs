//! Measures the audit log: records a second and syncs per record, with threads that append and wait in a closed loop.
//!
//! `cargo run -p loci-team --example audit_rate -- FOLDER THREADS SECONDS`; `THREADS` 0 appends without waiting.

#![allow(clippy::print_stdout, reason = "a program that reports to the terminal")]
#![allow(clippy::disallowed_methods, reason = "it reads a clock and its arguments")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use loci_core::{Error, Result, Timestamp};
use loci_team::{AuditAct, AuditKey, AuditLog, AuditOutcome, AuditRecord, TeamActor};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = || Error::invalid("give FOLDER THREADS SECONDS");
    let folder = PathBuf::from(arguments.next().ok_or_else(usage)?);
    let mut number = || {
        arguments
            .next()
            .and_then(|text| text.parse().ok())
            .ok_or_else(usage)
    };
    let (threads, seconds): (u64, u64) = (number()?, number()?);

    let key = AuditKey::open_or_make(&folder.join("audit.key"))?;
    let log = AuditLog::open(folder.join("audit.log"), key, Default::default())?;
    let is_over = AtomicBool::new(false);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1))
            .map(|_| scope.spawn(|| append_until_over(&log, threads > 0, &is_over)))
            .collect();
        std::thread::sleep(Duration::from_secs(seconds));
        is_over.store(true, Ordering::Relaxed);
        for worker in workers {
            worker
                .join()
                .map_err(|_| Error::invalid("a thread ended early"))??;
        }
        Ok::<(), Error>(())
    })?;
    let (took, counters) = (begun.elapsed().as_secs_f64(), log.counters());
    let appended = counters.appended as f64;
    println!(
        "{threads} threads: {:.0} records a second, {:.4} syncs a record, {:.2} ms a sync",
        appended / took,
        counters.syncs as f64 / appended,
        1000.0 * took / counters.syncs as f64,
    );
    Ok(())
}

/// Appends records of a usual size, and waits for each if asked to.
fn append_until_over(log: &AuditLog, waits: bool, is_over: &AtomicBool) -> Result<()> {
    while !is_over.load(Ordering::Relaxed) {
        let time = Timestamp::from_micros(1_780_000_000_000_000)?;
        let who = TeamActor::User("anna".to_owned());
        let mut record = AuditRecord::new(time, who, AuditAct::ADD, AuditOutcome::Asked);
        record.palace = Some("work".to_owned());
        record.subject.drawers = vec!["0123456789abcdef0123456789abcdef".to_owned()];
        let ticket = log.append(record)?;
        if waits {
            ticket.wait_durable()?;
        }
    }
    Ok(())
}
