//! Vectors and segments of every space against the rows: each vector is sound, each row covered exactly once.

use loci_core::{FindingSeverity, PalaceFinding, Result, SegmentDiagnosis, SpaceState};
use loci_index::segment::SegmentSeal;
use rusqlite::Connection;
use serde_json::json;

use super::listed::ListedFindings;
use super::{ExaminationReport, rebuildable_finding};
use crate::failure::sqlite_error;
use crate::schema;
use crate::segments::{SegmentEntry, SegmentReader, dead_rows, list_segments};
use crate::shelf::CollectionShelf;
use crate::space::{StoredSpace, state_from};
use crate::vectors;

/// Checks that each space has a known state, and that at most one is being built.
pub(super) fn check_states(
    report: &mut ExaminationReport,
    connection: &Connection,
    shelf: &CollectionShelf,
) -> Result<()> {
    let mut statement = connection
        // Read again from the table: a state that no release wrote has become "abandoned" in the shelf.
        .prepare("SELECT space, state FROM spaces WHERE collection = ?1 AND space <> ?2")
        .map_err(sqlite_error)?;
    let found: Vec<(i64, Option<String>)> = statement
        .query_map([shelf.collection, shelf.space.number], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .and_then(Iterator::collect)
        .map_err(sqlite_error)?;
    let odd = found
        .iter()
        .filter(|(_, state)| state_from(state.as_deref()).is_none());
    let building = shelf.others.iter().filter(|space| space.is_being_built());
    if odd.count() > 0 || building.count() > 1 {
        let message = format!("the states of the embedding spaces contradict each other: {found:?}");
        report.add(
            PalaceFinding::new("space_states", FindingSeverity::Error, message)
                .with_hint("answers are not affected; abandon the space being built with `loci embedder switch --rollback`")
                .in_collection(shelf.name.as_str()),
        );
    }
    Ok(())
}

/// Names the space of a finding, for its message; empty for the active one.
fn space_suffix(space: &StoredSpace) -> String {
    match space.state {
        SpaceState::Active => String::new(),
        state => format!(" in the {} space of {}", state.name(), space.model()),
    }
}

/// Reads every exact vector of a space.
pub(super) fn check_vectors(
    report: &mut ExaminationReport,
    connection: &Connection,
    shelf: &CollectionShelf,
    space: &StoredSpace,
) -> Result<()> {
    let mut damaged = ListedFindings::default();
    let mut sound = 0;
    let mut note = |row: i64, vector: Result<&[f32]>| {
        match vector {
            Ok(_) => sound += 1,
            Err(error) => damaged.push(|| damaged_vector(connection, shelf, space, row, &error)),
        }
        Ok(())
    };
    // The walk ended at an unreadable page. What it had counted is thrown away, since the second walk finds the
    // rows in another table.
    if vectors::each_vector(connection, space, i64::MIN, i64::MAX, &mut note).is_err() {
        (damaged, sound) = read_one_by_one(connection, shelf, space)?;
    }
    let bad = damaged.count() as i64;
    report.add_listed(damaged);
    if sound + bad != space.vectors {
        let message = format!(
            "{} vectors exist{}, {} were counted when they were written",
            sound + bad,
            space_suffix(space),
            space.vectors
        );
        report.add(rebuildable_finding("vector_count_differs", shelf, message));
    }
    let orphans: i64 = connection
        .query_row(
            &vectors::orphans_sql("count(*)", space.number),
            [shelf.collection],
            |row| row.get(0),
        )
        .map_err(sqlite_error)?;
    if orphans > 0 {
        let message = format!("{orphans} vectors{} belong to no drawer", space_suffix(space));
        report.add(rebuildable_finding("vector_orphans", shelf, message));
    }
    Ok(())
}

fn read_one_by_one(
    connection: &Connection,
    shelf: &CollectionShelf,
    space: &StoredSpace,
) -> Result<(ListedFindings, i64)> {
    let (mut damaged, mut sound) = (ListedFindings::default(), 0);
    vectors::each_vector_singly(connection, space, i64::MIN, i64::MAX, |row, vector| {
        match vector {
            Ok(_) => sound += 1,
            Err(error) => damaged.push(|| damaged_vector(connection, shelf, space, row, &error)),
        }
        Ok(())
    })?;
    Ok((damaged, sound))
}

fn damaged_vector(
    connection: &Connection,
    shelf: &CollectionShelf,
    space: &StoredSpace,
    row: i64,
    error: &loci_core::Error,
) -> PalaceFinding {
    let id: Option<String> = connection
        .query_row("SELECT id FROM drawers WHERE row = ?1", [row], |found| {
            found.get(0)
        })
        .ok();
    // The id only makes the finding easier to read; if it cannot be read, the row number must do.
    let who = id.map_or_else(|| format!("row {row}"), |id| format!("drawer {id:?}"));
    let hint = match space.state {
        SpaceState::Active => {
            "its text is still found by keyword; embed it again or find it in a backup".to_owned()
        }
        _ => format!(
            "it is not used in answers; drop it with `loci maintain reindex`, and `loci embedder switch {}` makes it again",
            space.model()
        ),
    };
    PalaceFinding::new(
        "vector_damaged",
        FindingSeverity::Error,
        format!(
            "the vector of {who}{} cannot be read: {error}",
            space_suffix(space)
        ),
    )
    .with_hint(hint)
    .in_collection(shelf.name.as_str())
}

/// Checks every segment, and that the segments together cover each sealed vector exactly once.
pub(super) fn check_segments(
    report: &mut ExaminationReport,
    connection: &Connection,
    shelf: &CollectionShelf,
    space: &StoredSpace,
) -> Result<()> {
    let seal = SegmentSeal {
        palace: schema::palace_id(connection)?,
        space: space.number,
    };
    // Sorted lists and not sets: eight bytes for each row of the collection.
    let mut dead = dead_rows(connection, space.number)?;
    dead.sort_unstable();
    let mut reached: Vec<i64> = Vec::new();
    let mut unusable = ListedFindings::default();
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
            Ok(rows) => reached.extend(rows.into_iter().filter(|row| dead.binary_search(row).is_err())),
            Err(error) => unusable.push(|| {
                let message = format!(
                    "segment {}{} cannot be used: {error}",
                    entry.segment,
                    space_suffix(space)
                );
                rebuildable_finding("segment_damaged", shelf, message).in_segment(entry.segment.to_string())
            }),
        }
    }
    report.add_listed(unusable);
    reached.sort_unstable();
    let packed = reached.len();
    reached.dedup();
    let twice = packed - reached.len();
    let (mut sealed, mut common) = (0, 0);
    each_sealed(connection, space, |row| {
        sealed += 1;
        common += usize::from(reached.binary_search(&row).is_ok());
    })?;
    let (missing, extra) = (sealed - common, reached.len() - common);
    if missing + extra + twice > 0 {
        let message = format!(
            "packed segments{} lack {missing} vectors (they are searched one by one), hold {extra} that are gone and {twice} twice",
            space_suffix(space)
        );
        report.add(rebuildable_finding("segments_incomplete", shelf, message));
    }
    Ok(())
}

/// Calls `each` with every row that has a vector and belongs in a segment.
fn each_sealed(connection: &Connection, space: &StoredSpace, mut each: impl FnMut(i64)) -> Result<()> {
    let sql = format!("SELECT row FROM vectors_{} WHERE row <= ?1", space.number);
    let mut statement = connection.prepare(&sql).map_err(sqlite_error)?;
    let mut found = statement.query([space.sealed]).map_err(sqlite_error)?;
    while let Some(entry) = found.next().map_err(sqlite_error)? {
        each(entry.get(0).map_err(sqlite_error)?);
    }
    Ok(())
}

fn read_segment(connection: &Connection, seal: SegmentSeal, entry: &SegmentEntry) -> Result<Vec<i64>> {
    let mut reader = SegmentReader::new(connection, seal);
    let head = reader.read_head(entry)?;
    let body = reader.read_body(entry, &head)?;
    head.check_body(&seal, body)?;
    Ok(head.rows().to_vec())
}
