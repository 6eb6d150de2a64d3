//! How many drawers there are in each wing and room, kept with the rows so that nobody has to count them.

use loci_core::{Comparison, Filter, Place, Result, Scalar};
use rusqlite::{Connection, Transaction, params};

use crate::failure::sqlite;
use crate::shelf::Shelf;

/// The table of places and the index that finds one.
pub(crate) const TABLE: &str = "CREATE TABLE places (
    collection INTEGER NOT NULL REFERENCES collections(collection),
    wing TEXT,
    room TEXT,
    drawers INTEGER NOT NULL
) STRICT;
CREATE INDEX places_place ON places(collection, wing, room)";

/// The same for a file of an earlier format that may not be changed: counted when it is asked for.
pub(crate) const VIEW: &str = "CREATE TEMP VIEW IF NOT EXISTS places AS
    SELECT collection, wing, room, count(*) AS drawers FROM main.drawers GROUP BY collection, wing, room";

/// Counts a drawer that was filed in a place.
pub(crate) fn enter(transaction: &Transaction<'_>, collection: i64, place: &Place) -> Result<()> {
    if change(transaction, collection, place, 1)? {
        return Ok(());
    }
    transaction
        .prepare_cached("INSERT INTO places(collection, wing, room, drawers) VALUES (?1, ?2, ?3, 1)")
        .and_then(|mut statement| statement.execute(params![collection, place.wing, place.room]))
        .map(drop)
        .map_err(sqlite)
}

/// Counts a drawer that has left a place.
pub(crate) fn leave(transaction: &Transaction<'_>, collection: i64, place: &Place) -> Result<()> {
    change(transaction, collection, place, -1)?;
    transaction
        .prepare_cached(
            "DELETE FROM places WHERE collection = ?1 AND wing IS ?2 AND room IS ?3 AND drawers <= 0",
        )
        .and_then(|mut statement| statement.execute(params![collection, place.wing, place.room]))
        .map(drop)
        .map_err(sqlite)
}

fn change(transaction: &Transaction<'_>, collection: i64, place: &Place, by: i64) -> Result<bool> {
    transaction
        .prepare_cached(
            "UPDATE places SET drawers = drawers + ?4 WHERE collection = ?1 AND wing IS ?2 AND room IS ?3",
        )
        .and_then(|mut statement| statement.execute(params![collection, place.wing, place.room, by]))
        .map(|changed| changed > 0)
        .map_err(sqlite)
}

/// Counts the drawers of a collection anew.
pub(crate) fn rebuild(transaction: &Transaction<'_>, collection: i64) -> Result<()> {
    transaction
        .execute("DELETE FROM places WHERE collection = ?1", [collection])
        .map_err(sqlite)?;
    transaction
        .execute(
            "INSERT INTO places(collection, wing, room, drawers)
             SELECT collection, wing, room, count(*) FROM drawers WHERE collection = ?1 GROUP BY wing, room",
            [collection],
        )
        .map(drop)
        .map_err(sqlite)
}

/// Whether all drawers of the collection are counted; where they are not, their own index is asked instead.
pub(crate) fn are_whole(connection: &Connection, shelf: &Shelf) -> Result<bool> {
    Ok(sum(connection, shelf, "", &[])? == shelf.drawers)
}

/// How many drawers `filter` accepts, if it asks for one wing or one room of it and nothing else.
pub(crate) fn count(connection: &Connection, shelf: &Shelf, filter: &Filter) -> Result<Option<u64>> {
    let parts = match filter {
        Filter::And(parts) => parts.as_slice(),
        one => std::slice::from_ref(one),
    };
    let mut asked = parts.iter().map(equal_to);
    let counted = match (asked.next().flatten(), asked.next(), asked.next()) {
        (Some(("wing", wing)), None, _) => sum(connection, shelf, "AND wing = ?2", &[wing])?,
        (Some(("wing", wing)), Some(Some(("room", room))), None) => {
            sum(connection, shelf, "AND wing = ?2 AND room = ?3", &[wing, room])?
        }
        _ => return Ok(None),
    };
    let whole = are_whole(connection, shelf)?;
    Ok(whole.then_some(u64::try_from(counted).unwrap_or(0)))
}

/// The key and the text that a filter compares it with.
fn equal_to(filter: &Filter) -> Option<(&str, &str)> {
    match filter {
        Filter::Compare(key, Comparison::Eq(Scalar::Text(text))) => Some((key, text)),
        _ => None,
    }
}

fn sum(connection: &Connection, shelf: &Shelf, condition: &str, texts: &[&str]) -> Result<i64> {
    let sql = format!("SELECT coalesce(sum(drawers), 0) FROM places WHERE collection = ?1 {condition}");
    let mut asked: Vec<&dyn rusqlite::ToSql> = vec![&shelf.collection];
    asked.extend(texts.iter().map(|text| text as &dyn rusqlite::ToSql));
    connection
        .prepare_cached(&sql)
        .and_then(|mut statement| statement.query_row(asked.as_slice(), |row| row.get(0)))
        .map_err(sqlite)
}
