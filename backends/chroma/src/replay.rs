//! Replays the write queue: which vector is the newest of each record, and which writes never reached the rows.
//!
//! Chroma appends every write to the queue, then applies it to the rows and, a thousand at a time, to the graph.
//! What both have consumed is purged, oldest first and collection by collection, so what is left is a true
//! ending of the history: replayed in order it tells the newest vector of every record it names.

use std::collections::HashMap;

use loci_core::Result;
use rusqlite::Connection;

use crate::catalogue::{rows, text};

/// What the rows say of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// Its number among the rows.
    pub(crate) number: i64,
    /// The write that was applied to it last.
    pub(crate) sequence: Option<i64>,
}

/// How far the queue has been applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Consumed {
    /// Writes up to this one are in the rows.
    pub(crate) up_to: i64,
    /// Writes up to this one are in the graph.
    pub(crate) by_graph: i64,
    /// Rows may be missing although their writes were applied, because the database is damaged.
    pub(crate) rows_lost: bool,
}

/// What the queue tells of one record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Track {
    /// Whether it is there after the last write to it.
    pub(crate) exists: bool,
    /// Whether a deletion stands in the queue, after which neither graph nor row speak for it.
    pub(crate) removed: bool,
    /// The write that holds its newest vector.
    pub(crate) vector: Option<i64>,
    /// The writes that are still to be applied to its row, oldest first.
    pub(crate) pending: Vec<i64>,
    /// Whether they begin with nothing, because the row is to be removed first.
    pub(crate) anew: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operation {
    Add,
    Update,
    Upsert,
    Delete,
}

impl Operation {
    fn of(code: i64) -> Option<Self> {
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
pub(crate) struct Replay {
    /// What it tells of each record it names.
    pub(crate) tracks: HashMap<String, Track>,
    /// How many of them are of a kind nobody knows.
    pub(crate) odd: u64,
    /// The newest write.
    pub(crate) newest: Option<i64>,
    /// How many come after what the rows have consumed.
    pub(crate) waiting: u64,
    /// How many come after what the graph has.
    pub(crate) behind: u64,
}

impl Replay {
    /// Replays the writes to the collection `id`, oldest first.
    pub(crate) fn read(
        connection: &Connection,
        id: &str,
        rows_by_id: &HashMap<String, Row>,
        consumed: Consumed,
    ) -> Result<Self> {
        let mut replay = Self::default();
        let sql = "SELECT seq_id, operation, id, vector IS NOT NULL FROM embeddings_queue \
                   WHERE substr(topic, -length(?1)) = ?1 ORDER BY seq_id";
        rows(connection, "the write queue", sql, &[&id], |row| {
            let sequence: i64 = row.get(0)?;
            replay.newest = replay.newest.max(Some(sequence));
            replay.waiting += u64::from(sequence > consumed.up_to);
            replay.behind += u64::from(sequence > consumed.by_graph);
            let record = text(row, 2)?.unwrap_or_default();
            match Operation::of(row.get(1)?) {
                Some(operation) => {
                    let known = rows_by_id.get(&record).copied();
                    let track = replay
                        .tracks
                        .entry(record)
                        .or_insert_with(|| Track::before(known, sequence));
                    track.apply(operation, sequence, row.get(3)?, known, consumed);
                }
                None => replay.odd += 1,
            }
            Ok(())
        })?;
        Ok(replay)
    }
}

impl Track {
    /// A record before the first write to it that the queue still has.
    fn before(row: Option<Row>, sequence: i64) -> Self {
        let older = |row: Row| row.sequence.is_some_and(|applied| applied < sequence);
        Self {
            exists: row.is_some_and(older),
            ..Self::default()
        }
    }

    fn apply(
        &mut self,
        operation: Operation,
        sequence: i64,
        has_vector: bool,
        row: Option<Row>,
        consumed: Consumed,
    ) {
        let is_pending = sequence > consumed.up_to || (consumed.rows_lost && row.is_none());
        let made_the_row = row.is_some_and(|row| row.sequence == Some(sequence));
        let shaped_the_row = row.is_some_and(|row| row.sequence.is_some_and(|applied| applied >= sequence));
        let counts = match operation {
            // Chroma leaves a record alone that is added again.
            Operation::Add => !self.exists || made_the_row,
            // And does not make one by an update; what stood before the queue's beginning shows in the row.
            Operation::Update => self.exists || shaped_the_row,
            Operation::Upsert | Operation::Delete => true,
        };
        if !counts {
            return;
        }
        if operation == Operation::Delete {
            *self = Self {
                removed: true,
                anew: is_pending || self.anew,
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

    /// Whether the record is there, given its row.
    pub(crate) fn lives(&self, row: Option<Row>) -> bool {
        match row {
            Some(_) => self.exists || !self.anew,
            None => self.exists && !self.pending.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Operation::{Add, Delete, Update, Upsert};

    const ALL: Consumed = Consumed {
        up_to: 100,
        by_graph: 0,
        rows_lost: false,
    };

    fn replayed(writes: &[(i64, Operation, bool)], row: Option<Row>, consumed: Consumed) -> Track {
        let mut track = Track::before(row, writes[0].0);
        for (sequence, operation, has_vector) in writes {
            track.apply(*operation, *sequence, *has_vector, row, consumed);
        }
        track
    }

    fn row(sequence: i64) -> Option<Row> {
        Some(Row {
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
        assert!(track.lives(row(3)));
        let gone = replayed(&[(1, Add, true), (2, Delete, false)], None, ALL);
        assert!(!gone.lives(None));
    }

    #[test]
    fn an_update_of_what_is_not_there_makes_nothing() {
        let track = replayed(&[(3, Update, true)], None, ALL);
        assert!(!track.lives(None));
        let track = replayed(&[(3, Update, true), (4, Add, true)], row(4), ALL);
        assert_eq!(track.vector, Some(4));
    }

    #[test]
    fn writes_the_rows_never_saw_are_still_to_be_applied() {
        let consumed = Consumed { up_to: 2, ..ALL };
        let added = replayed(&[(3, Add, true), (4, Update, false)], None, consumed);
        assert!(added.lives(None));
        assert_eq!(added.pending, [3, 4]);
        let removed = replayed(&[(3, Delete, false)], row(1), consumed);
        assert!(!removed.lives(row(1)));
        let again = replayed(&[(3, Delete, false), (4, Add, true)], row(1), consumed);
        assert!(again.lives(row(1)) && again.anew);
        assert_eq!(again.pending, [4]);
    }

    #[test]
    fn rows_lost_to_damage_come_back_from_the_queue() {
        let consumed = Consumed {
            rows_lost: true,
            ..ALL
        };
        let lost = replayed(&[(3, Add, true), (4, Update, false)], None, consumed);
        assert!(lost.lives(None));
        assert_eq!(lost.pending, [3, 4]);
        assert!(
            !replayed(&[(3, Add, true)], None, ALL).lives(None),
            "rows decide where none was lost"
        );
    }
}
