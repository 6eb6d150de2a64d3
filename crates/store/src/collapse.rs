//! Files of before content-uniqueness: each group of duplicates becomes its most-used drawer, once.

use loci_core::{DrawerId, Include, Result};
use rusqlite::{Connection, Transaction, params};

use crate::attributes::Keys;
use crate::connection::begin_write;
use crate::failure::sqlite;
use crate::shelf::Shelf;
use crate::write::{self, store_seq};
use crate::{clock, row, schema};

/// Every drawer that has an equal one which was used more, or is older, or has the smaller id.
const LOSERS: &str = "
SELECT row FROM (
    SELECT row, row_number() OVER (
        PARTITION BY collection, source, hash, start ORDER BY uses DESC, filed_at, id
    ) AS place
    FROM drawers WHERE collection = ?1 AND source IS NOT NULL AND start IS NOT NULL
) WHERE place > 1 ORDER BY row";

/// Collapses duplicates and installs the unique index, if the file lacks it; a second opener finds nothing to do.
pub(crate) fn run_if_needed(connection: &mut Connection) -> Result<()> {
    if schema::has_unique_pieces(connection)? {
        return Ok(());
    }
    let transaction = begin_write(connection).map_err(sqlite)?;
    // Another process may have done it while this one waited for the lock.
    if !schema::has_unique_pieces(&transaction)? {
        let mut removed = 0;
        for shelf in Shelf::all(&transaction)? {
            removed += collapse(&transaction, shelf)?;
        }
        transaction.execute_batch(schema::SOURCE_INDEX).map_err(sqlite)?;
        schema::note(
            &transaction,
            clock::now(),
            &format!("collapsed {removed} duplicate drawers"),
        )?;
    }
    transaction.commit().map_err(sqlite)
}

fn collapse(transaction: &Transaction<'_>, mut shelf: Shelf) -> Result<usize> {
    let losers: Vec<i64> = transaction
        .prepare(LOSERS)
        .and_then(|mut statement| {
            statement
                .query_map([shelf.collection], |row| row.get(0))?
                .collect()
        })
        .map_err(sqlite)?;
    let mut keys = Keys::default();
    let mut seq: i64 = transaction
        .query_row("SELECT value FROM palace WHERE key = 'seq'", [], |row| row.get(0))
        .map_err(sqlite)?;
    for loser in &losers {
        seq += 1;
        if let Some(id) = remove(transaction, &mut shelf, &mut keys, *loser)? {
            bury(transaction, &shelf, &id, seq)?;
        }
    }
    shelf.store_counters(transaction)?;
    store_seq(transaction, seq)?;
    Ok(losers.len())
}

/// Removes one drawer; returns its id.
fn remove(
    transaction: &Transaction<'_>,
    shelf: &mut Shelf,
    keys: &mut Keys,
    loser: i64,
) -> Result<Option<DrawerId>> {
    let Some(stored) = row::by_row(transaction, loser, Include::EVERYTHING)? else {
        return Ok(None);
    };
    write::remove(transaction, shelf, keys, &stored)?;
    shelf.drawers -= 1;
    Ok(Some(stored.drawer.id))
}

fn bury(transaction: &Transaction<'_>, shelf: &Shelf, id: &DrawerId, seq: i64) -> Result<()> {
    transaction
        .execute(
            "INSERT OR REPLACE INTO tombstones(seq, collection, id) VALUES (?1, ?2, ?3)",
            params![seq, shelf.collection, id.as_str()],
        )
        .map(drop)
        .map_err(sqlite)
}
