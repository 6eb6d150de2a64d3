//! The words of a collection: those of new drawers one by one, the others in sealed segments of postings.
//!
//! All of it changes in the transaction that changes the rows. What a row says never changes while it has that
//! number, so a drawer that goes is only noted as gone where its segment stands.

mod seal;

use loci_core::{Context, Drawer, Result};
use loci_index::postings::{Bag, Block, Directory, read_lengths, read_rows};
use loci_index::rows::Rows;
use loci_index::tokenise::Indexer;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::failure::{corrupt, sqlite};

pub(crate) use seal::{merge, merge_is_due, needs_rewriting, rewrite_next, seal_full};

/// How many bits of a block's number tell the blocks of one segment apart.
const BLOCK_BITS: u32 = 20;

/// Makes the tables of a new projection.
pub(crate) fn create(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
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
        .map_err(sqlite)
}

/// Removes the tables of a projection, of whatever format.
pub(crate) fn drop_tables(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    transaction
        .execute_batch(&format!(
            "DROP TABLE IF EXISTS words_{projection};
             DROP TABLE IF EXISTS words_{projection}_segments;
             DROP TABLE IF EXISTS words_{projection}_tail;
             DROP TABLE IF EXISTS words_{projection}_gone"
        ))
        .map_err(sqlite)
}

/// Whether the projection has these tables; a file of an earlier format that may not be changed lacks them.
pub(crate) fn are_there(connection: &Connection, projection: i64) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1")
        .and_then(|mut statement| statement.exists([format!("words_{projection}_tail")]))
        .map_err(sqlite)
}

/// The words of a drawer as they are stored: those of its document with its context around it.
pub(crate) fn of(indexer: &mut Indexer, drawer: &Drawer) -> Vec<u8> {
    let document = drawer.document.as_deref().unwrap_or_default();
    Bag::pack(&indexer.indexed(&Context::indexed(drawer.context.as_ref(), document)))
}

/// Files the words of the drawer in `row`, which is newer than every sealed one.
pub(crate) fn insert(transaction: &Transaction<'_>, projection: i64, row: i64, words: &[u8]) -> Result<()> {
    transaction
        .prepare_cached(&format!(
            "INSERT INTO words_{projection}_tail(row, words) VALUES (?1, ?2)"
        ))
        .and_then(|mut statement| statement.execute(params![row, words]))
        .map(drop)
        .map_err(sqlite)
}

/// Takes the drawer in `row` out of the index.
pub(crate) fn delete(transaction: &Transaction<'_>, projection: i64, row: i64) -> Result<()> {
    let in_tail = transaction
        .prepare_cached(&format!("DELETE FROM words_{projection}_tail WHERE row = ?1"))
        .and_then(|mut statement| statement.execute([row]))
        .map_err(sqlite)?;
    if in_tail > 0 {
        return Ok(());
    }
    transaction
        .prepare_cached(&format!(
            "INSERT OR IGNORE INTO words_{projection}_gone(row) VALUES (?1)"
        ))
        .and_then(|mut statement| statement.execute([row]))
        .map(drop)
        .map_err(sqlite)
}

/// A sealed segment as its table lists it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) segment: i64,
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) drawers: i64,
}

/// The sealed segments, oldest rows first.
pub(crate) fn list(connection: &Connection, projection: i64) -> Result<Vec<Entry>> {
    let entry = |row: &rusqlite::Row<'_>| {
        Ok(Entry {
            segment: row.get(0)?,
            first: row.get(1)?,
            last: row.get(2)?,
            drawers: row.get(3)?,
        })
    };
    let mut entries: Vec<Entry> = connection
        .prepare_cached(&format!(
            "SELECT segment, first, last, drawers FROM words_{projection}_segments"
        ))
        .and_then(|mut statement| statement.query_map([], entry)?.collect())
        .map_err(sqlite)?;
    entries.sort_unstable_by_key(|entry| entry.first);
    Ok(entries)
}

/// The rows that stand in a segment though their drawers are gone, in order.
pub(crate) fn gone(connection: &Connection, projection: i64) -> Result<Vec<i64>> {
    connection
        .prepare_cached(&format!("SELECT row FROM words_{projection}_gone ORDER BY row"))
        .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
        .map_err(sqlite)
}

/// Calls `each` with the words of every drawer that is in no segment yet, in order of rows.
pub(crate) fn each_new(
    connection: &Connection,
    projection: i64,
    mut each: impl FnMut(i64, Bag<'_>) -> Result<()>,
) -> Result<()> {
    let mut statement = connection
        .prepare_cached(&format!(
            "SELECT row, words FROM words_{projection}_tail ORDER BY row"
        ))
        .map_err(sqlite)?;
    let mut found = statement.query([]).map_err(sqlite)?;
    while let Some(entry) = found.next().map_err(sqlite)? {
        let words = entry.get_ref(1).map_err(sqlite)?.as_blob().unwrap_or_default();
        each(entry.get(0).map_err(sqlite)?, Bag::new(words))?;
    }
    Ok(())
}

/// How many drawers the index reaches.
pub(crate) fn covered(connection: &Connection, projection: i64) -> Result<i64> {
    let sealed: i64 = list(connection, projection)?
        .iter()
        .map(|entry| entry.drawers)
        .sum();
    let count = |table: &str| {
        connection
            .prepare_cached(&format!("SELECT count(*) FROM words_{projection}_{table}"))
            .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(0)))
            .map_err(sqlite)
    };
    Ok(sealed - count("gone")? + count("tail")?)
}

/// Every row that the index reaches, in order.
pub(crate) fn rows(connection: &Connection, projection: i64) -> Result<Vec<i64>> {
    let mut rows = Vec::new();
    for entry in list(connection, projection)? {
        rows.extend(Segment::read(connection, projection, &entry)?.rows);
    }
    let gone = Rows::of(gone(connection, projection)?).not();
    let mut marks = gone.marks(&rows).into_iter();
    rows.retain(|_| marks.next().unwrap_or(false));
    each_new(connection, projection, |row, _| {
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

/// A segment's drawers, and where its terms are.
#[derive(Debug)]
pub(crate) struct Segment {
    number: i64,
    pub(crate) rows: Vec<i64>,
    pub(crate) lengths: Vec<u32>,
    pub(crate) directory: Vec<u8>,
}

impl Segment {
    /// Reads what the table has of a segment beside its blocks.
    pub(crate) fn read(connection: &Connection, projection: i64, entry: &Entry) -> Result<Self> {
        let sql = format!("SELECT lengths, terms, rows FROM words_{projection}_segments WHERE segment = ?1");
        let mut statement = connection.prepare_cached(&sql).map_err(sqlite)?;
        let mut found = statement.query([entry.segment]).map_err(sqlite)?;
        let gone = || corrupt(format!("segment {} of the words is gone", entry.segment));
        let row = found.next().map_err(sqlite)?.ok_or_else(gone)?;
        let blob = |at: usize| {
            let value = row.get_ref(at).map_err(sqlite)?;
            value
                .as_blob()
                .map_err(|_| corrupt("a segment of the words is no blob"))
        };
        let drawers = usize::try_from(entry.drawers).unwrap_or(usize::MAX);
        let segment = Self {
            number: entry.segment,
            lengths: read_lengths(blob(0)?, drawers)?,
            directory: blob(1)?.to_vec(),
            rows: read_rows(blob(2)?, entry.first, drawers)?,
        };
        match segment.rows.last() == Some(&entry.last) {
            true => Ok(segment),
            false => Err(corrupt(format!(
                "segment {} of the words ends elsewhere",
                entry.segment
            ))),
        }
    }

    /// Calls `each` with one block.
    pub(crate) fn block<T>(
        &self,
        connection: &Connection,
        projection: i64,
        place: usize,
        each: impl FnOnce(Block<'_>) -> Result<T>,
    ) -> Result<T> {
        let number = block_number(self.number, place)?;
        let mut statement = connection
            .prepare_cached(&format!("SELECT data FROM words_{projection} WHERE block = ?1"))
            .map_err(sqlite)?;
        statement
            .query_row([number], |row| Ok(each(Block::new(row.get_ref(0)?.as_blob()?))))
            .optional()
            .map_err(sqlite)?
            .unwrap_or_else(|| Err(corrupt(format!("block {number} of the words is gone"))))
    }

    /// Calls `each` with every block, in order, and with the term the directory says it begins with.
    pub(crate) fn each_block(
        &self,
        connection: &Connection,
        projection: i64,
        mut each: impl FnMut(&[u8], Block<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut firsts = Vec::new();
        Directory::new(&self.directory).each(|first| {
            firsts.push(first);
            true
        })?;
        for (place, first) in firsts.into_iter().enumerate() {
            self.block(connection, projection, place, |block| each(first, block))?;
        }
        Ok(())
    }
}

fn block_number(segment: i64, place: usize) -> Result<i64> {
    let place = i64::try_from(place).ok().filter(|place| *place < 1 << BLOCK_BITS);
    segment
        .checked_mul(1 << BLOCK_BITS)
        .and_then(|base| base.checked_add(place?))
        .ok_or_else(|| corrupt(format!("segment {segment} of the words has too many blocks")))
}
