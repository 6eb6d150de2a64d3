//! Opens `sqlite_exact.sqlite3` for reading, beside MemPalace's own processes, and reads around damaged pages.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use loci_foreign::{ForeignDatabase, ForeignOpener, ForeignReading};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Row};

/// The file that identifies a palace.
const DATABASE: &str = "sqlite_exact.sqlite3";
/// The tables that MemPalace makes.
const TABLES: [&str; 3] = ["collections", "documents", "meta"];
/// The maximum time to wait for a process that is writing.
const PATIENCE: Duration = Duration::from_secs(10);
/// The page cache of a connection: 16 MiB, which SQLite writes as negative kibibytes.
const SETUP: &str = "PRAGMA cache_size = -16384;";
/// The farthest row that is tried behind a damaged page.
const FARTHEST_ROW: i64 = 1 << 40;

/// An open database.
#[derive(Debug)]
pub(crate) struct ExactDatabase(ForeignDatabase);

/// Returns whether an entry of the folder belongs to the database.
pub(crate) fn is_own_entry(name: &str) -> bool {
    name.starts_with(DATABASE)
}

/// Returns the database of a folder.
pub(crate) fn database_path(folder: &Path) -> PathBuf {
    folder.join(DATABASE)
}

/// Returns whether a folder holds a palace: its file has the tables, or is too damaged to tell.
pub(crate) fn holds_palace(folder: &Path) -> bool {
    let path = database_path(folder);
    // SQLite leaves an empty file behind where a program only connected to it.
    if !fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return false;
    }
    // Without its log first, which may be large: the tables are usually in the file itself.
    let as_it_stands = ForeignOpener::default()
        .open_as_it_stands(&path)
        .map(ExactDatabase);
    let has_tables = |database: &ExactDatabase| matches!(database.check_tables(), Ok(None));
    if as_it_stands.as_ref().is_ok_and(has_tables) {
        return true;
    }
    match ExactDatabase::open(folder) {
        Ok(database) => has_tables(&database),
        Err(_) => true,
    }
}

impl ExactDatabase {
    /// Opens the database of a folder.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let path = database_path(folder);
        let mut opener = ForeignOpener {
            patience: PATIENCE,
            reads_live_logs: true,
            setup: SETUP,
            ..ForeignOpener::default()
        };
        let opened = opener.open(&path).or_else(|failure| {
            // The index of a log that no process maintains cannot be used; a copy is recovered instead.
            if failure.is_passing() {
                return Err(failure);
            }
            opener.reads_live_logs = false;
            opener.open(&path)
        });
        Ok(Self(opened.map_err(|failure| failure.into_error(&path))?))
    }

    /// Returns the connection.
    pub(crate) fn connection(&self) -> &Connection {
        &self.0.connection
    }

    /// Returns whether a read transaction shows one state, whatever other processes write.
    pub(crate) fn is_isolated(&self) -> bool {
        self.0.is_live() || matches!(self.0.reading, ForeignReading::Copied { .. })
    }

    /// Returns whether writes in a log beside the file are read with it.
    pub(crate) fn has_log(&self) -> bool {
        self.is_isolated()
    }

    /// Returns whether the files are those that were opened.
    pub(crate) fn is_unchanged(&self) -> bool {
        self.0.is_unchanged()
    }

    /// Returns the first table of MemPalace's that is missing.
    pub(crate) fn check_tables(&self) -> Result<Option<&'static str>> {
        let mut lacking = None;
        for table in TABLES {
            let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
            let count: i64 = self
                .connection()
                .query_row(sql, [table], |row| row.get(0))
                .map_err(|cause| sqlite_error("the schema", cause))?;
            lacking = lacking.or((count == 0).then_some(table));
        }
        Ok(lacking)
    }

    /// Begins a read, and returns a number that changes when another process commits.
    pub(crate) fn begin_read(&self) -> Result<i64> {
        let begun = self.connection().execute_batch("BEGIN");
        // A deferred transaction begins with its first read.
        let begun = begun.and_then(|()| {
            let schema = "SELECT count(*) FROM sqlite_schema";
            self.connection()
                .query_row(schema, [], |row| row.get::<_, i64>(0))?;
            let version = "PRAGMA data_version";
            self.connection().query_row(version, [], |row| row.get(0))
        });
        begun.map_err(|cause| {
            self.end_read();
            sqlite_error("the database", cause)
        })
    }

    /// Ends a read.
    pub(crate) fn end_read(&self) {
        // A damaged page may have ended the transaction already.
        let _ = self.connection().execute_batch("ROLLBACK");
    }

    /// Runs a statement and passes each row to `take`.
    pub(crate) fn for_each_row(
        &self,
        what: &str,
        sql: &str,
        values: &[&dyn rusqlite::ToSql],
        take: &mut dyn FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = self.connection().prepare_cached(sql)?;
            let mut rows = statement.query(values)?;
            while let Some(row) = rows.next()? {
                take(row)?;
            }
            Ok(())
        };
        read().map_err(|cause| sqlite_error(what, cause))
    }

    /// Returns the first row after `lost` from which rows can be read again, if there is one.
    pub(crate) fn find_readable_row(&self, lost: i64) -> Option<i64> {
        // Everything on a damaged page fails; the page after it is found by growing steps, and its
        // first row by halving the last one.
        let (mut bad, mut step) = (lost, 1);
        let mut good = loop {
            let next = bad.checked_add(step).filter(|next| *next < FARTHEST_ROW)?;
            if self.can_read_from(next) {
                break next;
            }
            (bad, step) = (next, step * 2);
        };
        while good - bad > 1 {
            let middle = bad + (good - bad) / 2;
            if self.can_read_from(middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        Some(good)
    }

    fn can_read_from(&self, row: i64) -> bool {
        let sql = "SELECT rowid, id FROM documents NOT INDEXED WHERE rowid >= ?1 ORDER BY rowid LIMIT 1";
        let mut take = |row: &Row<'_>| row.get_ref(1).map(drop);
        self.for_each_row("the rows", sql, &[&row], &mut take).is_ok()
    }

    /// Returns what is wrong with the pages of the tables, if anything is.
    pub(crate) fn check_pages(&self, folder: &Path) -> Result<Option<String>> {
        if let Some(short) = self.check_length(folder)? {
            return Ok(Some(short));
        }
        for table in TABLES {
            let mut wrong = None;
            let sql = format!("PRAGMA integrity_check({table})");
            let checked = self.for_each_row(table, &sql, &[], &mut |row| {
                let line = read_text(row, 0)?.unwrap_or_default();
                wrong = wrong.take().or((line != "ok").then_some(line));
                Ok(())
            });
            let wrong = checked.err().map(|error| error.to_string()).or(wrong);
            if let Some(wrong) = wrong {
                return Ok(Some(format!("the table {table}: {wrong}")));
            }
        }
        Ok(None)
    }

    /// Returns that the file is shorter than its pages, the rest of which SQLite would read as zeros.
    fn check_length(&self, folder: &Path) -> Result<Option<String>> {
        if self.is_isolated() {
            return Ok(None);
        }
        let path = database_path(folder);
        let length = fs::metadata(&path).map(|found| found.len()).unwrap_or_default();
        let number = |name: &str| {
            let asked = self
                .connection()
                .pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            asked.map_err(|cause| sqlite_error("the database", cause))
        };
        let needed = number("page_count")?
            .saturating_mul(number("page_size")?)
            .unsigned_abs();
        Ok((length < needed).then(|| format!("the file has {length} of {needed} bytes")))
    }
}

/// Reads a column as text: invalid UTF-8 is replaced, and numbers are formatted.
pub(crate) fn read_text(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Integer(int) => Some(int.to_string()),
        ValueRef::Real(float) => Some(float.to_string()),
    })
}

fn sqlite_error(what: &str, cause: rusqlite::Error) -> Error {
    let kind = match cause.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Locked,
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure) => {
            ErrorKind::Io
        }
        // A missing table or column is damage, too: MemPalace makes them all.
        _ => ErrorKind::Corrupt,
    };
    let error = Error::new(kind, format!("cannot read {what}: {cause}")).caused_by(cause);
    error.with_hint("nothing was changed; `loci doctor PATH` tells more")
}
