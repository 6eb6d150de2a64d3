//! Rows against themselves: hashes, metadata, places and counters.

use loci_core::{Finding, Include, Result, Severity};
use rusqlite::Connection;

use super::Report;
use crate::failure::sqlite;
use crate::row;
use crate::shelf::Shelf;

/// Reads every drawer and says which are damaged or cannot be read.
pub(super) fn check(report: &mut Report, connection: &Connection, shelf: &Shelf) -> Result<()> {
    let include = Include {
        embedding: false,
        ..Include::EVERYTHING
    };
    let mut found = Vec::new();
    let mut rows = 0_i64;
    let mut highest = 0;
    each_row(connection, shelf, |id, number| {
        rows += 1;
        highest = highest.max(number);
        match row::by_row(connection, number, include) {
            Ok(Some(stored)) => {
                found.extend(stored.drawer.damage.iter().map(|what| damaged(shelf, &id, what)));
                if stored.drawer.id.as_str() != id {
                    found.push(damaged(shelf, &id, "the id index names another row"));
                }
            }
            Ok(None) => found.push(damaged(
                shelf,
                &id,
                "it stands in the id index but its row is gone",
            )),
            Err(error) => found.push(damaged(shelf, &id, &error.to_string())),
        }
        Ok(())
    })?;
    report.list(found);
    if rows != shelf.drawers {
        let message = format!(
            "{rows} drawers are there, {} were counted when they were written",
            shelf.drawers
        );
        report.add(Finding::new("count_differs", Severity::Error, message).collection(shelf.name.as_str()));
    }
    let seq: i64 = connection
        .query_row("SELECT value FROM palace WHERE key = 'seq'", [], |row| row.get(0))
        .map_err(sqlite)?;
    if highest > seq {
        let message = format!("row {highest} is newer than the palace's own sequence number {seq}");
        report.add(Finding::new("sequence_behind", Severity::Error, message).collection(shelf.name.as_str()));
    }
    Ok(())
}

/// Every id and row of the collection.
pub(super) fn each_row(
    connection: &Connection,
    shelf: &Shelf,
    mut each: impl FnMut(String, i64) -> Result<()>,
) -> Result<()> {
    let mut statement = connection
        .prepare_cached(
            "SELECT id, row FROM main.drawers INDEXED BY drawers_id WHERE collection = ?1 ORDER BY id",
        )
        .map_err(sqlite)?;
    let mut found = statement.query([shelf.collection]).map_err(sqlite)?;
    while let Some(entry) = found.next().map_err(sqlite)? {
        let id = String::from_utf8_lossy(entry.get_ref(0).map_err(sqlite)?.as_bytes().unwrap_or_default())
            .into_owned();
        each(id, entry.get(1).map_err(sqlite)?)?;
    }
    Ok(())
}

fn damaged(shelf: &Shelf, id: &str, what: &str) -> Finding {
    Finding::new(
        "drawer_damaged",
        Severity::Error,
        format!("drawer {id:?}: {what}"),
    )
    .hint("find it in a backup; the other drawers are untouched")
    .collection(shelf.name.as_str())
}
