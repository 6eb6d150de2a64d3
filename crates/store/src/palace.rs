//! One palace as this process holds it: its file, a pool of connections, and the warnings found so far.

mod codes;
mod family;
mod group;
mod lease;
mod line;
mod reading;
mod warnings;
mod word_segments;
mod writing;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use loci_core::{Error, ErrorKind, PalaceFinding, Result};
use loci_index::segment::SegmentHead;
use rusqlite::Connection;

use crate::connection::{self, ConnectionOptions};
use crate::disk;
use crate::failure::sqlite_error;
use crate::vfs::InodeId;
use crate::words::WordSegment;
use crate::{lost, mended, schema};

pub(crate) use codes::SoundSegment;
#[cfg(feature = "crash-points")]
pub(crate) use codes::keep_codes_up_to;
pub(crate) use family::exchanged_error;
pub(crate) use lease::ConnectionLease;
pub(crate) use line::WriterLine;
use line::WriterQueue;
use warnings::WarningList;
pub(crate) use writing::WriteFailure;

/// A palace file and the connections this process has to it.
///
/// Every call checks that the files are still those the connections were opened on: a replaced file is served with its
/// new content if it is the same palace and refused if it is another, a missing one is `NotFound`.
#[derive(Debug)]
pub(crate) struct PalaceFile {
    file: PathBuf,
    base: Option<String>,
    closed: AtomicBool,
    /// The palace that was found here first. A file with another id is refused until the process restarts.
    identity: OnceLock<[u8; 16]>,
    /// The file in which it was found last.
    inode: Mutex<Option<InodeId>>,
    /// The newest write that this process has acknowledged, and whether connections were let go since it was looked for.
    last_write: Mutex<Option<family::LastWrite>>,
    parted: AtomicBool,
    /// The exchanges of files that this process has noticed.
    exchanges: Mutex<Vec<PalaceFinding>>,
    /// Writers of this process queue here before they queue at the file.
    writers: WriterQueue,
    state: Mutex<PoolState>,
}

#[derive(Debug, Default)]
struct PoolState {
    /// The file the connections are open on.
    file: Option<InodeId>,
    /// Counts replacements of the file, so that a connection to an earlier one never returns to the pool.
    generation: u64,
    idle: Vec<Connection>,
    palace_id: Option<[u8; 16]>,
    /// Segments whose checksums this process has verified; a sealed segment never changes.
    sound: HashMap<i64, Arc<SoundSegment>>,
    /// Segments of words that this process has read, by projection and number.
    words: HashMap<(i64, i64), Arc<WordSegment>>,
    warnings: WarningList,
}

/// The treatment of a palace that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AbsentPalace {
    /// The call fails with `NotFound`.
    Refuse,
    /// The palace is created.
    Create,
}

impl PalaceFile {
    pub(crate) fn new(file: PathBuf, base: Option<String>) -> Self {
        Self {
            file,
            base,
            closed: AtomicBool::new(false),
            identity: OnceLock::new(),
            inode: Mutex::default(),
            last_write: Mutex::default(),
            parted: AtomicBool::new(false),
            exchanges: Mutex::default(),
            writers: WriterQueue::default(),
            state: Mutex::default(),
        }
    }

    /// Groups the writes of this process that wait at the same time.
    pub(crate) fn grouping_writes(self) -> Self {
        Self {
            writers: WriterQueue::Grouping(WriterLine::default()),
            ..self
        }
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Closes all idle connections; every later call fails with `Closed`.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.lock_state().idle.clear();
    }

    fn lock_state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lends a connection to the file as it is now, in no transaction.
    pub(crate) fn lease(&self, wait: Duration) -> Result<ConnectionLease<'_>> {
        let lease = self.lend_connection(AbsentPalace::Refuse, wait)?;
        connection::end_read(&lease)?;
        Ok(lease)
    }

    /// Lends a connection to the file as it is now, within a read transaction. A newly opened connection is already in
    /// the one in which the file was recognised.
    pub(crate) fn lease_reading(&self, absent: AbsentPalace, wait: Duration) -> Result<ConnectionLease<'_>> {
        let lease = self.lend_connection(absent, wait)?;
        connection::begin_read(&lease)?;
        Ok(lease)
    }

    fn lend_connection(&self, absent: AbsentPalace, wait: Duration) -> Result<ConnectionLease<'_>> {
        self.check_open()?;
        let (mut generation, idle) = self.check_current_file(absent)?;
        let idle = idle.map(|idle| self.confirm_idle(idle)).transpose()?.flatten();
        let connection = match idle {
            Some(idle) => {
                idle.busy_timeout(wait).map_err(sqlite_error)?;
                idle
            }
            None => {
                let opened = self.open_connection(absent, wait)?;
                generation = self.lock_state().generation;
                opened
            }
        };
        Ok(ConnectionLease {
            palace: self,
            generation,
            watched: false,
            connection: Some(connection),
        })
    }

    /// Returns the generation of the current file, and an idle connection to it if there is one.
    fn check_current_file(&self, absent: AbsentPalace) -> Result<(u64, Option<Connection>)> {
        let found = disk::find_file(&self.file);
        let mut state = self.lock_state();
        let same = match (state.file, found) {
            (Some(known), Some(now)) => known.same_as(now),
            (None, None) => true,
            _ => false,
        };
        if !same {
            self.parted.store(true, Ordering::SeqCst);
            // All that is known belongs to the earlier file, even its warnings and verified segments. Leases
            // still on loan see the new generation when they end, and close their connections.
            let generation = state.generation + 1;
            *state = PoolState {
                file: found,
                generation,
                ..PoolState::default()
            };
        }
        drop(state);
        if found.is_none() {
            self.refuse_vanished(absent)?;
            if absent == AbsentPalace::Refuse {
                return Err(missing_palace_error(&self.file));
            }
        }
        let mut state = self.lock_state();
        Ok((state.generation, state.idle.pop()))
    }

    /// Opens a connection, which is returned within a read transaction.
    fn open_connection(&self, absent: AbsentPalace, wait: Duration) -> Result<Connection> {
        let base = self.base.as_deref();
        let connection = connection::open(ConnectionOptions {
            file: &self.file,
            base,
            create: absent == AbsentPalace::Create,
            mend: true,
            wait,
        })?;
        self.confirm_palace(&connection)?;
        // Notes that cannot be read are reported by `verify`; they must not stop a reader.
        let lost = lost::loss_findings(&connection).unwrap_or_default();
        let mended = mended::mended_findings(&connection).unwrap_or_default();
        for finding in lost.into_iter().chain(mended) {
            self.warn(finding);
        }
        let mut state = self.lock_state();
        // The file may have been created just now; without its identity the next call would take it for a
        // replacement and throw this connection away.
        if state.file.is_none() {
            state.file = disk::find_file(&self.file);
        }
        drop(state);
        Ok(connection)
    }

    /// Refuses every call after the palace was closed.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(closed_error());
        }
        Ok(())
    }

    /// Returns the palace's own id, read once for each file.
    pub(crate) fn palace_id(&self, connection: &Connection) -> Result<[u8; 16]> {
        if let Some(id) = self.lock_state().palace_id {
            return Ok(id);
        }
        let id = schema::palace_id(connection)?;
        self.lock_state().palace_id = Some(id);
        Ok(id)
    }

    /// Returns the segments that this process has verified before, in the order asked for.
    pub(crate) fn known_segments(
        &self,
        segments: impl Iterator<Item = i64>,
    ) -> Vec<Option<Arc<SoundSegment>>> {
        let state = self.lock_state();
        segments
            .map(|segment| state.sound.get(&segment).cloned())
            .collect()
    }

    /// Remembers verified segments, and forgets all that are no longer `listed`.
    pub(crate) fn remember_segments(&self, found: Vec<(i64, SegmentHead)>, listed: &HashSet<i64>) {
        let mut state = self.lock_state();
        state.sound.retain(|segment, _| listed.contains(segment));
        let found = found.into_iter();
        state
            .sound
            .extend(found.map(|(segment, head)| (segment, Arc::new(SoundSegment::new(head)))));
    }
}

/// Returns the error of every call after `close`.
pub(crate) fn closed_error() -> Error {
    Error::new(ErrorKind::Closed, "the palace was closed").with_hint("open it again")
}

/// Returns the error for a palace that does not exist.
pub(crate) fn missing_palace_error(file: &Path) -> Error {
    let folder = file.parent().unwrap_or(file);
    Error::new(
        ErrorKind::NotFound,
        format!("no palace exists in {}", folder.display()),
    )
    .with_hint("make one with `loci init`, or name another with --palace")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::ReadMoment;
    use crate::shelf::CollectionShelf;
    use loci_core::{CollectionName, CollectionReader, OpenOptions, Visibility};

    const WAIT: Duration = Duration::from_secs(5);

    #[test]
    fn a_connection_that_has_written_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let palace = PalaceFile::new(folder.path().join("palace.db"), None);
        drop(palace.lease_reading(AbsentPalace::Create, WAIT).unwrap());
        for _ in 0..3 {
            let within = palace.write(WAIT, |transaction| {
                transaction
                    .execute("INSERT INTO notes(at, text) VALUES (0, 'a note')", [])
                    .map_err(sqlite_error)
            });
            assert_eq!(within.unwrap(), 1);
            assert_eq!(palace.lock_state().idle.len(), 1);
        }
    }

    #[test]
    fn a_connection_lent_before_the_files_were_given_up_never_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("palace.db");
        drop(
            PalaceFile::new(file.clone(), None)
                .lease_reading(AbsentPalace::Create, WAIT)
                .unwrap(),
        );
        let palace = PalaceFile::new(file, None);
        let before = palace.lease(WAIT).unwrap();
        palace.part_with_connections();
        drop(palace.lease(WAIT).unwrap());
        assert_eq!(palace.lock_state().idle.len(), 1, "the one lent since");
        drop(before);
        assert_eq!(palace.lock_state().idle.len(), 1);
    }

    #[test]
    fn a_moment_gives_its_connection_back() {
        let folder = tempfile::tempdir().unwrap();
        let palace = PalaceFile::new(folder.path().join("palace.db"), None);
        drop(palace.lease_reading(AbsentPalace::Create, WAIT).unwrap());
        let name = CollectionName::new("drawers").unwrap();
        let made = palace.write(WAIT, |transaction| {
            CollectionShelf::create(transaction, &name, &OpenOptions::default())
        });
        made.unwrap();
        let visibility = Visibility::default();
        let begin = || {
            ReadMoment::begin(&palace, &visibility, WAIT, |lease| {
                assert!(!lease.is_autocommit());
                CollectionShelf::find(lease, &name)
            })
        };
        let moment = begin().unwrap();
        assert_eq!(palace.lock_state().idle.len(), 0, "it is on loan");
        assert_eq!(moment.info().unwrap().drawers, 0);
        drop(moment);
        assert_eq!(palace.lock_state().idle.len(), 1);
        let missing = CollectionName::new("missing").unwrap();
        let failed = ReadMoment::begin(&palace, &visibility, WAIT, |lease| {
            CollectionShelf::find(lease, &missing)
        });
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(
            palace.lock_state().idle.len(),
            1,
            "one that cannot begin gives it back too"
        );
    }
}
