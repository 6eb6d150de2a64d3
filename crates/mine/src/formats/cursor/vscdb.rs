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

use crate::walk::size_limit_reason;

/// The time to wait for a lock of another process.
const WAIT: Duration = Duration::from_millis(500);

/// The tables that are read, the newer first.
const TABLES: [&str; 2] = ["cursorDiskKV", "ItemTable"];

/// The columns of a value: its size, and the value itself unless it is larger than parameter 1. The size is known without
/// reading the value, so a value of gigabytes costs nothing.
const VALUE: &str = "octet_length(value), CASE WHEN octet_length(value) <= ?1 THEN value END";

/// The place of a value.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryPlace {
    table: &'static str,
    row: i64,
}

/// A value as far as it is read.
#[derive(Debug)]
pub(super) enum StoredValue<'a> {
    /// Text, or bytes that are valid UTF-8.
    Text(&'a str),
    /// Nothing, or bytes that are not text.
    NotText,
    /// Larger than the limit, which this reason names.
    TooLarge(String),
}

/// An open file.
pub(super) struct VscdbFile {
    opened: ForeignDatabase,
    tables: Vec<&'static str>,
    /// The most bytes of a value that is read.
    max_bytes: u64,
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
    pub(super) fn open(path: &Path, max_bytes: u64) -> Result<Self> {
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
            .and_then(|opened| Ok(Self::from_database(opened, path, max_bytes)?))
            .map_err(|failure| {
                let error = failure.into_error(path);
                error.with_hint("the file is unchanged; close Cursor and try again")
            })
    }

    fn from_database(opened: ForeignDatabase, path: &Path, max_bytes: u64) -> rusqlite::Result<Self> {
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
            max_bytes,
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

    /// Hands over every key with this prefix and its value, in the order they were written and one at a time.
    pub(super) fn visit_entries(
        &self,
        beginning: &str,
        visit: &mut dyn FnMut(String, EntryPlace, StoredValue<'_>),
    ) {
        for table in &self.tables {
            let select = format!(
                "SELECT {VALUE}, rowid, key FROM {table} WHERE key >= ?2 AND key < ?3 ORDER BY rowid"
            );
            let end = prefix_end(beginning);
            self.visit_rows(&select, params![self.sql_limit(), beginning, end], |row| {
                let place = EntryPlace {
                    table,
                    row: row.get(2)?,
                };
                if let Some(key) = text_of_value(row.get_ref(3)?) {
                    visit(key, place, self.stored_value(row)?);
                }
                Ok(())
            });
        }
    }

    /// Hands over the value in one place, as SQLite holds it and without a copy.
    pub(super) fn visit_place(&self, place: EntryPlace, visit: &mut dyn FnMut(StoredValue<'_>)) {
        let select = format!("SELECT {VALUE} FROM {} WHERE rowid = ?2", place.table);
        self.visit_rows(&select, params![self.sql_limit(), place.row], |row| {
            visit(self.stored_value(row)?);
            Ok(())
        });
    }

    /// Returns the place of the value under a key, in the newer table that has one.
    pub(super) fn find_place(&self, key: &str) -> Option<EntryPlace> {
        self.tables.iter().find_map(|table| {
            let select = format!("SELECT rowid FROM {table} WHERE key = ?1");
            let rows = self.read_rows(&select, params![key], |row| Ok(Some(row.get(0)?)));
            rows.last().map(|row| EntryPlace { table, row: *row })
        })
    }

    /// Hands over the value under a key, if there is one.
    pub(super) fn visit_value(&self, key: &str, visit: &mut dyn FnMut(StoredValue<'_>)) {
        if let Some(place) = self.find_place(key) {
            self.visit_place(place, visit);
        }
    }

    /// Returns the size of the value under a key, without reading it; 0 if there is none.
    pub(super) fn value_bytes(&self, key: &str) -> u64 {
        let size = |table: &&'static str| {
            let select = format!("SELECT octet_length(value) FROM {table} WHERE key = ?1");
            let sizes = self.read_rows(&select, params![key], |row| row.get::<_, Option<i64>>(0));
            sizes.last().map_or(0, |size| u64::try_from(*size).unwrap_or(0))
        };
        self.tables.iter().map(size).max().unwrap_or(0)
    }

    fn sql_limit(&self) -> i64 {
        i64::try_from(self.max_bytes).unwrap_or(i64::MAX)
    }

    /// Returns the value of a row that begins with [`VALUE`].
    fn stored_value<'r>(&self, row: &'r Row<'_>) -> rusqlite::Result<StoredValue<'r>> {
        let size = row.get::<_, Option<i64>>(0)?.unwrap_or(0);
        let size = u64::try_from(size).unwrap_or(0);
        if size > self.max_bytes {
            return Ok(StoredValue::TooLarge(size_limit_reason(size, self.max_bytes)));
        }
        let bytes = row.get_ref(1)?.as_bytes().ok();
        let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
        Ok(text.map_or(StoredValue::NotText, StoredValue::Text))
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
        self.visit_rows(select, params, |row| {
            found.extend(read(row)?);
            Ok(())
        });
        found
    }

    /// Hands over the rows of a query as far as they can be read.
    fn visit_rows(
        &self,
        select: &str,
        params: impl Params,
        mut visit: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) {
        let run = || -> rusqlite::Result<()> {
            let mut statement = self.opened.connection.prepare(select)?;
            let mut rows = statement.query(params)?;
            while let Some(row) = rows.next()? {
                visit(row)?;
            }
            Ok(())
        };
        // A damaged page ends a query; the rows before it are good and are kept, and the trouble becomes a
        // note.
        if let Err(error) = run() {
            self.troubles.borrow_mut().push(error.to_string());
        }
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
