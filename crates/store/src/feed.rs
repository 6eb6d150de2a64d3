//! The change feed: rows and tombstones in the order of their sequence numbers.

use loci_core::{ChangeKind, ChangePage, Cursor, DocumentFilter, DrawerChange, DrawerId, Filter, Result};
use rusqlite::{Connection, params};

use crate::failure::sqlite_error;
use crate::read::DrawerTest;
use crate::scope::{FilterScope, resolve_scope};
use crate::shelf::CollectionShelf;

/// Returns at most `limit` changes of one collection after `cursor`, oldest first.
///
/// Both halves are read in order of `seq` and stop at the limit, so a page costs what it returns.
pub(crate) fn changes_since(
    connection: &Connection,
    shelf: &CollectionShelf,
    cursor: Cursor,
    limit: usize,
) -> Result<ChangePage> {
    let sql = "
        SELECT seq, 0, id FROM (SELECT seq, id FROM main.drawers INDEXED BY drawers_seq
            WHERE seq > ?1 AND +collection = ?2 ORDER BY seq LIMIT ?3)
        UNION ALL
        SELECT seq, 1, id FROM (SELECT seq, id FROM tombstones WHERE seq > ?1 AND +collection = ?2 ORDER BY seq LIMIT ?3)
        ORDER BY 1 LIMIT ?3";
    // `main.` names the stored table: for a file of an earlier format a temporary view hides it, and `INDEXED
    // BY` does not work on views.
    let after = i64::try_from(cursor.0).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql).map_err(sqlite_error)?;
    let mut found = statement
        .query(params![after, shelf.collection, limit])
        .map_err(sqlite_error)?;
    let mut changes = Vec::new();
    while let Some(entry) = found.next().map_err(sqlite_error)? {
        let (seq, removed): (i64, bool) = (
            entry.get(0).map_err(sqlite_error)?,
            entry.get(1).map_err(sqlite_error)?,
        );
        changes.push(DrawerChange {
            seq: u64::try_from(seq).unwrap_or(0),
            op: if removed {
                ChangeKind::Delete
            } else {
                ChangeKind::Put
            },
            id: DrawerId::new(entry.get::<_, String>(2).map_err(sqlite_error)?)?,
            collection: shelf.name.clone(),
        });
    }
    let next = changes.last().map_or(cursor, |change| Cursor(change.seq));
    Ok(ChangePage { changes, next })
}

/// Returns the sequence number of the newest change of a collection.
pub(crate) fn newest_seq(connection: &Connection, shelf: &CollectionShelf) -> Result<Cursor> {
    let newest: i64 = connection
        .prepare_cached(
            "SELECT max(
                coalesce((SELECT seq FROM main.drawers INDEXED BY drawers_seq WHERE +collection = ?1 ORDER BY seq DESC LIMIT 1), 0),
                coalesce((SELECT seq FROM tombstones WHERE +collection = ?1 ORDER BY seq DESC LIMIT 1), 0))",
        )
        .and_then(|mut statement| statement.query_row([shelf.collection], |row| row.get(0)))
        .map_err(sqlite_error)?;
    Ok(Cursor(u64::try_from(newest).unwrap_or(0)))
}

/// Returns the sequence number of the newest change among the drawers that `filter` accepts, without removed ones.
pub(crate) fn newest_seq_among(
    connection: &Connection,
    shelf: &CollectionShelf,
    filter: &Filter,
) -> Result<Cursor> {
    let scope = resolve_scope(connection, shelf, filter)?;
    let test = DrawerTest::new(&scope, filter, &DocumentFilter::All);
    let narrow = scope.rows.listed_rows().filter(|listed| listed.len() <= FEW);
    let newest = match narrow {
        Some(listed) => newest_of(connection, listed, &test)?,
        None => newest_by_walking(connection, shelf, &scope, &test)?,
    };
    Ok(Cursor(u64::try_from(newest).unwrap_or(0)))
}

/// Up to this many rows are read one by one; of more, some are probably among the latest changes.
const FEW: usize = 1000;

fn newest_of(connection: &Connection, rows: &[i64], test: &DrawerTest<'_>) -> Result<i64> {
    let mut statement = connection
        .prepare_cached("SELECT seq FROM drawers WHERE row = ?1")
        .map_err(sqlite_error)?;
    let mut newest = 0;
    for row in rows {
        if test.passes(connection, *row)? {
            let seq: i64 = statement
                .query_row([row], |found| found.get(0))
                .map_err(sqlite_error)?;
            newest = newest.max(seq);
        }
    }
    Ok(newest)
}

fn newest_by_walking(
    connection: &Connection,
    shelf: &CollectionShelf,
    scope: &FilterScope,
    test: &DrawerTest<'_>,
) -> Result<i64> {
    let mut statement = connection
        .prepare_cached(
            "SELECT seq, row FROM main.drawers INDEXED BY drawers_seq WHERE +collection = ?1 ORDER BY seq DESC",
        )
        .map_err(sqlite_error)?;
    let mut found = statement.query([shelf.collection]).map_err(sqlite_error)?;
    while let Some(entry) = found.next().map_err(sqlite_error)? {
        let (seq, row): (i64, i64) = (
            entry.get(0).map_err(sqlite_error)?,
            entry.get(1).map_err(sqlite_error)?,
        );
        if scope.rows.contains(row) && test.passes(connection, row)? {
            return Ok(seq);
        }
    }
    Ok(0)
}
