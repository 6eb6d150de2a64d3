//! Rows checked by themselves: hashes, metadata, places and counters.

use loci_core::{DrawerFields, FindingSeverity, PalaceFinding, Result};
use rusqlite::Connection;

use super::ExaminationReport;
use super::listed::ListedFindings;
use crate::failure::sqlite_error;
use crate::row;
use crate::shelf::CollectionShelf;

/// Reads every drawer and reports those that are damaged or cannot be read.
pub(super) fn check_rows(
    report: &mut ExaminationReport,
    connection: &Connection,
    shelf: &CollectionShelf,
) -> Result<()> {
    let include = DrawerFields {
        embedding: false,
        ..DrawerFields::EVERYTHING
    };
    let mut found = ListedFindings::default();
    let mut rows = 0_i64;
    let mut highest = 0;
    each_row(connection, shelf, |id, number| {
        rows += 1;
        highest = highest.max(number);
        match row::load_by_row(connection, number, include) {
            Ok(Some(stored)) => {
                for what in &stored.drawer.damage {
                    found.push(|| damaged_finding(shelf, &id, what));
                }
                if stored.drawer.id.as_str() != id {
                    found.push(|| damaged_finding(shelf, &id, "the id index names another row"));
                }
            }
            Ok(None) => {
                let what = "it is in the id index but its row is missing";
                found.push(|| damaged_finding(shelf, &id, what));
            }
            Err(error) => found.push(|| damaged_finding(shelf, &id, &error.to_string())),
        }
        Ok(())
    })?;
    report.add_listed(found);
    if rows != shelf.drawers {
        let message = format!(
            "{rows} drawers exist, {} were counted when they were written",
            shelf.drawers
        );
        report.add(
            PalaceFinding::new("count_differs", FindingSeverity::Error, message)
                .in_collection(shelf.name.as_str()),
        );
    }
    let seq: i64 = connection
        .query_row("SELECT value FROM palace WHERE key = 'seq'", [], |row| row.get(0))
        .map_err(sqlite_error)?;
    // A row above the counter would collide with a number given later, and numbers must never be reused.
    if highest > seq {
        let message = format!("row {highest} is newer than the palace's own sequence number {seq}");
        report.add(
            PalaceFinding::new("sequence_behind", FindingSeverity::Error, message)
                .in_collection(shelf.name.as_str()),
        );
    }
    Ok(())
}

/// Calls `each` with every id and row of the collection.
pub(super) fn each_row(
    connection: &Connection,
    shelf: &CollectionShelf,
    mut each: impl FnMut(String, i64) -> Result<()>,
) -> Result<()> {
    let mut statement = connection
        .prepare_cached(
            // From the index and not from the table: a damaged page of drawers then costs
            // only the drawers on it.
            "SELECT id, row FROM main.drawers INDEXED BY drawers_id WHERE collection = ?1 ORDER BY id",
        )
        .map_err(sqlite_error)?;
    let mut found = statement.query([shelf.collection]).map_err(sqlite_error)?;
    while let Some(entry) = found.next().map_err(sqlite_error)? {
        let id = String::from_utf8_lossy(
            entry
                .get_ref(0)
                .map_err(sqlite_error)?
                .as_bytes()
                .unwrap_or_default(),
        )
        .into_owned();
        each(id, entry.get(1).map_err(sqlite_error)?)?;
    }
    Ok(())
}

/// Calls `each` with every row of the collection in row order, so that each page of the table is read once.
pub(super) fn each_row_in_order(
    connection: &Connection,
    shelf: &CollectionShelf,
    each: impl FnMut(i64) -> Result<()>,
) -> Result<()> {
    let mut rows = Vec::new();
    each_row(connection, shelf, |_, row| {
        rows.push(row);
        Ok(())
    })?;
    rows.sort_unstable();
    rows.into_iter().try_for_each(each)
}

fn damaged_finding(shelf: &CollectionShelf, id: &str, what: &str) -> PalaceFinding {
    PalaceFinding::new(
        "drawer_damaged",
        FindingSeverity::Error,
        format!("drawer {id:?}: {what}"),
    )
    .with_hint("find it in a backup; the other drawers are untouched")
    .in_collection(shelf.name.as_str())
}
