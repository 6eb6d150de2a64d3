//! An SQLite file of keys and values, opened without changing anything on disk.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use loci_core::Result;
use loci_foreign::{ForeignDatabase, ForeignFailure, ForeignOpener, ForeignReading, path_beside};
use rusqlite::types::ValueRef;
use rusqlite::{Params, Row, params};

/// The time to wait for a lock of another process.
const WAIT: Duration = Duration::from_millis(500);

/// The tables that are read, the newer first.
const TABLES: [&str; 2] = ["cursorDiskKV", "ItemTable"];

/// An open file.
pub(super) struct VscdbFile {
    opened: ForeignDatabase,
    tables: Vec<&'static str>,
    /// Whether there is a write-ahead log that could not be read.
    pub(super) lacks_log: bool,
    troubles: RefCell<Vec<String>>,
}

/// Returns whether this is an SQLite file with the extension that editors use.
pub(super) fn is_vscdb(path: &Path) -> bool {
    let ends = path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("vscdb"));
    ends && std::fs::symlink_metadata(path).is_ok_and(|about| about.is_file()) && is_sqlite(path)
}

fn is_sqlite(path: &Path) -> bool {
    let mut header = [0; 16];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    read.is_ok() && header == *b"SQLite format 3\0"
}

impl VscdbFile {
    /// Opens the file read-only. If its write-ahead log cannot be read, the file is read without it.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let opener = ForeignOpener {
            patience: WAIT,
            // These files grow to gigabytes and stay open in Cursor, so a private copy is too expensive.
            reads_live_logs: true,
            ..ForeignOpener::default()
        };
        let opened = opener.open(path).or_else(|failure| match failure {
            // Reading a file that is being rewritten without its log could mix two states, so this is an
            // error.
            ForeignFailure::Changing(_) => Err(failure),
            ForeignFailure::Io(..) | ForeignFailure::Sqlite(_) => opener.open_as_it_stands(path),
        });
        opened
            .and_then(|opened| Ok(Self::from_database(opened, path)?))
            .map_err(|failure| {
                let error = failure.into_error(path);
                error.with_hint("the file is unchanged; close Cursor and try again")
            })
    }

    fn from_database(opened: ForeignDatabase, path: &Path) -> rusqlite::Result<Self> {
        let names = {
            let select = "SELECT name FROM sqlite_master WHERE type = 'table'";
            let mut statement = opened.connection.prepare(select)?;
            let names = statement.query_map([], |row| row.get::<_, String>(0))?;
            names.flatten().collect::<Vec<String>>()
        };
        let tables = TABLES
            .into_iter()
            .filter(|table| names.iter().any(|name| name == table))
            .collect();
        let log = std::fs::metadata(path_beside(path, "-wal"));
        let has_log = log.is_ok_and(|about| about.len() > 0);
        Ok(Self {
            lacks_log: has_log && matches!(opened.reading, ForeignReading::AsItStands),
            opened,
            tables,
            troubles: RefCell::default(),
        })
    }

    /// Returns the keys with this prefix, at most `most` of each table, sorted and without duplicates.
    pub(super) fn keys(&self, beginning: &str, most: i64) -> Vec<String> {
        let mut found = Vec::new();
        for table in &self.tables {
            let select =
                format!("SELECT key FROM {table} WHERE key >= ?1 AND key < ?2 ORDER BY key LIMIT ?3");
            found.extend(
                self.read_rows(&select, params![beginning, prefix_end(beginning), most], |row| {
                    Ok(text_of_value(row.get_ref(0)?))
                }),
            );
        }
        found.sort();
        found.dedup();
        found
    }

    /// Returns every key with this prefix and its value, in the order they were written; `None` for a value that is not
    /// text.
    pub(super) fn entries(&self, beginning: &str) -> Vec<(String, Option<String>)> {
        let mut found = Vec::new();
        for table in &self.tables {
            let select =
                format!("SELECT key, value FROM {table} WHERE key >= ?1 AND key < ?2 ORDER BY rowid");
            found.extend(
                self.read_rows(&select, params![beginning, prefix_end(beginning)], |row| {
                    let value = text_of_value(row.get_ref(1)?);
                    Ok(text_of_value(row.get_ref(0)?).map(|key| (key, value)))
                }),
            );
        }
        found
    }

    /// Returns the value under a key, if it is text.
    pub(super) fn value(&self, key: &str) -> Option<String> {
        self.tables.iter().find_map(|table| {
            let select = format!("SELECT value FROM {table} WHERE key = ?1");
            self.read_rows(&select, params![key], |row| Ok(text_of_value(row.get_ref(0)?)))
                .pop()
        })
    }

    /// Takes the errors that occurred while reading.
    pub(super) fn take_troubles(&self) -> Vec<String> {
        self.troubles.take()
    }

    /// Returns the rows of a query as far as they can be read.
    fn read_rows<T>(
        &self,
        select: &str,
        params: impl Params,
        read: impl Fn(&Row<'_>) -> rusqlite::Result<Option<T>>,
    ) -> Vec<T> {
        let mut found = Vec::new();
        let fill = || -> rusqlite::Result<()> {
            let mut statement = self.opened.connection.prepare(select)?;
            let mut rows = statement.query(params)?;
            while let Some(row) = rows.next()? {
                found.extend(read(row)?);
            }
            Ok(())
        };
        // A damaged page ends a query; the rows before it are good and are kept, and the trouble becomes a
        // note.
        if let Err(error) = fill() {
            self.troubles.borrow_mut().push(error.to_string());
        }
        found
    }
}

/// Returns an upper bound for the keys with this prefix.
fn prefix_end(beginning: &str) -> String {
    let mut after = beginning.to_owned();
    after.push(char::MAX);
    after
}

/// Returns text, or bytes that are valid UTF-8.
fn text_of_value(value: ValueRef<'_>) -> Option<String> {
    let bytes = value.as_bytes().ok()?;
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}
