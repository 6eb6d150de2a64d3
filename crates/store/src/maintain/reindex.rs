//! Rebuilding every index from the rows: beside the old ones, compared, then swapped in one transaction.

use std::time::Duration;

use loci_core::{CollectionName, Error, ErrorKind, Include, Result};
use loci_index::rows::Rows;
use loci_index::segment;
use loci_index::tokenise::Indexer;
use rusqlite::{Transaction, params};

use super::compact::next_seq;
use super::{Figures, mend};
use crate::attributes::{self, Keys};
use crate::failure::sqlite;
use crate::lexical::live_rows;
use crate::palace::Palace;
use crate::shelf::{Shelf, next_number};
use crate::space::Space;
use crate::{places, row, vectors, words};

/// How many rows one short transaction indexes.
const ROWS_AT_ONCE: usize = 500;

/// What is read of a drawer to index it.
const PROJECTED: Include = Include {
    embedding: false,
    ..Include::EVERYTHING
};

/// Rebuilds full text, attributes and, in every space, the segments of a collection.
pub(super) fn run(palace: &Palace, name: &CollectionName, wait: Duration) -> Result<Figures> {
    drop_abandoned(palace, wait)?;
    let (projection, started) = begin(palace, name, wait)?;
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
        swap(transaction, name, projection, reached, started)
    })?;
    let spaces: Vec<i64> = palace.read(wait, |transaction| {
        let shelf = Shelf::find(transaction, name)?;
        Ok(shelf.spaces().map(|space| space.number).collect())
    })?;
    let (mut segments, mut dropped) = (0, 0);
    for space in spaces {
        dropped += mend::run(palace, name, space, wait)?;
        segments += rebuild_segments(palace, name, space, wait)?;
    }
    let mut figures = Figures::from([("drawers".to_owned(), indexed), ("segments".to_owned(), segments)]);
    if dropped > 0 {
        figures.insert("vectors_dropped".to_owned(), dropped);
    }
    Ok(figures)
}

/// Removes what a rebuild that was killed has left behind.
fn drop_abandoned(palace: &Palace, wait: Duration) -> Result<()> {
    palace
        .write(wait, |transaction| {
            let half: Vec<i64> = transaction
                .prepare("SELECT value FROM palace WHERE key = 'building'")
                .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
                .map_err(sqlite)?;
            for projection in half {
                words::drop_tables(transaction, projection)?;
                attributes::drop_table(transaction, projection)?;
            }
            transaction
                .execute("DELETE FROM palace WHERE key = 'building'", [])
                .map(drop)
                .map_err(sqlite)
        })
        .map_err(Error::from)
}

/// Makes the tables of a new projection; returns its number and the sequence number at that moment.
fn begin(palace: &Palace, name: &CollectionName, wait: Duration) -> Result<(i64, i64)> {
    palace
        .write(wait, |transaction| {
            Shelf::find(transaction, name)?;
            let projection = next_number(transaction, "projection")?;
            words::create(transaction, projection)?;
            attributes::create(transaction, projection)?;
            transaction
                .execute(
                    "INSERT INTO palace(key, value) VALUES ('building', ?1)",
                    [projection],
                )
                .map_err(sqlite)?;
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
    let shelf = Shelf::find(transaction, name)?;
    let rows = rows_after(transaction, &shelf, reached, ROWS_AT_ONCE)?;
    let mut keys = Keys::default();
    let mut indexer = Indexer::default();
    for row in &rows {
        project(transaction, projection, &mut keys, &mut indexer, *row)?;
    }
    words::seal_full(transaction, projection)?;
    words::merge(transaction, projection)?;
    crate::crash::point("reindex-step");
    Ok(rows.last().copied())
}

fn rows_after(transaction: &Transaction<'_>, shelf: &Shelf, reached: i64, limit: usize) -> Result<Vec<i64>> {
    transaction
        .prepare_cached("SELECT row FROM drawers WHERE row > ?1 AND +collection = ?2 ORDER BY row LIMIT ?3")
        .and_then(|mut statement| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement
                .query_map([reached, shelf.collection, limit], |row| row.get(0))?
                .collect()
        })
        .map_err(sqlite)
}

/// Indexes one row in a projection.
fn project(
    transaction: &Transaction<'_>,
    projection: i64,
    keys: &mut Keys,
    indexer: &mut Indexer,
    row: i64,
) -> Result<()> {
    let Some(stored) = row::by_row(transaction, row, PROJECTED)? else {
        return Ok(());
    };
    attributes::insert(transaction, projection, keys, row, &stored.drawer)?;
    words::insert(transaction, projection, row, &words::of(indexer, &stored.drawer))
}

/// Catches up with what changed meanwhile, compares, and makes the new projection the one that answers.
fn swap(
    transaction: &Transaction<'_>,
    name: &CollectionName,
    projection: i64,
    reached: i64,
    started: i64,
) -> Result<i64> {
    let shelf = Shelf::find(transaction, name)?;
    let mut keys = Keys::default();
    let mut indexer = Indexer::default();
    drop_removed(transaction, &shelf, projection)?;
    for row in changed_since(transaction, &shelf, reached, started)? {
        drop_attributes(transaction, projection, row)?;
        if let Some(stored) = row::by_row(transaction, row, PROJECTED)? {
            attributes::insert(transaction, projection, &mut keys, row, &stored.drawer)?;
        }
    }
    for row in rows_after(transaction, &shelf, reached, usize::MAX)? {
        project(transaction, projection, &mut keys, &mut indexer, row)?;
    }
    words::seal_full(transaction, projection)?;
    compare(transaction, &shelf, projection)?;
    places::rebuild(transaction, shelf.collection)?;
    transaction
        .execute(
            "UPDATE collections SET projection = ?2 WHERE collection = ?1",
            params![shelf.collection, projection],
        )
        .map_err(sqlite)?;
    words::drop_tables(transaction, shelf.projection)?;
    attributes::drop_table(transaction, shelf.projection)?;
    transaction
        .execute("DELETE FROM palace WHERE key = 'building'", [])
        .map_err(sqlite)?;
    crate::crash::point("reindex-swap");
    Ok(shelf.drawers)
}

/// Rows already indexed whose metadata changed after the rebuild began; a changed text has a new row anyway.
fn changed_since(
    transaction: &Transaction<'_>,
    shelf: &Shelf,
    reached: i64,
    started: i64,
) -> Result<Vec<i64>> {
    transaction
        .prepare("SELECT row FROM main.drawers INDEXED BY drawers_seq WHERE seq > ?1 AND row <= ?2 AND +collection = ?3")
        .and_then(|mut statement| {
            statement.query_map([started, reached, shelf.collection], |row| row.get(0))?.collect()
        })
        .map_err(sqlite)
}

/// Takes rows out of the new projection that were removed after they were indexed.
fn drop_removed(transaction: &Transaction<'_>, shelf: &Shelf, projection: i64) -> Result<()> {
    let live = Rows::of(live_rows(transaction, shelf, i64::MIN, i64::MAX)?);
    let indexed = Rows::of(words::rows(transaction, projection)?);
    for row in indexed.and(live.not()).listed().unwrap_or_default() {
        words::delete(transaction, projection, *row)?;
        drop_attributes(transaction, projection, *row)?;
    }
    Ok(())
}

/// Takes the attributes of one row out of a projection whatever they were; the table is asked by row, which is slow.
fn drop_attributes(transaction: &Transaction<'_>, projection: i64, row: i64) -> Result<()> {
    transaction
        .execute(
            &format!("DELETE FROM attributes_{projection} WHERE row = ?1"),
            [row],
        )
        .map(drop)
        .map_err(sqlite)
}

/// Refuses a projection that does not cover exactly the rows of the collection.
fn compare(transaction: &Transaction<'_>, shelf: &Shelf, projection: i64) -> Result<()> {
    let rows = live_rows(transaction, shelf, i64::MIN, i64::MAX)?;
    let indexed = words::rows(transaction, projection)?;
    if rows == indexed {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Internal,
        format!(
            "the rebuilt index covers {} rows, and not the {} there are; the old one stays in use",
            indexed.len(),
            rows.len()
        ),
    )
    .hint("nothing was changed; run `loci verify`"))
}

/// Packs the sealed rows of a space anew, one segment and one short transaction at a time; returns how many.
fn rebuild_segments(palace: &Palace, name: &CollectionName, number: i64, wait: Duration) -> Result<i64> {
    let mut written = 0;
    let mut reached = 0;
    loop {
        let step = palace.write(wait, |transaction| {
            let mut shelf = Shelf::find(transaction, name)?;
            // A space may be dropped between two segments.
            let Some(space) = shelf.numbered(number) else {
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

/// Replaces whatever segments cover the next full run of rows after `reached` by one new segment.
fn rebuild_next(
    transaction: &Transaction<'_>,
    palace: &Palace,
    space: &Space,
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
        .map_err(sqlite)?;
    let mut from = reached + 1;
    while let Some(packed) = vectors::pack_from(transaction, space, id, from, last_old, segment::ROWS)? {
        vectors::store(transaction, space, next_seq(transaction)?, &packed)?;
        from = packed.last + 1;
    }
    transaction
        .execute(
            "DELETE FROM dead WHERE space = ?1 AND row > ?2 AND row <= ?3",
            params![space.number, reached, last_old],
        )
        .map_err(sqlite)?;
    Ok(Some(last_old))
}

/// The last row that the segments beginning in the next run of sealed rows reach; dropped ones leave plain rows.
fn last_of_run(transaction: &Transaction<'_>, space: &Space, reached: i64) -> Result<Option<i64>> {
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
        .map_err(sqlite)?;
    let Some(nth) = nth else {
        return Ok(Some(space.sealed));
    };
    let covering: Option<i64> = transaction
        .query_row(
            "SELECT max(last) FROM segments WHERE space = ?1 AND first <= ?2 AND last > ?2",
            params![space.number, nth],
            |row| row.get(0),
        )
        .map_err(sqlite)?;
    Ok(Some(covering.unwrap_or(nth)))
}
