//! `max-seq-id`: resets impossible positions in the write queue to the ones really consumed.

use loci_core::Result;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::book::{FixSession, write_error};
use super::{FixPlan, FolderChange};
use crate::catalogue::{for_each_row, query_number, read_text};
use crate::graph::SegmentGraph;
use crate::sequence::read_sequence;
use crate::shelf::RecordShelf;

/// The step's name.
pub(super) const STEP: &str = "max-seq-id";

/// The id of a write that changes nothing and only continues the numbering.
const MARKER: &str = "loci:numbers-go-on-from-here";

/// A position to reset.
#[derive(Debug)]
struct QueuePosition {
    segment: String,
    what: String,
    was: i64,
    /// `None` if nothing was consumed, which Chroma records as the absence of a position.
    becomes: Option<i64>,
    encoded: Value,
}

#[derive(Debug)]
struct PositionRepair {
    positions: Vec<QueuePosition>,
    /// The number and topic of a write that changes nothing, after which numbers continue above all consumed ones.
    marker: Option<(i64, String)>,
}

/// Plans the reset of all impossible positions.
pub(super) fn plan(book: &FixSession) -> Result<FixPlan> {
    let mut change = PositionRepair {
        positions: Vec::new(),
        marker: None,
    };
    let mut notes = Vec::new();
    if book.schema.has_table("max_seq_id") {
        for listed in &book.listed {
            let shelf = book.read_shelf(listed)?;
            notes.extend(note_absurd_graph(&shelf));
            let found = find_absurd_positions(book, &shelf)?;
            let highest = found.iter().filter_map(|position| position.becomes).max();
            change.keep_numbering(book, &shelf, highest)?;
            change.positions.extend(found);
        }
    }
    let mut plan = if change.positions.is_empty() {
        FixPlan::without_change("no position lies beyond the newest write")
    } else {
        FixPlan::with_change(change)
    };
    plan.notes.extend(notes);
    Ok(plan)
}

/// Notes a graph that records an impossible position itself, which no table can correct.
fn note_absurd_graph(shelf: &RecordShelf) -> Option<String> {
    let recorded = recorded_by_graph(shelf)?;
    shelf.tally.is_absurd(Some(recorded)).then(|| {
        format!(
            "the graph of {:?} itself records the position {recorded}; --fix quarantine rebuilds it",
            shelf.listed.name.as_str()
        )
    })
}

fn recorded_by_graph(shelf: &RecordShelf) -> Option<i64> {
    let labels = shelf.graph.as_ref().and_then(SegmentGraph::readable_labels)?;
    labels.max_seq_id
}

fn find_absurd_positions(book: &FixSession, shelf: &RecordShelf) -> Result<Vec<QueuePosition>> {
    let mut found = Vec::new();
    let listed = &shelf.listed;
    for (segment, is_graph) in [(&listed.metadata_segment, false), (&listed.vector_segment, true)] {
        let Some(segment) = segment else { continue };
        let was = read_table_position(book.connection(), segment)?;
        let Some(was) = was.filter(|was| shelf.tally.is_absurd(Some(*was))) else {
            continue;
        };
        let becomes = if is_graph {
            Some(consumed_by_graph(book, shelf)?)
        } else {
            newest_row_write(book.connection(), segment)?
        };
        let what = if is_graph { "graph" } else { "rows" };
        found.push(QueuePosition {
            segment: segment.clone(),
            what: format!("{what} of {:?}", listed.name.as_str()),
            was,
            becomes,
            encoded: book.encode_sequence(becomes.unwrap_or_default()),
        });
    }
    Ok(found)
}

/// Returns the position of a segment in the table.
fn read_table_position(connection: &Connection, segment: &str) -> Result<Option<i64>> {
    let mut position = None;
    let sql = "SELECT seq_id FROM max_seq_id WHERE segment_id = ?1";
    for_each_row(connection, "the consumed positions", sql, &[&segment], |row| {
        position = read_sequence(row, 0)?.number;
        Ok(())
    })?;
    Ok(position)
}

/// Returns the newest write that was applied to a row.
fn newest_row_write(connection: &Connection, segment: &str) -> Result<Option<i64>> {
    let mut highest = None;
    // Not max(): numbers as bytes and as integers stand side by side, and SQLite would compare them by type.
    let sql = "SELECT seq_id FROM embeddings WHERE +segment_id = ?1";
    for_each_row(connection, "the rows", sql, &[&segment], |row| {
        highest = highest.max(read_sequence(row, 0)?.number);
        Ok(())
    })?;
    Ok(highest)
}

/// Returns the position that the graph records, or else the lowest one from which no write is lost.
fn consumed_by_graph(book: &FixSession, shelf: &RecordShelf) -> Result<i64> {
    let tally = &shelf.tally;
    if let Some(recorded) = recorded_by_graph(shelf).filter(|recorded| !tally.is_absurd(Some(*recorded))) {
        return Ok(recorded);
    }
    let oldest = oldest_write(book, &shelf.listed.id)?;
    let consumed = match oldest {
        Some(oldest) => oldest - 1,
        None => consumed_by_rows(book, shelf)?.unwrap_or_default(),
    };
    // Releases before 1.0 treat position 0 as none and then consume only later writes.
    Ok(consumed.max(1))
}

fn consumed_by_rows(book: &FixSession, shelf: &RecordShelf) -> Result<Option<i64>> {
    match &shelf.listed.metadata_segment {
        Some(segment) => newest_row_write(book.connection(), segment),
        None => Ok(None),
    }
}

/// Returns the oldest write to a collection that is still in the queue.
pub(super) fn oldest_write(book: &FixSession, collection: &str) -> Result<Option<i64>> {
    if !book.schema.has_table("embeddings_queue") {
        return Ok(None);
    }
    // A topic ends in the collection's id; what precedes it differs between releases and tenants.
    let sql = "SELECT min(seq_id) FROM embeddings_queue WHERE substr(topic, -length(?1)) = ?1";
    query_number(book.connection(), "the write queue", sql, &[&collection])
}

/// Returns the topic of the writes to a collection in the queue.
pub(super) fn find_topic(book: &FixSession, collection: &str) -> Result<String> {
    let connection = book.connection();
    let mut topic = None;
    // Another collection's topic will do where this one has no writes left: only the last part differs.
    let sql = "SELECT topic FROM embeddings_queue ORDER BY substr(topic, -length(?1)) = ?1 DESC LIMIT 1";
    for_each_row(connection, "the write queue", sql, &[&collection], |row| {
        topic = read_text(row, 0)?;
        Ok(())
    })?;
    if topic.is_none() && book.schema.has_column("collections", "topic") {
        let sql = "SELECT topic FROM collections WHERE id = ?1";
        for_each_row(connection, "the collections", sql, &[&collection], |row| {
            topic = read_text(row, 0)?;
            Ok(())
        })?;
    }
    let topic = topic.unwrap_or_else(|| "persistent://default/default/".to_owned());
    let before = topic
        .rsplit_once('/')
        .map_or(topic.as_str(), |(before, _)| before);
    Ok(format!("{before}/{collection}"))
}

impl PositionRepair {
    /// Adds a marker if the queue is below the consumed position: an empty queue restarts its numbers, and writes
    /// with numbers that count as consumed would be ignored again.
    fn keep_numbering(&mut self, book: &FixSession, shelf: &RecordShelf, highest: Option<i64>) -> Result<()> {
        let Some(highest) = highest.filter(|_| book.schema.has_table("embeddings_queue")) else {
            return Ok(());
        };
        // One marker at the highest position serves all collections, since they share the numbers.
        let reached = self.marker.as_ref().map(|(number, _)| *number);
        if book
            .newest_write()?
            .max(reached)
            .is_none_or(|newest| newest < highest)
        {
            self.marker = Some((highest, find_topic(book, &shelf.listed.id)?));
        }
        Ok(())
    }
}

impl FolderChange for PositionRepair {
    fn describe(&self) -> Vec<String> {
        let set = self.positions.iter().map(|position| match position.becomes {
            Some(becomes) => format!(
                "the position of the {} from {} to {becomes}",
                position.what, position.was
            ),
            None => format!(
                "the position of the {} from {} to none, since nothing was consumed",
                position.what, position.was
            ),
        });
        let marker = self.marker.as_ref().map(|(number, _)| {
            format!(
                "a write {number} that changes nothing, so that the empty queue continues its numbers from there"
            )
        });
        set.chain(marker).collect()
    }

    fn write_change(&self, connection: &Connection) -> Result<()> {
        let made = || -> rusqlite::Result<()> {
            for position in &self.positions {
                match position.becomes {
                    Some(_) => connection.execute(
                        "UPDATE max_seq_id SET seq_id = ?2 WHERE segment_id = ?1",
                        (&position.segment, &position.encoded),
                    )?,
                    None => connection.execute(
                        "DELETE FROM max_seq_id WHERE segment_id = ?1",
                        [&position.segment],
                    )?,
                };
            }
            if let Some((number, topic)) = &self.marker {
                connection.execute(
                    // Operation 3 deletes an id that no record has.
                    "INSERT INTO embeddings_queue (seq_id, operation, topic, id) VALUES (?1, 3, ?2, ?3)",
                    (number, topic, MARKER),
                )?;
            }
            Ok(())
        };
        made().map_err(|cause| write_error("the consumed positions", cause))
    }
}
