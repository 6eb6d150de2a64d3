//! The word index against the rows: both sides are summed in any order and must agree.

use loci_core::{DrawerFields, Result};
use loci_index::postings::WordBag;
use loci_index::rows::RowSet;
use loci_index::tokenise::TextIndexer;
use rusqlite::Connection;

use super::projection::UnorderedSum;
use super::rows::each_row_in_order;
use super::{ExaminationReport, rebuildable_finding};
use crate::failure::{corrupt_error, sqlite_error};
use crate::shelf::CollectionShelf;
use crate::words::{WordSegment, WordSegmentEntry};
use crate::{row, schema, words};

/// The counts and sums of the words on one side of the comparison.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
struct WordCounts {
    drawers: i64,
    /// The length of every drawer.
    lengths: UnorderedSum,
    /// Every term of every drawer with its count.
    terms: UnorderedSum,
}

impl WordCounts {
    fn add_drawer(&mut self, row: i64, length: u32) {
        self.drawers += 1;
        self.lengths.add(row, &length.to_le_bytes());
    }

    fn add_term(&mut self, row: i64, term: &[u8], count: u32) {
        self.terms.add(row, &[&count.to_le_bytes(), term].concat());
    }

    fn add_bag(&mut self, row: i64, words: WordBag<'_>) -> Result<()> {
        self.add_drawer(row, words.length()?);
        words.for_each_term(|term, count| self.add_term(row, term, count))
    }
}

/// Compares the index with the words of the rows.
pub(super) fn check_words(
    report: &mut ExaminationReport,
    connection: &Connection,
    shelf: &CollectionShelf,
) -> Result<()> {
    if !words::tables_exist(connection, shelf.projection)? {
        if schema::format_version(connection)? >= words::FIRST_FORMAT {
            let message = "the word index is missing".to_owned();
            report.add(rebuildable_finding("full_text_damaged", shelf, message));
        }
        // A file of an earlier format has another index, which an upgrade does not take over.
        return Ok(());
    }
    let expected = count_expected(connection, shelf)?;
    match count_indexed(connection, shelf.projection) {
        Ok(found) if found == expected => {}
        Ok(found) => report.add(rebuildable_finding(
            "full_text_differs",
            shelf,
            describe_difference(&found, &expected),
        )),
        Err(error) => {
            let message = format!("the word index cannot be read: {error}");
            report.add(rebuildable_finding("full_text_damaged", shelf, message));
        }
    }
    Ok(())
}

fn describe_difference(found: &WordCounts, expected: &WordCounts) -> String {
    let same = found.terms.entries == expected.terms.entries && found.drawers == expected.drawers;
    format!(
        "the word index holds {} words of {} drawers; the rows have {} words in {} drawers{}",
        found.terms.entries,
        found.drawers,
        expected.terms.entries,
        expected.drawers,
        if same { ", and they are not the same" } else { "" }
    )
}

fn count_expected(connection: &Connection, shelf: &CollectionShelf) -> Result<WordCounts> {
    let mut expected = WordCounts::default();
    let mut indexer = TextIndexer::default();
    let include = DrawerFields {
        document: true,
        context: true,
        ..DrawerFields::NOTHING
    };
    each_row_in_order(connection, shelf, |number| {
        // An unreadable row is reported by the check of rows.
        if let Ok(Some(stored)) = row::load_by_row(connection, number, include) {
            expected.add_bag(
                number,
                WordBag::new(&words::pack_words(&mut indexer, &stored.drawer)),
            )?;
        }
        Ok(())
    })?;
    Ok(expected)
}

fn count_indexed(connection: &Connection, projection: i64) -> Result<WordCounts> {
    let mut found = WordCounts::default();
    let gone = words::list_gone(connection, projection)?;
    let mut stray = RowSet::from_rows(gone.clone());
    let live = RowSet::from_rows(gone).not();
    let (mut blocks, mut reached) = (0, i64::MIN);
    for entry in words::list_word_segments(connection, projection)? {
        if entry.first <= reached {
            return Err(corrupt_error("two word segments share rows"));
        }
        reached = entry.last;
        let segment = WordSegment::read(connection, projection, &entry)?;
        blocks += sum_segment(connection, projection, &entry, &segment, &live, &mut found)?;
        stray = stray.and(RowSet::from_rows(segment.rows).not());
    }
    // Sealing takes rows in order, so no writer leaves a row of the tail below a sealed one.
    words::each_unsealed(connection, projection, |row, words| {
        if row > reached {
            found.add_bag(row, words)
        } else {
            Err(corrupt_error(format!(
                "row {row} is in the tail of the word index but below a sealed row"
            )))
        }
    })?;
    let stored: i64 = connection
        .query_row(&format!("SELECT count(*) FROM words_{projection}"), [], |row| {
            row.get(0)
        })
        .map_err(sqlite_error)?;
    if stored != blocks {
        return Err(corrupt_error(format!(
            "{stored} blocks of terms are stored, and {blocks} are listed"
        )));
    }
    match stray.listed_rows() {
        Some([first, ..]) => Err(corrupt_error(format!(
            "row {first} is noted as gone but is in no segment"
        ))),
        _ => Ok(found),
    }
}

/// Adds a segment to the sums; returns the number of its blocks.
fn sum_segment(
    connection: &Connection,
    projection: i64,
    entry: &WordSegmentEntry,
    segment: &WordSegment,
    live: &RowSet,
    found: &mut WordCounts,
) -> Result<i64> {
    let marks = live.mark_members(&segment.rows);
    let drawers = segment.rows.iter().zip(&segment.lengths).zip(&marks);
    for ((row, length), _) in drawers.filter(|(_, live)| **live) {
        found.add_drawer(*row, *length);
    }
    let wrong = || corrupt_error(format!("the terms of segment {} are not in order", entry.segment));
    let mut blocks = 0;
    let mut before: Vec<u8> = Vec::new();
    segment.each_block(connection, projection, |first, block| {
        blocks += 1;
        let mut begun = false;
        block.for_each_entry(|one| {
            // A search trusts this order: a term out of place is never found, though every checksum is right.
            if one.term <= before.as_slice() || (!begun && one.term != first) {
                return Err(wrong());
            }
            begun = true;
            before = one.term.to_vec();
            let mut stray = false;
            one.list.for_each_drawer(|drawer, count| {
                match (segment.rows.get(drawer as usize), marks.get(drawer as usize)) {
                    (Some(row), Some(true)) => found.add_term(*row, one.term, count),
                    (Some(_), Some(false)) => {}
                    _ => stray = true,
                }
            })?;
            if stray { Err(wrong()) } else { Ok(true) }
        })
    })?;
    Ok(blocks)
}
