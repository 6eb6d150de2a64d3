//! Writes vectors back into the write queue, so that Chroma finds them when it rebuilds a graph.
//!
//! Chroma fills a new graph from the queue alone. Purged writes must therefore be there again, before every write
//! that is left, or an update of a record would come before the record. The numbers of purged writes are free for
//! that, and rows ignore them because they have already consumed them.

use std::collections::{HashMap, HashSet};

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::book::{FixSession, write_error};
use super::positions;
use crate::catalogue::{for_each_row, read_text};
use crate::failure;
use crate::graph::SegmentGraph;
use crate::shelf::{RecordShelf, VectorLocation};

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
    number: i64,
}

/// The changes to the queue after which a new graph holds every vector.
#[derive(Debug)]
pub(super) struct WriteBack {
    collection: String,
    segment: String,
    topic: String,
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
        let held = replay_queue(book.connection(), &collection)?;
        let reach = shelf.tally.rows_reach.unwrap_or_default();
        let oldest = positions::oldest_write(book, &collection)?;
        let mut plan = Self {
            topic: positions::find_topic(book, &collection)?,
            segment: segment.to_owned(),
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
        plan.assign_numbers(shelf, &held, most, numbers)?;
        Ok(plan)
    }

    /// Assigns a number to every record that a new graph would lack or hold with another vector.
    fn assign_numbers(
        &mut self,
        shelf: &RecordShelf,
        held: &HashMap<String, i64>,
        most: i64,
        numbers: &mut QueueNumbers,
    ) -> Result<()> {
        let mut most = most;
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
            // In the queue a damaged vector would pass for one that was written.
            if !is_sound(shelf, source)? {
                self.damaged.push(id.to_owned());
                continue;
            }
            match (numbers.take_below(most), source) {
                (Some(number), _) => {
                    // Numbers only fall, so each search continues where the last one ended.
                    most = number - 1;
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
        self.reset_graph_position(connection)
            .map_err(|cause| write_error("the write queue", cause))?;
        self.check_replay(connection, shelf)
    }

    fn insert_vectors(&self, connection: &Connection, shelf: &RecordShelf) -> Result<()> {
        // Operation 2 is an upsert: it holds whether or not an earlier write of the record is left.
        let sql = "INSERT INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding) \
                   VALUES (?1, 2, ?2, ?3, ?4, 'FLOAT32')";
        let moved = "INSERT INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding) \
                     SELECT ?1, 2, topic, id, vector, encoding FROM embeddings_queue WHERE seq_id = ?2";
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
        let held = replay_queue(connection, &self.collection)?;
        let homeless: HashSet<&str> = self.homeless.iter().map(|(id, _)| id.as_str()).collect();
        let placed: HashMap<&str, i64> = self
            .requeued
            .iter()
            .filter(|base| !matches!(base.source, VectorSource::Queue(_)))
            .map(|base| (base.id.as_str(), base.number))
            .collect();
        let lost = shelf.records.iter().find(|record| {
            let id = record.own_id();
            let found = held.get(id).copied();
            !homeless.contains(id)
                && match record.vector {
                    VectorLocation::Queue(write) => found != Some(write),
                    VectorLocation::Graph(_) | VectorLocation::SetAside(..) => {
                        placed.get(id).is_some_and(|number| found != Some(*number))
                    }
                    VectorLocation::Missing => false,
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

/// Returns the ids of the records whose vector in the graph is damaged.
pub(super) fn find_damaged(shelf: &RecordShelf) -> Result<Vec<String>> {
    let mut damaged = Vec::new();
    for record in &shelf.records {
        if let VectorLocation::Graph(element) = record.vector
            && !is_sound(shelf, VectorSource::Graph(element))?
        {
            damaged.push(record.own_id().to_owned());
        }
    }
    Ok(damaged)
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

/// Returns the write whose vector each record has in a graph that Chroma fills from the queue alone.
fn replay_queue(connection: &Connection, collection: &str) -> Result<HashMap<String, i64>> {
    let mut held = HashMap::new();
    let sql = "SELECT seq_id, operation, id, vector IS NOT NULL FROM embeddings_queue \
               WHERE substr(topic, -length(?1)) = ?1 ORDER BY seq_id";
    for_each_row(connection, "the write queue", sql, &[&collection], |row| {
        let (write, operation): (i64, i64) = (row.get(0)?, row.get(1)?);
        let id = read_text(row, 2)?.unwrap_or_default();
        let counts = match operation {
            // Chroma ignores an add of a present record and an update of an absent one.
            0 => !held.contains_key(&id),
            1 => held.contains_key(&id),
            2 => true,
            _ => false,
        };
        if operation == 3 {
            held.remove(&id);
        } else if counts && row.get(3)? {
            held.insert(id, write);
        }
        Ok(())
    })?;
    Ok(held)
}
