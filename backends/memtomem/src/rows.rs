//! Lists the rows of `chunks`, also across damaged pages.

use std::collections::{BTreeMap, BTreeSet};

use loci_core::{Error, ErrorKind, Result};
use rusqlite::ErrorCode;

use crate::cell;
use crate::database::MemtomemDatabase;
use crate::ghosts;

/// The numbers of rows to read, and the damage that interrupted the listing.
#[derive(Debug, Default)]
pub(crate) struct RowNumbers {
    /// The row numbers; some may belong to rows that no longer exist.
    pub(crate) numbers: BTreeSet<i64>,
    /// SQLite's message about the damage, if there is any.
    pub(crate) damage: Option<String>,
}

/// Returns whether an error reports damaged bytes, so that other rows may be readable.
pub(crate) fn is_damage(cause: &rusqlite::Error) -> bool {
    let damaged = [
        ErrorCode::DatabaseCorrupt,
        ErrorCode::NotADatabase,
        ErrorCode::SystemIoFailure,
    ];
    cause
        .sqlite_error_code()
        .is_some_and(|code| damaged.contains(&code))
}

/// Creates the error for a query that fails for another reason than damage.
pub(crate) fn listing_error(cause: rusqlite::Error) -> Error {
    Error::new(ErrorKind::Format, "the chunks of this database cannot be listed")
        .caused_by(cause)
        .with_hint("nothing was changed; check with `mm status` that memtomem itself can read it")
}

/// Lists the rows of `chunks`.
///
/// A damaged page ends a scan of the table. Rows beyond it are found by a scan from the other end, through every
/// index, and through the row numbers in memtomem's own indexes.
pub(crate) fn list_rows(database: &MemtomemDatabase) -> Result<RowNumbers> {
    let mut rows = RowNumbers::default();
    let straight = "SELECT rowid FROM chunks NOT INDEXED ORDER BY rowid";
    match collect_row_numbers(database, straight, &mut rows.numbers) {
        Ok(()) => return Ok(rows),
        Err(cause) if is_damage(&cause) => rows.damage = Some(cause.to_string()),
        Err(cause) => return Err(listing_error(cause)),
    }
    let mut ways = vec![format!("{straight} DESC")];
    ways.extend(list_indexes(database).iter().map(|index| {
        // Names come from the file's own schema and may contain anything.
        let index = index.replace('"', "\"\"");
        format!("SELECT rowid FROM chunks INDEXED BY \"{index}\"")
    }));
    ways.extend(ghosts::TABLES.map(|(table, number)| format!("SELECT {number} FROM {table}")));
    for way in ways {
        // Each scan adds the numbers it reaches; a damaged, partial or missing index only adds fewer. A
        // number whose row is gone does no harm, because the survey reads each row again.
        let _ = collect_row_numbers(database, &way, &mut rows.numbers);
    }
    Ok(rows)
}

fn collect_row_numbers(
    database: &MemtomemDatabase,
    select: &str,
    found: &mut BTreeSet<i64>,
) -> rusqlite::Result<()> {
    let mut statement = database.connection().prepare(select)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        found.extend(cell::as_whole(row.get_ref(0)?));
    }
    Ok(())
}

fn list_indexes(database: &MemtomemDatabase) -> Vec<String> {
    let read = || -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'chunks'";
        let mut statement = database.connection().prepare(sql)?;
        let names = statement.query_map([], |row| row.get(0))?;
        names.collect()
    };
    read().unwrap_or_default()
}

/// Reads a column from an index, by row number, for rows that cannot be read themselves.
pub(crate) fn column_by_row(database: &MemtomemDatabase, index: &str, column: &str) -> BTreeMap<i64, String> {
    let mut told = BTreeMap::new();
    let mut read = || -> rusqlite::Result<()> {
        let sql = format!("SELECT rowid, {column} FROM chunks INDEXED BY {index}");
        let mut statement = database.connection().prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            told.insert(row.get(0)?, cell::as_label(row.get_ref(1)?));
        }
        Ok(())
    };
    // Entries read before a failure are still correct.
    let _ = read();
    told
}
