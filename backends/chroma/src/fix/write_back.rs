//! Puts vectors back into the write queue, so that Chroma finds them when it makes a graph anew.
//!
//! Chroma fills a new graph from the queue alone. What was purged from it must stand there again, before every write
//! that is left, or an update of a record would come before the record. The numbers of purged writes are free for
//! that, and rows ignore them, for they have consumed them.

use std::collections::{HashMap, HashSet};

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::book::{Book, unwritten};
use super::positions;
use crate::catalogue::{rows, text};
use crate::failure;
use crate::shelf::{Shelf, VectorAt};

/// Where a vector comes from that goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// An element of the graph.
    Graph(u32),
    /// A write in the queue that updates what a new graph would not have.
    Queue(i64),
}

/// A record whose vector goes back, and under which number.
#[derive(Debug)]
struct Base {
    id: String,
    source: Source,
    number: i64,
}

/// What must change in the queue so that a new graph holds every vector there is.
#[derive(Debug)]
pub(super) struct WriteBack {
    collection: String,
    segment: String,
    topic: String,
    bases: Vec<Base>,
    /// Records for which no number is free.
    pub(super) homeless: Vec<(String, Source)>,
    /// Ids of records that are gone, though the queue would bring their vectors back.
    gone: Vec<String>,
    /// How far rows have consumed the queue.
    reach: i64,
    /// The position of a graph that has consumed nothing; nothing where that is said by there being none.
    begin: Option<i64>,
    /// Records whose vector in the graph cannot be read.
    pub(super) unreadable: u64,
}

/// The numbers of writes in the queue, those to come included.
#[derive(Debug)]
pub(super) struct Numbers(HashSet<i64>);

impl Numbers {
    /// Those that are taken.
    pub(super) fn read(book: &Book) -> Result<Self> {
        let mut taken = HashSet::new();
        if book.schema.has("embeddings_queue") {
            let sql = "SELECT seq_id FROM embeddings_queue";
            rows(book.connection(), "the write queue", sql, &[], |row| {
                taken.insert(row.get(0)?);
                Ok(())
            })?;
        }
        Ok(Self(taken))
    }

    /// Gives the highest free number that is not above `most`.
    fn give(&mut self, most: i64) -> Option<i64> {
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
    /// Plans it for the collection on `shelf`, whose graph has the segment `segment`.
    pub(super) fn plan(book: &Book, shelf: &Shelf, segment: &str, numbers: &mut Numbers) -> Result<Self> {
        let collection = shelf.listed.id.clone();
        let held = replayed(book.connection(), &collection)?;
        let reach = shelf.tally.rows_reach.unwrap_or_default();
        let oldest = positions::oldest(book, &collection)?;
        let mut plan = Self {
            topic: positions::topic(book, &collection)?,
            segment: segment.to_owned(),
            bases: Vec::new(),
            homeless: Vec::new(),
            gone: gone(shelf, &held),
            unreadable: 0,
            // Releases before 1.0 take a position of 0 for the end of the queue, and none for its beginning.
            begin: book.schema.is_since_1().then_some(0),
            collection,
            reach,
        };
        let most = oldest.map_or(reach, |oldest| reach.min(oldest - 1));
        plan.place(shelf, &held, most, numbers)?;
        Ok(plan)
    }

    /// Finds a number for every record that a new graph would not have as it is.
    fn place(
        &mut self,
        shelf: &Shelf,
        held: &HashMap<String, i64>,
        most: i64,
        numbers: &mut Numbers,
    ) -> Result<()> {
        let mut most = most;
        for record in &shelf.records {
            let id = record.own_id();
            let source = match record.vector {
                VectorAt::Nowhere | VectorAt::Aside(..) => continue,
                VectorAt::Queue(write) if held.get(id) == Some(&write) => continue,
                VectorAt::Queue(write) => Source::Queue(write),
                VectorAt::Graph(element) => Source::Graph(element),
            };
            if vector(shelf, source)?.is_none() && matches!(source, Source::Graph(_)) {
                self.unreadable += 1;
                continue;
            }
            match numbers.give(most) {
                Some(number) => {
                    most = number - 1;
                    let id = id.to_owned();
                    self.bases.push(Base { id, source, number });
                }
                None => self.homeless.push((id.to_owned(), source)),
            }
        }
        Ok(())
    }

    /// How many vectors go back.
    pub(super) fn count(&self) -> usize {
        self.bases.len()
    }

    /// How many records that are gone are kept from coming back.
    pub(super) fn gone(&self) -> usize {
        self.gone.len()
    }

    /// Makes the change, and checks that a new graph would then hold every vector.
    pub(super) fn make(&self, connection: &Connection, shelf: &Shelf) -> Result<()> {
        self.insert(connection, shelf)?;
        self.settle(connection)
            .map_err(|cause| unwritten("the write queue", cause))?;
        self.check(connection, shelf)
    }

    fn insert(&self, connection: &Connection, shelf: &Shelf) -> Result<()> {
        let sql = "INSERT INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding) \
                   VALUES (?1, 2, ?2, ?3, ?4, 'FLOAT32')";
        let moved = "INSERT INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding) \
                     SELECT ?1, 2, topic, id, vector, encoding FROM embeddings_queue WHERE seq_id = ?2";
        for base in &self.bases {
            let done = match (base.source, vector(shelf, base.source)?) {
                (Source::Queue(write), _) => connection
                    .prepare_cached(moved)
                    .and_then(|mut statement| statement.execute((base.number, write))),
                (Source::Graph(_), vector) => {
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
            done.map_err(|cause| unwritten("the write queue", cause))?;
        }
        Ok(())
    }

    /// Keeps what is gone from coming back, and lets a new graph begin at the beginning.
    fn settle(&self, connection: &Connection) -> rusqlite::Result<()> {
        // The numbers must stay taken, or the next writes would have them and rows ignore those.
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

    fn check(&self, connection: &Connection, shelf: &Shelf) -> Result<()> {
        let held = replayed(connection, &self.collection)?;
        let homeless: HashSet<&str> = self.homeless.iter().map(|(id, _)| id.as_str()).collect();
        let placed: HashMap<&str, i64> = self
            .bases
            .iter()
            .filter(|base| matches!(base.source, Source::Graph(_)))
            .map(|base| (base.id.as_str(), base.number))
            .collect();
        let lost = shelf.records.iter().find(|record| {
            let id = record.own_id();
            let found = held.get(id).copied();
            !homeless.contains(id)
                && match record.vector {
                    VectorAt::Queue(write) => found != Some(write),
                    VectorAt::Graph(_) => placed.get(id).is_some_and(|number| found != Some(*number)),
                    VectorAt::Nowhere | VectorAt::Aside(..) => false,
                }
        });
        match lost {
            None => Ok(()),
            Some(record) => Err(Error::new(
                ErrorKind::Internal,
                format!("the vector of {:?} would not be found again", record.own_id()),
            )
            .hint("nothing was changed")),
        }
    }
}

/// The vector of a record as Chroma gives it out of its graph.
fn vector(shelf: &Shelf, source: Source) -> Result<Option<Vec<f32>>> {
    let (Source::Graph(element), Some(graph)) = (source, &shelf.graph) else {
        return Ok(None);
    };
    let read = graph.vector(element);
    read.map_err(|cause| failure::io("read", &graph.folder, cause))
}

/// Records that are not there, though a graph filled from the queue would hold them.
fn gone(shelf: &Shelf, held: &HashMap<String, i64>) -> Vec<String> {
    let live: HashSet<&str> = shelf.records.iter().map(|record| record.own_id()).collect();
    let mut gone: Vec<String> = held
        .keys()
        .filter(|id| !live.contains(id.as_str()))
        .cloned()
        .collect();
    gone.sort_unstable();
    gone
}

/// The write whose vector each record has in a graph that Chroma fills from the queue alone.
fn replayed(connection: &Connection, collection: &str) -> Result<HashMap<String, i64>> {
    let mut held = HashMap::new();
    let sql = "SELECT seq_id, operation, id, vector IS NOT NULL FROM embeddings_queue \
               WHERE substr(topic, -length(?1)) = ?1 ORDER BY seq_id";
    rows(connection, "the write queue", sql, &[&collection], |row| {
        let (write, operation): (i64, i64) = (row.get(0)?, row.get(1)?);
        let id = text(row, 2)?.unwrap_or_default();
        let counts = match operation {
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
