//! The change feed: rows and tombstones in the order of their sequence numbers.

use loci_core::{Change, ChangeKind, Changes, Cursor, DrawerId, Result};
use rusqlite::{Connection, params};

use crate::failure::sqlite;
use crate::shelf::Shelf;

/// At most `limit` changes of one collection after `cursor`, oldest first.
///
/// Both halves are read in order of `seq` and stop at the limit, so a page costs what it returns.
pub(crate) fn since(connection: &Connection, shelf: &Shelf, cursor: Cursor, limit: usize) -> Result<Changes> {
    let sql = "
        SELECT seq, 0, id FROM (SELECT seq, id FROM drawers INDEXED BY drawers_seq
            WHERE seq > ?1 AND +collection = ?2 ORDER BY seq LIMIT ?3)
        UNION ALL
        SELECT seq, 1, id FROM (SELECT seq, id FROM tombstones WHERE seq > ?1 AND +collection = ?2 ORDER BY seq LIMIT ?3)
        ORDER BY 1 LIMIT ?3";
    let after = i64::try_from(cursor.0).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql).map_err(sqlite)?;
    let mut found = statement
        .query(params![after, shelf.collection, limit])
        .map_err(sqlite)?;
    let mut changes = Vec::new();
    while let Some(entry) = found.next().map_err(sqlite)? {
        let (seq, removed): (i64, bool) = (entry.get(0).map_err(sqlite)?, entry.get(1).map_err(sqlite)?);
        changes.push(Change {
            seq: u64::try_from(seq).unwrap_or(0),
            op: if removed {
                ChangeKind::Delete
            } else {
                ChangeKind::Put
            },
            id: DrawerId::new(entry.get::<_, String>(2).map_err(sqlite)?)?,
            collection: shelf.name.clone(),
        });
    }
    let next = changes.last().map_or(cursor, |change| Cursor(change.seq));
    Ok(Changes { changes, next })
}

/// The sequence number of the newest change of a collection.
pub(crate) fn newest(connection: &Connection, shelf: &Shelf) -> Result<Cursor> {
    let newest: i64 = connection
        .prepare_cached(
            "SELECT max(
                coalesce((SELECT seq FROM drawers INDEXED BY drawers_seq WHERE +collection = ?1 ORDER BY seq DESC LIMIT 1), 0),
                coalesce((SELECT seq FROM tombstones WHERE +collection = ?1 ORDER BY seq DESC LIMIT 1), 0))",
        )
        .and_then(|mut statement| statement.query_row([shelf.collection], |row| row.get(0)))
        .map_err(sqlite)?;
    Ok(Cursor(u64::try_from(newest).unwrap_or(0)))
}
