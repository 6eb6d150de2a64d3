//! One collection laid out: every live record, where its row is, and where its newest vector lies.

use std::collections::HashMap;
use std::path::Path;

use loci_core::{DrawerId, Metric, Result};
use rusqlite::Connection;

use crate::catalogue::{Listed, Schema, number, rows, text};
use crate::database::Database;
use crate::failure;
use crate::folder::{is_segment, is_set_aside, segment_folders};
use crate::graph::{Expected, Graph};
use crate::replay::{Consumed, Replay, Row};
use crate::sequence::sequence;

/// Where a record's newest vector lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorAt {
    /// In the write queue, under this number.
    Queue(i64),
    /// In the graph, in this element.
    Graph(u32),
    /// In a graph that a repair set aside, by its place in the list of those, in this element.
    Aside(u16, u32),
    /// Nowhere any more.
    Nowhere,
}

/// One live record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// Its id.
    pub(crate) id: DrawerId,
    /// Its row; `None` for one that only the queue has.
    pub(crate) row: Option<i64>,
    /// Where its vector is.
    pub(crate) vector: VectorAt,
    /// Writes in the queue that its row has not seen.
    pub(crate) pending: Box<[i64]>,
    /// Its own id, where that is none a drawer can have.
    pub(crate) odd_id: Option<Box<str>>,
}

/// A collection laid out.
#[derive(Debug)]
pub(crate) struct Shelf {
    /// What the database lists of it.
    pub(crate) listed: Listed,
    /// Its live records, in byte order of their ids.
    pub(crate) records: Vec<Record>,
    /// The records once more, by their place above, in the order their rows lie in: quicker to read one after the other.
    pub(crate) as_they_lie: Vec<u32>,
    /// Its graph, where a folder of it is there.
    pub(crate) graph: Option<Graph>,
    /// Graphs of it that a repair set aside, newest first; looked at only where vectors are missing.
    pub(crate) aside: Vec<Graph>,
    /// How many values its vectors have.
    pub(crate) dimension: Option<usize>,
    /// What else is known of it.
    pub(crate) tally: Tally,
}

/// Figures of a collection that its doctor tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Writes in the queue of a kind nobody knows.
    pub(crate) odd_writes: u64,
    /// Writes the rows have not seen.
    pub(crate) waiting: u64,
    /// Writes the graph has not seen.
    pub(crate) behind: u64,
    /// The newest write, in the queue or in a row.
    pub(crate) newest: i64,
    /// How far the rows say they have consumed the queue.
    pub(crate) rows_reach: Option<i64>,
    /// How far the graph says it has.
    pub(crate) graph_reach: Option<i64>,
    /// The highest number any write can have had.
    pub(crate) highest: i64,
    /// Records that the graph names, that are not live, and whose removal no write in the queue explains.
    pub(crate) orphans: u64,
    /// The first of them.
    pub(crate) orphan_id: Option<String>,
    /// Live records that the graph should hold and whose label stands in none of its elements.
    pub(crate) misplaced: u64,
    /// Live records whose row was lost and that the queue brought back.
    pub(crate) brought_back: u64,
}

impl Shelf {
    /// Lays out the collection `listed` of the folder at `folder`.
    pub(crate) fn read(folder: &Path, database: &Database, schema: &Schema, listed: Listed) -> Result<Self> {
        let connection = &database.connection;
        let mut tally = Tally::default();
        let by_id = read_rows(connection, schema, &listed, &mut tally)?;
        let graph = open_graph(folder, &listed)?;
        read_reach(connection, schema, &listed, graph.as_ref(), &mut tally)?;
        let consumed = Consumed {
            up_to: tally.consumed(),
            by_graph: tally.graph_reach.unwrap_or_default(),
            rows_lost: database.is_salvaged(),
        };
        let replay = match schema.has("embeddings_queue") {
            true => Replay::read(connection, &listed.id, &by_id, consumed)?,
            false => Replay::default(),
        };
        tally.take(&replay);
        let mut shelf = Self {
            dimension: listed.dimension,
            listed,
            records: Vec::with_capacity(by_id.len()),
            as_they_lie: Vec::new(),
            graph,
            aside: Vec::new(),
            tally,
        };
        shelf.lay_out(by_id, replay);
        shelf.look_aside(folder)?;
        shelf.settle_dimension(connection)?;
        Ok(shelf)
    }

    fn lay_out(&mut self, by_id: HashMap<String, Row>, mut replay: Replay) {
        self.count_orphans(&by_id, &replay);
        for (own_id, row) in by_id {
            let track = replay.tracks.remove(&own_id);
            match track {
                Some(track) if !track.lives(Some(row)) => {}
                Some(track) => {
                    let kept = (!track.anew).then_some(row.number);
                    self.shelve(own_id, kept, &track);
                }
                None => self.shelve(own_id, Some(row.number), &Default::default()),
            }
        }
        for (own_id, track) in replay.tracks {
            if track.lives(None) {
                self.tally.brought_back += 1;
                self.shelve(own_id, None, &track);
            }
        }
        self.records.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        let mut lying: Vec<(Option<i64>, u32)> =
            self.records.iter().map(|record| record.row).zip(0..).collect();
        lying.sort_unstable();
        self.as_they_lie = lying.into_iter().map(|(_, at)| at).collect();
    }

    /// What the graph names without there being a row, or a write that explains why there is none.
    fn count_orphans(&mut self, by_id: &HashMap<String, Row>, replay: &Replay) {
        let Some(graph) = &self.graph else { return };
        for id in graph.ids() {
            let explained = || {
                replay
                    .tracks
                    .get(&**id)
                    .is_some_and(|track| track.removed || track.exists)
            };
            if by_id.contains_key(&**id) {
                self.tally.misplaced += u64::from(graph.layout.is_some() && graph.element(id).is_none());
            } else if !explained() {
                self.tally.orphans += 1;
                let named = self.tally.orphan_id.get_or_insert_with(|| id.to_string());
                if **id < **named {
                    *named = id.to_string();
                }
            }
        }
    }

    fn shelve(&mut self, own_id: String, row: Option<i64>, track: &crate::replay::Track) {
        let in_graph = || self.graph.as_ref().filter(|_| !track.removed)?.element(&own_id);
        let vector = match track.vector {
            Some(sequence) => VectorAt::Queue(sequence),
            None => in_graph().map_or(VectorAt::Nowhere, VectorAt::Graph),
        };
        let (id, odd_id) = match DrawerId::new(own_id.as_str()) {
            Ok(id) => (id, None),
            Err(_) => match stand_in(&own_id) {
                Ok(id) => (id, Some(own_id.into_boxed_str())),
                Err(_) => return,
            },
        };
        self.records.push(Record {
            id,
            row,
            vector,
            pending: track.pending.clone().into_boxed_slice(),
            odd_id,
        });
    }

    /// Finds vectors that neither queue nor graph has any more in graphs that a repair set aside.
    fn look_aside(&mut self, folder: &Path) -> Result<()> {
        let missing = |record: &Record| record.vector == VectorAt::Nowhere && record.row.is_some();
        let Some(segment) = self.listed.vector_segment.clone() else {
            return Ok(());
        };
        if !self.records.iter().any(missing) {
            return Ok(());
        }
        let mut names = segment_folders(folder).map_err(|cause| failure::io("read", folder, cause))?;
        names.retain(|name| is_set_aside(name) && name.starts_with(&segment));
        for name in names.iter().rev().take(usize::from(u16::MAX)) {
            let opened = Graph::open(&folder.join(name), expected(&self.listed));
            self.aside.extend(opened.ok());
        }
        for record in self.records.iter_mut().filter(|record| missing(record)) {
            let found = self.aside.iter().zip(0_u16..).find_map(|(graph, at)| {
                let element = graph.element(record.own_id())?;
                Some(VectorAt::Aside(at, element))
            });
            record.vector = found.unwrap_or(VectorAt::Nowhere);
        }
        Ok(())
    }

    /// Where no dimension is recorded, vectors show it.
    fn settle_dimension(&mut self, connection: &Connection) -> Result<()> {
        let of_graph = self
            .graph
            .as_ref()
            .and_then(|graph| graph.layout)
            .map(|layout| layout.dimension());
        self.dimension = self.dimension.or(of_graph);
        if self.dimension.is_none() {
            let queued = self.records.iter().find_map(|record| match record.vector {
                VectorAt::Queue(sequence) => Some(sequence),
                _ => None,
            });
            if let Some(sequence) = queued {
                let sql = "SELECT length(vector) / 4 FROM embeddings_queue WHERE seq_id = ?1";
                let found = number(connection, "the write queue", sql, &[&sequence])?;
                self.dimension = found
                    .and_then(|found| usize::try_from(found).ok())
                    .filter(|found| *found > 0);
            }
        }
        Ok(())
    }

    /// Where the records have their vectors.
    pub(crate) fn vectors(&self) -> Whence {
        let mut whence = Whence::default();
        for record in &self.records {
            match record.vector {
                VectorAt::Queue(_) => whence.queue += 1,
                VectorAt::Graph(_) => whence.graph += 1,
                VectorAt::Aside(..) => whence.aside += 1,
                VectorAt::Nowhere => whence.nowhere += 1,
            }
        }
        whence
    }
}

/// How many records have their vector where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Whence {
    /// In the write queue.
    pub(crate) queue: u64,
    /// In the graph.
    pub(crate) graph: u64,
    /// In a graph that was set aside.
    pub(crate) aside: u64,
    /// Nowhere.
    pub(crate) nowhere: u64,
}

impl Whence {
    /// How many have one.
    pub(crate) fn found(&self) -> u64 {
        self.queue + self.graph + self.aside
    }
}

impl Record {
    /// The id Chroma knows it by.
    pub(crate) fn own_id(&self) -> &str {
        self.odd_id.as_deref().unwrap_or(self.id.as_str())
    }
}

impl Tally {
    /// How far the rows have really consumed the queue: not beyond any write there was.
    fn consumed(&self) -> i64 {
        match self.rows_reach {
            Some(reach) if reach <= self.highest => reach,
            _ => self.newest,
        }
    }

    /// Whether a recorded position lies beyond every write there was, so that new writes would be ignored.
    pub(crate) fn is_absurd(&self, reach: Option<i64>) -> bool {
        reach.is_some_and(|reach| reach > self.highest)
    }

    fn take(&mut self, replay: &Replay) {
        self.odd_writes = replay.odd;
        self.waiting = replay.waiting;
        self.behind = replay.behind;
        self.newest = self.newest.max(replay.newest.unwrap_or_default());
    }
}

/// An id for a record whose own is empty or too long for a drawer: its beginning, and what tells it apart.
fn stand_in(own_id: &str) -> Result<DrawerId> {
    let mut end = own_id.len().min(900);
    while !own_id.is_char_boundary(end) {
        end -= 1;
    }
    let beginning = own_id.get(..end).unwrap_or_default();
    // FNV-1a: it must only differ where ids differ, and stay the same for ever.
    let mark = own_id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    DrawerId::new(format!("{beginning}…{mark:016x}"))
}

fn read_rows(
    connection: &Connection,
    schema: &Schema,
    listed: &Listed,
    tally: &mut Tally,
) -> Result<HashMap<String, Row>> {
    let mut by_id = HashMap::new();
    let Some(segment) = listed
        .metadata_segment
        .as_ref()
        .filter(|_| schema.has("embeddings"))
    else {
        return Ok(by_id);
    };
    // The plus sign keeps SQLite from answering from an index, which may disagree with the rows.
    let sql = "SELECT id, embedding_id, seq_id FROM embeddings WHERE +segment_id = ?1 ORDER BY id";
    rows(connection, "the rows", sql, &[segment], |row| {
        let kept = sequence(row, 2)?.number;
        tally.newest = tally.newest.max(kept.unwrap_or_default());
        let own_id = text(row, 1)?.unwrap_or_default();
        by_id.insert(
            own_id,
            Row {
                number: row.get(0)?,
                sequence: kept,
            },
        );
        Ok(())
    })?;
    Ok(by_id)
}

fn expected(listed: &Listed) -> Expected {
    Expected {
        dimension: listed.dimension,
        links: listed.links,
        normalised: listed.metric == Metric::Cosine,
    }
}

fn open_graph(folder: &Path, listed: &Listed) -> Result<Option<Graph>> {
    let Some(segment) = listed.vector_segment.as_deref().filter(|name| is_segment(name)) else {
        return Ok(None);
    };
    let place = folder.join(segment);
    if !place.is_dir() {
        return Ok(None);
    }
    let opened = Graph::open(&place, expected(listed));
    opened
        .map(Some)
        .map_err(|cause| failure::io("read", &place, cause))
}

/// How far rows and graph say they have consumed the queue, and the highest number any write can have had.
fn read_reach(
    connection: &Connection,
    schema: &Schema,
    listed: &Listed,
    graph: Option<&Graph>,
    tally: &mut Tally,
) -> Result<()> {
    let mut reach: HashMap<String, i64> = HashMap::new();
    if schema.has("max_seq_id") {
        let sql = "SELECT segment_id, seq_id FROM max_seq_id";
        rows(connection, "the consumed positions", sql, &[], |row| {
            if let (Some(segment), Some(number)) = (text(row, 0)?, sequence(row, 1)?.number) {
                reach.insert(segment, number);
            }
            Ok(())
        })?;
    }
    let of = |segment: &Option<String>| segment.as_ref().and_then(|segment| reach.get(segment).copied());
    let recorded = graph.and_then(Graph::known).and_then(|labels| labels.max_seq_id);
    tally.rows_reach = of(&listed.metadata_segment);
    tally.graph_reach = of(&listed.vector_segment).or(recorded);
    let newest = match schema.has("embeddings_queue") {
        true => number(
            connection,
            "the write queue",
            "SELECT max(seq_id) FROM embeddings_queue",
            &[],
        )?,
        false => None,
    };
    // Without a queue nothing tells how far numbers went; then only what no palace reaches is absurd.
    tally.highest = newest.map_or(1 << 48, |newest| newest.max(tally.newest));
    Ok(())
}
