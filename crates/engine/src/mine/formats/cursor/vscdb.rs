//! An SQLite file of keys and values, read without leaving a trace.
//!
//! A reader of a file in write-ahead mode makes two files beside it, unless it is told what else to do. With the log
//! and its index there, they are used as they are; with the log alone, both are read from a copy in a folder for
//! temporary files; with neither, the file is taken as it stands.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Params, Row, params};
use tempfile::TempDir;

/// How long another process may hold the file.
const WAIT: Duration = Duration::from_millis(500);

/// Without locks and without its log.
const AS_IT_STANDS: &str = "immutable=1";

/// From a copy of the file and its log.
const COPIED: &str = "copy";

/// The tables that are looked into, the newer first.
const TABLES: [&str; 2] = ["cursorDiskKV", "ItemTable"];

/// An open file.
pub(super) struct Vscdb {
    connection: Connection,
    tables: Vec<&'static str>,
    /// Whether there is a log that could not be read.
    pub(super) lacks_log: bool,
    troubles: RefCell<Vec<String>>,
    /// Where the copy lies that is read instead; it goes when the file is closed.
    _copy: Option<TempDir>,
}

/// Whether this is an SQLite file with the ending editors use.
pub(super) fn is_one(path: &Path) -> bool {
    let ends = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("vscdb"));
    ends && std::fs::symlink_metadata(path).is_ok_and(|about| about.is_file()) && header(path).is_some()
}

/// The first bytes of an SQLite file.
fn header(path: &Path) -> Option<[u8; 20]> {
    let mut header = [0; 20];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    header.starts_with(b"SQLite format 3\0").then_some(header)
}

/// The file with this behind its name.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

impl Vscdb {
    /// Opens the file for reading only.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let log = beside(path, "-wal").is_file();
        let index = beside(path, "-shm").is_file();
        let has_log = header(path).is_some_and(|header| header.get(18..20) == Some(&[2, 2]));
        let ways: &[&str] = match (log, index) {
            (true, true) => &["mode=ro&readonly_shm=1", AS_IT_STANDS],
            (true, false) => &[COPIED, AS_IT_STANDS],
            (false, _) if has_log => &[AS_IT_STANDS],
            (false, _) => &["mode=ro", AS_IT_STANDS],
        };
        let mut failed = String::new();
        for way in ways {
            let opened = if *way == COPIED {
                Self::open_copy(path)
            } else {
                Self::open_as(path, way)
            };
            match opened {
                Ok(store) => {
                    let full = std::fs::metadata(beside(path, "-wal")).is_ok_and(|about| about.len() > 0);
                    return Ok(Self {
                        lacks_log: full && *way == AS_IT_STANDS,
                        ..store
                    });
                }
                Err(error) => failed = error.to_string(),
            }
        }
        let error = Error::new(
            ErrorKind::Io,
            format!("{} cannot be read as SQLite", path.display()),
        );
        Err(error
            .with("sqlite", failed)
            .hint("the file is unchanged; close Cursor and try again"))
    }

    /// Opens a copy, in which SQLite may make what it needs.
    fn open_copy(path: &Path) -> rusqlite::Result<Self> {
        let refused = |error: std::io::Error| rusqlite::Error::ToSqlConversionFailure(error.into());
        let folder = tempfile::tempdir().map_err(refused)?;
        let copy = folder.path().join("copy.vscdb");
        std::fs::copy(path, &copy).map_err(refused)?;
        std::fs::copy(beside(path, "-wal"), beside(&copy, "-wal")).map_err(refused)?;
        let store = Self::open_as(&copy, "mode=ro")?;
        Ok(Self {
            _copy: Some(folder),
            ..store
        })
    }

    fn open_as(path: &Path, way: &str) -> rusqlite::Result<Self> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(format!("{}?{way}", address(path)), flags)?;
        connection.busy_timeout(WAIT)?;
        let names = {
            let mut statement = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table'")?;
            let names = statement.query_map([], |row| row.get::<_, String>(0))?;
            names.flatten().collect::<Vec<String>>()
        };
        let tables = TABLES
            .into_iter()
            .filter(|table| names.iter().any(|name| name == table))
            .collect();
        Ok(Self {
            connection,
            tables,
            lacks_log: false,
            troubles: RefCell::default(),
            _copy: None,
        })
    }

    /// The keys that begin with this, at most so many of each table, each once and in order.
    pub(super) fn keys(&self, beginning: &str, most: i64) -> Vec<String> {
        let mut found = Vec::new();
        for table in &self.tables {
            let select =
                format!("SELECT key FROM {table} WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3");
            found.extend(
                self.rows(&select, params![beginning, after(beginning), most], |row| {
                    Ok(text(row.get_ref(0)?))
                }),
            );
        }
        found.sort();
        found.dedup();
        found
    }

    /// Every key that begins with this and its value, as they were written; a value that is no text is `None`.
    pub(super) fn entries(&self, beginning: &str) -> Vec<(String, Option<String>)> {
        let mut found = Vec::new();
        for table in &self.tables {
            let select =
                format!("SELECT key, value FROM {table} WHERE key >= ?1 AND key < ?2 ORDER BY rowid");
            found.extend(self.rows(&select, params![beginning, after(beginning)], |row| {
                let value = text(row.get_ref(1)?);
                Ok(text(row.get_ref(0)?).map(|key| (key, value)))
            }));
        }
        found
    }

    /// The value under a key, if it is text.
    pub(super) fn value(&self, key: &str) -> Option<String> {
        self.tables.iter().find_map(|table| {
            let select = format!("SELECT value FROM {table} WHERE key = ?1");
            self.rows(&select, params![key], |row| Ok(text(row.get_ref(0)?)))
                .pop()
        })
    }

    /// What went wrong while reading.
    pub(super) fn troubles(&self) -> Vec<String> {
        self.troubles.take()
    }

    /// The rows of a query as far as they can be read.
    fn rows<T>(
        &self,
        select: &str,
        params: impl Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<Option<T>>,
    ) -> Vec<T> {
        let mut found = Vec::new();
        let fill = || -> rusqlite::Result<()> {
            let mut statement = self.connection.prepare(select)?;
            let mut rows = statement.query(params)?;
            while let Some(row) = rows.next()? {
                found.extend(read(row)?);
            }
            Ok(())
        };
        if let Err(error) = fill() {
            self.troubles.borrow_mut().push(error.to_string());
        }
        found
    }
}

/// The first key that no longer begins with this.
fn after(beginning: &str) -> String {
    let mut after = beginning.to_owned();
    after.push(char::MAX);
    after
}

/// Text, or bytes that are text.
fn text(value: ValueRef<'_>) -> Option<String> {
    let bytes = value.as_bytes().ok()?;
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

/// The file's address, in which SQLite reads some characters as its own.
fn address(path: &Path) -> String {
    let mut address = String::from("file:");
    for character in path.to_string_lossy().chars() {
        match character {
            '%' => address.push_str("%25"),
            '?' => address.push_str("%3f"),
            '#' => address.push_str("%23"),
            other => address.push(other),
        }
    }
    address
}
