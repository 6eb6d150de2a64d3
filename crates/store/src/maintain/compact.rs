//! Reclaiming space: segments are rewritten without their dead rows, and free pages returned to the disk.

use std::time::Duration;

use loci_core::{CollectionName, Result};
use loci_index::segment;
use rusqlite::{Connection, Transaction, params};

use super::MaintenanceFigures;
use crate::failure::sqlite_error;
use crate::palace::PalaceFile;
use crate::segments::{SegmentEntry, list_segments};
use crate::shelf::CollectionShelf;
use crate::space::StoredSpace;
use crate::write::{last_seq, store_seq};
use crate::{vectors, words};

/// The number of free pages one short transaction returns.
const PAGES_AT_ONCE: i64 = 2000;

/// Compacts a collection; returns `None` if there was nothing to gain.
pub(super) fn run(
    palace: &PalaceFile,
    name: &CollectionName,
    wait: Duration,
) -> Result<Option<MaintenanceFigures>> {
    let (dead, before, spaces) = palace.read(wait, |transaction| {
        let shelf = CollectionShelf::find(transaction, name)?;
        let dead = estimate_gains(transaction, &shelf)?;
        let spaces: Vec<i64> = shelf.spaces().map(|space| space.number).collect();
        Ok((dead, file_bytes(transaction)?, spaces))
    })?;
    let mut rewritten = 0;
    for space in spaces.into_iter().filter(|_| dead.vectors > 0) {
        rewritten += rewrite_segments(palace, name, space, wait)?;
    }
    let words = rewrite_words(palace, name, wait)?;
    if rewritten == 0 && words == 0 && dead.pages == 0 {
        return Ok(None);
    }
    let pages = release_pages(palace, wait)?;
    let after = palace.read(wait, file_bytes)?;
    Ok(Some(MaintenanceFigures::from([
        ("dead_rows".to_owned(), dead.vectors),
        ("segments_rewritten".to_owned(), rewritten),
        ("word_segments_rewritten".to_owned(), words),
        ("pages_released".to_owned(), pages),
        ("bytes_before".to_owned(), before),
        ("bytes_after".to_owned(), after),
        ("bytes_reclaimed".to_owned(), before - after),
    ])))
}

/// Rewrites every segment of words and vectors of a collection that holds removed rows.
pub(crate) fn rewrite_worn(palace: &PalaceFile, name: &CollectionName, wait: Duration) -> Result<()> {
    let spaces: Vec<i64> = palace.read(wait, |transaction| {
        let shelf = CollectionShelf::find(transaction, name)?;
        Ok(shelf.spaces().map(|space| space.number).collect())
    })?;
    for space in spaces {
        rewrite_segments(palace, name, space, wait)?;
    }
    rewrite_words(palace, name, wait).map(drop)
}

/// The gains to expect from compacting.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompactEstimate {
    /// Removed rows that are still in segments of vectors, over all spaces.
    pub(super) vectors: i64,
    /// The same in segments of words.
    pub(super) words: i64,
    /// Free pages of the file.
    pub(super) pages: i64,
}

/// Estimates the gains from compacting a collection.
pub(super) fn estimate_gains(connection: &Connection, shelf: &CollectionShelf) -> Result<CompactEstimate> {
    let mut vectors = 0;
    for space in shelf.spaces() {
        vectors += connection
            .query_row(
                "SELECT count(*) FROM dead WHERE space = ?1",
                [space.number],
                |row| row.get::<_, i64>(0),
            )
            .map_err(sqlite_error)?;
    }
    let words = if words::tables_exist(connection, shelf.projection)? {
        words::count_gone(connection, shelf.projection)?
    } else {
        0
    };
    Ok(CompactEstimate {
        vectors,
        words,
        pages: read_pragma(connection, "freelist_count")?,
    })
}

fn read_pragma(connection: &Connection, name: &str) -> Result<i64> {
    connection
        .pragma_query_value(None, name, |row| row.get(0))
        .map_err(sqlite_error)
}

fn file_bytes(connection: &Connection) -> Result<i64> {
    Ok(read_pragma(connection, "page_count")? * read_pragma(connection, "page_size")?)
}

/// Rewrites every segment of a space that holds dead rows, in one short transaction per group; returns how many.
fn rewrite_segments(palace: &PalaceFile, name: &CollectionName, space: i64, wait: Duration) -> Result<i64> {
    let mut rewritten = 0;
    let mut from = i64::MIN;
    loop {
        let done = palace.write(wait, |transaction| {
            let mut shelf = CollectionShelf::find(transaction, name)?;
            // A space may be dropped between two groups.
            let Some(space) = shelf.space_by_number(space) else {
                return Ok(None);
            };
            let group = next_group(transaction, space, from)?;
            let (Some(first), Some(last)) = (group.first(), group.last()) else {
                return Ok(None);
            };
            crate::crash::point("compact-segments");
            replace_group(transaction, palace, space, &group, first.first, last.last)?;
            Ok(Some((group.len(), last.last)))
        })?;
        let Some((segments, last)) = done else {
            return Ok(rewritten);
        };
        rewritten += segments as i64;
        from = last;
    }
}

/// Returns the next segment after row `from` with dead rows, and the following ones that fit into one segment with it.
fn next_group(transaction: &Transaction<'_>, space: &StoredSpace, from: i64) -> Result<Vec<SegmentEntry>> {
    let mut group: Vec<SegmentEntry> = Vec::new();
    let mut live = 0;
    for entry in list_segments(transaction, space.number)?
        .into_iter()
        .filter(|entry| entry.first > from)
    {
        let dead: i64 = transaction
            .query_row(
                "SELECT count(*) FROM dead WHERE space = ?1 AND row BETWEEN ?2 AND ?3",
                params![space.number, entry.first, entry.last],
                |row| row.get(0),
            )
            .map_err(sqlite_error)?;
        // A group begins at a segment with dead rows; clean ones after it join only if there is room.
        if group.is_empty() && dead == 0 {
            continue;
        }
        live += entry.rows - dead;
        if !group.is_empty() && live > segment::ROWS as i64 {
            break;
        }
        group.push(entry);
    }
    Ok(group)
}

/// Packs the live rows of a group into a new segment, then replaces the old segments by it.
fn replace_group(
    transaction: &Transaction<'_>,
    palace: &PalaceFile,
    space: &StoredSpace,
    group: &[SegmentEntry],
    first: i64,
    last: i64,
) -> Result<()> {
    // From the exact vectors and not from the old codes: a damaged segment must not be copied into a sound one.
    let packed = vectors::pack_from(
        transaction,
        space,
        palace.palace_id(transaction)?,
        first,
        last,
        segment::ROWS,
    )?;
    for entry in group {
        transaction
            .execute("DELETE FROM segments WHERE segment = ?1", [entry.segment])
            .map_err(sqlite_error)?;
    }
    if let Some(packed) = packed {
        let number = next_seq(transaction)?;
        vectors::store_segment(transaction, space, number, &packed)?;
    }
    transaction
        .execute(
            "DELETE FROM dead WHERE space = ?1 AND row BETWEEN ?2 AND ?3",
            params![space.number, first, last],
        )
        .map(drop)
        .map_err(sqlite_error)
}

/// Takes the next sequence number.
pub(super) fn next_seq(transaction: &Transaction<'_>) -> Result<i64> {
    let seq = last_seq(transaction)? + 1;
    store_seq(transaction, seq)?;
    Ok(seq)
}

/// Rewrites segments of words that are small or hold gone rows, in one short transaction per group;
/// returns how many.
fn rewrite_words(palace: &PalaceFile, name: &CollectionName, wait: Duration) -> Result<i64> {
    let mut rewritten = 0;
    let mut from = i64::MIN;
    loop {
        let done = palace.write(wait, |transaction| {
            let projection = CollectionShelf::find(transaction, name)?.projection;
            let done = words::rewrite_next(transaction, projection, from)?;
            crate::crash::point("compact-words");
            Ok(done)
        })?;
        let Some((segments, last)) = done else {
            return Ok(rewritten);
        };
        rewritten += segments as i64;
        from = last;
    }
}

/// Returns free pages to the disk in short transactions; returns how many.
fn release_pages(palace: &PalaceFile, wait: Duration) -> Result<i64> {
    let mut released = 0;
    loop {
        let (before, after) = palace.write(wait, |transaction| {
            let before = read_pragma(transaction, "freelist_count")?;
            let mut statement = transaction
                .prepare(&format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})"))
                .map_err(sqlite_error)?;
            let mut steps = statement.query([]).map_err(sqlite_error)?;
            // Each step frees one page, so the statement must be stepped to its end.
            while steps.next().map_err(sqlite_error)?.is_some() {}
            Ok((before, read_pragma(transaction, "freelist_count")?))
        })?;
        released += before - after;
        // Another process may free pages all the time; without progress there is no point in another round.
        if after == 0 || after >= before {
            break;
        }
    }
    let lease = palace.lease(wait)?;
    lease
        // The file shrinks only when the log is copied into it. Passive: readers and
        // writers are not waited for.
        .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
        .map_err(sqlite_error)?;
    Ok(released)
}
