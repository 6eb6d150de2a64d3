//! Opens `chroma.sqlite3` for reading without changing its folder, in whatever state it was left.
//!
//! `loci_foreign` chooses the mode; a database with damaged pages is read from a private file that holds every row
//! that is still readable.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use loci_foreign::{ForeignFailure, ForeignOpener, ForeignReading, PrivateCopy};
use rusqlite::Connection;
use rusqlite::config::DbConfig;
use tempfile::TempDir;

use crate::failure;
use crate::folder::{database_path, path_beside};
use crate::salvage::{self, SalvagedDatabase};

/// The maximum time to wait for a process that is writing.
const PATIENCE: Duration = Duration::from_secs(10);
/// The page cache of a connection: 16 MiB, which SQLite writes as negative kibibytes.
const SETUP: &str = "PRAGMA cache_size = -16384;";
/// The number of prepared statements to keep; every read of a record uses several.
const STATEMENTS: usize = 64;

/// An open database and the mode in which it is read.
#[derive(Debug)]
pub(crate) struct ChromaDatabase {
    /// The connection; never one that can write to the folder.
    pub(crate) connection: Connection,
    /// The mode in which it is read.
    pub(crate) reading: ReadingMode,
}

/// Proof that a read transaction keeps other processes from committing.
#[derive(Debug)]
pub(crate) struct ReadLockToken(());

/// The mode in which a database is read.
#[derive(Debug)]
pub(crate) enum ReadingMode {
    /// In place.
    InPlace,
    /// From a private copy, because a log or a journal lies beside it; dropping this value deletes the copy.
    Copied {
        /// The suffix of the file beside it: `-wal` or `-journal`.
        beside: &'static str,
        /// The copy, kept while it is read.
        _copy: PrivateCopy,
    },
    /// From the rows that were salvaged page by page.
    Salvaged {
        /// The salvaged rows and the losses.
        salvage: SalvagedDatabase,
        /// SQLite's message about the original.
        why: String,
    },
}

impl ChromaDatabase {
    /// Opens the database of a Chroma folder.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        match Self::try_open(folder) {
            // A torn first page already fails here; damage further in shows only when a table is read.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                Self::open_salvaged(folder, &error.to_string())
            }
            opened => opened,
        }
    }

    fn try_open(folder: &Path) -> Result<Self> {
        let path = database_path(folder);
        let opened = chroma_opener()
            .open(&path)
            .map_err(|why| open_error(&path, why))?;
        // The copy must live as long as the connection that reads it.
        let reading = match opened.reading {
            ForeignReading::Copied { beside, copy } => ReadingMode::Copied { beside, _copy: copy },
            // `AsItStands` is never asked for here; both read the file in place.
            ForeignReading::InPlace | ForeignReading::AsItStands => ReadingMode::InPlace,
        };
        keep_statements(&opened.connection).map_err(|cause| failure::sqlite_error("the database", cause))?;
        Ok(Self {
            connection: opened.connection,
            reading,
        })
    }

    /// Opens the rows that can be salvaged page by page.
    pub(crate) fn open_salvaged(folder: &Path, why: &str) -> Result<Self> {
        let path = database_path(folder);
        let file = File::open(&path).map_err(|cause| failure::io_error("open", &path, cause))?;
        // The salvage is private and complete before it is opened, so it needs neither locks nor a log.
        // A log that cannot be opened is as good as none: the file alone may still have most rows.
        // Only a regular file is opened, because opening a pipe would wait for a writer.
        let log = path_beside(folder, "-wal");
        let log = fs::metadata(&log)
            .is_ok_and(|found| found.is_file())
            .then(|| File::open(&log).ok())
            .flatten();
        let salvage = salvage::salvage_database(&file, log.as_ref(), &|_, _| {})?;
        let connection = connect_file(&salvage.file, "mode=ro&immutable=1")?;
        Ok(Self {
            connection,
            reading: ReadingMode::Salvaged {
                salvage,
                why: why.to_owned(),
            },
        })
    }

    /// Returns whether the database is damaged and only salvaged rows are read.
    pub(crate) fn is_salvaged(&self) -> bool {
        matches!(self.reading, ReadingMode::Salvaged { .. })
    }

    /// Keeps other processes from committing to a database that is read in place, until the token is released.
    pub(crate) fn begin_read(&self) -> Result<ReadLockToken> {
        let begun = self
            .connection
            .execute_batch("BEGIN")
            .map_err(|cause| failure::sqlite_error("the database", cause));
        // A deferred transaction takes its read lock only with its first read.
        match begun.and_then(|()| self.read_schema()) {
            Ok(()) => Ok(ReadLockToken(())),
            Err(error) => {
                let _ = self.connection.execute_batch("ROLLBACK");
                Err(error)
            }
        }
    }

    /// Returns a number that changes when another process commits.
    ///
    /// The file is not opened for that: closing it would drop the POSIX lock that this process holds on it.
    pub(crate) fn data_version(&self) -> Option<i64> {
        let sql = "PRAGMA data_version";
        self.connection.query_row(sql, [], |row| row.get(0)).ok()
    }

    /// Refuses a database that was cut, also in the middle of a page, the rest of which SQLite would read as zeros.
    pub(crate) fn check_length(&self, folder: &Path) -> Result<()> {
        if !matches!(self.reading, ReadingMode::InPlace) {
            return Ok(());
        }
        let of = |pragma: &str| {
            self.connection
                .pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
        };
        let needed = of("page_count").and_then(|pages| Ok(pages.saturating_mul(of("page_size")?)));
        let needed = needed
            .map_err(|cause| failure::sqlite_error("the database", cause))?
            .unsigned_abs();
        // Looked at last: a database that grows meanwhile must not seem cut.
        let path = database_path(folder);
        let length = fs::metadata(&path)
            .map_err(|cause| failure::io_error("look at", &path, cause))?
            .len();
        if length < needed {
            return Err(Error::new(
                ErrorKind::Corrupt,
                format!("the file has {length} of {needed} bytes"),
            ));
        }
        Ok(())
    }

    /// Lets other processes commit again.
    pub(crate) fn end_read(&self, _held: ReadLockToken) {
        // A damaged page may have ended the transaction already, or the database was reopened meanwhile.
        let _ = self.connection.execute_batch("ROLLBACK");
    }

    /// Reads the schema, so that an unreadable database fails here and not later.
    fn read_schema(&self) -> Result<()> {
        let counted = self
            .connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
                row.get::<_, i64>(0)
            });
        counted
            .map(drop)
            .map_err(|cause| failure::sqlite_error("the database", cause))
    }
}

fn chroma_opener() -> ForeignOpener<'static> {
    ForeignOpener {
        patience: PATIENCE,
        setup: SETUP,
        ..ForeignOpener::default()
    }
}

/// Connects to a private file, or to a database that a fix writes.
pub(crate) fn connect_file(path: &Path, mode: &str) -> Result<Connection> {
    let refused = |cause| failure::sqlite_error(path.display(), cause);
    let connection = loci_foreign::connect(path, mode).map_err(refused)?;
    let ready = connection
        .busy_timeout(PATIENCE)
        .and_then(|()| connection.execute_batch(SETUP));
    ready
        .and_then(|()| keep_statements(&connection))
        .map_err(refused)?;
    Ok(connection)
}

/// Prepares each statement once, however often it is run.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Chroma's indexes cover only rows with a value. SQLite therefore plans a statement anew for each value that is
    // bound to it, which took longer than reading the record.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map(drop)
}

/// Creates a temporary folder that only this user may read.
pub(crate) fn private_folder(prefix: &str) -> Result<TempDir> {
    loci_foreign::private_folder(prefix).map_err(|why| open_error(&std::env::temp_dir(), why))
}

fn open_error(path: &Path, why: ForeignFailure) -> Error {
    match why {
        ForeignFailure::Sqlite(cause) => failure::sqlite_error("the database", cause),
        ForeignFailure::Io(action, path, cause) => failure::io_error(action, &path, cause),
        ForeignFailure::Changing(_) => why.into_error(path),
    }
}
