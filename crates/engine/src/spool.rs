//! The spool: what happened in conversations and waits to be mined, one durable line of JSON for each.
//!
//! Whoever has something to say appends a line and goes away. Whoever has the turn mines what the lines name and takes
//! out a line only when that is done, so that a crash costs nothing but time. Knows no harness, no clock and no home.
//!
//! | file | what is in it |
//! |---|---|
//! | `events.jsonl` | the lines that wait |
//! | `events-PID-TIME.jsonl` | one line of somebody who could not get the lock in time |
//! | `spool.lock` | held while `events.jsonl` is appended to or rewritten |
//! | `drainer.lock` | held by whoever has the turn |
//! | `begun.json` | the event that is being worked off |
//! | `failed.jsonl` | what could not be mined, kept until it could |
//! | `hook.log`, `hook.log.old` | what went wrong, within a bound |

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
use serde::Serialize;

pub use drain::{Drained, MOST_TRIES, Outcome, drain};
pub use event::{Event, VERSION};
use lines::Line;

/// How often, and how far apart, the lock is tried for before an event goes to a file of its own: a tenth of a second.
const TRIES: u32 = 50;
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

const EVENTS: &str = "events.jsonl";
const FAILED: &str = "failed.jsonl";
const BEGUN: &str = "begun.json";
const LOCK: &str = "spool.lock";
const TURN: &str = "drainer.lock";
/// What the name of a file with a single event begins and ends with.
const ASIDE: (&str, &str) = ("events-", ".jsonl");

/// The spool of one palace: a folder of its own, which need not be there yet.
#[derive(Debug, Clone)]
pub struct Spool {
    folder: PathBuf,
}

/// How much is in a spool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// How many conversations wait to be mined.
    pub waiting: u64,
    /// How many could not be mined.
    pub failed: u64,
}

/// The right to mine what the spool names. One process has it at a time, and loses it when it ends.
#[derive(Debug)]
pub struct Turn {
    lock: File,
}

impl Turn {
    /// The file whose lock is the turn. Whoever inherits it has the turn, with no gap in which others could take it.
    pub fn into_file(self) -> File {
        self.lock
    }

    /// Gives the turn back, also where others still have the file open.
    fn release(&self) -> io::Result<()> {
        self.lock.unlock()
    }
}

impl Spool {
    /// The spool in a folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// The folder of a palace's spool among all spools: the palace may be missing or moved away, so it lies elsewhere.
    pub fn of_palace(spools: &Path, palace: &Path) -> Self {
        let hash = blake3::hash(palace.as_os_str().as_encoded_bytes()).to_hex();
        Self::at(spools.join(hash.get(..16).unwrap_or_default()))
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends an event; it is durable when this returns. Waits for others a tenth of a second at most.
    pub fn append(&self, event: &Event) -> Result<()> {
        let line = event.line();
        let kept = self.prepare().and_then(|()| match self.lock_soon()? {
            Some(held) => {
                let appended = lines::append(&self.file(EVENTS), &line)?;
                drop(held);
                // The line may have been taken over into a new file by now, which was made durable with it.
                appended.settle(&self.folder)
            }
            None => lines::write_aside(&self.folder, &self.aside_name(event), &line),
        });
        kept.map_err(|cause| self.wrong("cannot keep an event in", cause))
    }

    /// The turn, if nobody has it.
    pub fn turn(&self) -> Result<Option<Turn>> {
        let taken = self.prepare().and_then(|()| {
            let lock = lines::private().create(true).append(true).open(self.file(TURN))?;
            try_lock(&lock).map(|got| got.then_some(Turn { lock }))
        });
        taken.map_err(|cause| self.wrong("cannot take the turn in", cause))
    }

    /// The turn that somebody handed over with the file of its lock; `None` if the file is another one.
    pub fn accept(&self, handed: File) -> Option<Turn> {
        let (one, other) = (handed.metadata().ok()?, self.file(TURN).metadata().ok()?);
        let same = (one.dev(), one.ino()) == (other.dev(), other.ino());
        (same && try_lock(&handed).ok()?).then_some(Turn { lock: handed })
    }

    /// How much is in it; makes nothing.
    pub fn standing(&self) -> Result<Standing> {
        let counted = || {
            let mut waiting = lines::read(&self.file(EVENTS))?;
            for path in self.aside()? {
                waiting.extend(lines::read(&path)?);
            }
            Ok(Standing {
                waiting: lines::merged(waiting).len() as u64,
                failed: lines::read(&self.file(FAILED))?.len() as u64,
            })
        };
        counted().map_err(|cause| self.wrong("cannot look into", cause))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn prepare(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)
    }

    fn wrong(&self, doing: &str, cause: io::Error) -> Error {
        let message = format!("{doing} the spool {}", self.folder.display());
        Error::new(ErrorKind::Io, message).caused_by(cause)
    }

    /// The lock on the lines, waited for as long as it takes: nobody holds it for long.
    fn lock(&self) -> io::Result<File> {
        let file = self.open_lock()?;
        file.lock()?;
        Ok(file)
    }

    /// The lock on the lines, if it is to be had soon.
    fn lock_soon(&self) -> io::Result<Option<File>> {
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
        lines::private().create(true).append(true).open(self.file(LOCK))
    }

    fn aside_name(&self, event: &Event) -> String {
        let (begin, end) = ASIDE;
        format!("{begin}{}-{}{end}", std::process::id(), event.at.as_micros())
    }

    /// The files with single events, in order of their names.
    fn aside(&self) -> io::Result<Vec<PathBuf>> {
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

    /// Every event that waits, each conversation once, all in `events.jsonl`. Only with the lock held.
    fn gather(&self) -> io::Result<Vec<Line>> {
        let events = self.file(EVENTS);
        let aside = self.aside()?;
        let mut found = lines::read(&events)?;
        for path in &aside {
            found.extend(lines::read(path)?);
        }
        let before = found.len();
        let (readable, torn): (Vec<Line>, Vec<Line>) =
            found.into_iter().partition(|line| line.event.is_some());
        if !torn.is_empty() {
            let mut failed = lines::read(&self.file(FAILED))?;
            failed.extend(torn);
            lines::replace(&self.file(FAILED), &failed)?;
        }
        let merged = lines::merged(readable);
        if merged.len() != before || !aside.is_empty() {
            lines::replace(&events, &merged)?;
        }
        for path in aside {
            std::fs::remove_file(path)?;
        }
        Ok(merged)
    }

    /// Puts `new` in the place of the line `old`, which may be nothing.
    fn exchange(&self, old: &Line, new: Option<Line>) -> io::Result<()> {
        let held = self.lock()?;
        let events = self.file(EVENTS);
        let mut lines = lines::read(&events)?;
        // What was appended meanwhile stands behind it and stays, even if it says the same.
        if let Some(at) = lines.iter().position(|line| line.raw == old.raw) {
            lines.splice(at..=at, new);
            match lines.is_empty() {
                true => lines::clear(&events)?,
                false => lines::replace(&events, &lines)?,
            }
        }
        drop(held);
        Ok(())
    }

    /// Puts an event among those that failed, or takes its conversation out of them.
    fn set_failed(&self, event: &Event, failed: bool) -> io::Result<()> {
        let path = self.file(FAILED);
        let before = lines::read(&path)?;
        let count = before.len();
        let other = |line: &Line| line.event.as_ref().is_none_or(|one| one.key() != event.key());
        let mut lines: Vec<Line> = before.into_iter().filter(other).collect();
        if failed {
            lines.push(Line::of(event.clone()));
        }
        match failed || lines.len() != count {
            true => lines::replace(&path, &lines),
            false => Ok(()),
        }
    }
}

fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(cause)) if cause.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(TryLockError::Error(cause)) => Err(cause),
    }
}
