//! Vectors and segments of every space against the rows: each vector sound, each row reached exactly once.

use std::collections::BTreeSet;

use loci_core::{Finding, Result, SegmentDiagnosis, Severity, SpaceState};
use loci_index::segment::Seal;
use rusqlite::Connection;
use serde_json::json;

use super::{Report, rebuildable};
use crate::failure::sqlite;
use crate::schema;
use crate::segments::{SegmentEntry, SegmentReader, dead_rows, list_segments};
use crate::shelf::Shelf;
use crate::space::{Space, state_from};
use crate::vectors;

/// Checks that each space is what it can be to its collection, and that at most one is being built.
pub(super) fn states(report: &mut Report, connection: &Connection, shelf: &Shelf) -> Result<()> {
    let mut statement = connection
        .prepare("SELECT space, state FROM spaces WHERE collection = ?1 AND space <> ?2")
        .map_err(sqlite)?;
    let found: Vec<(i64, Option<String>)> = statement
        .query_map([shelf.collection, shelf.space.number], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .and_then(Iterator::collect)
        .map_err(sqlite)?;
    let odd = found
        .iter()
        .filter(|(_, state)| state_from(state.as_deref()).is_none());
    let building = shelf.others.iter().filter(|space| space.is_being_built());
    if odd.count() > 0 || building.count() > 1 {
        let message = format!("the states of the embedding spaces contradict each other: {found:?}");
        report.add(
            Finding::new("space_states", Severity::Error, message)
                .hint("what answers is not touched by it; give up what is being built with `loci embedder switch --rollback`")
                .collection(shelf.name.as_str()),
        );
    }
    Ok(())
}

/// Which space something was found in; nothing is said of the active one.
fn within(space: &Space) -> String {
    match space.state {
        SpaceState::Active => String::new(),
        state => format!(" in the {} space of {}", state.name(), space.model()),
    }
}

/// Reads every exact vector of a space.
pub(super) fn vectors(
    report: &mut Report,
    connection: &Connection,
    shelf: &Shelf,
    space: &Space,
) -> Result<()> {
    let mut damaged = Vec::new();
    let mut sound = 0;
    let mut note = |row: i64, vector: Result<&[f32]>| {
        match vector {
            Ok(_) => sound += 1,
            Err(error) => damaged.push(damaged_vector(connection, shelf, space, row, &error)),
        }
        Ok(())
    };
    if vectors::each(connection, space, i64::MIN, i64::MAX, &mut note).is_err() {
        (damaged, sound) = one_by_one(connection, shelf, space)?;
    }
    let bad = damaged.len() as i64;
    report.list(damaged);
    if sound + bad != space.vectors {
        let message = format!(
            "{} vectors are there{}, {} were counted when written",
            sound + bad,
            within(space),
            space.vectors
        );
        report.add(rebuildable("vector_count_differs", shelf, message));
    }
    let orphans: i64 = connection
        .query_row(
            &vectors::orphans_sql("count(*)", space.number),
            [shelf.collection],
            |row| row.get(0),
        )
        .map_err(sqlite)?;
    if orphans > 0 {
        let message = format!("{orphans} vectors{} belong to no drawer", within(space));
        report.add(rebuildable("vector_orphans", shelf, message));
    }
    Ok(())
}

fn one_by_one(connection: &Connection, shelf: &Shelf, space: &Space) -> Result<(Vec<Finding>, i64)> {
    let (mut damaged, mut sound) = (Vec::new(), 0);
    vectors::each_singly(connection, space, i64::MIN, i64::MAX, |row, vector| {
        match vector {
            Ok(_) => sound += 1,
            Err(error) => damaged.push(damaged_vector(connection, shelf, space, row, &error)),
        }
        Ok(())
    })?;
    Ok((damaged, sound))
}

fn damaged_vector(
    connection: &Connection,
    shelf: &Shelf,
    space: &Space,
    row: i64,
    error: &loci_core::Error,
) -> Finding {
    let id: Option<String> = connection
        .query_row("SELECT id FROM drawers WHERE row = ?1", [row], |found| {
            found.get(0)
        })
        .ok();
    let who = id.map_or_else(|| format!("row {row}"), |id| format!("drawer {id:?}"));
    let hint = match space.state {
        SpaceState::Active => {
            "its text is still found by keyword; embed it again or find it in a backup".to_owned()
        }
        _ => format!(
            "no answer comes from it; drop it with `loci maintain reindex`, and `loci embedder switch {}` makes it again",
            space.model()
        ),
    };
    Finding::new(
        "vector_damaged",
        Severity::Error,
        format!("the vector of {who}{} cannot be read: {error}", within(space)),
    )
    .hint(hint)
    .collection(shelf.name.as_str())
}

/// Checks every segment and that together with the tail they reach each vector exactly once.
pub(super) fn segments(
    report: &mut Report,
    connection: &Connection,
    shelf: &Shelf,
    space: &Space,
) -> Result<()> {
    let seal = Seal {
        palace: schema::palace_id(connection)?,
        space: space.number,
    };
    let dead: BTreeSet<i64> = dead_rows(connection, space.number)?.into_iter().collect();
    let mut reached = BTreeSet::new();
    let mut twice = 0;
    for entry in list_segments(connection, space.number)? {
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
                let message = format!(
                    "segment {}{} cannot be used: {error}",
                    entry.segment,
                    within(space)
                );
                report.add(rebuildable("segment_damaged", shelf, message).segment(entry.segment.to_string()));
            }
        }
    }
    let sealed: BTreeSet<i64> = connection
        .prepare(&format!(
            "SELECT row FROM vectors_{} WHERE row <= ?1",
            space.number
        ))
        .and_then(|mut statement| statement.query_map([space.sealed], |row| row.get(0))?.collect())
        .map_err(sqlite)?;
    let (missing, extra) = (
        sealed.difference(&reached).count(),
        reached.difference(&sealed).count(),
    );
    if missing + extra + twice > 0 {
        let message = format!(
            "packed segments{} leave out {missing} vectors (they are searched one by one), hold {extra} that are gone and {twice} twice",
            within(space)
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
