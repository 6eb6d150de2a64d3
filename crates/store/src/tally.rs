//! Counting drawers and grouping them by place, from indexes and never from documents.

use std::collections::BTreeMap;

use loci_core::{DocumentFilter, Facet, FacetKey, Facets, Filter, Result};
use rusqlite::{Connection, Row};

use crate::attributes::{self, Scope};
use crate::failure::sqlite;
use crate::places;
use crate::read::Test;
use crate::shelf::Shelf;

/// How many drawers both filters accept.
pub(crate) fn count(
    connection: &Connection,
    shelf: &Shelf,
    filter: &Filter,
    document: &DocumentFilter,
) -> Result<u64> {
    if document.asks_nothing()
        && let Some(counted) = places::count(connection, shelf, filter)?
    {
        return Ok(counted);
    }
    let scope = attributes::scope(connection, shelf.projection, filter)?;
    let total = u64::try_from(shelf.drawers).unwrap_or(0);
    let test = Test::new(&scope, filter, document);
    if test.is_trivial() {
        let all = (scope.rows.listed(), scope.rows.excluded());
        return Ok(match all {
            (Some(listed), _) => listed.len() as u64,
            (None, Some(excluded)) => total.saturating_sub(excluded.len() as u64),
            (None, None) => total,
        });
    }
    let mut accepted = 0;
    each_accepted(connection, shelf, &scope, &test, "row", |_| {
        accepted += 1;
        Ok(())
    })?;
    Ok(accepted)
}

/// How many of the drawers that `filter` accepts there are for each combination of the keys asked for.
pub(crate) fn facets(
    connection: &Connection,
    shelf: &Shelf,
    request: &Facets,
    filter: &Filter,
) -> Result<Vec<Facet>> {
    request.check()?;
    let columns: Vec<&str> = request.by.iter().map(|key| key.name()).collect();
    let columns = columns.join(", ");
    if filter.asks_nothing() && request.document.asks_nothing() {
        return grouped(connection, shelf, &request.by, &columns);
    }
    let scope = attributes::scope(connection, shelf.projection, filter)?;
    let test = Test::new(&scope, filter, &request.document);
    let mut groups: BTreeMap<Vec<Option<String>>, u64> = BTreeMap::new();
    each_accepted(
        connection,
        shelf,
        &scope,
        &test,
        &format!("row, {columns}"),
        |found| {
            *groups.entry(values(found, 1, request.by.len())?).or_default() += 1;
            Ok(())
        },
    )?;
    Ok(groups
        .into_iter()
        .map(|(values, drawers)| Facet { values, drawers })
        .collect())
}

fn grouped(connection: &Connection, shelf: &Shelf, by: &[FacetKey], columns: &str) -> Result<Vec<Facet>> {
    let placed = by
        .iter()
        .all(|key| matches!(key, FacetKey::Wing | FacetKey::Room));
    let sql = match placed && places::are_whole(connection, shelf)? {
        true => places_sql(columns),
        false => facets_sql(columns),
    };
    let mut statement = connection.prepare_cached(&sql).map_err(sqlite)?;
    let found = statement
        .query_map([shelf.collection], |row| {
            Ok((values(row, 1, by.len()), row.get::<_, i64>(0)?))
        })
        .map_err(sqlite)?;
    let mut facets = Vec::new();
    for entry in found {
        let (values, drawers) = entry.map_err(sqlite)?;
        facets.push(Facet {
            values: values?,
            drawers: u64::try_from(drawers).unwrap_or(0),
        });
    }
    Ok(facets)
}

/// The statement that groups a whole collection.
fn facets_sql(columns: &str) -> String {
    format!(
        "SELECT count(*), {columns} FROM drawers WHERE collection = ?1 GROUP BY {columns} ORDER BY {columns}"
    )
}

/// The same for wings and rooms.
fn places_sql(columns: &str) -> String {
    format!(
        "SELECT sum(drawers), {columns} FROM places WHERE collection = ?1 GROUP BY {columns} ORDER BY {columns}"
    )
}

fn values(row: &Row<'_>, from: usize, n: usize) -> Result<Vec<Option<String>>> {
    (from..from + n).map(|at| row.get(at).map_err(sqlite)).collect()
}

/// Calls `each` with the `columns` of every drawer of the scope that passes the test, in no particular order.
fn each_accepted(
    connection: &Connection,
    shelf: &Shelf,
    scope: &Scope,
    test: &Test<'_>,
    columns: &str,
    mut each: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    if let Some(listed) = scope.rows.listed() {
        let sql = format!("SELECT {columns} FROM drawers WHERE row = ?1");
        let mut statement = connection.prepare_cached(&sql).map_err(sqlite)?;
        for row in listed {
            if test.passes(connection, *row)? {
                statement
                    .query_row([row], |found| Ok(each(found)))
                    .map_err(sqlite)??;
            }
        }
        return Ok(());
    }
    let sql = format!("SELECT {columns} FROM drawers WHERE collection = ?1");
    let mut statement = connection.prepare_cached(&sql).map_err(sqlite)?;
    let mut found = statement.query([shelf.collection]).map_err(sqlite)?;
    while let Some(entry) = found.next().map_err(sqlite)? {
        let row: i64 = entry.get(0).map_err(sqlite)?;
        if scope.rows.contains(row) && test.passes(connection, row)? {
            each(entry)?;
        }
    }
    Ok(())
}
