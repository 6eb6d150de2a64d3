//! Replays the write queue: finds the newest vector of each record, and the writes that never reached the rows.
//!
//! Chroma appends every write to the queue, then applies it to the rows and, a thousand at a time, to the graph.
//! Writes that both have consumed are purged, oldest first and collection by collection. The rest is therefore always
//! the end of the history: replayed in order, it yields the newest vector of every record it names.

use std::collections::HashMap;

use loci_core::Result;
use rusqlite::Connection;

use crate::catalogue::{for_each_row, read_text};

/// The row of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordRow {
    /// Its number in the table.
    pub(crate) number: i64,
    /// The last write that was applied to it.
    pub(crate) sequence: Option<i64>,
}

/// The positions up to which the queue has been applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueProgress {
    /// Writes up to this one are in the rows.
    pub(crate) by_rows: i64,
    /// Writes up to this one are in the graph.
    pub(crate) by_graph: i64,
    /// Whether rows may be missing although their writes were applied, because the database is damaged.
    pub(crate) rows_lost: bool,
}

/// The state of one record after a replay of the queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RecordTrack {
    /// Whether it exists after the last write to it.
    pub(crate) exists: bool,
    /// Whether the queue deletes it, after which neither graph nor row count.
    pub(crate) removed: bool,
    /// The write that holds its newest vector.
    pub(crate) vector: Option<i64>,
    /// The writes that are not in its row yet, oldest first.
    pub(crate) pending: Vec<i64>,
    /// Whether they start from nothing, because the row is to be deleted first.
    pub(crate) starts_anew: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueueOperation {
    Add,
    Update,
    Upsert,
    Delete,
}

impl QueueOperation {
    fn from_code(code: i64) -> Option<Self> {
        Some(match code {
            0 => Self::Add,
            1 => Self::Update,
            2 => Self::Upsert,
            3 => Self::Delete,
            _ => return None,
        })
    }
}

/// The queue of one collection, replayed.
#[derive(Debug, Default)]
pub(crate) struct QueueReplay {
    /// The state of each record in the queue.
    pub(crate) tracks: HashMap<String, RecordTrack>,
    /// The number of writes with an unknown operation.
    pub(crate) odd_writes: u64,
    /// The newest write.
    pub(crate) newest: Option<i64>,
    /// The number of writes that the rows have not consumed.
    pub(crate) waiting: u64,
    /// The number of writes that the graph has not consumed.
    pub(crate) behind: u64,
}

impl QueueReplay {
    /// Replays the writes to the collection `id`, oldest first.
    pub(crate) fn read(
        connection: &Connection,
        id: &str,
        rows_by_id: &HashMap<String, RecordRow>,
        consumed: QueueProgress,
    ) -> Result<Self> {
        let mut replay = Self::default();
        let sql = "SELECT seq_id, operation, id, vector IS NOT NULL FROM embeddings_queue \
                   WHERE substr(topic, -length(?1)) = ?1 ORDER BY seq_id";
        for_each_row(connection, "the write queue", sql, &[&id], |row| {
            let sequence: i64 = row.get(0)?;
            replay.newest = replay.newest.max(Some(sequence));
            replay.waiting += u64::from(sequence > consumed.by_rows);
            replay.behind += u64::from(sequence > consumed.by_graph);
            let record = read_text(row, 2)?.unwrap_or_default();
            match QueueOperation::from_code(row.get(1)?) {
                Some(operation) => {
                    let known = rows_by_id.get(&record).copied();
                    let track = replay
                        .tracks
                        .entry(record)
                        .or_insert_with(|| RecordTrack::before_queue(known, sequence));
                    track.apply(operation, sequence, row.get(3)?, known, consumed);
                }
                None => replay.odd_writes += 1,
            }
            Ok(())
        })?;
        Ok(replay)
    }
}

impl RecordTrack {
    /// Returns the state of a record before the first write to it that is left in the queue.
    fn before_queue(row: Option<RecordRow>, sequence: i64) -> Self {
        let older = |row: RecordRow| row.sequence.is_some_and(|applied| applied < sequence);
        Self {
            // A row whose last write precedes the first one left was made by a purged write.
            exists: row.is_some_and(older),
            ..Self::default()
        }
    }

    fn apply(
        &mut self,
        operation: QueueOperation,
        sequence: i64,
        has_vector: bool,
        row: Option<RecordRow>,
        consumed: QueueProgress,
    ) {
        // A row that was lost to damage gets its writes again, though the rows had consumed them.
        let is_pending = sequence > consumed.by_rows || (consumed.rows_lost && row.is_none());
        let made_the_row = row.is_some_and(|row| row.sequence == Some(sequence));
        let shaped_the_row = row.is_some_and(|row| row.sequence.is_some_and(|applied| applied >= sequence));
        let counts = match operation {
            // Chroma ignores an add of a record that exists.
            // The row proves that this add was the one applied.
            QueueOperation::Add => !self.exists || made_the_row,
            // It also ignores an update of one that does not exist. Where
            // the add was purged, the row shows that the update was applied.
            QueueOperation::Update => self.exists || shaped_the_row,
            QueueOperation::Upsert | QueueOperation::Delete => true,
        };
        if !counts {
            return;
        }
        if operation == QueueOperation::Delete {
            *self = Self {
                removed: true,
                // A delete that the rows have applied already removed the row; only a later one still has to.
                starts_anew: is_pending || self.starts_anew,
                ..Self::default()
            };
            return;
        }
        self.exists = true;
        if has_vector {
            self.vector = Some(sequence);
        }
        if is_pending {
            self.pending.push(sequence);
        }
    }

    /// Returns whether the record exists, given its row.
    pub(crate) fn is_live(&self, row: Option<RecordRow>) -> bool {
        match row {
            Some(_) => self.exists || !self.starts_anew,
            // Without a row only a write that still has to be applied
            // makes a record; an applied one would have left a row.
            None => self.exists && !self.pending.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use QueueOperation::{Add, Delete, Update, Upsert};

    const ALL: QueueProgress = QueueProgress {
        by_rows: 100,
        by_graph: 0,
        rows_lost: false,
    };

    fn replayed(
        writes: &[(i64, QueueOperation, bool)],
        row: Option<RecordRow>,
        consumed: QueueProgress,
    ) -> RecordTrack {
        let mut track = RecordTrack::before_queue(row, writes[0].0);
        for (sequence, operation, has_vector) in writes {
            track.apply(*operation, *sequence, *has_vector, row, consumed);
        }
        track
    }

    fn row(sequence: i64) -> Option<RecordRow> {
        Some(RecordRow {
            number: 1,
            sequence: Some(sequence),
        })
    }

    #[test]
    fn the_newest_vector_wins() {
        let track = replayed(
            &[(1, Add, true), (5, Update, false), (7, Upsert, true)],
            row(7),
            ALL,
        );
        assert_eq!(track.vector, Some(7));
        assert!(track.pending.is_empty());
    }

    #[test]
    fn an_add_of_what_is_there_changes_nothing() {
        let track = replayed(&[(1, Add, true), (2, Add, true)], row(1), ALL);
        assert_eq!(track.vector, Some(1));
        let purged = replayed(&[(9, Add, true)], row(4), ALL);
        assert_eq!(purged.vector, None, "its vector is in the graph");
    }

    #[test]
    fn what_was_removed_and_added_again_has_its_new_vector() {
        let track = replayed(&[(2, Delete, false), (3, Add, true)], row(3), ALL);
        assert_eq!(track.vector, Some(3));
        assert!(track.is_live(row(3)));
        let gone = replayed(&[(1, Add, true), (2, Delete, false)], None, ALL);
        assert!(!gone.is_live(None));
    }

    #[test]
    fn an_update_of_what_is_not_there_makes_nothing() {
        let track = replayed(&[(3, Update, true)], None, ALL);
        assert!(!track.is_live(None));
        let track = replayed(&[(3, Update, true), (4, Add, true)], row(4), ALL);
        assert_eq!(track.vector, Some(4));
    }

    #[test]
    fn writes_the_rows_never_saw_are_still_to_be_applied() {
        let consumed = QueueProgress { by_rows: 2, ..ALL };
        let added = replayed(&[(3, Add, true), (4, Update, false)], None, consumed);
        assert!(added.is_live(None));
        assert_eq!(added.pending, [3, 4]);
        let removed = replayed(&[(3, Delete, false)], row(1), consumed);
        assert!(!removed.is_live(row(1)));
        let again = replayed(&[(3, Delete, false), (4, Add, true)], row(1), consumed);
        assert!(again.is_live(row(1)) && again.starts_anew);
        assert_eq!(again.pending, [4]);
    }

    #[test]
    fn rows_lost_to_damage_come_back_from_the_queue() {
        let consumed = QueueProgress {
            rows_lost: true,
            ..ALL
        };
        let lost = replayed(&[(3, Add, true), (4, Update, false)], None, consumed);
        assert!(lost.is_live(None));
        assert_eq!(lost.pending, [3, 4]);
        assert!(
            !replayed(&[(3, Add, true)], None, ALL).is_live(None),
            "rows decide where none was lost"
        );
    }
}
