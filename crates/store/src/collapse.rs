//! Files from before the unique index of pieces: each group of duplicates is reduced to its most-used drawer, once.

use loci_core::{DrawerFields, DrawerId, Result};
use rusqlite::{Connection, Transaction, params};

use crate::attributes::AttributeKeys;
use crate::connection::begin_write;
use crate::failure::sqlite_error;
use crate::shelf::CollectionShelf;
use crate::write::{self, store_seq};
use crate::{clock, row, schema};

/// Every drawer with a duplicate that was used more, or is older, or has the smaller id.
const LOSERS: &str = "
SELECT row FROM (
    SELECT row, row_number() OVER (
        PARTITION BY collection, source, hash, start ORDER BY uses DESC, filed_at, id
    ) AS place
    FROM drawers WHERE collection = ?1 AND source IS NOT NULL AND start IS NOT NULL
) WHERE place > 1 ORDER BY row";

/// Collapses duplicates and creates the unique index, if the file lacks it; a second opener finds nothing to do.
pub(crate) fn run_if_needed(connection: &mut Connection) -> Result<()> {
    if schema::has_unique_pieces(connection)? {
        return Ok(());
    }
    let transaction = begin_write(connection).map_err(sqlite_error)?;
    // Another process may have done it while this one waited for the lock.
    if !schema::has_unique_pieces(&transaction)? {
        let mut removed = 0;
        for shelf in CollectionShelf::list_all(&transaction)? {
            removed += collapse_duplicates(&transaction, shelf)?;
        }
        transaction
            .execute_batch(schema::SOURCE_INDEX)
            .map_err(sqlite_error)?;
        schema::add_note(
            &transaction,
            clock::now(),
            &format!("collapsed {removed} duplicate drawers"),
        )?;
    }
    transaction.commit().map_err(sqlite_error)
}

fn collapse_duplicates(transaction: &Transaction<'_>, mut shelf: CollectionShelf) -> Result<usize> {
    let losers: Vec<i64> = transaction
        .prepare(LOSERS)
        .and_then(|mut statement| {
            statement
                .query_map([shelf.collection], |row| row.get(0))?
                .collect()
        })
        .map_err(sqlite_error)?;
    let mut keys = AttributeKeys::default();
    let mut seq: i64 = transaction
        .query_row("SELECT value FROM palace WHERE key = 'seq'", [], |row| row.get(0))
        .map_err(sqlite_error)?;
    for loser in &losers {
        seq += 1;
        // A tombstone tells followers of the change feed that the drawer is gone.
        if let Some(id) = remove_loser(transaction, &mut shelf, &mut keys, *loser)? {
            add_tombstone(transaction, &shelf, &id, seq)?;
        }
    }
    shelf.store_counters(transaction)?;
    store_seq(transaction, seq)?;
    Ok(losers.len())
}

/// Removes one drawer; returns its id.
fn remove_loser(
    transaction: &Transaction<'_>,
    shelf: &mut CollectionShelf,
    keys: &mut AttributeKeys,
    loser: i64,
) -> Result<Option<DrawerId>> {
    let Some(stored) = row::load_by_row(transaction, loser, DrawerFields::EVERYTHING)? else {
        return Ok(None);
    };
    write::remove_drawer(transaction, shelf, keys, &stored)?;
    shelf.drawers -= 1;
    Ok(Some(stored.drawer.id))
}

fn add_tombstone(
    transaction: &Transaction<'_>,
    shelf: &CollectionShelf,
    id: &DrawerId,
    seq: i64,
) -> Result<()> {
    transaction
        .execute(
            "INSERT OR REPLACE INTO tombstones(seq, collection, id) VALUES (?1, ?2, ?3)",
            params![seq, shelf.collection, id.as_str()],
        )
        .map(drop)
        .map_err(sqlite_error)
}
