//! Opens a memtomem database without changing it or the files beside it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use loci_core::{Error, ErrorKind, Result};
use loci_foreign::{ForeignDatabase, ForeignFailure, ForeignOpener};
use rusqlite::{Connection, ErrorCode};

use crate::cell;

/// The first bytes of every SQLite file.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The columns without which a row is not a chunk.
const REQUIRED_COLUMNS: [&str; 3] = ["id", "content", "source_file"];

/// Makes the schema writable, without which SQLite refuses a file that was cut short or has a damaged schema entry as
/// a whole. Nothing is ever written.
const LENIENT_SETUP: &str = "PRAGMA writable_schema = ON;";

/// The hint for a file that is not a memtomem database.
const WRONG_FILE_HINT: &str = "nothing was changed; memtomem keeps its database at ~/.memtomem/memtomem.db, or at the path `mm config show` prints";

/// A memtomem database, open for reading.
#[derive(Debug)]
pub struct MemtomemDatabase {
    opened: ForeignDatabase,
    /// The columns of `chunks`, in order; releases differ in them.
    pub(crate) columns: Vec<String>,
    /// The sources whose chunks memtomem hides, with the reason.
    pub(crate) held: BTreeMap<String, String>,
}

impl MemtomemDatabase {
    /// Opens the database at `path`. Any other file is refused by name.
    pub fn open(path: &Path) -> Result<Self> {
        check_sqlite(path)?;
        let opener = ForeignOpener {
            setup: LENIENT_SETUP,
            ..ForeignOpener::default()
        };
        // A running memtomem keeps its log open, so this usually reads from a private copy.
        let opened = opener.open(path).map_err(|failure| open_error(path, failure))?;
        let columns = read_columns(&opened.connection, path)?;
        let held = read_held_sources(&opened.connection);
        Ok(Self {
            opened,
            columns,
            held,
        })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.opened.connection
    }

    /// Returns whether the file is unchanged since it was opened. If it was written to meanwhile, the rows that were
    /// read may mix old and new.
    pub fn is_unchanged(&self) -> bool {
        self.opened.is_unchanged()
    }

    /// Returns whether `chunks` has this column.
    pub(crate) fn has_column(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    /// Returns whether there is a table of this name.
    pub(crate) fn has_table(&self, name: &str) -> bool {
        table_exists(self.connection(), name).unwrap_or(false)
    }
}

fn check_sqlite(path: &Path) -> Result<()> {
    let name = path.display();
    let failed = |cause: io::Error| {
        let kind = match cause.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        Error::new(kind, format!("cannot open the database {name}"))
            .caused_by(cause)
            .with_hint(WRONG_FILE_HINT)
    };
    // Opening a pipe would block for ever.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(
            Error::invalid(format!("{name} is not a file, so it is not a memtomem database"))
                .with_hint(WRONG_FILE_HINT),
        );
    }
    let mut start = Vec::new();
    let file = File::open(path).map_err(failed)?;
    file.take(MAGIC.len() as u64)
        .read_to_end(&mut start)
        .map_err(failed)?;
    if start == MAGIC {
        Ok(())
    } else {
        Err(not_memtomem(format!(
            "{name} is not an SQLite file, so it is not a memtomem database"
        )))
    }
}

fn open_error(path: &Path, failure: ForeignFailure) -> Error {
    match failure {
        ForeignFailure::Sqlite(cause) => read_error(path, cause),
        ForeignFailure::Changing(_) => failure.into_error(path).with_hint(
            "nothing was changed; stop memtomem (`mm web stop`, and its server in your editor) and try again",
        ),
        // The file itself was readable a moment ago, so this is about the private copy.
        ForeignFailure::Io(..) => failure.into_error(path).with_hint(
            "nothing was changed; free some space in the temporary folder, or set TMPDIR to one that has it",
        ),
    }
}

fn table_exists(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1";
    connection.query_row(sql, [name], |row| Ok(row.get::<_, i64>(0)? > 0))
}

fn read_columns(connection: &Connection, path: &Path) -> Result<Vec<String>> {
    let refused = |cause| read_error(path, cause);
    let name = path.display();
    if !table_exists(connection, "chunks").map_err(refused)? {
        return Err(not_memtomem(format!(
            "{name} has no table `chunks`, so it is not a memtomem database"
        )));
    }
    let mut statement = connection
        .prepare("SELECT name FROM pragma_table_info('chunks')")
        .map_err(refused)?;
    let names = statement.query_map([], |row| row.get(0)).map_err(refused)?;
    let columns: Vec<String> = names.collect::<rusqlite::Result<_>>().map_err(refused)?;
    match REQUIRED_COLUMNS
        .iter()
        .find(|needed| !columns.iter().any(|name| name == *needed))
    {
        Some(missing) => Err(not_memtomem(format!(
            "the table `chunks` of {name} has no column `{missing}`, so it is not a memtomem database"
        ))),
        None => Ok(columns),
    }
}

/// Reads the sources that memtomem hides since its release 0.6, as far as they are readable.
fn read_held_sources(connection: &Connection) -> BTreeMap<String, String> {
    let read = || -> rusqlite::Result<BTreeMap<String, String>> {
        let mut statement = connection.prepare("SELECT source_file, reason FROM held_sources")?;
        let rows = statement.query_map([], |row| {
            Ok((cell::as_label(row.get_ref(0)?), cell::as_label(row.get_ref(1)?)))
        })?;
        Ok(rows.flatten().collect())
    };
    // Older releases have no such table, and a damaged one must not keep the chunks from being read.
    read().unwrap_or_default()
}

fn not_memtomem(message: String) -> Error {
    Error::new(ErrorKind::Format, message).with_hint(WRONG_FILE_HINT)
}

fn read_error(path: &Path, cause: rusqlite::Error) -> Error {
    let (kind, hint) = match cause.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => (ErrorKind::Format, WRONG_FILE_HINT),
        Some(ErrorCode::DatabaseCorrupt) => (
            ErrorKind::Corrupt,
            "nothing was changed; its schema is damaged: restore a backup, or run `.recover` in the sqlite3 shell and import the result",
        ),
        _ => (
            ErrorKind::Io,
            "nothing was changed; check that the file is readable",
        ),
    };
    Error::new(kind, format!("cannot read the database {}", path.display()))
        .caused_by(cause)
        .with_hint(hint)
}
