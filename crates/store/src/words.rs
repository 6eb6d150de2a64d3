//! The words of a collection: those of new drawers row by row, the others in sealed segments of postings.
//!
//! All of it changes in the transaction that changes the rows. The text of a row never changes while it has that
//! number, so removing a sealed drawer only notes its row as gone.

mod seal;

use loci_core::{Drawer, DrawerContext, Result};
use loci_index::postings::{TermBlock, TermDirectory, WordBag, read_lengths, read_rows};
use loci_index::rows::RowSet;
use loci_index::tokenise::TextIndexer;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::failure::{corrupt_error, sqlite_error};

pub(crate) use seal::{count_gone, merge_is_due, merge_small, rewrite_next, seal_full};

/// The first format with these tables.
pub(crate) const FIRST_FORMAT: i32 = 4;

/// The low bits of a block's number, which count the blocks of one segment; the others are the segment's number.
const BLOCK_BITS: u32 = 20;

/// Creates the tables of a new projection.
pub(crate) fn create_tables(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    transaction
        .execute_batch(&format!(
            "CREATE TABLE words_{projection} (block INTEGER PRIMARY KEY, data BLOB NOT NULL) STRICT;
             CREATE TABLE words_{projection}_segments (
                segment INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, drawers INTEGER NOT NULL,
                lengths BLOB NOT NULL, terms BLOB NOT NULL, rows BLOB NOT NULL
             ) STRICT;
             CREATE TABLE words_{projection}_tail (row INTEGER PRIMARY KEY, words BLOB NOT NULL) STRICT;
             CREATE TABLE words_{projection}_gone (row INTEGER PRIMARY KEY) STRICT"
        ))
        .map_err(sqlite_error)
}

/// Removes the tables of a projection of any format.
pub(crate) fn drop_tables(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    transaction
        .execute_batch(&format!(
            "DROP TABLE IF EXISTS words_{projection};
             DROP TABLE IF EXISTS words_{projection}_segments;
             DROP TABLE IF EXISTS words_{projection}_tail;
             DROP TABLE IF EXISTS words_{projection}_gone"
        ))
        .map_err(sqlite_error)
}

/// Returns whether the projection has these tables; a file of an earlier format that may not be changed lacks them.
pub(crate) fn tables_exist(connection: &Connection, projection: i64) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")
        .and_then(|mut statement| statement.exists([format!("words_{projection}_tail")]))
        .map_err(sqlite_error)
}

/// Returns the words of a drawer in their stored form: those of its document with its context around it.
pub(crate) fn pack_words(indexer: &mut TextIndexer, drawer: &Drawer) -> Vec<u8> {
    let document = drawer.document.as_deref().unwrap_or_default();
    WordBag::pack_tokens(
        &indexer.join_index_tokens(&DrawerContext::indexed_text(drawer.context.as_ref(), document)),
    )
}

/// Stores the words of the drawer in `row`, which must be newer than every sealed one.
pub(crate) fn insert(transaction: &Transaction<'_>, projection: i64, row: i64, words: &[u8]) -> Result<()> {
    transaction
        .prepare_cached(&format!(
            "INSERT INTO words_{projection}_tail(row, words) VALUES (?1, ?2)"
        ))
        .and_then(|mut statement| statement.execute(params![row, words]))
        .map(drop)
        .map_err(sqlite_error)
}

/// Removes the drawer in `row` from the index.
pub(crate) fn delete(transaction: &Transaction<'_>, projection: i64, row: i64) -> Result<()> {
    let in_tail = transaction
        .prepare_cached(&format!("DELETE FROM words_{projection}_tail WHERE row = ?1"))
        .and_then(|mut statement| statement.execute([row]))
        .map_err(sqlite_error)?;
    // A row is in the tail or in a segment, never in both. A sealed segment is not rewritten for one row.
    if in_tail > 0 {
        return Ok(());
    }
    transaction
        .prepare_cached(&format!(
            "INSERT OR IGNORE INTO words_{projection}_gone(row) VALUES (?1)"
        ))
        .and_then(|mut statement| statement.execute([row]))
        .map(drop)
        .map_err(sqlite_error)
}

/// A sealed segment of words as listed in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WordSegmentEntry {
    pub(crate) segment: i64,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) drawers: i64,
}

/// Returns the sealed segments, oldest rows first.
pub(crate) fn list_word_segments(connection: &Connection, projection: i64) -> Result<Vec<WordSegmentEntry>> {
    let entry = |row: &rusqlite::Row<'_>| {
        Ok(WordSegmentEntry {
            segment: row.get(0)?,
            first: row.get(1)?,
            last: row.get(2)?,
            drawers: row.get(3)?,
        })
    };
    let mut entries: Vec<WordSegmentEntry> = connection
        .prepare_cached(&format!(
            "SELECT segment, first, last, drawers FROM words_{projection}_segments"
        ))
        .and_then(|mut statement| statement.query_map([], entry)?.collect())
        .map_err(sqlite_error)?;
    // Merging gives a segment of old rows a new number, so numbers are not in the order of rows.
    entries.sort_unstable_by_key(|entry| entry.first);
    Ok(entries)
}

/// Returns the rows that are still in a segment although their drawers are gone, in order.
pub(crate) fn list_gone(connection: &Connection, projection: i64) -> Result<Vec<i64>> {
    connection
        .prepare_cached(&format!("SELECT row FROM words_{projection}_gone ORDER BY row"))
        .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
        .map_err(sqlite_error)
}

/// Calls `each` with the words of every drawer that is not in a segment yet, in row order.
pub(crate) fn each_unsealed(
    connection: &Connection,
    projection: i64,
    mut each: impl FnMut(i64, WordBag<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = connection
        .prepare_cached(&format!(
            "SELECT row, words FROM words_{projection}_tail ORDER BY row"
        ))
        .map_err(sqlite_error)?;
    let mut found = statement.query([]).map_err(sqlite_error)?;
    while let Some(entry) = found.next().map_err(sqlite_error)? {
        let words = entry
            .get_ref(1)
            .map_err(sqlite_error)?
            .as_blob()
            .unwrap_or_default();
        each(entry.get(0).map_err(sqlite_error)?, WordBag::new(words))?;
    }
    Ok(())
}

/// Returns the number of drawers that the index covers.
pub(crate) fn count_covered(connection: &Connection, projection: i64) -> Result<i64> {
    let sealed: i64 = list_word_segments(connection, projection)?
        .iter()
        .map(|entry| entry.drawers)
        .sum();
    let count = |table: &str| {
        connection
            .prepare_cached(&format!("SELECT count(*) FROM words_{projection}_{table}"))
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)))
            .map_err(sqlite_error)
    };
    Ok(sealed - count("gone")? + count("tail")?)
}

/// Returns every row that the index covers, in order.
pub(crate) fn indexed_rows(connection: &Connection, projection: i64) -> Result<Vec<i64>> {
    let mut rows = Vec::new();
    for entry in list_word_segments(connection, projection)? {
        rows.extend(WordSegment::read(connection, projection, &entry)?.rows);
    }
    let gone = RowSet::from_rows(list_gone(connection, projection)?).not();
    // Needs ascending rows, which segments in the order of their first rows give.
    let mut marks = gone.mark_members(&rows).into_iter();
    rows.retain(|_| marks.next().unwrap_or(false));
    each_unsealed(connection, projection, |row, _| {
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

/// The drawers of a segment of words, and the directory of its terms.
#[derive(Debug)]
pub(crate) struct WordSegment {
    entry: WordSegmentEntry,
    pub(crate) rows: Vec<i64>,
    pub(crate) lengths: Vec<u32>,
    pub(crate) directory: Vec<u8>,
}

impl WordSegment {
    /// Reads everything of a segment but its blocks.
    pub(crate) fn read(connection: &Connection, projection: i64, entry: &WordSegmentEntry) -> Result<Self> {
        let sql = format!("SELECT lengths, terms, rows FROM words_{projection}_segments WHERE segment = ?1");
        let mut statement = connection.prepare_cached(&sql).map_err(sqlite_error)?;
        let mut found = statement.query([entry.segment]).map_err(sqlite_error)?;
        let gone = || corrupt_error(format!("word segment {} is missing", entry.segment));
        let row = found.next().map_err(sqlite_error)?.ok_or_else(gone)?;
        let blob = |at: usize| {
            let value = row.get_ref(at).map_err(sqlite_error)?;
            value
                .as_blob()
                .map_err(|_| corrupt_error("a segment of words is not a blob"))
        };
        // A negative count fails below, as more drawers than the blob can hold.
        let drawers = usize::try_from(entry.drawers).unwrap_or(usize::MAX);
        let segment = Self {
            entry: *entry,
            lengths: read_lengths(blob(0)?, drawers)?,
            directory: blob(1)?.to_vec(),
            rows: read_rows(blob(2)?, entry.first, drawers)?,
        };
        // Rows are stored as differences, so the last one vouches for all before it.
        if segment.rows.last() == Some(&entry.last) {
            Ok(segment)
        } else {
            Err(corrupt_error(format!(
                "word segment {} does not end at the row its table says",
                entry.segment
            )))
        }
    }

    /// Returns its number.
    pub(crate) fn number(&self) -> i64 {
        self.entry.segment
    }

    /// Returns whether its table lists it as it did when it was read.
    pub(crate) fn is_listed_as(&self, entry: &WordSegmentEntry) -> bool {
        self.entry == *entry
    }

    /// Calls `each` with one block.
    pub(crate) fn with_block<T>(
        &self,
        connection: &Connection,
        projection: i64,
        place: usize,
        each: impl FnOnce(TermBlock<'_>) -> Result<T>,
    ) -> Result<T> {
        let number = block_number(self.number(), place)?;
        let mut statement = connection
            .prepare_cached(&format!("SELECT data FROM words_{projection} WHERE block = ?1"))
            .map_err(sqlite_error)?;
        statement
            .query_row([number], |row| {
                Ok(each(TermBlock::new(row.get_ref(0)?.as_blob()?)))
            })
            .optional()
            .map_err(sqlite_error)?
            .unwrap_or_else(|| Err(corrupt_error(format!("block {number} of words is missing"))))
    }

    /// Calls `each` with every block, in order, and with its first term according to the directory.
    pub(crate) fn each_block(
        &self,
        connection: &Connection,
        projection: i64,
        mut each: impl FnMut(&[u8], TermBlock<'_>) -> Result<()>,
    ) -> Result<()> {
        // Collected first: the callback of the directory cannot return the error of a block.
        let mut firsts = Vec::new();
        TermDirectory::new(&self.directory).for_each_first_term(|first| {
            firsts.push(first);
            true
        })?;
        for (place, first) in firsts.into_iter().enumerate() {
            self.with_block(connection, projection, place, |block| each(first, block))?;
        }
        Ok(())
    }
}

fn block_number(segment: i64, place: usize) -> Result<i64> {
    let place = i64::try_from(place).ok().filter(|place| *place < 1 << BLOCK_BITS);
    segment
        .checked_mul(1 << BLOCK_BITS)
        .and_then(|base| base.checked_add(place?))
        .ok_or_else(|| corrupt_error(format!("word segment {segment} has too many blocks")))
}
