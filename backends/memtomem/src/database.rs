//! A memtomem database, opened so that nothing changes, neither in it nor beside it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use loci_core::{Error, ErrorKind, Result};
use loci_foreign::{ForeignDatabase, ForeignFailure, ForeignOpener};
use rusqlite::{Connection, ErrorCode};

use crate::cell;

/// What every SQLite file begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Columns without which a row is no chunk.
const NEEDED: [&str; 3] = ["id", "content", "source_file"];

/// A file that was cut short, or has a damaged line in its schema, is refused whole unless the schema counts as writable;
/// nothing is ever written here.
const FORGIVING: &str = "PRAGMA writable_schema = ON;";

/// What else to do about a file that is no memtomem database.
const ELSEWHERE: &str = "nothing was changed; memtomem keeps its database at ~/.memtomem/memtomem.db, or where `mm config show` says";

/// A memtomem database, open for reading.
#[derive(Debug)]
pub struct Database {
    opened: ForeignDatabase,
    /// The columns of `chunks`, in order.
    pub(crate) columns: Vec<String>,
    /// Why memtomem hides the chunks of some sources.
    pub(crate) held: BTreeMap<String, String>,
}

impl Database {
    /// Opens the database in this file. What is none is refused by name.
    pub fn open(path: &Path) -> Result<Self> {
        is_sqlite(path)?;
        let opener = ForeignOpener {
            setup: FORGIVING,
            ..ForeignOpener::default()
        };
        let opened = opener.open(path).map_err(|failure| not_opened(path, failure))?;
        let columns = columns(&opened.connection, path)?;
        let held = held(&opened.connection);
        Ok(Self {
            opened,
            columns,
            held,
        })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.opened.connection
    }

    /// Whether the file is as it was when it was opened. One that was written to meanwhile may have been read half
    /// old and half new.
    pub fn is_unchanged(&self) -> bool {
        self.opened.is_unchanged()
    }

    /// Whether `chunks` has this column.
    pub(crate) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    /// Whether there is a table of this name.
    pub(crate) fn has_table(&self, name: &str) -> bool {
        has_table(self.connection(), name).unwrap_or(false)
    }
}

fn is_sqlite(path: &Path) -> Result<()> {
    let name = path.display();
    let failed = |cause: io::Error| {
        let kind = match cause.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        Error::new(kind, format!("cannot open the database {name}"))
            .caused_by(cause)
            .hint(ELSEWHERE)
    };
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(
            Error::invalid(format!("{name} is not a file, so it is no memtomem database")).hint(ELSEWHERE),
        );
    }
    let mut start = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAGIC.len() as u64)
        .read_to_end(&mut start)
        .map_err(failed)?;
    match start == MAGIC {
        true => Ok(()),
        false => Err(no_database(format!(
            "{name} is not an SQLite file, so it is no memtomem database"
        ))),
    }
}

fn not_opened(path: &Path, failure: ForeignFailure) -> Error {
    match failure {
        ForeignFailure::Sqlite(cause) => unreadable(path, cause),
        ForeignFailure::Changing(_) => failure.into_error(path).hint(
            "nothing was changed; stop memtomem (`mm web stop`, and its server in your editor) and try again",
        ),
        ForeignFailure::Io(..) => failure.into_error(path).hint(
            "nothing was changed; free some space in the temporary folder, or set TMPDIR to one that has it",
        ),
    }
}

fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
    connection.query_row(sql, [name], |row| Ok(row.get::<_, i64>(0)? > 0))
}

fn columns(connection: &Connection, path: &Path) -> Result<Vec<String>> {
    let refused = |cause| unreadable(path, cause);
    let name = path.display();
    if !has_table(connection, "chunks").map_err(refused)? {
        return Err(no_database(format!(
            "{name} has no table `chunks`, so it is no memtomem database"
        )));
    }
    let mut statement = connection
        .prepare("SELECT name FROM pragma_table_info('chunks')")
        .map_err(refused)?;
    let names = statement.query_map([], |row| row.get(0)).map_err(refused)?;
    let columns: Vec<String> = names.collect::<rusqlite::Result<_>>().map_err(refused)?;
    match NEEDED
        .iter()
        .find(|needed| !columns.iter().any(|name| name == *needed))
    {
        Some(missing) => Err(no_database(format!(
            "the table `chunks` of {name} has no column `{missing}`, so it is no memtomem database"
        ))),
        None => Ok(columns),
    }
}

/// What memtomem hides since its release 0.6, as far as it can be read.
fn held(connection: &Connection) -> BTreeMap<String, String> {
    let read = || -> rusqlite::Result<BTreeMap<String, String>> {
        let mut statement = connection.prepare("SELECT source_file, reason FROM held_sources")?;
        let rows = statement.query_map([], |row| {
            Ok((cell::label(row.get_ref(0)?), cell::label(row.get_ref(1)?)))
        })?;
        Ok(rows.flatten().collect())
    };
    read().unwrap_or_default()
}

fn no_database(message: String) -> Error {
    Error::new(ErrorKind::Format, message).hint(ELSEWHERE)
}

fn unreadable(path: &Path, cause: rusqlite::Error) -> Error {
    let (kind, hint) = match cause.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => (ErrorKind::Format, ELSEWHERE),
        Some(ErrorCode::DatabaseCorrupt) => (
            ErrorKind::Corrupt,
            "nothing was changed; its schema is damaged, so bring back a copy, or try `.recover` of the sqlite3 shell and import what that writes",
        ),
        _ => (
            ErrorKind::Io,
            "nothing was changed; see that the file may be read",
        ),
    };
    Error::new(kind, format!("cannot read the database {}", path.display()))
        .caused_by(cause)
        .hint(hint)
}
