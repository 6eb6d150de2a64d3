//! A database opened so that nothing changes, neither in it nor beside it.
//!
//! A reader of a file in write-ahead mode makes files beside it unless it is told that the file stands still. So it is
//! told; and where a log with bytes lies beside, both are read from a private copy, in which SQLite may do as it likes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use loci_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::TempDir;

use crate::cell;

/// What every SQLite file begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// What may hold commits that the file itself does not hold yet.
const LOGS: [&str; 2] = ["-wal", "-journal"];

/// Columns without which a row is no chunk.
const NEEDED: [&str; 3] = ["id", "content", "source_file"];

/// What a schema says is not trusted, and neither are sizes within damaged pages. A file that was cut short, or has a
/// damaged line in its schema, is refused whole unless the schema counts as writable; nothing is ever written here.
const CAREFUL: &str =
    "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA writable_schema = ON;";

/// How often a copy is tried while somebody writes.
const TRIES: usize = 5;

/// What else to do about a file that is no memtomem database.
const ELSEWHERE: &str = "nothing was changed; memtomem keeps its database at ~/.memtomem/memtomem.db, or where `mm config show` says";

/// A memtomem database, open for reading.
#[derive(Debug)]
pub struct Database {
    pub(crate) connection: Connection,
    /// The columns of `chunks`, in order.
    pub(crate) columns: Vec<String>,
    /// Why memtomem hides the chunks of some sources.
    pub(crate) held: BTreeMap<String, String>,
    path: PathBuf,
    stamp: Stamp,
    /// Where the copy lies that is read instead; it goes when the database is closed.
    _copy: Option<TempDir>,
}

impl Database {
    /// Opens the database in this file. What is none is refused by name.
    pub fn open(path: &Path) -> Result<Self> {
        is_sqlite(path)?;
        // A log lies beside the file itself, not beside a link to it.
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let (address, copy, stamp) = match has_log(path) {
            true => copied(path)?,
            false => (
                format!("{}?mode=ro&immutable=1", address(path)),
                None,
                Stamp::of(path),
            ),
        };
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let refused = |cause| unreadable(path, cause);
        let connection = Connection::open_with_flags(address, flags).map_err(refused)?;
        connection.execute_batch(CAREFUL).map_err(refused)?;
        let columns = columns(&connection, path)?;
        let held = held(&connection);
        Ok(Self {
            connection,
            columns,
            held,
            path: path.to_owned(),
            stamp,
            _copy: copy,
        })
    }

    /// Whether the file is as it was when it was opened. One that was written to meanwhile may have been read half
    /// old and half new.
    pub fn is_unchanged(&self) -> bool {
        self.stamp == Stamp::of(&self.path)
    }

    /// Whether `chunks` has this column.
    pub(crate) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    /// Whether there is a table of this name.
    pub(crate) fn has_table(&self, name: &str) -> bool {
        has_table(&self.connection, name).unwrap_or(false)
    }
}

/// What tells that a database was written to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp(Vec<Option<(u64, Option<SystemTime>)>>);

impl Stamp {
    fn of(path: &Path) -> Self {
        let look = |path: &Path| {
            let about = fs::metadata(path).ok()?;
            Some((about.len(), about.modified().ok()))
        };
        let logs = LOGS.iter().map(|ending| look(&beside(path, ending)));
        // An empty log is as good as none.
        let logs = logs.map(|log| log.filter(|(length, _)| *length > 0));
        Self([look(path)].into_iter().chain(logs).collect())
    }
}

/// The file with this behind its name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

fn has_log(path: &Path) -> bool {
    let length = |ending| fs::metadata(beside(path, ending)).map_or(0, |about| about.len());
    LOGS.into_iter().any(|ending| length(ending) > 0)
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

/// A copy of the file and its log, of one moment: nobody wrote between the first look and the last.
fn copied(path: &Path) -> Result<(String, Option<TempDir>, Stamp)> {
    let failed = |cause: io::Error| {
        Error::new(
            ErrorKind::Io,
            format!(
                "cannot copy {} and its log into the temporary folder",
                path.display()
            ),
        )
        .caused_by(cause)
        .hint("nothing was changed; free some space there, or set TMPDIR to a folder that has it")
    };
    let folder = tempfile::tempdir().map_err(failed)?;
    let copy = folder.path().join("memtomem.db");
    for _ in 0..TRIES {
        let stamp = Stamp::of(path);
        fs::copy(path, &copy).map_err(failed)?;
        for ending in LOGS {
            match fs::copy(beside(path, ending), beside(&copy, ending)) {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(failed(cause)),
                Err(_) => drop(fs::remove_file(beside(&copy, ending))),
                Ok(_) => {}
            }
        }
        if stamp == Stamp::of(path) {
            return Ok((address(&copy), Some(folder), stamp));
        }
    }
    Err(Error::new(
        ErrorKind::Locked,
        format!(
            "{} is being written to and could not be copied whole",
            path.display()
        ),
    )
    .hint("nothing was changed; stop memtomem (`mm web stop`, and its server in your editor) and try again"))
}

/// The file's address; every byte that SQLite might read as its own is spelled out.
fn address(path: &Path) -> String {
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
