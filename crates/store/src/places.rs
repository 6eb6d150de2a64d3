//! The number of drawers in each wing and room, kept with the rows so that `status` need not count them.

use loci_core::{DrawerPlace, Filter, FilterComparison, MetadataScalar, Result};
use rusqlite::{Connection, Transaction, params};

use crate::failure::sqlite_error;
use crate::shelf::CollectionShelf;

/// The table of places and the index to look one up.
pub(crate) const TABLE: &str = "CREATE TABLE places (
    collection INTEGER NOT NULL REFERENCES collections(collection),
    wing TEXT,
    room TEXT,
    drawers INTEGER NOT NULL
) STRICT;
CREATE INDEX places_place ON places(collection, wing, room)";

/// The same for a file of an earlier format that may not be changed: counted on demand.
pub(crate) const VIEW: &str = "CREATE TEMP VIEW IF NOT EXISTS places AS
    SELECT collection, wing, room, count(*) AS drawers FROM main.drawers GROUP BY collection, wing, room";

/// Adds a drawer to the count of its place.
pub(crate) fn add_drawer(transaction: &Transaction<'_>, collection: i64, place: &DrawerPlace) -> Result<()> {
    if adjust_count(transaction, collection, place, 1)? {
        return Ok(());
    }
    transaction
        // No upsert: wing and room may be null, and a unique index treats nulls as distinct.
        .prepare_cached("INSERT INTO places(collection, wing, room, drawers) VALUES (?1, ?2, ?3, 1)")
        .and_then(|mut statement| statement.execute(params![collection, place.wing, place.room]))
        .map(drop)
        .map_err(sqlite_error)
}

/// Removes a drawer from the count of its place.
pub(crate) fn remove_drawer(
    transaction: &Transaction<'_>,
    collection: i64,
    place: &DrawerPlace,
) -> Result<()> {
    adjust_count(transaction, collection, place, -1)?;
    transaction
        .prepare_cached(
            // An empty place must vanish, or facets would list it with zero drawers.
            "DELETE FROM places WHERE collection = ?1 AND wing IS ?2 AND room IS ?3 AND drawers <= 0",
        )
        .and_then(|mut statement| statement.execute(params![collection, place.wing, place.room]))
        .map(drop)
        .map_err(sqlite_error)
}

fn adjust_count(
    transaction: &Transaction<'_>,
    collection: i64,
    place: &DrawerPlace,
    by: i64,
) -> Result<bool> {
    transaction
        .prepare_cached(
            "UPDATE places SET drawers = drawers + ?4 WHERE collection = ?1 AND wing IS ?2 AND room IS ?3",
        )
        .and_then(|mut statement| statement.execute(params![collection, place.wing, place.room, by]))
        .map(|changed| changed > 0)
        .map_err(sqlite_error)
}

/// Counts the drawers of a collection again from the rows.
pub(crate) fn recount_places(transaction: &Transaction<'_>, collection: i64) -> Result<()> {
    transaction
        .execute("DELETE FROM places WHERE collection = ?1", [collection])
        .map_err(sqlite_error)?;
    transaction
        .execute(
            "INSERT INTO places(collection, wing, room, drawers)
             SELECT collection, wing, room, count(*) FROM drawers WHERE collection = ?1 GROUP BY wing, room",
            [collection],
        )
        .map(drop)
        .map_err(sqlite_error)
}

/// Returns whether all drawers of the collection are counted; if not, callers ask the index of drawers instead.
pub(crate) fn are_whole(connection: &Connection, shelf: &CollectionShelf) -> Result<bool> {
    Ok(sum_drawers(connection, shelf, "", &[])? == shelf.drawers)
}

/// Counts the drawers that `filter` accepts, if it asks for one wing or for one room of a wing and nothing else.
pub(crate) fn count_in_place(
    connection: &Connection,
    shelf: &CollectionShelf,
    filter: &Filter,
) -> Result<Option<u64>> {
    let parts = match filter {
        Filter::And(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    // The third item tells whether there are more than two conditions.
    let mut asked = parts.iter().map(text_equality);
    let counted = match (asked.next().flatten(), asked.next(), asked.next()) {
        (Some(("wing", wing)), None, _) => sum_drawers(connection, shelf, "AND wing = ?2", &[wing])?,
        (Some(("wing", wing)), Some(Some(("room", room))), None) => {
            sum_drawers(connection, shelf, "AND wing = ?2 AND room = ?3", &[wing, room])?
        }
        _ => return Ok(None),
    };
    let whole = are_whole(connection, shelf)?;
    Ok(whole.then_some(u64::try_from(counted).unwrap_or(0)))
}

/// Returns the rows of the drawers in one room of a wing.
pub(crate) fn rows_in_room(
    connection: &Connection,
    shelf: &CollectionShelf,
    wing: &str,
    room: &str,
) -> Result<Vec<i64>> {
    connection
        .prepare_cached("SELECT row FROM main.drawers WHERE collection = ?1 AND wing = ?2 AND room = ?3")
        .and_then(|mut statement| {
            let found = statement.query_map(params![shelf.collection, wing, room], |row| row.get(0))?;
            found.collect()
        })
        .map_err(sqlite_error)
}

/// Returns the key and the text of a filter that compares a text for equality.
pub(crate) fn text_equality(filter: &Filter) -> Option<(&str, &str)> {
    match filter {
        Filter::Compare(key, FilterComparison::Eq(MetadataScalar::Text(text))) => Some((key, text)),
        _ => None,
    }
}

fn sum_drawers(
    connection: &Connection,
    shelf: &CollectionShelf,
    condition: &str,
    texts: &[&str],
) -> Result<i64> {
    let sql = format!("SELECT coalesce(sum(drawers), 0) FROM places WHERE collection = ?1 {condition}");
    let mut asked: Vec<&dyn rusqlite::ToSql> = vec![&shelf.collection];
    asked.extend(texts.iter().map(|text| text as &dyn rusqlite::ToSql));
    connection
        .prepare_cached(&sql)
        .and_then(|mut statement| statement.query_row(asked.as_slice(), |row| row.get(0)))
        .map_err(sqlite_error)
}
