//! The audit log as the server writes it: numbered records, appended one by one, full files set aside.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result, Timestamp};

use super::head::AuditHead;
use super::key::AuditKey;
use super::line::write_line;
use super::opening::{self, OpenedEnd};
use super::parts::{list_parts, part_path};
use super::record::{AuditAct, AuditEntry, AuditOutcome, AuditRecord, ChainNote};
use super::sync::{AuditTicket, flush_in_background};
use crate::caller::TeamActor;
use crate::private_file::{file_error, sync_folder};
use crate::secret::{random_bytes, to_hex};

/// The most bytes that are written without being durable. More than that are synced at once.
const MOST_UNSYNCED: usize = 8 << 20;

/// How an audit log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditLogOptions {
    /// The bytes after which a new file is begun.
    pub part_bytes: u64,
    /// The time after which a record is durable even if nothing waits for it.
    pub flush_after: Duration,
}

impl Default for AuditLogOptions {
    /// Files of 64 MiB; durable within half a second.
    fn default() -> Self {
        Self {
            part_bytes: 64 << 20,
            flush_after: Duration::from_millis(500),
        }
    }
}

/// What a log has done since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AuditCounters {
    /// Records that were appended, without those of the log itself.
    pub appended: u64,
    /// Calls that made records durable.
    pub syncs: u64,
    /// Records that could not be written.
    pub missed: u64,
}

/// An audit log that is open for appending.
///
/// - Records are numbered from 1, and each is hashed with the one before it under a key. [`verify_log`](super::verify_log) finds
///   edits, gaps, insertions and changes of order; with a known [`AuditHead`], also a missing end.
/// - A record is written when [`append`](Self::append) returns, so that it outlives the process, and durable when
///   [`AuditTicket::wait_durable`] returns. Records without a waiting caller are durable within a second.
/// - Callers that wait at the same time share a sync.
/// - A record that cannot be written, as on a full disk, is an error and leaves the log whole. Once there is room again, a
///   record tells how many were missed.
/// - One process at a time has a log open.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// use loci_core::Timestamp;
/// use loci_team::{AuditAct, AuditKey, AuditLog, AuditOutcome, AuditRecord, TeamActor, verify_log};
///
/// let path = folder.path().join("audit.log");
/// let key = AuditKey::open_or_make(&folder.path().join("audit.key"))?;
/// let log = AuditLog::open(&path, key.clone(), Default::default())?;
/// let now: Timestamp = "2026-05-01T09:00:00Z".parse()?;
/// let record = AuditRecord::new(now, TeamActor::User("anna".into()), AuditAct::ADD, AuditOutcome::Asked);
/// log.append(record)?.wait_durable()?;
/// let head = log.head()?;
/// assert!(verify_log(&path, &key, &[head])?.is_whole());
/// # Ok::<(), loci_core::Error>(())
/// ```
#[derive(Debug)]
pub struct AuditLog {
    shared: Arc<SharedLog>,
    flusher: Option<JoinHandle<()>>,
    /// Held until the log is closed, so that no other process appends.
    _lock: File,
}

/// The part of a log that tickets and the flushing thread share.
#[derive(Debug)]
pub(super) struct SharedLog {
    pub(super) path: PathBuf,
    pub(super) key: AuditKey,
    pub(super) options: AuditLogOptions,
    pub(super) state: Mutex<LogState>,
    /// A sync has ended.
    pub(super) synced: Condvar,
    /// Another caller waits for a sync.
    pub(super) joined: Condvar,
    /// There is something to sync, or the log closes.
    pub(super) changed: Condvar,
}

/// The state of a log that is open.
#[derive(Debug)]
pub(super) struct LogState {
    pub(super) file: Arc<File>,
    /// How often a new file was begun; a sync that spans one has nothing left to note.
    pub(super) part: u64,
    /// The length of the file up to the last whole record.
    pub(super) bytes: u64,
    /// The last record.
    pub(super) head: AuditHead,
    /// The last record that is durable.
    pub(super) durable: AuditHead,
    /// The bytes of the file behind that record, to write them again after a failed sync.
    pub(super) unsynced: Vec<u8>,
    /// The records up to this number were in a sync that failed.
    pub(super) failed: u64,
    /// Whether the file may hold other bytes than it should.
    pub(super) is_broken: bool,
    pub(super) is_syncing: bool,
    pub(super) is_closed: bool,
    /// The numbers that callers wait for.
    pub(super) waiting: Vec<u64>,
    /// How many callers the last sync served or left waiting.
    pub(super) crowd: usize,
    /// The time that the last sync took.
    pub(super) sync_time: Duration,
    /// The acts since the last record that could not be recorded.
    missed: u64,
    pub(super) counters: AuditCounters,
}

impl AuditLog {
    /// Opens the log at `path`, which is made if it does not exist.
    ///
    /// Its last records are checked, and the chain goes on from there. A last line that was cut off by a crash is kept and
    /// closed by a record that says so. A log that another process has open is `Locked`; one whose last records do not
    /// hold, or were written with another key, is refused and left as it is.
    pub fn open(path: impl Into<PathBuf>, key: AuditKey, options: AuditLogOptions) -> Result<Self> {
        let path = path.into();
        let lock = opening::lock_log(&path)?;
        let end = opening::open_end(&path, &key)?;
        let state = LogState::new(&end);
        let shared = Arc::new(SharedLog {
            path,
            key,
            options,
            state: Mutex::new(state),
            synced: Condvar::new(),
            joined: Condvar::new(),
            changed: Condvar::new(),
        });
        shared.close_torn_line(&end)?;
        let background = shared.clone();
        let flusher = std::thread::Builder::new()
            .name("audit-flush".to_owned())
            .spawn(move || flush_in_background(&background))
            .map_err(|cause| {
                Error::new(
                    ErrorKind::Io,
                    "the thread that makes audit records durable cannot be started",
                )
                .caused_by(cause)
            })?;
        Ok(Self {
            shared,
            flusher: Some(flusher),
            _lock: lock,
        })
    }

    /// Appends a record. It is written, but not yet durable: wait for that with the ticket before an act that writes begins.
    pub fn append(&self, record: AuditRecord) -> Result<AuditTicket> {
        if record.act.is_of_chain() {
            let message = format!("{} is a record of the log itself", record.act.name());
            return Err(Error::invalid(message));
        }
        let number = self.shared.append(record)?;
        Ok(AuditTicket::new(self.shared.clone(), number))
    }

    /// Makes every record durable and returns the head, to be kept elsewhere.
    pub fn head(&self) -> Result<AuditHead> {
        let number = self.shared.lock().head.number;
        self.shared.wait_durable(number)?;
        Ok(self.shared.lock().durable)
    }

    /// Returns what the log has done since it was opened.
    pub fn counters(&self) -> AuditCounters {
        self.shared.lock().counters
    }

    #[cfg(test)]
    pub(super) fn shared(&self) -> &SharedLog {
        &self.shared
    }

    /// Returns the path of the file that is written to.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.changed.notify_all();
        if let Some(flusher) = self.flusher.take() {
            // It makes the last records durable before it ends.
            let _ = flusher.join();
        }
    }
}

impl LogState {
    fn new(end: &OpenedEnd) -> Self {
        Self {
            file: end.file.clone(),
            part: 0,
            bytes: end.bytes,
            head: end.head,
            durable: end.head,
            unsynced: Vec::new(),
            failed: 0,
            is_broken: false,
            is_syncing: false,
            is_closed: false,
            waiting: Vec::new(),
            crowd: 0,
            sync_time: Duration::ZERO,
            missed: 0,
            counters: AuditCounters::default(),
        }
    }
}

impl SharedLog {
    pub(super) fn lock(&self) -> MutexGuard<'_, LogState> {
        // A panic leaves at most an unfinished line, which `is_broken` or the next opening finds.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a record and returns its number.
    fn append(&self, record: AuditRecord) -> Result<u64> {
        let mut state = self.lock();
        let was_idle = state.unsynced.is_empty();
        let written = self.append_locked(&mut state, record.cut());
        match &written {
            Ok(_) => state.counters.appended += 1,
            Err(_) => {
                state.missed += 1;
                state.counters.missed += 1;
            }
        }
        drop(state);
        if was_idle {
            // The flushing thread counts its time from the first record that is not durable.
            self.changed.notify_all();
        }
        written.map_err(|cause| {
            let message = format!("the audit log {} cannot be written", self.path.display());
            let error = Error::new(ErrorKind::Io, message).with_context("cause", &cause);
            error
                .caused_by(cause)
                .with_hint("nothing was done; make room on the disk of the audit log")
        })
    }

    fn append_locked(&self, state: &mut LogState, record: AuditRecord) -> Result<u64> {
        if state.is_broken {
            self.repair(state)?;
        }
        if state.bytes >= self.options.part_bytes {
            self.begin_part(state)?;
        }
        let mut lines = Vec::new();
        let mut head = state.head;
        let time = record.time;
        let mut add = |record: AuditRecord, chain: Option<ChainNote>| {
            let number = head.number + 1;
            let entry = AuditEntry {
                number,
                record,
                chain,
            };
            head = write_line(&self.key, &head, &entry, &mut lines)?;
            Ok(number)
        };
        if state.bytes == 0 {
            add(
                chain_record(time, start_act(&state.head)),
                Some(self.start_note(&state.head)?),
            )?;
        }
        if state.missed > 0 {
            let note = ChainNote {
                missed: Some(state.missed),
                ..ChainNote::default()
            };
            add(chain_record(time, AuditAct::RECORDS_MISSED), Some(note))?;
        }
        let number = add(record, None)?;
        self.write_lines(state, &lines, head)?;
        state.missed = 0;
        if state.unsynced.len() > MOST_UNSYNCED {
            self.sync_locked(state)?;
        }
        Ok(number)
    }

    /// Writes whole lines, or none.
    fn write_lines(&self, state: &mut LogState, lines: &[u8], head: AuditHead) -> Result<()> {
        if let Err(cause) = (&*state.file).write_all(lines) {
            // A part of a line may have been written. The file must end with a whole record before the next is appended.
            state.is_broken = state.file.set_len(state.bytes).is_err();
            return Err(file_error("write", &self.path, cause));
        }
        state.bytes += lines.len() as u64;
        state.unsynced.extend_from_slice(lines);
        state.head = head;
        Ok(())
    }

    /// Begins a new file. If it cannot be made, records go on in the old one.
    fn begin_part(&self, state: &mut LogState) -> Result<()> {
        self.sync_locked(state)?;
        let fresh_path = opening::fresh_path(&self.path);
        let next = list_parts(&self.path)?.last().map_or(1, |last| last + 1);
        let full = part_path(&self.path, next);
        let Ok(fresh) = create_fresh(&fresh_path) else {
            return Ok(());
        };
        if fs::rename(&self.path, &full).is_err() {
            return Ok(());
        }
        if let Err(cause) = fs::rename(&fresh_path, &self.path).and_then(|()| sync_folder(&self.path)) {
            // The full file keeps its old name; if even that fails, the next opening finds it under the new one.
            let _ = fs::rename(&full, &self.path);
            return Err(file_error("begin", &self.path, cause));
        }
        state.file = Arc::new(fresh);
        state.part += 1;
        state.bytes = 0;
        Ok(())
    }

    /// Closes a line that a crash cut off, with a record that names it.
    fn close_torn_line(&self, end: &OpenedEnd) -> Result<()> {
        let mut state = self.lock();
        if !end.lacks_line_feed {
            return Ok(());
        }
        let mut lines = b"\n".to_vec();
        let mut head = state.head;
        if let Some((bytes, hash)) = &end.torn {
            let note = ChainNote {
                torn_bytes: Some(*bytes),
                torn_hash: Some(hash.clone()),
                after: Some(state.head),
                key: Some(self.key.fingerprint()),
                ..ChainNote::default()
            };
            let entry = AuditEntry {
                number: head.number + 1,
                record: chain_record(end.modified, AuditAct::LINE_TORN),
                chain: Some(note),
            };
            head = write_line(&self.key, &head, &entry, &mut lines)?;
        }
        self.write_lines(&mut state, &lines, head)?;
        self.sync_locked(&mut state)
    }

    fn start_note(&self, head: &AuditHead) -> Result<ChainNote> {
        let is_first = *head == AuditHead::START;
        let id = is_first.then(random_bytes::<8>).transpose()?;
        Ok(ChainNote {
            id: id.map(|id| to_hex(&*id)),
            key: Some(self.key.fingerprint()),
            after: (!is_first).then_some(*head),
            ..ChainNote::default()
        })
    }
}

fn start_act(head: &AuditHead) -> AuditAct {
    if *head == AuditHead::START {
        AuditAct::CHAIN_BEGUN
    } else {
        AuditAct::CHAIN_CONTINUED
    }
}

fn chain_record(time: Timestamp, act: AuditAct) -> AuditRecord {
    AuditRecord::new(time, TeamActor::Server, act, AuditOutcome::Done)
}

/// Makes an empty file for records.
fn create_fresh(path: &Path) -> io::Result<File> {
    let _ = fs::remove_file(path);
    File::options()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}
