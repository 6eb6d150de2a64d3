//! Opens `chroma.sqlite3` to be read so that nothing in its folder changes, whatever state it was left in.
//!
//! `loci_foreign` decides how; a database with damaged pages is read from a private file that holds every row that
//! could still be read.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use loci_foreign::{ForeignFailure, ForeignOpener, ForeignReading, PrivateCopy};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::failure;
use crate::folder::database;
use crate::salvage::{self, Salvage};

/// How long to wait for a process that is writing.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of a database is kept in memory, in the negative kilobytes SQLite counts by.
const SETUP: &str = "PRAGMA cache_size = -16384;";
/// How many prepared statements are kept.
const STATEMENTS: usize = 64;

/// An open database and how it came to be readable.
#[derive(Debug)]
pub(crate) struct Database {
    /// The connection; never one that can write to the folder.
    pub(crate) connection: Connection,
    /// How it is read.
    pub(crate) reading: Reading,
}

/// That nobody commits.
#[derive(Debug)]
pub(crate) struct Held(());

/// How a database is read.
#[derive(Debug)]
pub(crate) enum Reading {
    /// Where it lies.
    InPlace,
    /// From a private copy, because a log or a journal lies beside it; the copy goes with this value.
    Copied {
        /// What lay beside it: `-wal` or `-journal`.
        beside: &'static str,
        /// The copy, as long as it is read.
        _copy: PrivateCopy,
    },
    /// From what was saved of it, page by page.
    Salvaged {
        /// What was saved and what was lost.
        salvage: Salvage,
        /// What SQLite said of the original.
        why: String,
    },
}

impl Database {
    /// Opens the database of a Chroma folder.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        match Self::try_open(folder) {
            Err(error) if error.kind() == ErrorKind::Corrupt => Self::salvage(folder, &error.to_string()),
            opened => opened,
        }
    }

    fn try_open(folder: &Path) -> Result<Self> {
        let path = database(folder);
        let opened = opener().open(&path).map_err(|why| not_opened(&path, why))?;
        let reading = match opened.reading {
            ForeignReading::Copied { beside, copy } => Reading::Copied { beside, _copy: copy },
            ForeignReading::InPlace | ForeignReading::AsItStands => Reading::InPlace,
        };
        opened
            .connection
            .set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(Self {
            connection: opened.connection,
            reading,
        })
    }

    /// Reads everything again from what could be saved page by page.
    pub(crate) fn salvage(folder: &Path, why: &str) -> Result<Self> {
        let path = database(folder);
        let file = File::open(&path).map_err(|cause| failure::io("open", &path, cause))?;
        let salvage = salvage::salvage(&file, &|_, _| {})?;
        let connection = connect(&salvage.file, "mode=ro&immutable=1")?;
        Ok(Self {
            connection,
            reading: Reading::Salvaged {
                salvage,
                why: why.to_owned(),
            },
        })
    }

    /// Whether it was damaged and only what could be saved is read.
    pub(crate) fn is_salvaged(&self) -> bool {
        matches!(self.reading, Reading::Salvaged { .. })
    }

    /// Keeps everybody from committing to a database that is read where it lies, until it is released.
    pub(crate) fn hold(&self) -> Result<Held> {
        let begun = self
            .connection
            .execute_batch("BEGIN")
            .map_err(|cause| failure::sqlite("the database", cause));
        // A transaction takes its lock when it first reads.
        match begun.and_then(|()| self.probe()) {
            Ok(()) => Ok(Held(())),
            Err(error) => {
                let _ = self.connection.execute_batch("ROLLBACK");
                Err(error)
            }
        }
    }

    /// A number that is another one after somebody else committed.
    ///
    /// The file is not opened to find out: closing it would drop the lock this process holds on it.
    pub(crate) fn version(&self) -> Option<i64> {
        let sql = "PRAGMA data_version";
        self.connection.query_row(sql, [], |row| row.get(0)).ok()
    }

    /// Refuses a database that ends in the middle of a page, which SQLite reads as zeros.
    pub(crate) fn check_length(&self, folder: &Path) -> Result<()> {
        if !matches!(self.reading, Reading::InPlace) {
            return Ok(());
        }
        let path = database(folder);
        let length = fs::metadata(&path)
            .map_err(|cause| failure::io("look at", &path, cause))?
            .len();
        let of = |pragma: &str| {
            self.connection
                .pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
        };
        let needed = of("page_count").and_then(|pages| Ok(pages.saturating_mul(of("page_size")?)));
        let needed = needed
            .map_err(|cause| failure::sqlite("the database", cause))?
            .unsigned_abs();
        match length < needed {
            true => Err(Error::new(
                ErrorKind::Corrupt,
                format!("the file has {length} of {needed} bytes"),
            )),
            false => Ok(()),
        }
    }

    /// Lets others commit again.
    pub(crate) fn release(&self, _held: Held) {
        // A damaged page may have ended it already, or the database was opened anew meanwhile.
        let _ = self.connection.execute_batch("ROLLBACK");
    }

    /// Reads the schema, so that what cannot be opened fails now.
    fn probe(&self) -> Result<()> {
        let counted = self
            .connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
                row.get::<_, i64>(0)
            });
        counted
            .map(drop)
            .map_err(|cause| failure::sqlite("the database", cause))
    }
}

fn opener() -> ForeignOpener<'static> {
    ForeignOpener {
        patience: PATIENCE,
        setup: SETUP,
        ..ForeignOpener::default()
    }
}

/// Connects to a file of this user's own, or to one that is to be written.
pub(crate) fn connect(path: &Path, mode: &str) -> Result<Connection> {
    let refused = |cause| failure::sqlite(path.display(), cause);
    let connection = loci_foreign::connect(path, mode).map_err(refused)?;
    let ready = connection
        .busy_timeout(PATIENCE)
        .and_then(|()| connection.execute_batch(SETUP));
    ready.map_err(refused)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(connection)
}

/// Opens some other SQLite file to be read, from a private copy, which must be kept as long as the connection.
pub(crate) fn open_beside(path: &Path) -> Result<(Connection, ForeignReading)> {
    let opened = opener().open_copy_of(path).map_err(|why| not_opened(path, why))?;
    Ok((opened.connection, opened.reading))
}

/// A temporary folder that only this user may look into.
pub(crate) fn private_folder(prefix: &str) -> Result<TempDir> {
    loci_foreign::private_folder(prefix).map_err(|why| not_opened(&std::env::temp_dir(), why))
}

fn not_opened(path: &Path, why: ForeignFailure) -> Error {
    match why {
        ForeignFailure::Sqlite(cause) => failure::sqlite("the database", cause),
        ForeignFailure::Io(action, path, cause) => failure::io(action, &path, cause),
        ForeignFailure::Changing(_) => why.into_error(path),
    }
}
