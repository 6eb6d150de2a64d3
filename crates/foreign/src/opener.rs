//! The one way in: which of the ways to read a database leaves it as it is.

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
/// Read-only, with a log and the log's index as others keep it.
const LIVE: &str = "mode=ro&readonly_shm=1";
/// For a private copy, in which SQLite may do as it likes.
const PRIVATE: &str = "mode=rw";

/// Sizes within damaged pages are not trusted, nor is what a schema says.
const CAREFUL: &str = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;";

/// The options for opening a database of another program.
#[derive(Clone, Copy)]
pub struct ForeignOpener<'a> {
    /// The longest wait for a process that is writing.
    pub patience: Duration,
    /// Whether a log whose index lies beside it is read in place, together with the programs that write to it. Else
    /// file and log are copied.
    pub reads_live_logs: bool,
    /// SQL to run on the connection before anything is read.
    pub setup: &'a str,
    /// Called after each copy that is made, before it is checked, with its number.
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

/// A database of another program, open to be read.
#[derive(Debug)]
pub struct ForeignDatabase {
    /// The connection; never one that can write to the file or beside it.
    pub connection: Connection,
    /// The way it is read.
    pub reading: ForeignReading,
    /// The stamp of the file when it was opened.
    pub stamp: ForeignStamp,
    path: PathBuf,
}

/// The way a database is read.
#[derive(Debug)]
pub enum ForeignReading {
    /// In place.
    InPlace,
    /// In place and without its log, which may hold more.
    AsItStands,
    /// From a private copy, because a log or a journal lies beside it.
    Copied {
        /// The ending of what lay beside it: `-wal` or `-journal`.
        beside: &'static str,
        /// The copy, which must be kept as long as the connection.
        copy: PrivateCopy,
    },
}

impl ForeignDatabase {
    /// Whether the file is as it was when it was opened. One that was written to meanwhile may have been read half
    /// old and half new.
    pub fn is_unchanged(&self) -> bool {
        self.stamp == ForeignStamp::of(&self.path)
    }
}

impl ForeignOpener<'_> {
    /// Opens the database at `path`, and reads its schema, so that what cannot be opened fails now.
    pub fn open(&self, path: &Path) -> Result<ForeignDatabase, ForeignFailure> {
        // A log lies beside the file itself, not beside a link to it.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let has_log = has_bytes(&path_beside(&path, "-wal"));
        if has_log && self.reads_live_logs && path_beside(&path, "-shm").is_file() {
            return self.open_in_place(path, LIVE, ForeignReading::InPlace);
        }
        if has_log {
            return self.open_copy(path, "-wal");
        }
        let mode = if is_trapped(&path) || is_in_log_mode(&path)? {
            IMMUTABLE
        } else {
            LOCKED
        };
        match self.open_in_place(path.clone(), mode, ForeignReading::InPlace) {
            // The journal of a transaction whose writer is gone must be rolled back first.
            Err(failure) if has_bytes(&path_beside(&path, "-journal")) && !failure.is_passing() => {
                self.open_copy(path, "-journal")
            }
            opened => opened,
        }
    }

    /// Opens the database at `path` without its log and without locks, for a caller that can live with what the file
    /// itself holds.
    pub fn open_as_it_stands(&self, path: &Path) -> Result<ForeignDatabase, ForeignFailure> {
        self.open_in_place(path.to_path_buf(), IMMUTABLE, ForeignReading::AsItStands)
    }

    /// Opens the database at `path` from a copy, whatever lies beside it.
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
        let stamp = ForeignStamp::of(&path);
        Ok(ForeignDatabase {
            connection: self.connect_ready(&path, mode)?,
            reading,
            stamp,
            path,
        })
    }

    fn open_copy(&self, path: PathBuf, beside: &'static str) -> Result<ForeignDatabase, ForeignFailure> {
        let (copy, stamp) = copy_settled(&path, self.on_copied)?;
        Ok(ForeignDatabase {
            connection: self.connect_ready(&copy.path(), PRIVATE)?,
            reading: ForeignReading::Copied { beside, copy },
            stamp,
            path,
        })
    }

    fn connect_ready(&self, path: &Path, mode: &str) -> Result<Connection, ForeignFailure> {
        let connection = connect(path, mode)?;
        connection.busy_timeout(self.patience)?;
        connection.execute_batch(self.setup)?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
            row.get::<_, i64>(0)
        })?;
        Ok(connection)
    }
}

/// Connects to the database at `path` with these parameters of SQLite's addresses, and trusts none of it.
pub fn connect(path: &Path, mode: &str) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(format!("{}?{mode}", address_of(path)), flags)?;
    connection.execute_batch(CAREFUL)?;
    Ok(connection)
}

/// A path as SQLite's address of it; every byte that could mean something in an address is written by number.
fn address_of(path: &Path) -> String {
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

/// Whether something that is not a file stands where a log or a journal would: SQLite would open it, and a pipe never
/// answers.
fn is_trapped(path: &Path) -> bool {
    LOGS.iter().any(|ending| {
        let beside = path_beside(path, ending);
        fs::symlink_metadata(&beside).is_ok() && !beside.is_file()
    })
}

/// Whether the header says that a log belongs to the database.
fn is_in_log_mode(path: &Path) -> Result<bool, ForeignFailure> {
    let mut header = [0; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    match read {
        Ok(()) => Ok(header.ends_with(&[2, 2])),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(cause) => Err(ForeignFailure::Io("open", path.to_path_buf(), cause)),
    }
}
