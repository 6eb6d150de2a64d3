//! Cross-checks of answers against counters and other indexes.
//!
//! A page that is an older version of itself, because a write to it was lost, carries the right checksum. It shows only
//! where two tables disagree, so each answer compares what it has at hand anyway; see decision 023.

use loci_core::{Drawer, ErrorKind, Filter, FindingSeverity, PalaceFinding, Result};
use rusqlite::Connection;

use crate::failure::{RESCUE_HINT, sqlite_error};
use crate::places;
use crate::row::StoredDrawer;
use crate::scope::FilterScope;
use crate::shelf::CollectionShelf;

/// Receives the damage met while answering.
pub(crate) type DamageReport<'a> = &'a dyn Fn(PalaceFinding);

fn damage_finding(code: &str, shelf: &CollectionShelf, message: String) -> PalaceFinding {
    PalaceFinding::new(code, FindingSeverity::Error, message)
        .with_hint(RESCUE_HINT)
        .in_collection(shelf.name.as_str())
}

/// Returns the finding for a row that an index lists and the table lacks.
pub(crate) fn missing_row(shelf: &CollectionShelf, row: i64) -> PalaceFinding {
    let message = format!("row {row} is in an index but not in the table, so its drawer cannot be read");
    damage_finding("drawer_missing", shelf, message)
}

/// Returns the finding for a row whose exact vector must be there and is not.
pub(crate) fn missing_vector(shelf: &CollectionShelf, row: i64) -> PalaceFinding {
    let message = format!("the exact vector of row {row} is missing");
    damage_finding("vector_missing", shelf, message)
}

/// Returns the findings for a drawer that is given with damage.
pub(crate) fn damaged_drawer<'d>(
    shelf: &CollectionShelf,
    drawer: &'d Drawer,
) -> impl Iterator<Item = PalaceFinding> + use<'d> {
    let (collection, id) = (shelf.name.as_str().to_owned(), drawer.id.as_str());
    drawer.damage.iter().map(move |what| {
        PalaceFinding::new(
            "damaged_drawer",
            FindingSeverity::Error,
            format!("the drawer {id:?} is damaged: {what}"),
        )
        .with_hint("find it in a backup; the other drawers are untouched")
        .in_collection(collection.clone())
    })
}

/// Returns whether the index of changes lists a drawer in the state that the table holds.
pub(crate) fn is_listed_state(connection: &Connection, stored: &StoredDrawer) -> Result<bool> {
    let listed = connection
        // Every change gives a row another `seq`, so an older state of it is not in this index any more.
        .prepare_cached("SELECT 1 FROM main.drawers INDEXED BY drawers_seq WHERE seq = ?1 AND row = ?2")
        .and_then(|mut statement| statement.exists([stored.seq, stored.row]))
        .map_err(sqlite_error);
    match listed {
        // That page is on record as damaged; it says nothing about this drawer.
        Err(error) if error.kind() == ErrorKind::Corrupt => Ok(true),
        listed => listed,
    }
}

/// Compares the number of drawers that a walk to the end gave with the number expected.
pub(crate) fn check_total(shelf: &CollectionShelf, given: u64, expected: i64) -> Option<PalaceFinding> {
    (u64::try_from(expected) != Ok(given)).then(|| {
        let message =
            format!("{expected} drawers were counted when they were written, but {given} can be read");
        damage_finding("count_differs", shelf, message)
    })
}

/// Compares the rows that the attributes list for a wing or room with the counts of places.
pub(crate) fn check_places(
    connection: &Connection,
    shelf: &CollectionShelf,
    filter: &Filter,
    scope: &FilterScope,
    report: DamageReport<'_>,
) -> Result<()> {
    let listed = scope.rows.listed_rows().filter(|_| scope.exact);
    let (Some(listed), Some(counted)) = (listed, places::count_in_place(connection, shelf, filter)?) else {
        return Ok(());
    };
    if listed.len() as u64 != counted {
        let message = format!(
            "the counts of wings and rooms and the index of attributes disagree: {counted} drawers and {}",
            listed.len()
        );
        report(damage_finding("places_differ", shelf, message));
    }
    Ok(())
}

/// Compares the vectors that are not in a segment with their counter.
pub(crate) fn check_tail(
    connection: &Connection,
    shelf: &CollectionShelf,
    report: DamageReport<'_>,
) -> Result<()> {
    let space = &shelf.space;
    let counted: std::result::Result<i64, _> = connection
        .prepare_cached(&format!(
            "SELECT count(*) FROM vectors_{} WHERE row > ?1",
            space.number
        ))
        .and_then(|mut statement| statement.query_row([space.sealed], |row| row.get(0)))
        .map_err(sqlite_error);
    match counted {
        Ok(counted) if counted != space.tail => {
            let message = format!(
                "{} vectors were counted when they were written since the last segment, but {counted} exist",
                space.tail
            );
            report(damage_finding("vector_count_differs", shelf, message));
            Ok(())
        }
        // The search itself meets the same page and reads around it.
        Err(error) if error.kind() != ErrorKind::Corrupt => Err(error),
        _ => Ok(()),
    }
}
