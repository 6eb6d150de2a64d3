//! Opens a database in the one mode that leaves it and its folder unchanged.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::copy::{PrivateCopy, copy_settled};
use crate::failure::ForeignFailure;
use crate::stamp::{ForeignStamp, LOGS, has_bytes, path_beside};

/// Read-only, under SQLite's own locks.
const LOCKED: &str = "mode=ro";
/// Read-only, without locks and without a log.
const IMMUTABLE: &str = "mode=ro&immutable=1";
/// Read-only, with the log and the log's index that other processes maintain.
const LIVE: &str = "mode=ro&readonly_shm=1";
/// For a private copy, in which SQLite may write: it rolls back a journal or checkpoints a log there.
const PRIVATE: &str = "mode=rw";

/// Trusts neither the sizes within damaged pages nor the schema.
const DISTRUST_SETUP: &str = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;";

/// The options for opening a database of another program.
#[derive(Clone, Copy)]
pub struct ForeignOpener<'a> {
    /// The maximum time to wait for a process that is writing.
    pub patience: Duration,
    /// Whether a log whose index lies beside it is read in place, alongside the programs that write to it. Otherwise
    /// file and log are copied.
    pub reads_live_logs: bool,
    /// SQL to run on the connection before anything is read.
    pub setup: &'a str,
    /// Called after each copy, before it is checked, with the number of the attempt.
    pub on_copied: &'a dyn Fn(usize),
}

impl Default for ForeignOpener<'_> {
    fn default() -> Self {
        Self {
            patience: Duration::from_secs(10),
            reads_live_logs: false,
            setup: "",
            on_copied: &|_| {},
        }
    }
}

/// A database of another program, open for reading.
#[derive(Debug)]
pub struct ForeignDatabase {
    /// The connection, which can never write to the file or beside it.
    pub connection: Connection,
    /// The mode in which it is read.
    pub reading: ForeignReading,
    /// The stamp of the file when it was opened.
    pub stamp: ForeignStamp,
    path: PathBuf,
    is_live: bool,
}

/// The mode in which a database is read.
#[derive(Debug)]
pub enum ForeignReading {
    /// In place.
    InPlace,
    /// In place and without its log, which may hold newer commits.
    AsItStands,
    /// From a private copy, because a log or a journal lies beside it.
    Copied {
        /// The suffix of the file beside it: `-wal` or `-journal`.
        beside: &'static str,
        /// The copy, which must outlive the connection.
        copy: PrivateCopy,
    },
}

impl ForeignDatabase {
    /// Returns whether the file is unchanged since it was opened. If it was written to meanwhile, the rows that were
    /// read may mix old and new.
    pub fn is_unchanged(&self) -> bool {
        self.stamp == ForeignStamp::read(&self.path)
    }

    /// Returns whether it is read in place with the log that other processes write, so that a read transaction shows
    /// one state of it.
    pub fn is_live(&self) -> bool {
        self.is_live
    }
}

impl ForeignOpener<'_> {
    /// Opens the database at `path` and reads its schema, so that an unreadable file fails here and not later.
    pub fn open(&self, path: &Path) -> Result<ForeignDatabase, ForeignFailure> {
        // A log lies beside the file itself, not beside a link to it.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let has_log = has_bytes(&path_beside(&path, "-wal"));
        if has_log && self.reads_live_logs && path_beside(&path, "-shm").is_file() {
            // Cursor's databases grow to gigabytes and stay open,
            // so copying one for each read is out of the question.
            return self.open_in_place(path, LIVE, ForeignReading::InPlace);
        }
        if has_log {
            return self.open_copy(path, "-wal");
        }
        // With a header in log mode, even a read-only connection
        // would create `-wal` and `-shm` beside the file.
        let mode = if has_trap_beside(&path) || is_in_log_mode(&path)? {
            IMMUTABLE
        } else {
            LOCKED
        };
        match self.open_in_place(path.clone(), mode, ForeignReading::InPlace) {
            // The journal of a writer that died must be rolled back first, which only a copy allows. A
            // journal of a live writer shows as a passing lock instead, and there waiting helps.
            Err(failure) if has_bytes(&path_beside(&path, "-journal")) && !failure.is_passing() => {
                self.open_copy(path, "-journal")
            }
            opened => opened,
        }
    }

    /// Opens the database at `path` without its log and without locks, for a caller that accepts only the commits in
    /// the file itself.
    pub fn open_as_it_stands(&self, path: &Path) -> Result<ForeignDatabase, ForeignFailure> {
        self.open_in_place(path.to_path_buf(), IMMUTABLE, ForeignReading::AsItStands)
    }

    /// Opens the database at `path` from a copy, regardless of the files beside it.
    pub fn open_copy_of(&self, path: &Path) -> Result<ForeignDatabase, ForeignFailure> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        self.open_copy(path, "")
    }

    fn open_in_place(
        &self,
        path: PathBuf,
        mode: &str,
        reading: ForeignReading,
    ) -> Result<ForeignDatabase, ForeignFailure> {
        // Taken before the connection opens, so that a write in between shows as a change.
        let stamp = ForeignStamp::read(&path);
        Ok(ForeignDatabase {
            connection: self.connect_and_probe(&path, mode)?,
            reading,
            stamp,
            path,
            is_live: mode == LIVE,
        })
    }

    fn open_copy(&self, path: PathBuf, beside: &'static str) -> Result<ForeignDatabase, ForeignFailure> {
        let (copy, stamp) = copy_settled(&path, self.on_copied)?;
        Ok(ForeignDatabase {
            connection: self.connect_and_probe(&copy.path(), PRIVATE)?,
            reading: ForeignReading::Copied { beside, copy },
            stamp,
            path,
            is_live: false,
        })
    }

    fn connect_and_probe(&self, path: &Path, mode: &str) -> Result<Connection, ForeignFailure> {
        let connection = connect(path, mode)?;
        connection.busy_timeout(self.patience)?;
        connection.execute_batch(self.setup)?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
            row.get::<_, i64>(0)
        })?;
        Ok(connection)
    }
}

/// Connects to the database at `path` with the URI parameters `mode`, and trusts none of its contents.
pub fn connect(path: &Path, mode: &str) -> rusqlite::Result<Connection> {
    // `mode=` in the address narrows READ_WRITE; without URI addresses `immutable` could not be asked for.
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(format!("{}?{mode}", sqlite_address(path)), flags)?;
    connection.execute_batch(DISTRUST_SETUP)?;
    Ok(connection)
}

/// Formats a path as a SQLite URI, in which every byte with a special meaning is percent-encoded.
fn sqlite_address(path: &Path) -> String {
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => address.push(char::from(*byte)),
            plain if plain.is_ascii_alphanumeric() => address.push(char::from(*plain)),
            other => address.push_str(&format!("%{other:02x}")),
        }
    }
    address
}

/// Returns whether something other than a regular file lies where a log or a journal would: SQLite would open it, and
/// a read from a pipe never returns.
fn has_trap_beside(path: &Path) -> bool {
    LOGS.iter().any(|ending| {
        let beside = path_beside(path, ending);
        fs::symlink_metadata(&beside).is_ok() && !beside.is_file()
    })
}

/// Returns whether the header puts the database in log mode.
fn is_in_log_mode(path: &Path) -> Result<bool, ForeignFailure> {
    let mut header = [0; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    match read {
        // Bytes 18 and 19 are the write and the read version of the format: 2 is WAL.
        Ok(()) => Ok(header.ends_with(&[2, 2])),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(cause) => Err(ForeignFailure::Io("open", path.to_path_buf(), cause)),
    }
}
