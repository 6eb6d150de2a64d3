//! The words of a collection: a bag for each drawer, and sealed segments of postings over all but the newest.
//!
//! Segments are a projection of the bags and change in the transaction that changes the rows. They cover every row up to
//! the collection's `sealed` one; the rows beyond it are its tail. A row keeps its words as long as it has its number, so
//! a removed drawer of a segment only leaves its row in `word_gone`.

mod bags;
mod rebuild;
mod seal;
mod stored;

use tokio_postgres::Row;

use crate::statement::SqlStatement;

pub(crate) use bags::{BAG_COLUMNS, WordBags, pack_words};
pub(crate) use rebuild::{RebuildScope, count_worn, rebuild_words};
pub(crate) use seal::{seal_due, select_due};
pub(crate) use stored::{StoredWordBlock, StoredWordSegment};

/// The tables, each with a column `collection`.
pub(crate) const TABLES: [&str; 4] = ["bags", "word_segments", "word_blocks", "word_gone"];

/// When words are sealed. Processes may differ in it: it changes no answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordSealLimits {
    /// The drawers of a tail that is sealed by the next write.
    pub(crate) tail: i64,
    /// The bytes of such a tail.
    pub(crate) tail_bytes: i64,
    /// The drawers of the newest segments and the tail from which they become one segment.
    pub(crate) merged: i64,
    /// The bytes of such segments.
    pub(crate) merged_bytes: i64,
}

impl Default for WordSealLimits {
    /// Every search reads the tail, and a block of each segment for each word. A larger merged segment would save few
    /// blocks, and make the write that happens to merge wait longer.
    fn default() -> Self {
        Self {
            tail: 1024,
            tail_bytes: 4 << 20,
            merged: 16_384,
            merged_bytes: 32 << 20,
        }
    }
}

impl WordSealLimits {
    /// Returns limits with other numbers of drawers.
    pub(crate) fn with_drawers(tail: i64, merged: i64) -> Self {
        Self {
            tail,
            merged,
            ..Self::default()
        }
    }
}

/// How far the words of a collection are sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct WordCounters {
    /// The last row of the newest segment; zero without one.
    pub(crate) sealed: i64,
    /// The last row of the newest merged segment.
    pub(crate) merged: i64,
    /// The number of drawers beyond `sealed`.
    pub(crate) tail: i64,
    /// At least the bytes of their bags.
    pub(crate) tail_bytes: i64,
    /// At least the number of drawers between `merged` and `sealed`.
    pub(crate) small: i64,
    /// At least the bytes of their bags.
    pub(crate) small_bytes: i64,
}

impl WordCounters {
    /// Reads the counters from six columns beginning at `at`.
    pub(crate) fn read(row: &Row, at: usize) -> Self {
        Self {
            sealed: row.get(at),
            merged: row.get(at + 1),
            tail: row.get(at + 2),
            tail_bytes: row.get(at + 3),
            small: row.get(at + 4),
            small_bytes: row.get(at + 5),
        }
    }

    /// Counts a new drawer with the words `bag`.
    pub(crate) fn add_drawer(&mut self, bag: &[u8]) {
        self.tail += 1;
        self.tail_bytes += bag.len() as i64;
    }

    /// Counts a removed drawer; returns whether its row is in a segment, and must be noted as gone.
    pub(crate) fn remove_drawer(&mut self, row: i64) -> bool {
        let is_sealed = row <= self.sealed;
        if !is_sealed {
            self.tail -= 1;
        }
        is_sealed
    }

    /// Returns the statement that stores the counters.
    pub(crate) fn store(&self, collection: i64) -> SqlStatement {
        SqlStatement::new(
            "UPDATE loci.collections SET sealed = $2, merged = $3, tail = $4, tail_bytes = $5, small = $6,
                small_bytes = $7 WHERE collection = $1",
        )
        .with_int(collection)
        .with_int(self.sealed)
        .with_int(self.merged)
        .with_int(self.tail)
        .with_int(self.tail_bytes)
        .with_int(self.small)
        .with_int(self.small_bytes)
    }
}
