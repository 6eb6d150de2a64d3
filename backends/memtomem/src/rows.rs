//! Which rows there are, damaged pages or not.

use std::collections::{BTreeMap, BTreeSet};

use loci_core::{Error, ErrorKind, Result};
use rusqlite::ErrorCode;

use crate::cell;
use crate::database::Database;
use crate::ghosts;

/// The numbers of rows that are worth a look, and what stopped the way through all of them.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    /// The numbers.
    pub(crate) numbers: BTreeSet<i64>,
    /// What SQLite says about the damage it met, if it met any.
    pub(crate) damage: Option<String>,
}

/// Whether an error tells of damaged bytes, so that others may be sound.
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

/// The error for a query that no damage explains.
pub(crate) fn refused(cause: rusqlite::Error) -> Error {
    Error::new(ErrorKind::Format, "the chunks of this database cannot be listed")
        .caused_by(cause)
        .hint("nothing was changed; see that memtomem itself can read it with `mm status`")
}

/// The rows of `chunks`.
///
/// A damaged page ends the way through the table; what lies beyond it is looked for from the other end, through every
/// index, and through what memtomem's own indexes say there should be.
pub(crate) fn all(database: &Database) -> Result<Rows> {
    let mut rows = Rows::default();
    let straight = "SELECT rowid FROM chunks NOT INDEXED ORDER BY rowid";
    match scan(database, straight, &mut rows.numbers) {
        Ok(()) => return Ok(rows),
        Err(cause) if is_damage(&cause) => rows.damage = Some(cause.to_string()),
        Err(cause) => return Err(refused(cause)),
    }
    let mut ways = vec![format!("{straight} DESC")];
    ways.extend(indexes(database).iter().map(|index| {
        let index = index.replace('"', "\"\"");
        format!("SELECT rowid FROM chunks INDEXED BY \"{index}\"")
    }));
    ways.extend(ghosts::TABLES.map(|(table, number)| format!("SELECT {number} FROM {table}")));
    for way in ways {
        // Each way gives what it can; an index that is damaged, partial or missing gives less.
        let _ = scan(database, &way, &mut rows.numbers);
    }
    Ok(rows)
}

fn scan(database: &Database, select: &str, found: &mut BTreeSet<i64>) -> rusqlite::Result<()> {
    let mut statement = database.connection().prepare(select)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        found.extend(cell::whole(row.get_ref(0)?));
    }
    Ok(())
}

fn indexes(database: &Database) -> Vec<String> {
    let read = || -> rusqlite::Result<Vec<String>> {
        let sql = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'chunks'";
        let mut statement = database.connection().prepare(sql)?;
        let names = statement.query_map([], |row| row.get(0))?;
        names.collect()
    };
    read().unwrap_or_default()
}

/// What an index says of a column, by row; for rows that cannot be read themselves.
pub(crate) fn told_by(database: &Database, index: &str, column: &str) -> BTreeMap<i64, String> {
    let mut told = BTreeMap::new();
    let mut read = || -> rusqlite::Result<()> {
        let sql = format!("SELECT rowid, {column} FROM chunks INDEXED BY {index}");
        let mut statement = database.connection().prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            told.insert(row.get(0)?, cell::label(row.get_ref(1)?));
        }
        Ok(())
    };
    // What it told before it failed is true all the same.
    let _ = read();
    told
}
