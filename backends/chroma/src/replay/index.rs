//! What the vector index of a release holds of a record, replayed from the queue as that release does it.
//!
//! Releases before 1.0 collect writes into a batch that a new process starts empty, and decide by the batch whether
//! a record is there. Some of their decisions are mistakes, but a graph that Chroma saves contains them, so they are
//! repeated here. From 1.0 on, each write is applied to what the writes before it left.

use super::QueueOperation;
use crate::catalogue::ChromaSchema;

/// The size of a batch where the settings name none.
const USUAL_BATCH: u64 = 100;

/// The rules by which a release applies the queue to its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplayRules {
    /// What fills a batch; `None` in releases without batches.
    batch: Option<BatchMeasure>,
    /// The measure at which a batch is full.
    batch_size: u64,
    /// Whether an add counts after a delete in the same batch.
    adds_after_delete: bool,
}

/// What counts towards the size of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BatchMeasure {
    /// The records it changes.
    Records,
    /// The records it changes, and every write that was ever ignored.
    RecordsAndIgnored,
    /// The writes it saw.
    Writes,
}

impl ReplayRules {
    /// Returns the rules of the release that last migrated the tables.
    pub(crate) fn of_release(schema: &ChromaSchema, batch_size: Option<u64>) -> Self {
        let (batch, adds_after_delete) = if schema.is_since_1() {
            (None, true)
        } else if schema.has_table("embeddings_queue_config") {
            // From 0.5.6 on.
            (Some(BatchMeasure::Writes), true)
        } else if schema.has_column("collections", "config_json_str") {
            // 0.5.4 and 0.5.5.
            (Some(BatchMeasure::RecordsAndIgnored), true)
        } else {
            (Some(BatchMeasure::Records), false)
        };
        Self {
            batch,
            batch_size: batch_size.unwrap_or(USUAL_BATCH),
            adds_after_delete,
        }
    }

    /// Returns the rules of 0.6 with batches of this size, or those since 1.0.
    #[cfg(test)]
    pub(super) fn with_batches(batch_size: Option<u64>) -> Self {
        Self {
            batch: batch_size.map(|_| BatchMeasure::Writes),
            batch_size: batch_size.unwrap_or_default(),
            adds_after_delete: true,
        }
    }
}

/// A write of the queue, as far as an index is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueuedWrite {
    /// Its number.
    pub(crate) sequence: i64,
    /// Its operation.
    pub(super) operation: QueueOperation,
    /// Whether it carries a vector.
    pub(crate) has_vector: bool,
}

/// The origin of a vector in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeldVector {
    /// The graph as it was saved.
    Graph,
    /// A write of the queue.
    Write(i64),
}

/// Applies writes to the tracks of all records of one index.
#[derive(Debug)]
pub(crate) struct IndexReplay {
    rules: ReplayRules,
    /// The number of the current batch.
    batch: u64,
    /// The records that the current batch changes.
    changed: u64,
    /// The writes since the last batch.
    writes: u64,
    /// The writes that were ignored in any batch.
    ignored: u64,
    /// Whether the index exists, which the first vector creates.
    begun: bool,
}

/// One record of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct IndexTrack {
    /// Its vector apart from the current batch.
    indexed: Option<HeldVector>,
    /// The batch to which the other fields belong.
    batch: u64,
    /// The vector that the batch writes, and the operation.
    written: Option<(i64, QueueOperation)>,
    /// Whether the batch deletes it.
    deleted: bool,
    /// Whether an upsert of the batch created it.
    upserted: bool,
}

impl IndexReplay {
    /// Begins a replay on an index that has elements, or on an empty one.
    pub(crate) fn new(rules: ReplayRules, has_elements: bool) -> Self {
        Self {
            rules,
            batch: 0,
            changed: 0,
            writes: 0,
            ignored: 0,
            begun: has_elements,
        }
    }

    /// Applies a write to the record of `track`.
    pub(crate) fn apply(&mut self, track: &mut IndexTrack, write: QueuedWrite) {
        let Some(measure) = self.rules.batch else {
            track.apply_at_once(write);
            return;
        };
        self.writes += 1;
        self.begun |= write.has_vector;
        if !self.begun {
            return;
        }
        track.enter_batch(self.batch);
        let before = track.count_changes();
        let taken = track.apply_in_batch(write, self.rules.adds_after_delete);
        self.ignored += u64::from(!taken);
        self.changed = (self.changed + track.count_changes()).saturating_sub(before);
        let filled = match measure {
            BatchMeasure::Records => self.changed,
            BatchMeasure::RecordsAndIgnored => self.changed + self.ignored,
            BatchMeasure::Writes => self.writes,
        };
        if filled >= self.rules.batch_size {
            (self.batch, self.changed, self.writes) = (self.batch + 1, 0, 0);
        }
    }
}

impl IndexTrack {
    /// Returns the track of a record whose vector is in the saved graph.
    pub(crate) fn in_graph() -> Self {
        Self {
            indexed: Some(HeldVector::Graph),
            ..Self::default()
        }
    }

    /// Returns the vector that the index now holds.
    pub(crate) fn held_vector(&self) -> Option<HeldVector> {
        match self.written {
            Some((sequence, _)) => Some(HeldVector::Write(sequence)),
            None if self.deleted => None,
            None => self.indexed,
        }
    }

    /// Applies a write by the plain rules: an add of a present record is ignored, and an update of an absent one.
    pub(crate) fn apply_at_once(&mut self, write: QueuedWrite) {
        let counts = match write.operation {
            QueueOperation::Add => self.indexed.is_none(),
            QueueOperation::Update => self.indexed.is_some(),
            QueueOperation::Upsert | QueueOperation::Delete => true,
        };
        if write.operation == QueueOperation::Delete {
            self.indexed = None;
        } else if counts && write.has_vector {
            self.indexed = Some(HeldVector::Write(write.sequence));
        }
    }

    /// Applies an earlier batch, if the record is still part of one.
    fn enter_batch(&mut self, batch: u64) {
        if self.batch != batch {
            *self = Self {
                indexed: self.held_vector(),
                batch,
                ..Self::default()
            };
        }
    }

    fn count_changes(&self) -> u64 {
        u64::from(self.written.is_some()) + u64::from(self.deleted)
    }

    /// Applies a write to the batch. Returns whether it counted.
    fn apply_in_batch(&mut self, write: QueuedWrite, adds_after_delete: bool) -> bool {
        // A record that the batch deletes counts as present until the batch is applied.
        let present = self.indexed.is_some() || self.written.is_some();
        match write.operation {
            QueueOperation::Delete if present => self.delete_in_batch(),
            QueueOperation::Delete => {}
            _ if !write.has_vector => {}
            QueueOperation::Update if !present => return false,
            QueueOperation::Add if present && !(adds_after_delete && self.deleted) => return false,
            operation => {
                self.upserted |= operation == QueueOperation::Upsert && !present;
                self.written = Some((write.sequence, operation));
                self.deleted = false;
            }
        }
        true
    }

    fn delete_in_batch(&mut self) {
        self.deleted = match self.written.take() {
            // Only the write is taken back: a record of the graph that was deleted and added
            // in this batch is there again, with the vector of the graph.
            Some((_, QueueOperation::Add)) => self.deleted,
            Some((_, QueueOperation::Upsert)) if self.upserted => {
                self.upserted = false;
                self.deleted
            }
            _ => true,
        };
    }
}
