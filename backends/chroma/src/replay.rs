//! Replays the write queue: finds the vector of each record, and the writes that never reached the rows.
//!
//! Chroma appends every write to the queue, then applies it to the rows and, a thousand at a time, to the graph.
//! Writes that both have consumed are purged, oldest first and collection by collection, unless purging is off. Up to
//! the position that the graph recorded, the graph therefore decides; the writes after it are replayed on top of it.

mod index;

use std::collections::HashMap;

use loci_core::Result;
use rusqlite::Connection;

use crate::catalogue::{for_each_row, query_number, read_text};
use crate::graph::SegmentGraph;
pub(crate) use index::{HeldVector, ReplayRules};
use index::{IndexReplay, IndexTrack, QueuedWrite};

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

/// What was read before the queue, and decides how its writes are understood.
#[derive(Debug)]
pub(crate) struct ReplayBasis<'a> {
    /// The rows by id.
    pub(crate) rows: &'a HashMap<String, RecordRow>,
    /// The graph, if there is one.
    pub(crate) graph: Option<&'a SegmentGraph>,
    /// The positions.
    pub(crate) consumed: QueueProgress,
    /// The position from which writes are replayed on top of the graph.
    pub(crate) graph_position: i64,
    /// The rules of the release.
    pub(crate) rules: ReplayRules,
}

/// The state of one record after a replay of the queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RecordTrack {
    /// Whether it exists after the last write to it.
    pub(crate) exists: bool,
    /// Whether the queue deletes it.
    pub(crate) removed: bool,
    /// The writes that are not in its row yet, oldest first.
    pub(crate) pending: Vec<i64>,
    /// Whether they start from nothing, because the row is to be deleted first.
    pub(crate) starts_anew: bool,
    /// Its vector.
    pub(crate) vector: VectorTrack,
}

/// The vector of one record after a replay of the queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VectorTrack {
    /// What Chroma's index holds; `None` if it is unknown what the graph held before.
    index: Option<IndexTrack>,
    /// The last vector among the writes that the graph consumed: what its element was made from, if both agree.
    pub(crate) consumed: Option<i64>,
    /// The first write to the record that is left.
    first: i64,
    /// What every write that is left comes to if the record did not exist before them.
    if_new: IndexTrack,
    /// The write that creates it in that case.
    birth: Option<i64>,
    /// The same if it existed before them.
    if_old: IndexTrack,
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
    pub(crate) fn read(connection: &Connection, id: &str, basis: &ReplayBasis<'_>) -> Result<Self> {
        let mut replay = Self::default();
        let mut index = IndexReplay::new(basis.rules, basis.has_elements());
        for_each_write(connection, id, |sequence, record, write| {
            replay.newest = replay.newest.max(Some(sequence));
            replay.waiting += u64::from(sequence > basis.consumed.by_rows);
            replay.behind += u64::from(sequence > basis.consumed.by_graph);
            let Some(write) = write else {
                replay.odd_writes += 1;
                return;
            };
            let row = basis.rows.get(&record).copied();
            let track = replay.tracks.entry(record).or_insert_with_key(|record| {
                let vector = VectorTrack::before_queue(basis.find_base(record), sequence);
                RecordTrack {
                    exists: row.is_some(),
                    vector,
                    ..RecordTrack::default()
                }
            });
            track.apply_to_row(write, row, basis.consumed);
            track.vector.apply(write, &mut index, basis.graph_position);
        })?;
        Ok(replay)
    }
}

/// Returns the write whose vector each record has in a graph that Chroma fills from the queue alone.
pub(crate) fn rebuild_index(
    connection: &Connection,
    collection: &str,
    rules: ReplayRules,
) -> Result<HashMap<String, i64>> {
    let mut index = IndexReplay::new(rules, false);
    let mut tracks: HashMap<String, IndexTrack> = HashMap::new();
    for_each_write(connection, collection, |_, record, write| {
        if let Some(write) = write {
            index.apply(tracks.entry(record).or_default(), write);
        }
    })?;
    let held = tracks
        .into_iter()
        .filter_map(|(id, track)| match track.held_vector()? {
            HeldVector::Write(sequence) => Some((id, sequence)),
            HeldVector::Graph => None,
        });
    Ok(held.collect())
}

/// Passes the number, record and content of every write to a collection to `take`, oldest first.
fn for_each_write(
    connection: &Connection,
    collection: &str,
    mut take: impl FnMut(i64, String, Option<QueuedWrite>),
) -> Result<()> {
    let sql = "SELECT seq_id, operation, id, vector IS NOT NULL FROM embeddings_queue \
               WHERE substr(topic, -length(?1)) = ?1 ORDER BY seq_id";
    for_each_row(connection, "the write queue", sql, &[&collection], |row| {
        let sequence: i64 = row.get(0)?;
        let has_vector = row.get(3)?;
        let write = QueueOperation::from_code(row.get(1)?).map(|operation| QueuedWrite {
            sequence,
            operation,
            has_vector,
        });
        take(sequence, read_text(row, 2)?.unwrap_or_default(), write);
        Ok(())
    })
}

impl ReplayBasis<'_> {
    fn has_elements(&self) -> bool {
        self.graph
            .and_then(SegmentGraph::readable_labels)
            .is_some_and(|labels| !labels.by_id.is_empty())
    }

    /// Returns what the graph holds of a record, or `None` if that cannot be told.
    fn find_base(&self, record: &str) -> Option<IndexTrack> {
        let Some(labels) = self.graph.and_then(SegmentGraph::readable_labels) else {
            // A graph that was never saved held nothing. One that is lost held what is unknown.
            let never_saved =
                self.graph.is_none_or(|graph| graph.labels.is_none()) && self.graph_position <= 0;
            return never_saved.then(IndexTrack::default);
        };
        let element = self.graph.and_then(|graph| graph.element_of(record));
        match (labels.by_id.contains_key(record), element) {
            (true, Some(_)) => Some(IndexTrack::in_graph()),
            (true, None) => None,
            // A mapping that is cut short may have named it further on.
            (false, _) => (labels.broken.is_none() && labels.odd == 0).then(IndexTrack::default),
        }
    }
}

impl RecordTrack {
    /// Applies a write that the rows have not consumed, as Chroma would.
    fn apply_to_row(&mut self, write: QueuedWrite, row: Option<RecordRow>, consumed: QueueProgress) {
        self.removed |= write.operation == QueueOperation::Delete;
        // A row that was lost to damage gets its writes again, though the rows had consumed them.
        let is_pending = write.sequence > consumed.by_rows || (consumed.rows_lost && row.is_none());
        if !is_pending {
            return;
        }
        match write.operation {
            // Chroma ignores an add of a record that exists, and an update of one that does not.
            QueueOperation::Add if self.exists => {}
            QueueOperation::Update if !self.exists => {}
            QueueOperation::Delete => {
                self.exists = false;
                self.starts_anew = true;
                self.pending.clear();
            }
            _ => {
                self.exists = true;
                self.pending.push(write.sequence);
            }
        }
    }

    /// Returns whether the record exists, given its row.
    pub(crate) fn is_live(&self, row: Option<RecordRow>) -> bool {
        match row {
            Some(_) => self.exists,
            // Without a row only a write that still has to be applied
            // makes a record; an applied one would have left a row.
            None => self.exists && !self.pending.is_empty(),
        }
    }
}

impl VectorTrack {
    fn before_queue(base: Option<IndexTrack>, first: i64) -> Self {
        Self {
            index: base,
            first,
            if_old: IndexTrack::in_graph(),
            ..Self::default()
        }
    }

    fn apply(&mut self, write: QueuedWrite, index: &mut IndexReplay, graph_position: i64) {
        let was_there = self.if_new.held_vector().is_some();
        self.if_new.apply_at_once(write);
        self.if_old.apply_at_once(write);
        match self.if_new.held_vector() {
            Some(_) if !was_there => self.birth = Some(write.sequence),
            Some(_) => {}
            None => self.birth = None,
        }
        if write.sequence <= graph_position {
            if write.has_vector {
                self.consumed = Some(write.sequence);
            }
        } else {
            // Every write moves the batch on, also that of a record whose beginning is unknown.
            index.apply(self.index.as_mut().unwrap_or(&mut IndexTrack::default()), write);
        }
    }

    /// Returns the vector that Chroma's index holds.
    pub(crate) fn held_vector(&self) -> Option<HeldVector> {
        self.index.as_ref()?.held_vector()
    }

    /// Returns the write that holds the vector where the graph is lost, from the writes that are left.
    ///
    /// They may not tell whether the record existed before them. The row then does: it keeps the number of the last
    /// write that changed it, and the time at which it was made.
    pub(crate) fn guess_write(&self, row: Option<RecordRow>, connection: &Connection) -> Result<Option<i64>> {
        let write_of = |track: &IndexTrack| match track.held_vector() {
            Some(HeldVector::Write(sequence)) => Some(sequence),
            Some(HeldVector::Graph) | None => None,
        };
        let (if_new, if_old) = (write_of(&self.if_new), write_of(&self.if_old));
        let Some(row) = row.filter(|_| if_new != if_old) else {
            return Ok(if_new);
        };
        let unchanged = row.sequence.is_some_and(|applied| applied < self.first);
        let is_old = match self.birth {
            _ if unchanged => true,
            None => true,
            Some(birth) => {
                let sql = "SELECT row.created_at < write.created_at FROM embeddings row, embeddings_queue write \
                           WHERE row.id = ?1 AND write.seq_id = ?2";
                query_number(connection, "the rows", sql, &[&row.number, &birth])? == Some(1)
            }
        };
        Ok(if is_old { if_old } else { if_new })
    }
}

#[cfg(test)]
mod tests;
