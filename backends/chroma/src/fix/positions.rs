//! `max-seq-id`: positions in the write queue that no write ever had become what was really consumed.

use loci_core::Result;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::book::{Book, unwritten};
use super::{Change, Plan};
use crate::catalogue::{number, rows, text};
use crate::graph::Graph;
use crate::sequence::sequence;
use crate::shelf::Shelf;

/// The step's name.
pub(super) const STEP: &str = "max-seq-id";

/// Whose id a write has that only keeps the numbers going.
const MARKER: &str = "loci:numbers-go-on-from-here";

/// One position to set.
#[derive(Debug)]
struct Position {
    segment: String,
    what: String,
    was: i64,
    /// Nothing where nothing was consumed, which is said by there being no position.
    becomes: Option<i64>,
    kept: Value,
}

#[derive(Debug)]
struct Positions {
    positions: Vec<Position>,
    /// A write that changes nothing, so that the next one has a number above all that were consumed.
    marker: Option<(i64, String)>,
}

/// What would be set.
pub(super) fn plan(book: &Book) -> Result<Plan> {
    let mut change = Positions {
        positions: Vec::new(),
        marker: None,
    };
    let mut notes = Vec::new();
    if book.schema.has("max_seq_id") {
        for listed in &book.listed {
            let shelf = book.shelf(listed)?;
            notes.extend(absurd_graph(&shelf));
            let found = positions(book, &shelf)?;
            let highest = found.iter().filter_map(|position| position.becomes).max();
            change.number_on(book, &shelf, highest)?;
            change.positions.extend(found);
        }
    }
    let mut plan = match change.positions.is_empty() {
        true => Plan::nothing("no position lies beyond the writes there were"),
        false => Plan::of(change),
    };
    plan.notes.extend(notes);
    Ok(plan)
}

/// What no table can mend: a graph that says so itself.
fn absurd_graph(shelf: &Shelf) -> Option<String> {
    let recorded = recorded(shelf)?;
    shelf.tally.is_absurd(Some(recorded)).then(|| {
        format!(
            "the graph of {:?} itself records the position {recorded}; --fix quarantine has it made anew",
            shelf.listed.name.as_str()
        )
    })
}

fn recorded(shelf: &Shelf) -> Option<i64> {
    let labels = shelf.graph.as_ref().and_then(Graph::known)?;
    labels.max_seq_id
}

fn positions(book: &Book, shelf: &Shelf) -> Result<Vec<Position>> {
    let mut found = Vec::new();
    let listed = &shelf.listed;
    for (segment, is_graph) in [(&listed.metadata_segment, false), (&listed.vector_segment, true)] {
        let Some(segment) = segment else { continue };
        let was = in_table(book.connection(), segment)?;
        let Some(was) = was.filter(|was| shelf.tally.is_absurd(Some(*was))) else {
            continue;
        };
        let becomes = match is_graph {
            true => Some(graph_consumed(book, shelf)?),
            false => rows_consumed(book.connection(), segment)?,
        };
        let what = if is_graph { "graph" } else { "rows" };
        found.push(Position {
            segment: segment.clone(),
            what: format!("{what} of {:?}", listed.name.as_str()),
            was,
            becomes,
            kept: book.kept(becomes.unwrap_or_default()),
        });
    }
    Ok(found)
}

/// The position the table has for a segment.
fn in_table(connection: &Connection, segment: &str) -> Result<Option<i64>> {
    let mut position = None;
    let sql = "SELECT seq_id FROM max_seq_id WHERE segment_id = ?1";
    rows(connection, "the consumed positions", sql, &[&segment], |row| {
        position = sequence(row, 0)?.number;
        Ok(())
    })?;
    Ok(position)
}

/// The newest write that rows show.
fn rows_consumed(connection: &Connection, segment: &str) -> Result<Option<i64>> {
    let mut highest = None;
    let sql = "SELECT seq_id FROM embeddings WHERE +segment_id = ?1";
    rows(connection, "the rows", sql, &[&segment], |row| {
        highest = highest.max(sequence(row, 0)?.number);
        Ok(())
    })?;
    Ok(highest)
}

/// What the graph says it consumed, or else the lowest position from which nothing is lost.
fn graph_consumed(book: &Book, shelf: &Shelf) -> Result<i64> {
    let tally = &shelf.tally;
    if let Some(recorded) = recorded(shelf).filter(|recorded| !tally.is_absurd(Some(*recorded))) {
        return Ok(recorded);
    }
    let oldest = oldest(book, &shelf.listed.id)?;
    let consumed = match oldest {
        Some(oldest) => oldest - 1,
        None => rows_of(book, shelf)?.unwrap_or_default(),
    };
    // Releases before 1.0 take a position of 0 for none, and then consume only what comes later.
    Ok(consumed.max(1))
}

fn rows_of(book: &Book, shelf: &Shelf) -> Result<Option<i64>> {
    match &shelf.listed.metadata_segment {
        Some(segment) => rows_consumed(book.connection(), segment),
        None => Ok(None),
    }
}

/// The oldest write to a collection that is still in the queue.
pub(super) fn oldest(book: &Book, collection: &str) -> Result<Option<i64>> {
    if !book.schema.has("embeddings_queue") {
        return Ok(None);
    }
    let sql = "SELECT min(seq_id) FROM embeddings_queue WHERE substr(topic, -length(?1)) = ?1";
    number(book.connection(), "the write queue", sql, &[&collection])
}

/// What writes to a collection are filed under in the queue.
pub(super) fn topic(book: &Book, collection: &str) -> Result<String> {
    let connection = book.connection();
    let mut topic = None;
    let sql = "SELECT topic FROM embeddings_queue ORDER BY substr(topic, -length(?1)) = ?1 DESC LIMIT 1";
    rows(connection, "the write queue", sql, &[&collection], |row| {
        topic = text(row, 0)?;
        Ok(())
    })?;
    if topic.is_none() && book.schema.has_column("collections", "topic") {
        let sql = "SELECT topic FROM collections WHERE id = ?1";
        rows(connection, "the collections", sql, &[&collection], |row| {
            topic = text(row, 0)?;
            Ok(())
        })?;
    }
    let topic = topic.unwrap_or_else(|| "persistent://default/default/".to_owned());
    let before = topic
        .rsplit_once('/')
        .map_or(topic.as_str(), |(before, _)| before);
    Ok(format!("{before}/{collection}"))
}

impl Positions {
    /// A queue that lost every write begins to count anew, below what was consumed; then writes would be ignored again.
    fn number_on(&mut self, book: &Book, shelf: &Shelf, highest: Option<i64>) -> Result<()> {
        let Some(highest) = highest.filter(|_| book.schema.has("embeddings_queue")) else {
            return Ok(());
        };
        let reached = self.marker.as_ref().map(|(number, _)| *number);
        if book.newest()?.max(reached).is_none_or(|newest| newest < highest) {
            self.marker = Some((highest, topic(book, &shelf.listed.id)?));
        }
        Ok(())
    }
}

impl Change for Positions {
    fn lines(&self) -> Vec<String> {
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
                "a write {number} that changes nothing in the empty queue, so that numbers go on from there"
            )
        });
        set.chain(marker).collect()
    }

    fn make(&self, connection: &Connection) -> Result<()> {
        let made = || -> rusqlite::Result<()> {
            for position in &self.positions {
                match position.becomes {
                    Some(_) => connection.execute(
                        "UPDATE max_seq_id SET seq_id = ?2 WHERE segment_id = ?1",
                        (&position.segment, &position.kept),
                    )?,
                    None => connection.execute(
                        "DELETE FROM max_seq_id WHERE segment_id = ?1",
                        [&position.segment],
                    )?,
                };
            }
            if let Some((number, topic)) = &self.marker {
                connection.execute(
                    "INSERT INTO embeddings_queue (seq_id, operation, topic, id) VALUES (?1, 3, ?2, ?3)",
                    (number, topic, MARKER),
                )?;
            }
            Ok(())
        };
        made().map_err(|cause| unwritten("the consumed positions", cause))
    }
}
