//! One palace as this process holds it: its file, a pool of connections, and what has been noticed about it.

mod lease;
mod reading;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use loci_core::{Error, ErrorKind, Finding, Result};
use loci_index::segment::Head;
use rusqlite::{Connection, Transaction};

use crate::connection::{self, Opening};
use crate::deadline::{CallLimits, Deadline};
use crate::disk::FileIdentity;
use crate::failure::{self, sqlite};
use crate::{lost, schema};

pub(crate) use lease::Lease;
pub(crate) use reading::PageSpread;

/// A palace file and the connections this process has to it.
///
/// Every call looks whether the file is still the one the connections were made for: one that was replaced is
/// served with its new content, one that vanished is not found.
#[derive(Debug)]
pub(crate) struct Palace {
    file: PathBuf,
    base: Option<String>,
    closed: AtomicBool,
    /// Writers of this process queue here before they queue at the file.
    writing: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The file the connections belong to.
    file: Option<FileIdentity>,
    /// Counts replacements, so that a connection of an earlier file is never put back.
    generation: u64,
    idle: Vec<Mapped>,
    palace_id: Option<[u8; 16]>,
    /// Segments whose checksums were found right by this process; a sealed one never changes.
    sound: HashMap<i64, Arc<Sound>>,
    warnings: BTreeMap<String, Finding>,
}

/// How many bytes of codes a process keeps in memory for a palace: about 170,000 vectors of 384 values.
const KEPT_CODES: usize = 64 << 20;

/// A segment that was found sound: its head, and its codes once it has been scanned more than once.
#[derive(Debug)]
pub(crate) struct Sound {
    pub(crate) head: Head,
    pub(crate) codes: OnceLock<Box<[u8]>>,
}

/// A connection and how long the file was when the connection mapped it into memory.
#[derive(Debug)]
struct Mapped {
    connection: Connection,
    bytes: u64,
}

/// A file of up to this many bytes stays mapped where single rows of it are read.
const KEPT_MAPPED: u64 = 64 << 20;

impl Mapped {
    /// Makes an idle connection ready for a file that now has `bytes` bytes.
    ///
    /// SQLite maps a file once, as long as it is then; what it grows by later is read through a much slower path.
    fn reused(mut self, bytes: u64, wait: Duration) -> Result<Self> {
        self.connection.busy_timeout(wait).map_err(sqlite)?;
        if bytes > self.bytes + self.bytes / 8 {
            connection::map_again(&self.connection)?;
            self.bytes = bytes;
        }
        Ok(self)
    }
}

/// What is done about a palace that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absent {
    /// It is not found.
    NotFound,
    /// It is made.
    Made,
}

impl Palace {
    pub(crate) fn new(file: PathBuf, base: Option<String>) -> Self {
        Self {
            file,
            base,
            closed: AtomicBool::new(false),
            writing: Mutex::default(),
            state: Mutex::default(),
        }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Lets go of all connections; every later call is `Closed`.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.state().idle.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends a connection to the file as it is now, in no transaction.
    pub(crate) fn lease(&self, wait: Duration) -> Result<Lease<'_>> {
        let lease = self.lend(Absent::NotFound, wait)?;
        connection::end_read(&lease)?;
        Ok(lease)
    }

    /// Lends a connection to the file as it is now, within a read transaction. Where it is opened for this, that is the
    /// one in which the file was recognised.
    pub(crate) fn lease_reading(&self, absent: Absent, wait: Duration) -> Result<Lease<'_>> {
        let lease = self.lend(absent, wait)?;
        connection::begin_read(&lease)?;
        Ok(lease)
    }

    fn lend(&self, absent: Absent, wait: Duration) -> Result<Lease<'_>> {
        self.check_open()?;
        let (generation, bytes, idle) = self.current(absent)?;
        let Mapped {
            connection,
            bytes: mapped,
        } = match idle {
            Some(idle) => idle.reused(bytes, wait)?,
            None => self.connect(absent, wait)?,
        };
        Ok(Lease {
            palace: self,
            generation,
            mapped,
            watched: false,
            connection: Some(connection),
        })
    }

    /// The generation and length of the file that stands there now, and an idle connection to it if there is one.
    fn current(&self, absent: Absent) -> Result<(u64, u64, Option<Mapped>)> {
        let found = FileIdentity::of(&self.file);
        let mut state = self.state();
        let same = match (state.file, found) {
            (Some(known), Some(now)) => known.same_as(now),
            (None, None) => true,
            _ => false,
        };
        if !same {
            let generation = state.generation + 1;
            *state = State {
                file: found,
                generation,
                ..State::default()
            };
        }
        if found.is_none() && absent == Absent::NotFound {
            return Err(missing(&self.file));
        }
        let bytes = found.map_or(0, |file| file.bytes);
        Ok((state.generation, bytes, state.idle.pop()))
    }

    /// Opens a connection, which comes within a read transaction.
    fn connect(&self, absent: Absent, wait: Duration) -> Result<Mapped> {
        let base = self.base.as_deref();
        let connection = connection::open(Opening {
            file: &self.file,
            base,
            create: absent == Absent::Made,
            mend: true,
            wait,
        })?;
        // Notes that cannot be read are for `verify` to say; they must not stop a reader.
        for finding in lost::findings(&connection).unwrap_or_default() {
            self.warn(finding);
        }
        let mut state = self.state();
        if state.file.is_none() {
            state.file = FileIdentity::of(&self.file);
        }
        let bytes = state.file.map_or(0, |file| file.bytes);
        Ok(Mapped { connection, bytes })
    }

    /// Runs `write` in one write transaction and returns once it is durable. Nothing slow belongs inside.
    pub(crate) fn write<T>(
        &self,
        wait: Duration,
        write: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> std::result::Result<T, WriteFailure> {
        self.write_within(CallLimits::new(wait, None), |transaction, _| write(transaction))
    }

    /// As [`Palace::write`], within the limits of a call; `write` is also told the generation of the file.
    pub(crate) fn write_within<T>(
        &self,
        limits: CallLimits,
        write: impl FnOnce(&Transaction<'_>, u64) -> Result<T>,
    ) -> std::result::Result<T, WriteFailure> {
        let _queue = self.queue(limits.deadline)?;
        let mut lease = self.lease(limits.wait()).map_err(|error| limits.explain(error))?;
        lease.mapped = 0;
        lease.watch(limits.deadline)?;
        let (generation, wait) = (lease.generation, limits.wait());
        let transaction = match connection::begin_write(&mut lease) {
            Ok(transaction) => transaction,
            Err(cause) if failure::is_busy(&cause) => {
                return Err(limits.explain(connection::locked(&self.file, wait, cause)).into());
            }
            Err(cause) => return Err(sqlite(cause).into()),
        };
        let answer = write(&transaction, generation)?;
        // The last moment at which nothing is written yet.
        limits.deadline.check()?;
        crate::crash::point("before-commit");
        let committed = transaction.commit();
        crate::crash::point("after-commit");
        if let Err(cause) = committed {
            lease.discard();
            return Err(WriteFailure {
                error: sqlite(cause),
                at_commit: true,
            });
        }
        Ok(answer)
    }

    /// Waits for the other writers of this process, but not past the deadline.
    fn queue(&self, deadline: Deadline) -> Result<MutexGuard<'_, ()>> {
        if deadline.instant().is_none() {
            return Ok(self.writing.lock().unwrap_or_else(PoisonError::into_inner));
        }
        loop {
            match self.writing.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => deadline.check()?,
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Refuses every call after the palace was closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(closed());
        }
        Ok(())
    }

    /// The palace's own id, read once for each file.
    pub(crate) fn palace_id(&self, connection: &Connection) -> Result<[u8; 16]> {
        if let Some(id) = self.state().palace_id {
            return Ok(id);
        }
        let id = schema::palace_id(connection)?;
        self.state().palace_id = Some(id);
        Ok(id)
    }

    /// Those segments that this process has found sound before, in the order asked for.
    pub(crate) fn known_segments(&self, segments: impl Iterator<Item = i64>) -> Vec<Option<Arc<Sound>>> {
        let state = self.state();
        segments
            .map(|segment| state.sound.get(&segment).cloned())
            .collect()
    }

    /// Remembers segments whose checksums are right, and forgets all that are not `listed` any more.
    pub(crate) fn remember_segments(&self, found: Vec<(i64, Head)>, listed: &HashSet<i64>) {
        let mut state = self.state();
        state.sound.retain(|segment, _| listed.contains(segment));
        let found = found.into_iter().map(|(segment, head)| {
            let codes = OnceLock::new();
            (segment, Arc::new(Sound { head, codes }))
        });
        state.sound.extend(found);
    }

    /// Keeps the codes of a segment that is scanned again, as long as there is room for them.
    pub(crate) fn keep_codes(&self, segment: &Sound, codes: &[u8]) {
        let state = self.state();
        let kept: usize = state
            .sound
            .values()
            .filter_map(|known| Some(known.codes.get()?.len()))
            .sum();
        if kept + codes.len() <= KEPT_CODES {
            let _ = segment.codes.set(codes.into());
        }
    }

    /// Keeps a warning for `info`; one of the same code and message is kept once.
    pub(crate) fn warn(&self, finding: Finding) {
        let key = format!("{}\0{}", finding.code, finding.message);
        self.state().warnings.insert(key, finding);
    }

    /// What this process has noticed about the file so far.
    pub(crate) fn warnings(&self) -> Vec<Finding> {
        self.state().warnings.values().cloned().collect()
    }
}

/// Why a write failed, and whether that was at the commit itself.
#[derive(Debug)]
pub(crate) struct WriteFailure {
    pub(crate) error: Error,
    pub(crate) at_commit: bool,
}

impl From<Error> for WriteFailure {
    fn from(error: Error) -> Self {
        Self {
            error,
            at_commit: false,
        }
    }
}

impl From<WriteFailure> for Error {
    fn from(failure: WriteFailure) -> Self {
        failure.error
    }
}

/// The error of every call after `close`.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the palace was closed").hint("open it again")
}

/// The error for a palace that is not there.
pub(crate) fn missing(file: &Path) -> Error {
    let folder = file.parent().unwrap_or(file);
    Error::new(
        ErrorKind::NotFound,
        format!("there is no palace in {}", folder.display()),
    )
    .hint("make one with `loci init`, or name another with --palace")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::Moment;
    use crate::shelf::Shelf;
    use loci_core::{CollectionName, CollectionReader, OpenOptions, Visibility};

    const WAIT: Duration = Duration::from_secs(5);

    fn mapped(connection: &Connection) -> Result<i64> {
        connection
            .pragma_query_value(None, "mmap_size", |row| row.get(0))
            .map_err(sqlite)
    }

    #[test]
    fn writers_do_not_map_the_file_and_the_next_reader_does() {
        let folder = tempfile::tempdir().unwrap();
        let palace = Palace::new(folder.path().join("palace.db"), None);
        drop(palace.lease_reading(Absent::Made, WAIT).unwrap());
        let all = palace.read(WAIT, mapped).unwrap();
        assert!(all > 0, "a reader maps");
        for _ in 0..3 {
            let within = palace.write(WAIT, |transaction| {
                transaction
                    .execute("INSERT INTO notes(at, text) VALUES (0, 'a note')", [])
                    .map_err(sqlite)?;
                mapped(transaction)
            });
            assert_eq!(within.unwrap(), 0);
            assert_eq!(palace.state().idle.len(), 1, "the same connection comes back");
            assert_eq!(palace.read(WAIT, mapped).unwrap(), all);
        }
        let given_up = palace.write(WAIT, |_| Err::<(), _>(Error::invalid("no")));
        assert!(given_up.is_err());
        assert_eq!(palace.read(WAIT, mapped).unwrap(), all);
    }

    #[test]
    fn a_moment_gives_its_connection_back() {
        let folder = tempfile::tempdir().unwrap();
        let palace = Palace::new(folder.path().join("palace.db"), None);
        drop(palace.lease_reading(Absent::Made, WAIT).unwrap());
        let name = CollectionName::new("drawers").unwrap();
        let made = palace.write(WAIT, |transaction| {
            Shelf::make(transaction, &name, &OpenOptions::default())
        });
        made.unwrap();
        let visibility = Visibility::default();
        let begin = || {
            Moment::begin(&palace, &visibility, WAIT, |lease| {
                assert!(!lease.is_autocommit());
                Shelf::find(lease, &name)
            })
        };
        let moment = begin().unwrap();
        assert_eq!(palace.state().idle.len(), 0, "it is on loan");
        assert_eq!(moment.info().unwrap().drawers, 0);
        drop(moment);
        assert_eq!(palace.state().idle.len(), 1);
        let missing = CollectionName::new("missing").unwrap();
        let failed = Moment::begin(&palace, &visibility, WAIT, |lease| Shelf::find(lease, &missing));
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(
            palace.state().idle.len(),
            1,
            "one that cannot begin gives it back too"
        );
    }
}
