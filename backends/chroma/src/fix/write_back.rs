//! Writes vectors back into the write queue, so that Chroma finds them when it rebuilds a graph.
//!
//! Chroma fills a new graph from the queue alone. Purged writes must therefore be there again, before every write
//! that is left, or an update of a record would come before the record. The numbers of purged writes are free for
//! that, and rows ignore them because they have already consumed them. If no number is free, or the writes that are
//! left would make something else of the record, writes to it that the rows have consumed give up their place.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::book::{FixSession, write_error};
use super::positions;
use crate::catalogue::{for_each_row, read_text};
use crate::drawer::{are_nearly_equal, read_queued_vector};
use crate::examine::graphs::has_wrong_length;
use crate::failure;
use crate::graph::SegmentGraph;
use crate::replay::{ReplayRules, rebuild_index};
use crate::shelf::{LiveRecord, RecordShelf, VectorLocation};

/// The source of a vector that is written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VectorSource {
    /// An element of the graph.
    Graph(u32),
    /// An element of a graph that a repair set aside, by its index in the list of those.
    SetAside(u16, u32),
    /// A write in the queue that updates a record which a new graph would lack.
    Queue(i64),
}

/// A record whose vector is written back, with its number.
#[derive(Debug)]
struct RequeuedVector {
    id: String,
    source: VectorSource,
    /// A free number, or that of a write which gives up its place.
    number: i64,
}

impl RequeuedVector {
    /// Returns whether an index that was filled from the queue holds this vector.
    fn is_held_by(&self, held: &HashMap<String, i64>) -> bool {
        let found = held.get(&self.id).copied();
        // A later write with the same vector may still be left.
        found == Some(self.number)
            || matches!(self.source, VectorSource::Queue(write) if found == Some(write))
    }
}

/// The changes to the queue after which a new graph holds every vector.
#[derive(Debug)]
pub(super) struct WriteBack {
    collection: String,
    segment: String,
    topic: String,
    rules: ReplayRules,
    requeued: Vec<RequeuedVector>,
    /// The records for which no number is free.
    pub(super) homeless: Vec<(String, VectorSource)>,
    /// The ids of deleted records whose vectors the queue would bring back.
    gone: Vec<String>,
    /// The position up to which rows have consumed the queue.
    reach: i64,
    /// The position of a graph that has consumed nothing; `None` if the release records that as the absence of one.
    begin: Option<i64>,
    /// The ids of the records whose vector in the graph is damaged.
    pub(super) damaged: Vec<String>,
    /// The number of vectors that are written back with length 1, because their original length is lost.
    pub(super) shortened: u64,
    /// The number of vectors that stay in a graph that was set aside, because no number is free for them.
    pub(super) stranded: u64,
}

/// The numbers of writes in the queue, including the planned ones.
#[derive(Debug)]
pub(super) struct QueueNumbers(HashSet<i64>);

impl QueueNumbers {
    /// Reads the numbers in use.
    pub(super) fn read(book: &FixSession) -> Result<Self> {
        let mut taken = HashSet::new();
        if book.schema.has_table("embeddings_queue") {
            let sql = "SELECT seq_id FROM embeddings_queue";
            for_each_row(book.connection(), "the write queue", sql, &[], |row| {
                taken.insert(row.get(0)?);
                Ok(())
            })?;
        }
        Ok(Self(taken))
    }

    /// Takes the highest free number that is at most `most`.
    fn take_below(&mut self, most: i64) -> Option<i64> {
        let mut number = most;
        while number > 0 {
            if self.0.insert(number) {
                return Some(number);
            }
            number -= 1;
        }
        None
    }
}

impl WriteBack {
    /// Plans the changes for the collection on `shelf`, whose graph has the segment `segment`.
    pub(super) fn plan(
        book: &FixSession,
        shelf: &RecordShelf,
        segment: &str,
        numbers: &mut QueueNumbers,
    ) -> Result<Self> {
        let collection = shelf.listed.id.clone();
        let rules = ReplayRules::of_release(&book.schema, shelf.listed.batch_size);
        let held = rebuild_index(book.connection(), &collection, rules)?;
        let reach = shelf.tally.rows_reach.unwrap_or_default();
        let oldest = positions::oldest_write(book, &collection)?;
        let mut plan = Self {
            topic: positions::find_topic(book, &collection)?,
            segment: segment.to_owned(),
            rules,
            requeued: Vec::new(),
            homeless: Vec::new(),
            gone: find_gone(shelf, &held),
            damaged: Vec::new(),
            shortened: 0,
            stranded: 0,
            // Releases before 1.0 treat position 0 as the end of the queue, and no position as its beginning.
            begin: book.schema.is_since_1().then_some(0),
            collection,
            reach,
        };
        // Below both: rows must have consumed the number, and every write that is left must come after it.
        let most = oldest.map_or(reach, |oldest| reach.min(oldest - 1));
        plan.assign_numbers(book.connection(), shelf, &held, (most, numbers))?;
        Ok(plan)
    }

    /// Assigns a number to every record that a new graph would lack or hold with another vector.
    fn assign_numbers(
        &mut self,
        connection: &Connection,
        shelf: &RecordShelf,
        held: &HashMap<String, i64>,
        (mut most, numbers): (i64, &mut QueueNumbers),
    ) -> Result<()> {
        let places = self.find_places(connection)?;
        for record in &shelf.records {
            let id = record.own_id();
            let source = match record.vector {
                VectorLocation::Missing => continue,
                // Chroma's own replay finds this vector already.
                VectorLocation::Queue(write) if held.get(id) == Some(&write) => continue,
                VectorLocation::Queue(write) => VectorSource::Queue(write),
                VectorLocation::Graph(element) => VectorSource::Graph(element),
                VectorLocation::SetAside(at, element) => VectorSource::SetAside(at, element),
            };
            let Some(source) = self.choose_source(connection, shelf, (record, source), held)? else {
                continue;
            };
            let number = numbers.take_below(most);
            // Numbers only fall, so each search continues where the last one ended.
            most = number.map_or(most, |number| number - 1);
            match (number.or_else(|| places.get(id).copied()), source) {
                (Some(number), _) => {
                    let id = id.to_owned();
                    self.shortened += u64::from(lacks_length(shelf, source));
                    self.requeued.push(RequeuedVector { id, source, number });
                }
                (None, VectorSource::SetAside(..)) => self.stranded += 1,
                (None, _) => self.homeless.push((id.to_owned(), source)),
            }
        }
        Ok(())
    }

    /// Returns where the vector of a record is taken from; `None` if nothing needs to be written, or nothing can be.
    fn choose_source(
        &mut self,
        connection: &Connection,
        shelf: &RecordShelf,
        (record, source): (&LiveRecord, VectorSource),
        held: &HashMap<String, i64>,
    ) -> Result<Option<VectorSource>> {
        if matches!(source, VectorSource::Queue(_)) {
            return Ok(Some(source));
        }
        let id = record.own_id();
        let requeued = held.get(id).copied();
        // In the queue a damaged vector would pass for one that was written.
        let is_good = is_sound(shelf, source)?
            && !(matches!(source, VectorSource::Graph(_)) && has_wrong_length(connection, shelf, record)?);
        let vector = if is_good {
            read_vector(shelf, source)?
        } else {
            None
        };
        let Some(vector) = vector else {
            // The write that a damaged element was made from may be left.
            let written = record
                .written
                .filter(|_| matches!(source, VectorSource::Graph(_)));
            if written.is_none() {
                self.damaged.push(id.to_owned());
            }
            return Ok(written
                .filter(|write| requeued != Some(*write))
                .map(VectorSource::Queue));
        };
        let is_held = match requeued {
            Some(write) => read_queued_vector(connection, write)?
                .is_some_and(|queued| are_nearly_equal(&vector, &queued)),
            None => false,
        };
        Ok((!is_held).then_some(source))
    }

    /// Returns the first write to each record, if the rows have consumed it.
    fn find_places(&self, connection: &Connection) -> Result<HashMap<String, i64>> {
        let mut places = HashMap::new();
        let sql = "SELECT id, min(seq_id) FROM embeddings_queue \
                   WHERE substr(topic, -length(?1)) = ?1 AND seq_id <= ?2 GROUP BY id";
        let values: [&dyn rusqlite::ToSql; 2] = [&self.collection, &self.reach];
        for_each_row(connection, "the write queue", sql, &values, |row| {
            places.insert(read_text(row, 0)?.unwrap_or_default(), row.get(1)?);
            Ok(())
        })?;
        Ok(places)
    }

    /// Returns the number of vectors that are written back.
    pub(super) fn vector_count(&self) -> usize {
        self.requeued.len()
    }

    /// Returns the number of deleted records that are kept from coming back.
    pub(super) fn gone_count(&self) -> usize {
        self.gone.len()
    }

    /// Writes the changes, and checks that a new graph would then hold every vector.
    pub(super) fn write_queue(&self, connection: &Connection, shelf: &RecordShelf) -> Result<()> {
        self.insert_vectors(connection, shelf)?;
        self.silence_writes(connection)?;
        self.reset_graph_position(connection)
            .map_err(|cause| write_error("the write queue", cause))?;
        self.check_replay(connection, shelf)
    }

    fn insert_vectors(&self, connection: &Connection, shelf: &RecordShelf) -> Result<()> {
        // Operation 2 is an upsert: it holds whether or not an earlier write of the record is left. Rows have
        // consumed the number, so the metadata of a write that gives up its place is in them.
        let sql = "INSERT INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding) \
                   VALUES (?1, 2, ?2, ?3, ?4, 'FLOAT32') ON CONFLICT (seq_id) DO UPDATE SET \
                   operation = 2, vector = excluded.vector, encoding = excluded.encoding, metadata = NULL";
        let moved = "INSERT INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding) \
                     SELECT ?1, 2, topic, id, vector, encoding FROM embeddings_queue WHERE seq_id = ?2 \
                     ON CONFLICT (seq_id) DO UPDATE SET \
                     operation = 2, vector = excluded.vector, encoding = excluded.encoding, metadata = NULL";
        for base in &self.requeued {
            let done = match (base.source, read_vector(shelf, base.source)?) {
                (VectorSource::Queue(write), _) => connection
                    .prepare_cached(moved)
                    .and_then(|mut statement| statement.execute((base.number, write))),
                (VectorSource::Graph(_) | VectorSource::SetAside(..), vector) => {
                    let bytes: Vec<u8> = vector
                        .iter()
                        .flatten()
                        .flat_map(|value| value.to_le_bytes())
                        .collect();
                    connection.prepare_cached(sql).and_then(|mut statement| {
                        statement.execute((base.number, &self.topic, &base.id, bytes))
                    })
                }
            };
            done.map_err(|cause| write_error("the write queue", cause))?;
        }
        Ok(())
    }

    /// Empties the consumed writes to records of which a new graph would hold another vector.
    fn silence_writes(&self, connection: &Connection) -> Result<()> {
        let held = rebuild_index(connection, &self.collection, self.rules)?;
        // An update without a vector or metadata changes nothing in any release.
        let sql = "UPDATE embeddings_queue SET operation = 1, vector = NULL, encoding = NULL, metadata = NULL \
                   WHERE substr(topic, -length(?1)) = ?1 AND id = ?2 AND seq_id <= ?3 AND seq_id <> ?4";
        for base in self.requeued.iter().filter(|base| !base.is_held_by(&held)) {
            connection
                .prepare_cached(sql)
                .and_then(|mut statement| {
                    statement.execute((&self.collection, &base.id, self.reach, base.number))
                })
                .map_err(|cause| write_error("the write queue", cause))?;
        }
        Ok(())
    }

    /// Keeps deleted records from coming back, and lets a new graph start at the beginning of the queue.
    fn reset_graph_position(&self, connection: &Connection) -> rusqlite::Result<()> {
        // Turned into deletes rather than removed: a free number at the end would go to the next write, and
        // the rows would ignore it as consumed.
        let gone = "UPDATE embeddings_queue SET operation = 3, vector = NULL, encoding = NULL, metadata = NULL \
                    WHERE substr(topic, -length(?1)) = ?1 AND id = ?2 AND seq_id <= ?3";
        for id in &self.gone {
            connection
                .prepare_cached(gone)?
                .execute((&self.collection, id, self.reach))?;
        }
        match &self.begin {
            Some(begin) => connection.execute(
                "UPDATE max_seq_id SET seq_id = ?2 WHERE segment_id = ?1",
                (&self.segment, begin),
            )?,
            None => connection.execute("DELETE FROM max_seq_id WHERE segment_id = ?1", [&self.segment])?,
        };
        Ok(())
    }

    fn check_replay(&self, connection: &Connection, shelf: &RecordShelf) -> Result<()> {
        // Replayed again from the tables, not from the plan: a
        // mistake here would cost the only copy of a vector.
        let held = rebuild_index(connection, &self.collection, self.rules)?;
        let homeless: HashSet<&str> = self.homeless.iter().map(|(id, _)| id.as_str()).collect();
        let placed: HashMap<&str, &RequeuedVector> = self
            .requeued
            .iter()
            .map(|base| (base.id.as_str(), base))
            .collect();
        let lost = shelf.records.iter().find(|record| {
            let id = record.own_id();
            !homeless.contains(id)
                && match (record.vector, placed.get(id)) {
                    (_, Some(base)) => !base.is_held_by(&held),
                    (VectorLocation::Queue(write), None) => held.get(id) != Some(&write),
                    _ => false,
                }
        });
        match lost {
            None => Ok(()),
            Some(record) => Err(Error::new(
                ErrorKind::Internal,
                format!("the vector of {:?} would be lost", record.own_id()),
            )
            .with_hint("nothing was changed")),
        }
    }
}

/// Returns the graph and the element of a vector that is not in the queue.
fn locate_element(shelf: &RecordShelf, source: VectorSource) -> Option<(&SegmentGraph, u32)> {
    match source {
        VectorSource::Graph(element) => Some((shelf.graph.as_ref()?, element)),
        VectorSource::SetAside(at, element) => Some((shelf.set_aside.get(usize::from(at))?, element)),
        VectorSource::Queue(_) => None,
    }
}

/// Reads the vector of a record as Chroma returns it from its graph.
fn read_vector(shelf: &RecordShelf, source: VectorSource) -> Result<Option<Vec<f32>>> {
    let Some((graph, element)) = locate_element(shelf, source) else {
        return Ok(None);
    };
    let read = graph.read_vector(element);
    read.map_err(|cause| failure::io_error("read", &graph.folder, cause))
}

/// Returns whether a vector can be written back; those in the queue are moved as they are.
fn is_sound(shelf: &RecordShelf, source: VectorSource) -> Result<bool> {
    let Some((graph, element)) = locate_element(shelf, source) else {
        return Ok(matches!(source, VectorSource::Queue(_)));
    };
    let sound = graph.has_sound_vector(element);
    sound.map_err(|cause| failure::io_error("read", &graph.folder, cause))
}

fn lacks_length(shelf: &RecordShelf, source: VectorSource) -> bool {
    locate_element(shelf, source).is_some_and(|(graph, element)| graph.lacks_length(element))
}

/// Returns deleted records that a graph filled from the queue would hold.
fn find_gone(shelf: &RecordShelf, held: &HashMap<String, i64>) -> Vec<String> {
    let live: HashSet<&str> = shelf.records.iter().map(|record| record.own_id()).collect();
    let mut gone: Vec<String> = held
        .keys()
        .filter(|id| !live.contains(id.as_str()))
        .cloned()
        .collect();
    gone.sort_unstable();
    gone
}
