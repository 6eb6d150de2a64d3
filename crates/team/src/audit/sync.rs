//! Making records durable: callers that wait at the same time share one sync.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};

use super::log::{LogState, SharedLog};
use crate::private_file::file_error;

/// The longest time that a sync is put off for callers that are expected to join it.
const LONGEST_LINGER: Duration = Duration::from_millis(2);

/// A record that was appended.
#[derive(Debug, Clone)]
pub struct AuditTicket {
    log: Arc<SharedLog>,
    number: u64,
}

impl AuditTicket {
    pub(super) fn new(log: Arc<SharedLog>, number: u64) -> Self {
        Self { log, number }
    }

    /// Returns the number of the record.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Waits until the record is durable. After an error it may be durable or not, and the act must not begin.
    pub fn wait_durable(&self) -> Result<()> {
        self.log.wait_durable(self.number)
    }
}

impl SharedLog {
    /// Waits until the records up to `number` are durable. The first caller syncs for all that wait by then.
    pub(super) fn wait_durable(&self, number: u64) -> Result<()> {
        let mut state = self.lock();
        if state.durable.number >= number {
            return Ok(());
        }
        state.waiting.push(number);
        self.joined.notify_one();
        let waited = loop {
            if state.durable.number >= number {
                break Ok(());
            }
            if state.failed >= number {
                break Err(self.sync_error());
            }
            state = if state.is_syncing {
                self.synced.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.lead_sync(state, true)
            };
        };
        // After a success the sync has done so already; after an error the number is still there.
        state.waiting.retain(|other| *other != number);
        waited
    }

    /// Syncs for every caller that waits by the time it begins.
    fn lead_sync<'a>(
        &'a self,
        mut state: MutexGuard<'a, LogState>,
        may_linger: bool,
    ) -> MutexGuard<'a, LogState> {
        state.is_syncing = true;
        if may_linger {
            state = self.linger(state);
        }
        if state.is_broken {
            // The bytes of earlier records must be written again, which a plain sync would not do.
            if self.repair(&mut state).is_err() {
                state.failed = state.head.number;
            }
        } else {
            state = self.sync_unlocked(state);
        }
        state.is_syncing = false;
        let durable = state.durable.number;
        state.crowd = state.waiting.len();
        state.waiting.retain(|number| *number > durable);
        self.synced.notify_all();
        state
    }

    /// Waits a moment for as many callers as there were at the last sync. With a single one there is nothing to wait for.
    fn linger<'a>(&'a self, mut state: MutexGuard<'a, LogState>) -> MutexGuard<'a, LogState> {
        let crowd = state.crowd;
        if crowd < 2 {
            return state;
        }
        let until = Instant::now() + state.sync_time.min(LONGEST_LINGER);
        while state.waiting.len() < crowd && !state.is_closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.joined.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    /// Syncs while others append.
    fn sync_unlocked<'a>(&'a self, mut state: MutexGuard<'a, LogState>) -> MutexGuard<'a, LogState> {
        let (file, part, head, written) = (state.file.clone(), state.part, state.head, state.unsynced.len());
        drop(state);
        let begun = Instant::now();
        let result = file.sync_data();
        let took = begun.elapsed();
        state = self.lock();
        state.counters.syncs += 1;
        state.sync_time = took;
        if state.part != part {
            // A new file was begun meanwhile, and the old one was made durable for that.
            return state;
        }
        if result.is_ok() {
            state.durable = head;
            state.unsynced.drain(..written);
        } else {
            self.note_failed_sync(&mut state);
        }
        state
    }

    /// Syncs while nothing is appended.
    pub(super) fn sync_locked(&self, state: &mut LogState) -> Result<()> {
        state.counters.syncs += 1;
        match state.file.sync_data() {
            Ok(()) => {
                state.durable = state.head;
                state.unsynced.clear();
                Ok(())
            }
            Err(cause) => {
                self.note_failed_sync(state);
                Err(file_error("make durable", &self.path, cause))
            }
        }
    }

    /// After a failed sync the system may have dropped what it should have written, and may report success the next time.
    /// So nothing behind the last durable record is trusted until it has been written again.
    fn note_failed_sync(&self, state: &mut LogState) {
        state.is_broken = true;
        state.failed = state.head.number;
    }

    /// Writes everything behind the last durable record again.
    pub(super) fn repair(&self, state: &mut LogState) -> Result<()> {
        use std::io::Write as _;
        let durable_bytes = state.bytes - state.unsynced.len() as u64;
        let repaired = state
            .file
            .set_len(durable_bytes)
            .and_then(|()| (&*state.file).write_all(&state.unsynced))
            .and_then(|()| state.file.sync_data());
        state.counters.syncs += 1;
        repaired.map_err(|cause| file_error("write", &self.path, cause))?;
        state.is_broken = false;
        state.durable = state.head;
        state.unsynced.clear();
        Ok(())
    }

    fn sync_error(&self) -> Error {
        let message = format!("the audit log {} cannot be made durable", self.path.display());
        Error::new(ErrorKind::Io, message)
            .with_hint("nothing was done; check the disk of the audit log, and whether it has room")
    }
}

/// Makes records durable that have no waiting caller, until the log is closed.
pub(super) fn flush_in_background(log: &SharedLog) {
    let mut state = log.lock();
    loop {
        let has_work = !state.unsynced.is_empty() || state.is_broken;
        if state.is_closed {
            // Another caller's sync may have begun before the last records.
            while state.is_syncing {
                state = log.synced.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if !state.unsynced.is_empty() || state.is_broken {
                drop(log.lead_sync(state, false));
            }
            return;
        }
        if !has_work {
            state = log.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        state = pause_before_flush(log, state);
        let has_work = !state.unsynced.is_empty() || state.is_broken;
        if has_work && !state.is_syncing && !state.is_closed {
            state = log.lead_sync(state, false);
        }
    }
}

/// Waits for the time after which records are made durable, or until the log is closed.
fn pause_before_flush<'a>(
    log: &'a SharedLog,
    mut state: MutexGuard<'a, LogState>,
) -> MutexGuard<'a, LogState> {
    let until = Instant::now() + log.options.flush_after;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if state.is_closed || left.is_zero() {
            return state;
        }
        let waited = log.changed.wait_timeout(state, left);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}
