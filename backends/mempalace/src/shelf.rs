//! The records of one collection, found by one pass over the rows.

use std::cell::RefCell;

use loci_core::{CollectionName, DrawerId, ErrorKind, Result, Timestamp};
use loci_foreign::mempalace::parse_time;
use loci_foreign::scan::{ScanMemory, substitute_id};
use rusqlite::types::ValueRef;

use crate::database::{ExactDatabase, read_text};

/// The most damaged places that are read around.
const MOST_LOSSES: u64 = 10_000;

/// A collection as the database lists it.
#[derive(Debug, Clone)]
pub(crate) struct ListedExact {
    /// Its number in the database.
    pub(crate) number: i64,
    /// Its name.
    pub(crate) name: CollectionName,
    /// The number of values in a vector, once one was written.
    pub(crate) dimension: Option<usize>,
}

/// A record.
#[derive(Debug)]
pub(crate) struct ExactRecord {
    /// Its id.
    pub(crate) id: DrawerId,
    /// Its row.
    pub(crate) row: i64,
    /// Its own id, if that is not a valid drawer id.
    pub(crate) odd_id: Option<Box<str>>,
}

/// The records of a collection.
#[derive(Debug)]
pub(crate) struct ExactShelf {
    /// The collection.
    pub(crate) listed: ListedExact,
    /// Its records, in byte order of their ids.
    pub(crate) records: Vec<ExactRecord>,
    /// The indexes of the records in the order of their rows.
    pub(crate) row_order: Vec<u32>,
    /// The number of records that have a vector of the right length.
    pub(crate) vectors: u64,
    /// The newest time at which one was written, in microseconds.
    pub(crate) newest: u64,
    /// The number of places at which rows were lost to damage.
    pub(crate) losses: u64,
    /// What scans of the records found.
    pub(crate) memory: RefCell<ScanMemory>,
}

impl ExactShelf {
    /// Reads the records of a collection, around damaged pages if there are any.
    pub(crate) fn read(database: &ExactDatabase, listed: ListedExact) -> Result<Self> {
        let mut shelf = Self {
            listed,
            records: Vec::new(),
            row_order: Vec::new(),
            vectors: 0,
            newest: 0,
            losses: 0,
            memory: RefCell::default(),
        };
        let mut next = i64::MIN;
        loop {
            match shelf.read_rows(database, &mut next) {
                Err(error) if error.kind() == ErrorKind::Corrupt && shelf.losses < MOST_LOSSES => {
                    shelf.losses += 1;
                    match database.find_readable_row(next.max(0)) {
                        Some(readable) => next = readable,
                        None => break,
                    }
                }
                read => {
                    read?;
                    break;
                }
            }
        }
        shelf.records.sort_by(|one, other| one.id.cmp(&other.id));
        shelf.records.dedup_by(|later, earlier| later.id == earlier.id);
        let mut order: Vec<u32> = (0..).take(shelf.records.len()).collect();
        order.sort_by_key(|at| shelf.records.get(*at as usize).map(|record| record.row));
        shelf.row_order = order;
        Ok(shelf)
    }

    /// Reads the rows from `next` on, and moves it along.
    fn read_rows(&mut self, database: &ExactDatabase, next: &mut i64) -> Result<()> {
        // Not by an index, which may be damaged, and which knows nothing about vectors.
        let sql = "SELECT rowid, id, length(embedding), updated_at, collection_id FROM documents NOT INDEXED \
                   WHERE rowid >= ?1 ORDER BY rowid";
        let first = *next;
        database.for_each_row("the rows", sql, &[&first], &mut |row| {
            let number: i64 = row.get(0)?;
            let in_collection = matches!(row.get_ref(4)?, ValueRef::Integer(of) if of == self.listed.number);
            if in_collection {
                let own_id = read_text(row, 1)?.unwrap_or_default();
                let bytes = usize::try_from(row.get::<_, Option<i64>>(2)?.unwrap_or(0)).unwrap_or(0);
                let written = read_text(row, 3)?;
                self.add_record(number, own_id, bytes, written.as_deref().and_then(parse_time));
            }
            *next = number.saturating_add(1);
            Ok(())
        })
    }

    fn add_record(&mut self, row: i64, own_id: String, bytes: usize, written: Option<Timestamp>) {
        let (id, odd_id) = match DrawerId::new(own_id.as_str()) {
            Ok(id) => (id, None),
            Err(_) => match substitute_id(&own_id) {
                Ok(id) => (id, Some(own_id.into_boxed_str())),
                Err(_) => return,
            },
        };
        // The first vector decides for files of releases that did not record the dimension.
        if self.listed.dimension.is_none() && bytes > 0 && bytes.is_multiple_of(4) {
            self.listed.dimension = Some(bytes / 4);
        }
        self.vectors += u64::from(bytes > 0 && Some(bytes) == self.listed.dimension.map(|n| n * 4));
        let written = written.map_or(0, |written| written.as_micros().unsigned_abs());
        self.newest = self.newest.max(written);
        self.records.push(ExactRecord { id, row, odd_id });
    }
}
