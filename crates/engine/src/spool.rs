//! The spool: events of conversations that wait to be mined, one durable line of JSON each.
//!
//! A hook appends a line and exits. The process that holds the turn, the drainer, mines the conversations the
//! lines name and removes a line only when its work is done, so a crash costs nothing but time. The spool
//! depends on no harness, no system clock and no home folder.
//!
//! | file | content |
//! |---|---|
//! | `events.jsonl` | the waiting lines |
//! | `events-PID-TIME.jsonl` | one line of a hook that did not get the lock in time |
//! | `spool.lock` | held while `events.jsonl` is appended to or rewritten |
//! | `drainer.lock` | held by the drainer |
//! | `begun.json` | the event being worked on |
//! | `failed.jsonl` | events that could not be mined, kept until they can |
//! | `hook.log`, `hook.log.old` | the log of failures, bounded in size |

mod drain;
mod event;
mod lines;
mod log;
#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use schemars::JsonSchema;
use serde::Serialize;

pub use drain::{DrainReport, EventOutcome, MOST_TRIES, drain_spool};
pub use event::{EVENT_VERSION, SpoolEvent};
use lines::SpoolLine;

/// The attempts to get the lock, and the pause between them, before an event goes to a separate file: a tenth
/// of a second in all, since the harness waits for its hook.
const TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

const EVENTS: &str = "events.jsonl";
const FAILED: &str = "failed.jsonl";
const BEGUN: &str = "begun.json";
const LOCK: &str = "spool.lock";
const TURN: &str = "drainer.lock";
/// The prefix and suffix of the name of a file with a single event.
const ASIDE: (&str, &str) = ("events-", ".jsonl");

/// The spool of one palace: a separate folder, which need not exist yet.
#[derive(Debug, Clone)]
pub struct EventSpool {
    folder: PathBuf,
}

/// The number of events in a spool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpoolStanding {
    /// The conversations that wait to be mined.
    pub waiting: u64,
    /// The conversations that could not be mined.
    pub failed: u64,
}

/// The right to drain the spool. One process holds it at a time, and loses it when it exits.
#[derive(Debug)]
pub struct DrainTurn {
    lock: File,
}

impl DrainTurn {
    /// Returns the file whose lock is the turn. A child process that inherits it holds the turn, with no gap in
    /// which another process could take it.
    pub fn into_file(self) -> File {
        self.lock
    }

    /// Gives the turn back, even while other processes still have the file open.
    fn release_lock(&self) -> io::Result<()> {
        self.lock.unlock()
    }
}

impl EventSpool {
    /// Returns the spool in a folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Returns the spool of a palace among all spools. It lies outside the palace, which may be missing or
    /// moved when an event arrives.
    pub fn for_palace(spools: &Path, palace: &Path) -> Self {
        let hash = blake3::hash(palace.as_os_str().as_encoded_bytes()).to_hex();
        Self::at(spools.join(hash.get(..16).unwrap_or_default()))
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends an event, which is durable when this returns. Waits at most a tenth of a second for other
    /// processes.
    pub fn append_event(&self, event: &SpoolEvent) -> Result<()> {
        let line = event.to_line();
        let kept = self.create_folder().and_then(|()| match self.try_lock_events()? {
            Some(held) => {
                let appended = lines::append_line(&self.file_path(EVENTS), &line)?;
                drop(held);
                // Synced after the lock is released, so that appenders do not wait for each other's disk. A
                // drainer may have moved the line to a new file by now; that file was synced with the line in
                // it.
                appended.make_durable(&self.folder)
            }
            None => lines::write_aside(&self.folder, &self.name_aside_file(event), &line),
        });
        kept.map_err(|cause| self.wrap_error("cannot write an event to", cause))
    }

    /// Takes the turn, unless another process holds it.
    pub fn take_turn(&self) -> Result<Option<DrainTurn>> {
        let taken = self.create_folder().and_then(|()| {
            let lock = lines::private_options()
                .create(true)
                .append(true)
                .open(self.file_path(TURN))?;
            try_lock(&lock).map(|got| got.then_some(DrainTurn { lock }))
        });
        taken.map_err(|cause| self.wrap_error("cannot take the turn to drain", cause))
    }

    /// Accepts a turn handed over with the file of its lock; `None` if the file is not this spool's lock.
    pub fn accept_turn(&self, handed: File) -> Option<DrainTurn> {
        let (one, other) = (handed.metadata().ok()?, self.file_path(TURN).metadata().ok()?);
        // Device and inode identify the file: a path would not notice that the lock was deleted and created anew.
        let same = (one.dev(), one.ino()) == (other.dev(), other.ino());
        (same && try_lock(&handed).ok()?).then_some(DrainTurn { lock: handed })
    }

    /// Counts its events; creates nothing.
    pub fn count_events(&self) -> Result<SpoolStanding> {
        let counted = || {
            let mut waiting = lines::read_lines(&self.file_path(EVENTS))?;
            for path in self.list_aside_files()? {
                waiting.extend(lines::read_lines(&path)?);
            }
            Ok(SpoolStanding {
                waiting: lines::merge_by_conversation(waiting).len() as u64,
                failed: lines::read_lines(&self.file_path(FAILED))?.len() as u64,
            })
        };
        counted().map_err(|cause| self.wrap_error("cannot read", cause))
    }

    fn file_path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn create_folder(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }

    fn wrap_error(&self, doing: &str, cause: io::Error) -> Error {
        let message = format!("{doing} the spool {}", self.folder.display());
        Error::new(ErrorKind::Io, message).caused_by(cause)
    }

    /// Waits for the lock on the lines without a limit: no process holds it for long.
    fn lock_events(&self) -> io::Result<File> {
        let file = self.open_lock()?;
        file.lock()?;
        Ok(file)
    }

    /// Tries to get the lock on the lines within a tenth of a second.
    fn try_lock_events(&self) -> io::Result<Option<File>> {
        let file = self.open_lock()?;
        for _ in 0..TRIES {
            if try_lock(&file)? {
                return Ok(Some(file));
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
        Ok(None)
    }

    fn open_lock(&self) -> io::Result<File> {
        lines::private_options()
            .create(true)
            .append(true)
            .open(self.file_path(LOCK))
    }

    fn name_aside_file(&self, event: &SpoolEvent) -> String {
        let (begin, end) = ASIDE;
        format!("{begin}{}-{}{end}", std::process::id(), event.at.as_micros())
    }

    /// Lists the files with single events, sorted by name.
    fn list_aside_files(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match self.folder.read_dir() {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let is_aside = |name: &str| name.starts_with(ASIDE.0) && name.ends_with(ASIDE.1);
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(is_aside) {
                found.push(entry.path());
            }
        }
        found.sort();
        Ok(found)
    }

    /// Collects every waiting event in `events.jsonl`, one for each conversation, and returns them. The lock
    /// must be held.
    fn gather_events(&self) -> io::Result<Vec<SpoolLine>> {
        let events = self.file_path(EVENTS);
        let aside = self.list_aside_files()?;
        let mut found = lines::read_lines(&events)?;
        for path in &aside {
            found.extend(lines::read_lines(path)?);
        }
        let before = found.len();
        let (readable, torn): (Vec<SpoolLine>, Vec<SpoolLine>) =
            found.into_iter().partition(|line| line.event.is_some());
        if !torn.is_empty() {
            // A line that cannot be parsed is evidence of a bug or a torn write; it is kept aside, never dropped.
            let mut failed = lines::read_lines(&self.file_path(FAILED))?;
            failed.extend(torn);
            lines::replace_lines(&self.file_path(FAILED), &failed)?;
        }
        let merged = lines::merge_by_conversation(readable);
        if merged.len() != before || !aside.is_empty() {
            lines::replace_lines(&events, &merged)?;
        }
        // Removed only now: a crash before the rewrite leaves an event twice, which merging undoes, and never
        // loses it.
        for path in aside {
            std::fs::remove_file(path)?;
        }
        Ok(merged)
    }

    /// Replaces the line `old` by `new`, or removes it.
    fn replace_line(&self, old: &SpoolLine, new: Option<SpoolLine>) -> io::Result<()> {
        let held = self.lock_events()?;
        let events = self.file_path(EVENTS);
        let mut lines = lines::read_lines(&events)?;
        // The first equal line is the one that was worked on. An equal line appended in the meantime stays: it
        // reports something that happened after the work began.
        if let Some(at) = lines.iter().position(|line| line.raw == old.raw) {
            lines.splice(at..=at, new);
            if lines.is_empty() {
                lines::clear_lines(&events)?;
            } else {
                lines::replace_lines(&events, &lines)?;
            }
        }
        drop(held);
        Ok(())
    }

    /// Adds an event to the failed ones, or removes its conversation from them.
    fn set_failed(&self, event: &SpoolEvent, failed: bool) -> io::Result<()> {
        let path = self.file_path(FAILED);
        let before = lines::read_lines(&path)?;
        let count = before.len();
        let other = |line: &SpoolLine| {
            line.event
                .as_ref()
                .is_none_or(|one| one.conversation_key() != event.conversation_key())
        };
        let mut lines: Vec<SpoolLine> = before.into_iter().filter(other).collect();
        if failed {
            lines.push(SpoolLine::from_event(event.clone()));
        }
        if failed || lines.len() != count {
            lines::replace_lines(&path, &lines)
        } else {
            Ok(())
        }
    }
}

fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        // A signal arrived; the caller tries again or treats the lock as taken.
        Err(TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(TryLockError::Error(cause)) => Err(cause),
    }
}
