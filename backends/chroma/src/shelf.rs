//! The records of one collection: every live record with its row and the location of its newest vector.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use loci_core::{DrawerId, Metric, Result};
use loci_foreign::scan::{ScanMemory, substitute_id};
use rusqlite::Connection;

use crate::catalogue::{ChromaSchema, ListedCollection, for_each_row, query_number, read_text};
use crate::database::ChromaDatabase;
use crate::failure;
use crate::folder::{is_segment, is_set_aside, segment_folders};
use crate::graph::{GraphExpectation, SegmentGraph};
use crate::replay::{
    HeldVector, QueueProgress, QueueReplay, RecordRow, RecordTrack, ReplayBasis, ReplayRules,
};
use crate::sequence::read_sequence;

/// The location of a record's newest vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VectorLocation {
    /// In the write queue, under this number.
    Queue(i64),
    /// In the graph, in this element.
    Graph(u32),
    /// In a graph that a repair set aside, by its index in the list of those, in this element.
    SetAside(u16, u32),
    /// Nowhere: it is lost.
    Missing,
}

/// One live record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LiveRecord {
    /// Its id.
    pub(crate) id: DrawerId,
    /// Its row, or `None` if only the queue has it.
    pub(crate) row: Option<i64>,
    /// The location of its vector.
    pub(crate) vector: VectorLocation,
    /// The write that the element in the graph was made from, if it is still in the queue and both agree.
    pub(crate) written: Option<i64>,
    /// The writes in the queue that are not in its row yet.
    pub(crate) pending: Box<[i64]>,
    /// Its own id, if that is not a valid drawer id.
    pub(crate) odd_id: Option<Box<str>>,
}

/// The records of a collection.
#[derive(Debug)]
pub(crate) struct RecordShelf {
    /// The entry of the collection in the database.
    pub(crate) listed: ListedCollection,
    /// Its live records, in byte order of their ids.
    pub(crate) records: Vec<LiveRecord>,
    /// The indexes of the records in the order of their rows, which is the fastest order to read them.
    pub(crate) row_order: Vec<u32>,
    /// Its graph, if its folder exists.
    pub(crate) graph: Option<SegmentGraph>,
    /// Its graphs that a repair set aside, newest first; read only if vectors are missing.
    pub(crate) set_aside: Vec<SegmentGraph>,
    /// The number of values in a vector.
    pub(crate) dimension: Option<usize>,
    /// Figures for the doctor.
    pub(crate) tally: ShelfTally,
    /// What scans of the records found.
    pub(crate) memory: RefCell<ScanMemory>,
}

/// The figures of a collection for the doctor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ShelfTally {
    /// The number of writes in the queue with an unknown operation.
    pub(crate) odd_writes: u64,
    /// The number of writes that the rows have not consumed.
    pub(crate) waiting: u64,
    /// The number of writes that the graph has not consumed.
    pub(crate) behind: u64,
    /// The newest write, in the queue or in a row.
    pub(crate) newest: i64,
    /// The recorded position up to which the rows have consumed the queue.
    pub(crate) rows_reach: Option<i64>,
    /// The recorded position of the graph.
    pub(crate) graph_reach: Option<i64>,
    /// The highest number any write can have had.
    pub(crate) highest: i64,
    /// The number of records that the graph names, that are not live, and whose deletion is not in the queue.
    pub(crate) orphans: u64,
    /// The first orphan by id.
    pub(crate) orphan_id: Option<String>,
    /// The number of live records whose label no element of the graph carries.
    pub(crate) misplaced: u64,
    /// The number of live records without a row, which exist through the queue alone.
    pub(crate) brought_back: u64,
}

impl RecordShelf {
    /// Reads the collection `listed` of the folder at `folder`.
    pub(crate) fn read(
        folder: &Path,
        database: &ChromaDatabase,
        schema: &ChromaSchema,
        listed: ListedCollection,
    ) -> Result<Self> {
        let connection = &database.connection;
        let mut tally = ShelfTally::default();
        // Rows come before positions, and positions before
        // the queue: each decides how the next is understood.
        let by_id = read_rows(connection, schema, &listed, &mut tally)?;
        let graph = open_graph(folder, &listed)?;
        read_reach(connection, schema, &listed, graph.as_ref(), &mut tally)?;
        let consumed = QueueProgress {
            by_rows: tally.rows_consumed(),
            by_graph: tally.graph_reach.unwrap_or_default(),
            rows_lost: database.is_salvaged(),
        };
        let replay = if schema.has_table("embeddings_queue") {
            let basis = ReplayBasis {
                rows: &by_id,
                graph: graph.as_ref(),
                consumed,
                graph_position: tally.graph_consumed(),
                rules: ReplayRules::of_release(schema, listed.batch_size),
            };
            QueueReplay::read(connection, &listed.id, &basis)?
        } else {
            QueueReplay::default()
        };
        tally.add_replay(&replay);
        let mut shelf = Self {
            dimension: listed.dimension,
            listed,
            records: Vec::with_capacity(by_id.len()),
            row_order: Vec::new(),
            graph,
            set_aside: Vec::new(),
            tally,
            memory: RefCell::default(),
        };
        shelf.lay_out(connection, by_id, replay)?;
        shelf.search_set_aside(folder)?;
        shelf.settle_dimension(connection)?;
        Ok(shelf)
    }

    fn lay_out(
        &mut self,
        connection: &Connection,
        by_id: HashMap<String, RecordRow>,
        mut replay: QueueReplay,
    ) -> Result<()> {
        self.count_orphans(&by_id, &replay);
        for (own_id, row) in by_id {
            match replay.tracks.remove(&own_id) {
                Some(track) if !track.is_live(Some(row)) => {}
                Some(track) => self.add_record(connection, own_id, Some(row), &track)?,
                None => {
                    let vector = self.locate_in_graph(&own_id);
                    self.push_record(own_id, Some(row.number), vector, None, &[]);
                }
            }
        }
        for (own_id, track) in replay.tracks {
            if track.is_live(None) {
                self.tally.brought_back += 1;
                self.add_record(connection, own_id, None, &track)?;
            }
        }
        self.records.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        let mut lying: Vec<(Option<i64>, u32)> =
            self.records.iter().map(|record| record.row).zip(0..).collect();
        lying.sort_unstable();
        self.row_order = lying.into_iter().map(|(_, at)| at).collect();
        Ok(())
    }

    /// Counts the records in the graph that have neither a row nor a write that explains its absence.
    fn count_orphans(&mut self, by_id: &HashMap<String, RecordRow>, replay: &QueueReplay) {
        let Some(graph) = &self.graph else { return };
        for id in graph.labelled_ids() {
            let explained = || {
                replay
                    .tracks
                    .get(&**id)
                    .is_some_and(|track| track.removed || track.exists)
            };
            if by_id.contains_key(&**id) {
                self.tally.misplaced += u64::from(graph.layout.is_some() && graph.element_of(id).is_none());
            } else if !explained() {
                self.tally.orphans += 1;
                let named = self.tally.orphan_id.get_or_insert_with(|| id.to_string());
                // The pickle is a hash map: the smallest id makes the report the same each time.
                if **id < **named {
                    *named = id.to_string();
                }
            }
        }
    }

    /// Returns the element of the graph that holds the vector of a record.
    fn locate_in_graph(&self, own_id: &str) -> VectorLocation {
        let element = self.graph.as_ref().and_then(|graph| graph.element_of(own_id));
        element.map_or(VectorLocation::Missing, VectorLocation::Graph)
    }

    /// Adds a record that the queue names.
    fn add_record(
        &mut self,
        connection: &Connection,
        own_id: String,
        row: Option<RecordRow>,
        track: &RecordTrack,
    ) -> Result<()> {
        let (vector, written) = match track.vector.held_vector() {
            Some(HeldVector::Write(sequence)) => (VectorLocation::Queue(sequence), None),
            Some(HeldVector::Graph) => (self.locate_in_graph(&own_id), track.vector.consumed),
            // Chroma has no vector for it, or its graph is damaged; the queue may have one all the same.
            None => {
                let write = track.vector.guess_write(row, connection)?;
                (write.map_or(VectorLocation::Missing, VectorLocation::Queue), None)
            }
        };
        // A record that is deleted and added again must not inherit the metadata of its old row.
        let kept = row.filter(|_| !track.starts_anew).map(|row| row.number);
        self.push_record(own_id, kept, vector, written, &track.pending);
        Ok(())
    }

    fn push_record(
        &mut self,
        own_id: String,
        row: Option<i64>,
        vector: VectorLocation,
        written: Option<i64>,
        pending: &[i64],
    ) {
        let (id, odd_id) = match DrawerId::new(own_id.as_str()) {
            Ok(id) => (id, None),
            Err(_) => match substitute_id(&own_id) {
                Ok(id) => (id, Some(own_id.into_boxed_str())),
                Err(_) => return,
            },
        };
        self.records.push(LiveRecord {
            id,
            row,
            vector,
            written,
            pending: pending.into(),
            odd_id,
        });
    }

    /// Finds vectors that neither queue nor graph has in graphs that a repair set aside.
    fn search_set_aside(&mut self, folder: &Path) -> Result<()> {
        let missing = |record: &LiveRecord| record.vector == VectorLocation::Missing && record.row.is_some();
        let Some(segment) = self.listed.vector_segment.clone() else {
            return Ok(());
        };
        if !self.records.iter().any(missing) {
            return Ok(());
        }
        let mut names = segment_folders(folder).map_err(|cause| failure::io_error("read", folder, cause))?;
        names.retain(|name| is_set_aside(name) && name.starts_with(&segment));
        // Names end in the time of the repair, so the reverse order is newest first.
        for name in names.iter().rev().take(usize::from(u16::MAX)) {
            let opened = SegmentGraph::open(&folder.join(name), expect_graph(&self.listed));
            // A folder that cannot be read is passed over: the collection is readable without it.
            self.set_aside.extend(opened.ok());
        }
        for record in self.records.iter_mut().filter(|record| missing(record)) {
            let found = self.set_aside.iter().zip(0_u16..).find_map(|(graph, at)| {
                let element = graph.element_of(record.own_id())?;
                // An older folder may hold what a damaged one lost.
                let sound = graph.has_sound_vector(element).unwrap_or_default();
                sound.then_some(VectorLocation::SetAside(at, element))
            });
            record.vector = found.unwrap_or(VectorLocation::Missing);
        }
        Ok(())
    }

    /// Determines the dimension from the vectors if none is recorded.
    fn settle_dimension(&mut self, connection: &Connection) -> Result<()> {
        let of_graph = self
            .graph
            .as_ref()
            .and_then(|graph| graph.layout)
            .map(|layout| layout.dimension());
        self.dimension = self.dimension.or(of_graph);
        if self.dimension.is_none() {
            let queued = self.records.iter().find_map(|record| match record.vector {
                VectorLocation::Queue(sequence) => Some(sequence),
                _ => None,
            });
            if let Some(sequence) = queued {
                let sql = "SELECT length(vector) / 4 FROM embeddings_queue WHERE seq_id = ?1";
                let found = query_number(connection, "the write queue", sql, &[&sequence])?;
                self.dimension = found
                    .and_then(|found| usize::try_from(found).ok())
                    .filter(|found| *found > 0);
            }
        }
        Ok(())
    }

    /// Counts the records by the location of their vectors.
    pub(crate) fn tally_vectors(&self) -> VectorTally {
        let mut whence = VectorTally::default();
        for record in &self.records {
            match record.vector {
                VectorLocation::Queue(_) => whence.queue += 1,
                VectorLocation::Graph(_) => whence.graph += 1,
                VectorLocation::SetAside(..) => whence.aside += 1,
                VectorLocation::Missing => whence.nowhere += 1,
            }
        }
        whence
    }
}

/// The number of records by the location of their vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct VectorTally {
    /// In the write queue.
    pub(crate) queue: u64,
    /// In the graph.
    pub(crate) graph: u64,
    /// In a graph that was set aside.
    pub(crate) aside: u64,
    /// Nowhere.
    pub(crate) nowhere: u64,
}

impl VectorTally {
    /// Returns the number of records with a vector.
    pub(crate) fn found_count(&self) -> u64 {
        self.queue + self.graph + self.aside
    }
}

impl LiveRecord {
    /// Returns the id that Chroma uses.
    pub(crate) fn own_id(&self) -> &str {
        self.odd_id.as_deref().unwrap_or(self.id.as_str())
    }
}

impl ShelfTally {
    /// Returns the position up to which the rows have really consumed the queue, never beyond the newest write.
    fn rows_consumed(&self) -> i64 {
        match self.rows_reach {
            Some(reach) if reach <= self.highest => reach,
            // At this point `newest` is that of the rows alone: the last write one of them shows.
            _ => self.newest,
        }
    }

    /// Returns the position up to which the graph decides, or the beginning if the recorded one is absurd.
    fn graph_consumed(&self) -> i64 {
        self.graph_reach
            .filter(|reach| *reach <= self.highest)
            .unwrap_or_default()
    }

    /// Returns whether a recorded position lies beyond every write, so that new writes would be ignored.
    pub(crate) fn is_absurd(&self, reach: Option<i64>) -> bool {
        reach.is_some_and(|reach| reach > self.highest)
    }

    fn add_replay(&mut self, replay: &QueueReplay) {
        self.odd_writes = replay.odd_writes;
        self.waiting = replay.waiting;
        self.behind = replay.behind;
        self.newest = self.newest.max(replay.newest.unwrap_or_default());
    }
}

fn read_rows(
    connection: &Connection,
    schema: &ChromaSchema,
    listed: &ListedCollection,
    tally: &mut ShelfTally,
) -> Result<HashMap<String, RecordRow>> {
    let mut by_id = HashMap::new();
    let Some(segment) = listed
        .metadata_segment
        .as_ref()
        .filter(|_| schema.has_table("embeddings"))
    else {
        return Ok(by_id);
    };
    // The plus sign keeps SQLite from answering from an index, which may disagree with the rows.
    let sql = "SELECT id, embedding_id, seq_id FROM embeddings WHERE +segment_id = ?1 ORDER BY id";
    for_each_row(connection, "the rows", sql, &[segment], |row| {
        let kept = read_sequence(row, 2)?.number;
        tally.newest = tally.newest.max(kept.unwrap_or_default());
        let own_id = read_text(row, 1)?.unwrap_or_default();
        by_id.insert(
            own_id,
            RecordRow {
                number: row.get(0)?,
                sequence: kept,
            },
        );
        Ok(())
    })?;
    Ok(by_id)
}

fn expect_graph(listed: &ListedCollection) -> GraphExpectation {
    GraphExpectation {
        dimension: listed.dimension,
        links: listed.links,
        normalised: listed.metric == Metric::Cosine,
    }
}

fn open_graph(folder: &Path, listed: &ListedCollection) -> Result<Option<SegmentGraph>> {
    let Some(segment) = listed.vector_segment.as_deref().filter(|name| is_segment(name)) else {
        return Ok(None);
    };
    let place = folder.join(segment);
    if !place.is_dir() {
        return Ok(None);
    }
    let opened = SegmentGraph::open(&place, expect_graph(listed));
    opened
        .map(Some)
        .map_err(|cause| failure::io_error("read", &place, cause))
}

/// Reads the positions up to which rows and graph claim to have consumed the queue, and the highest possible number
/// of a write.
fn read_reach(
    connection: &Connection,
    schema: &ChromaSchema,
    listed: &ListedCollection,
    graph: Option<&SegmentGraph>,
    tally: &mut ShelfTally,
) -> Result<()> {
    let mut reach: HashMap<String, i64> = HashMap::new();
    if schema.has_table("max_seq_id") {
        let sql = "SELECT segment_id, seq_id FROM max_seq_id";
        for_each_row(connection, "the consumed positions", sql, &[], |row| {
            if let (Some(segment), Some(number)) = (read_text(row, 0)?, read_sequence(row, 1)?.number) {
                reach.insert(segment, number);
            }
            Ok(())
        })?;
    }
    let of = |segment: &Option<String>| segment.as_ref().and_then(|segment| reach.get(segment).copied());
    let recorded = graph
        .and_then(SegmentGraph::readable_labels)
        .and_then(|labels| labels.max_seq_id);
    tally.rows_reach = of(&listed.metadata_segment);
    // Some releases keep the graph's position in the table, others in the pickle.
    tally.graph_reach = of(&listed.vector_segment).or(recorded);
    let newest = if schema.has_table("embeddings_queue") {
        let sql = "SELECT max(seq_id) FROM embeddings_queue";
        query_number(connection, "the write queue", sql, &[])?
    } else {
        None
    };
    // Without a queue the highest number is unknown; then only a position that no palace reaches is absurd.
    tally.highest = newest.map_or(1 << 48, |newest| newest.max(tally.newest));
    Ok(())
}
