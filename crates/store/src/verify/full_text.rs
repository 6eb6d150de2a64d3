//! The index of words against the rows: both sides are summed up in any order and must agree.

use loci_core::{Include, Result};
use loci_index::postings::Bag;
use loci_index::rows::Rows;
use loci_index::tokenise::Indexer;
use rusqlite::Connection;

use super::projection::Sum;
use super::rows::each_row;
use super::{Report, rebuildable};
use crate::failure::{corrupt, sqlite};
use crate::shelf::Shelf;
use crate::words::{Entry, Segment};
use crate::{row, schema, words};

/// What is counted of words on one side.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
struct Counted {
    drawers: i64,
    /// The length of every drawer.
    lengths: Sum,
    /// Every term of every drawer with its count.
    terms: Sum,
}

impl Counted {
    fn drawer(&mut self, row: i64, length: u32) {
        self.drawers += 1;
        self.lengths.add(row, &length.to_le_bytes());
    }

    fn term(&mut self, row: i64, term: &[u8], count: u32) {
        self.terms.add(row, &[&count.to_le_bytes(), term].concat());
    }

    fn bag(&mut self, row: i64, words: Bag<'_>) -> Result<()> {
        self.drawer(row, words.length()?);
        words.each(|term, count| self.term(row, term, count))
    }
}

/// Compares the index with the words of the rows.
pub(super) fn check(report: &mut Report, connection: &Connection, shelf: &Shelf) -> Result<()> {
    if !words::are_there(connection, shelf.projection)? {
        if schema::is_current(connection)? {
            let message = "the index of words is gone".to_owned();
            report.add(rebuildable("full_text_damaged", shelf, message));
        }
        // A file of an earlier format has another index, which is left behind when it is brought up to date.
        return Ok(());
    }
    let expected = expected(connection, shelf)?;
    match indexed(connection, shelf.projection) {
        Ok(found) if found == expected => {}
        Ok(found) => report.add(rebuildable(
            "full_text_differs",
            shelf,
            differing(&found, &expected),
        )),
        Err(error) => {
            let message = format!("the index of words cannot be read: {error}");
            report.add(rebuildable("full_text_damaged", shelf, message));
        }
    }
    Ok(())
}

fn differing(found: &Counted, expected: &Counted) -> String {
    let same = found.terms.entries == expected.terms.entries && found.drawers == expected.drawers;
    format!(
        "the index of words holds {} words of {} drawers; the rows have {} words in {} drawers{}",
        found.terms.entries,
        found.drawers,
        expected.terms.entries,
        expected.drawers,
        if same { ", and they are not the same" } else { "" }
    )
}

fn expected(connection: &Connection, shelf: &Shelf) -> Result<Counted> {
    let mut expected = Counted::default();
    let mut indexer = Indexer::default();
    let include = Include {
        document: true,
        context: true,
        ..Include::NOTHING
    };
    each_row(connection, shelf, |_, number| {
        // A row that cannot be read is named by the check of rows.
        if let Ok(Some(stored)) = row::by_row(connection, number, include) {
            expected.bag(number, Bag::new(&words::of(&mut indexer, &stored.drawer)))?;
        }
        Ok(())
    })?;
    Ok(expected)
}

fn indexed(connection: &Connection, projection: i64) -> Result<Counted> {
    let mut found = Counted::default();
    let gone = words::gone(connection, projection)?;
    let mut stray = Rows::of(gone.clone());
    let live = Rows::of(gone).not();
    let (mut blocks, mut reached) = (0, i64::MIN);
    for entry in words::list(connection, projection)? {
        if entry.first <= reached {
            return Err(corrupt("two segments of the words share rows"));
        }
        reached = entry.last;
        let segment = Segment::read(connection, projection, &entry)?;
        blocks += sum_segment(connection, projection, &entry, &segment, &live, &mut found)?;
        stray = stray.and(Rows::of(segment.rows).not());
    }
    words::each_new(connection, projection, |row, words| match row > reached {
        true => found.bag(row, words),
        false => Err(corrupt(format!("row {row} is among those of sealed words"))),
    })?;
    let stored: i64 = connection
        .query_row(&format!("SELECT count(*) FROM words_{projection}"), [], |row| {
            row.get(0)
        })
        .map_err(sqlite)?;
    match (stored == blocks, stray.listed()) {
        (false, _) => Err(corrupt(format!(
            "{stored} blocks of terms are stored, and {blocks} are listed"
        ))),
        (true, Some([first, ..])) => Err(corrupt(format!("row {first} is gone, but stands in no segment"))),
        _ => Ok(found),
    }
}

/// Sums up a segment; returns how many blocks it has.
fn sum_segment(
    connection: &Connection,
    projection: i64,
    entry: &Entry,
    segment: &Segment,
    live: &Rows,
    found: &mut Counted,
) -> Result<i64> {
    let marks = live.marks(&segment.rows);
    let drawers = segment.rows.iter().zip(&segment.lengths).zip(&marks);
    for ((row, length), _) in drawers.filter(|(_, live)| **live) {
        found.drawer(*row, *length);
    }
    let wrong = || corrupt(format!("the terms of segment {} are not in order", entry.segment));
    let mut blocks = 0;
    let mut before: Vec<u8> = Vec::new();
    segment.each_block(connection, projection, |first, block| {
        blocks += 1;
        let mut begun = false;
        block.each(|one| {
            if one.term <= before.as_slice() || (!begun && one.term != first) {
                return Err(wrong());
            }
            begun = true;
            before = one.term.to_vec();
            let mut stray = false;
            one.list.each(|drawer, count| {
                match (segment.rows.get(drawer as usize), marks.get(drawer as usize)) {
                    (Some(row), Some(true)) => found.term(*row, one.term, count),
                    (Some(_), Some(false)) => {}
                    _ => stray = true,
                }
            })?;
            if stray { Err(wrong()) } else { Ok(true) }
        })
    })?;
    Ok(blocks)
}
