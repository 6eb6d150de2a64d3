//! Rebuilding every index from the rows: built beside the old ones, checked, then swapped in one transaction.

use std::time::Duration;

use loci_core::{CollectionName, DrawerFields, Error, ErrorKind, Result};
use loci_index::rows::RowSet;
use loci_index::segment;
use loci_index::tokenise::TextIndexer;
use rusqlite::{Transaction, params};

use super::compact::next_seq;
use super::{MaintenanceFigures, mend};
use crate::attributes::{self, AttributeKeys};
use crate::failure::sqlite_error;
use crate::lexical::live_rows;
use crate::palace::PalaceFile;
use crate::shelf::{CollectionShelf, next_number};
use crate::space::StoredSpace;
use crate::{days, places, row, vectors, words};

/// The number of rows one short transaction indexes.
const ROWS_AT_ONCE: usize = 500;

/// The parts of a drawer that are indexed.
const PROJECTED: DrawerFields = DrawerFields {
    embedding: false,
    ..DrawerFields::EVERYTHING
};

/// Rebuilds the words, the attributes and, in every space, the segments of a collection.
pub(super) fn run(palace: &PalaceFile, name: &CollectionName, wait: Duration) -> Result<MaintenanceFigures> {
    drop_abandoned(palace, wait)?;
    let (projection, started) = begin_projection(palace, name, wait)?;
    // Short transactions, with other writers in between. The old projection answers until the swap.
    let mut reached = 0;
    loop {
        let step = palace.write(wait, |transaction| {
            copy_rows(transaction, name, projection, reached)
        })?;
        match step {
            Some(last) => reached = last,
            None => break,
        }
    }
    let indexed = palace.write(wait, |transaction| {
        swap_projection(transaction, name, projection, reached, started)
    })?;
    let spaces: Vec<i64> = palace.read(wait, |transaction| {
        let shelf = CollectionShelf::find(transaction, name)?;
        Ok(shelf.spaces().map(|space| space.number).collect())
    })?;
    // Faults are repaired before packing, so that no vector of a missing drawer gets into a new segment.
    let (mut segments, mut dropped) = (0, 0);
    for space in spaces {
        dropped += mend::run(palace, name, space, wait)?;
        segments += rebuild_segments(palace, name, space, wait)?;
    }
    let mut figures =
        MaintenanceFigures::from([("drawers".to_owned(), indexed), ("segments".to_owned(), segments)]);
    if dropped > 0 {
        figures.insert("vectors_dropped".to_owned(), dropped);
    }
    Ok(figures)
}

/// Removes the half-built projection of a rebuild that was killed.
fn drop_abandoned(palace: &PalaceFile, wait: Duration) -> Result<()> {
    palace
        .write(wait, |transaction| {
            let half: Vec<i64> = transaction
                .prepare("SELECT value FROM palace WHERE key = 'building'")
                .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
                .map_err(sqlite_error)?;
            for projection in half {
                words::drop_tables(transaction, projection)?;
                attributes::drop_table(transaction, projection)?;
            }
            transaction
                .execute("DELETE FROM palace WHERE key = 'building'", [])
                .map(drop)
                .map_err(sqlite_error)
        })
        .map_err(Error::from)
}

/// Creates the tables of a new projection; returns its number and the sequence number at that moment.
fn begin_projection(palace: &PalaceFile, name: &CollectionName, wait: Duration) -> Result<(i64, i64)> {
    palace
        .write(wait, |transaction| {
            CollectionShelf::find(transaction, name)?;
            let projection = next_number(transaction, "projection")?;
            words::create_tables(transaction, projection)?;
            attributes::create_table(transaction, projection)?;
            transaction
                .execute(
                    // Found by the next rebuild if this one is killed before the swap.
                    "INSERT INTO palace(key, value) VALUES ('building', ?1)",
                    [projection],
                )
                .map_err(sqlite_error)?;
            Ok((projection, next_seq(transaction)?))
        })
        .map_err(Error::from)
}

/// Indexes the next rows after `reached`; returns the last of them, or `None` at the end.
fn copy_rows(
    transaction: &Transaction<'_>,
    name: &CollectionName,
    projection: i64,
    reached: i64,
) -> Result<Option<i64>> {
    let shelf = CollectionShelf::find(transaction, name)?;
    let rows = rows_after(transaction, &shelf, reached, ROWS_AT_ONCE)?;
    let mut keys = AttributeKeys::default();
    let mut indexer = TextIndexer::default();
    for row in &rows {
        index_row(transaction, projection, &mut keys, &mut indexer, *row)?;
    }
    words::seal_full(transaction, projection)?;
    words::merge_small(transaction, projection)?;
    crate::crash::point("reindex-step");
    Ok(rows.last().copied())
}

fn rows_after(
    transaction: &Transaction<'_>,
    shelf: &CollectionShelf,
    reached: i64,
    limit: usize,
) -> Result<Vec<i64>> {
    transaction
        .prepare_cached("SELECT row FROM drawers WHERE row > ?1 AND +collection = ?2 ORDER BY row LIMIT ?3")
        .and_then(|mut statement| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement
                .query_map([reached, shelf.collection, limit], |row| row.get(0))?
                .collect()
        })
        .map_err(sqlite_error)
}

/// Adds one row to a projection.
fn index_row(
    transaction: &Transaction<'_>,
    projection: i64,
    keys: &mut AttributeKeys,
    indexer: &mut TextIndexer,
    row: i64,
) -> Result<()> {
    let Some(stored) = row::load_by_row(transaction, row, PROJECTED)? else {
        return Ok(());
    };
    attributes::insert(transaction, projection, keys, row, &stored.drawer)?;
    words::insert(
        transaction,
        projection,
        row,
        &words::pack_words(indexer, &stored.drawer),
    )
}

/// Catches up with the changes made meanwhile, checks the new projection, and makes it the active one.
fn swap_projection(
    transaction: &Transaction<'_>,
    name: &CollectionName,
    projection: i64,
    reached: i64,
    started: i64,
) -> Result<i64> {
    let shelf = CollectionShelf::find(transaction, name)?;
    let mut keys = AttributeKeys::default();
    let mut indexer = TextIndexer::default();
    // Writers have kept only the old projection up to date. Their changes since are of three kinds: removed
    // rows, rows with new metadata, and new rows.
    drop_removed(transaction, &shelf, projection)?;
    for row in changed_since(transaction, &shelf, reached, started)? {
        drop_attributes(transaction, projection, row)?;
        if let Some(stored) = row::load_by_row(transaction, row, PROJECTED)? {
            attributes::insert(transaction, projection, &mut keys, row, &stored.drawer)?;
        }
    }
    for row in rows_after(transaction, &shelf, reached, usize::MAX)? {
        index_row(transaction, projection, &mut keys, &mut indexer, row)?;
    }
    words::seal_full(transaction, projection)?;
    // Better the old index, damaged as it may be, than a new one that lacks rows.
    check_coverage(transaction, &shelf, projection)?;
    places::recount_places(transaction, shelf.collection)?;
    days::recount_days(transaction, shelf.collection)?;
    transaction
        .execute(
            "UPDATE collections SET projection = ?2 WHERE collection = ?1",
            params![shelf.collection, projection],
        )
        .map_err(sqlite_error)?;
    words::drop_tables(transaction, shelf.projection)?;
    attributes::drop_table(transaction, shelf.projection)?;
    transaction
        .execute("DELETE FROM palace WHERE key = 'building'", [])
        .map_err(sqlite_error)?;
    crate::crash::point("reindex-swap");
    Ok(shelf.drawers)
}

/// Returns the rows already indexed whose metadata changed after the rebuild began; a changed text has a new row.
fn changed_since(
    transaction: &Transaction<'_>,
    shelf: &CollectionShelf,
    reached: i64,
    started: i64,
) -> Result<Vec<i64>> {
    transaction
        .prepare("SELECT row FROM main.drawers INDEXED BY drawers_seq WHERE seq > ?1 AND row <= ?2 AND +collection = ?3")
        .and_then(|mut statement| {
            statement.query_map([started, reached, shelf.collection], |row| row.get(0))?.collect()
        })
        .map_err(sqlite_error)
}

/// Removes rows from the new projection whose drawers were removed after they were indexed.
fn drop_removed(transaction: &Transaction<'_>, shelf: &CollectionShelf, projection: i64) -> Result<()> {
    let live = RowSet::from_rows(live_rows(transaction, shelf, i64::MIN, i64::MAX)?);
    let indexed = RowSet::from_rows(words::indexed_rows(transaction, projection)?);
    for row in indexed.and(live.not()).listed_rows().unwrap_or_default() {
        words::delete(transaction, projection, *row)?;
        drop_attributes(transaction, projection, *row)?;
    }
    Ok(())
}

/// Removes all attributes of one row from a projection. The table has no index on rows, so this is slow.
fn drop_attributes(transaction: &Transaction<'_>, projection: i64, row: i64) -> Result<()> {
    transaction
        .execute(
            &format!("DELETE FROM attributes_{projection} WHERE row = ?1"),
            [row],
        )
        .map(drop)
        .map_err(sqlite_error)
}

/// Fails if a projection does not cover exactly the rows of the collection.
fn check_coverage(transaction: &Transaction<'_>, shelf: &CollectionShelf, projection: i64) -> Result<()> {
    let rows = live_rows(transaction, shelf, i64::MIN, i64::MAX)?;
    let indexed = words::indexed_rows(transaction, projection)?;
    if rows == indexed {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Internal,
        format!(
            "the rebuilt index, with {} rows, does not match the collection, with {}; the old one stays in use",
            indexed.len(),
            rows.len()
        ),
    )
    .with_hint("nothing was changed; run `loci verify`"))
}

/// Packs the sealed rows of a space again, one segment and one short transaction at a time; returns how many.
fn rebuild_segments(palace: &PalaceFile, name: &CollectionName, number: i64, wait: Duration) -> Result<i64> {
    let mut written = 0;
    let mut reached = 0;
    loop {
        let step = palace.write(wait, |transaction| {
            let mut shelf = CollectionShelf::find(transaction, name)?;
            // A space may be dropped between two segments.
            let Some(space) = shelf.space_by_number(number) else {
                return Ok(None);
            };
            let step = rebuild_next(transaction, palace, space, reached)?;
            crate::crash::point("reindex-segment");
            Ok(step)
        })?;
        let Some(last) = step else { return Ok(written) };
        written += 1;
        reached = last;
    }
}

/// Replaces the segments that cover the next full run of rows after `reached` by new ones.
fn rebuild_next(
    transaction: &Transaction<'_>,
    palace: &PalaceFile,
    space: &StoredSpace,
    reached: i64,
) -> Result<Option<i64>> {
    let id = palace.palace_id(transaction)?;
    let last_old = last_of_run(transaction, space, reached)?;
    let Some(last_old) = last_old.filter(|_| reached < space.sealed) else {
        return Ok(None);
    };
    transaction
        .execute(
            "DELETE FROM segments WHERE space = ?1 AND first > ?2 AND first <= ?3",
            params![space.number, reached, last_old],
        )
        .map_err(sqlite_error)?;
    // An old segment may reach beyond a full run of live rows, so one run may need more than one new segment.
    let mut from = reached + 1;
    while let Some(packed) = vectors::pack_from(transaction, space, id, from, last_old, segment::ROWS)? {
        vectors::store_segment(transaction, space, next_seq(transaction)?, &packed)?;
        from = packed.last + 1;
    }
    transaction
        .execute(
            "DELETE FROM dead WHERE space = ?1 AND row > ?2 AND row <= ?3",
            params![space.number, reached, last_old],
        )
        .map_err(sqlite_error)?;
    Ok(Some(last_old))
}

/// Returns the last row of the segments that begin in the next run of sealed rows; a dropped segment leaves plain rows.
fn last_of_run(transaction: &Transaction<'_>, space: &StoredSpace, reached: i64) -> Result<Option<i64>> {
    let sql = format!(
        "SELECT max(row) FROM (SELECT row FROM vectors_{} WHERE row > ?1 AND row <= ?2 ORDER BY row LIMIT ?3)",
        space.number
    );
    let nth: Option<i64> = transaction
        .query_row(
            &sql,
            params![reached, space.sealed, segment::ROWS as i64],
            |row| row.get(0),
        )
        .map_err(sqlite_error)?;
    let Some(nth) = nth else {
        return Ok(Some(space.sealed));
    };
    let covering: Option<i64> = transaction
        .query_row(
            "SELECT max(last) FROM segments WHERE space = ?1 AND first <= ?2 AND last > ?2",
            params![space.number, nth],
            |row| row.get(0),
        )
        .map_err(sqlite_error)?;
    Ok(Some(covering.unwrap_or(nth)))
}
