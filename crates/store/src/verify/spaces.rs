//! Vectors and segments against the rows: every vector sound, every row reached exactly once.

use std::collections::BTreeSet;

use loci_core::{Finding, Result, SegmentDiagnosis, Severity};
use loci_index::segment::Seal;
use rusqlite::Connection;
use serde_json::json;

use super::{Report, rebuildable};
use crate::failure::sqlite;
use crate::schema;
use crate::segments::{SegmentEntry, SegmentReader, dead_rows, list_segments};
use crate::shelf::Shelf;
use crate::vectors;

/// Reads every exact vector.
pub(super) fn vectors(report: &mut Report, connection: &Connection, shelf: &Shelf) -> Result<()> {
    let mut damaged = Vec::new();
    let mut sound = 0;
    let mut note = |row: i64, vector: Result<&[f32]>| {
        match vector {
            Ok(_) => sound += 1,
            Err(error) => damaged.push(damaged_vector(connection, shelf, row, &error)),
        }
        Ok(())
    };
    if vectors::each(connection, shelf, i64::MIN, i64::MAX, &mut note).is_err() {
        (damaged, sound) = one_by_one(connection, shelf)?;
    }
    let bad = damaged.len() as i64;
    report.list(damaged);
    if sound + bad != shelf.vectors {
        let message = format!(
            "{} vectors are there, {} were counted when written",
            sound + bad,
            shelf.vectors
        );
        report.add(
            Finding::new("vector_count_differs", Severity::Error, message).collection(shelf.name.as_str()),
        );
    }
    let orphans: i64 = connection
        .query_row(
            &format!(
                "SELECT count(*) FROM vectors_{} WHERE row NOT IN (SELECT row FROM drawers)",
                shelf.space
            ),
            [],
            |row| row.get(0),
        )
        .map_err(sqlite)?;
    if orphans > 0 {
        let message = format!("{orphans} vectors belong to no drawer");
        report.add(Finding::new("vector_orphans", Severity::Error, message).collection(shelf.name.as_str()));
    }
    Ok(())
}

fn one_by_one(connection: &Connection, shelf: &Shelf) -> Result<(Vec<Finding>, i64)> {
    let (mut damaged, mut sound) = (Vec::new(), 0);
    vectors::each_singly(connection, shelf, i64::MIN, i64::MAX, |row, vector| {
        match vector {
            Ok(_) => sound += 1,
            Err(error) => damaged.push(damaged_vector(connection, shelf, row, &error)),
        }
        Ok(())
    })?;
    Ok((damaged, sound))
}

fn damaged_vector(connection: &Connection, shelf: &Shelf, row: i64, error: &loci_core::Error) -> Finding {
    let id: Option<String> = connection
        .query_row("SELECT id FROM drawers WHERE row = ?1", [row], |found| {
            found.get(0)
        })
        .ok();
    let who = id.map_or_else(|| format!("row {row}"), |id| format!("drawer {id:?}"));
    Finding::new(
        "vector_damaged",
        Severity::Error,
        format!("the vector of {who} cannot be read: {error}"),
    )
    .hint("its text is still found by keyword; embed it again or find it in a backup")
    .collection(shelf.name.as_str())
}

/// Checks every segment and that together with the tail they reach each vector exactly once.
pub(super) fn segments(report: &mut Report, connection: &Connection, shelf: &Shelf) -> Result<()> {
    let seal = Seal {
        palace: schema::palace_id(connection)?,
        space: shelf.space,
    };
    let dead: BTreeSet<i64> = dead_rows(connection, shelf.space)?.into_iter().collect();
    let mut reached = BTreeSet::new();
    let mut twice = 0;
    for entry in list_segments(connection, shelf.space)? {
        let read = read_segment(connection, seal, &entry);
        report.segments.push(SegmentDiagnosis {
            name: entry.segment.to_string(),
            sound: read.is_ok(),
            figures: [
                ("rows".to_owned(), json!(entry.rows)),
                ("first".to_owned(), json!(entry.first)),
            ]
            .into_iter()
            .collect(),
        });
        match read {
            Ok(rows) => {
                twice += rows
                    .into_iter()
                    .filter(|row| !dead.contains(row) && !reached.insert(*row))
                    .count()
            }
            Err(error) => {
                let message = format!("segment {} cannot be used: {error}", entry.segment);
                report.add(rebuildable("segment_damaged", shelf, message).segment(entry.segment.to_string()));
            }
        }
    }
    let sealed: BTreeSet<i64> = connection
        .prepare(&format!(
            "SELECT row FROM vectors_{} WHERE row <= ?1",
            shelf.space
        ))
        .and_then(|mut statement| statement.query_map([shelf.sealed], |row| row.get(0))?.collect())
        .map_err(sqlite)?;
    let (missing, extra) = (
        sealed.difference(&reached).count(),
        reached.difference(&sealed).count(),
    );
    if missing + extra + twice > 0 {
        let message = format!(
            "packed segments leave out {missing} vectors (they are searched one by one), hold {extra} that are gone and {twice} twice"
        );
        report.add(rebuildable("segments_incomplete", shelf, message));
    }
    Ok(())
}

fn read_segment(connection: &Connection, seal: Seal, entry: &SegmentEntry) -> Result<Vec<i64>> {
    let mut reader = SegmentReader::new(connection, seal);
    let head = reader.read_head(entry)?;
    let body = reader.read_body(entry, &head)?;
    head.check_body(&seal, body)?;
    Ok(head.rows().to_vec())
}
