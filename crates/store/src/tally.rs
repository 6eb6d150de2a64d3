//! Counting drawers and grouping them by place, from indexes where possible.

use std::collections::BTreeMap;

use loci_core::{DocumentFilter, FacetCount, FacetKey, FacetRequest, Filter, Result, Timestamp};
use rusqlite::{Connection, Row};

use crate::days::{self, DayQuery};
use crate::failure::sqlite_error;
use crate::places;
use crate::read::DrawerTest;
use crate::scope::{FilterScope, resolve_scope};
use crate::shelf::CollectionShelf;

/// Counts the drawers that both filters accept.
pub(crate) fn count_drawers(
    connection: &Connection,
    shelf: &CollectionShelf,
    filter: &Filter,
    document: &DocumentFilter,
) -> Result<u64> {
    if document.is_unrestricted()
        && let Some(counted) = places::count_in_place(connection, shelf, filter)?
    {
        return Ok(counted);
    }
    let scope = resolve_scope(connection, shelf, filter)?;
    let total = u64::try_from(shelf.drawers).unwrap_or(0);
    let test = DrawerTest::new(&scope, filter, document);
    if test.is_trivial() {
        let all = (scope.rows.listed_rows(), scope.rows.excluded_rows());
        // Index entries are as exact as rows, so an exact scope is counted without touching a drawer.
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

/// Counts the drawers that `filter` accepts for each combination of the keys asked for.
pub(crate) fn count_facets(
    connection: &Connection,
    shelf: &CollectionShelf,
    request: &FacetRequest,
    filter: &Filter,
) -> Result<Vec<FacetCount>> {
    request.check_request()?;
    if request.document.is_unrestricted()
        && let Some(counted) = count_by_day(connection, shelf, request, filter)?
    {
        return Ok(counted);
    }
    let timed = request.by.iter().any(|key| FacetKey::DAYS.contains(key));
    if filter.is_unrestricted() && request.document.is_unrestricted() && !timed {
        return group_whole(connection, shelf, &request.by);
    }
    count_accepted(connection, shelf, request, filter)
}

/// Counts from the table of days; `None` if it does not answer the request.
fn count_by_day(
    connection: &Connection,
    shelf: &CollectionShelf,
    request: &FacetRequest,
    filter: &Filter,
) -> Result<Option<Vec<FacetCount>>> {
    let Some(query) = DayQuery::plan(connection, shelf, &request.by, filter)? else {
        return Ok(None);
    };
    let Some(mut counted) = query.count_whole_days(connection, shelf)? else {
        return Ok(None);
    };
    let edges = query.edge_filters();
    if edges.is_empty() {
        return Ok(Some(counted));
    }
    for edge in edges {
        counted.extend(count_accepted(connection, shelf, request, &edge)?);
    }
    Ok(Some(days::merge_facets(counted)))
}

/// Counts by looking at each drawer that the filters accept.
fn count_accepted(
    connection: &Connection,
    shelf: &CollectionShelf,
    request: &FacetRequest,
    filter: &Filter,
) -> Result<Vec<FacetCount>> {
    let scope = resolve_scope(connection, shelf, filter)?;
    let test = DrawerTest::new(&scope, filter, &request.document);
    let mut groups: BTreeMap<Vec<Option<String>>, u64> = BTreeMap::new();
    let columns = format!("row, {}", facet_columns(&request.by));
    each_accepted(connection, shelf, &scope, &test, &columns, |found| {
        *groups.entry(read_values(found, 1, &request.by)?).or_default() += 1;
        Ok(())
    })?;
    let groups = groups.into_iter();
    Ok(groups
        .map(|(values, drawers)| FacetCount { values, drawers })
        .collect())
}

/// Returns the columns of the drawers table from which keys are read.
fn facet_columns(by: &[FacetKey]) -> String {
    let columns: Vec<&str> = by
        .iter()
        .map(|key| match key {
            FacetKey::SaidDay => "said_at",
            FacetKey::FiledDay => "filed_at",
            field => field.name(),
        })
        .collect();
    columns.join(", ")
}

fn group_whole(connection: &Connection, shelf: &CollectionShelf, by: &[FacetKey]) -> Result<Vec<FacetCount>> {
    let columns = &facet_columns(by);
    let placed = by
        .iter()
        .all(|key| matches!(key, FacetKey::Wing | FacetKey::Room));
    // Counts that do not add up to the number of drawers are not used.
    let sql = if placed && places::are_whole(connection, shelf)? {
        places_sql(columns)
    } else {
        facets_sql(columns)
    };
    let mut statement = connection.prepare_cached(&sql).map_err(sqlite_error)?;
    let found = statement
        .query_map([shelf.collection], |row| {
            Ok((read_values(row, 1, by), row.get::<_, i64>(0)?))
        })
        .map_err(sqlite_error)?;
    let mut facets = Vec::new();
    for entry in found {
        let (values, drawers) = entry.map_err(sqlite_error)?;
        facets.push(FacetCount {
            values: values?,
            drawers: u64::try_from(drawers).unwrap_or(0),
        });
    }
    Ok(facets)
}

/// Returns the statement that groups a whole collection.
fn facets_sql(columns: &str) -> String {
    format!(
        "SELECT count(*), {columns} FROM drawers WHERE collection = ?1 GROUP BY {columns} ORDER BY {columns}"
    )
}

/// Returns the same for wings and rooms, from their counts.
fn places_sql(columns: &str) -> String {
    format!(
        "SELECT sum(drawers), {columns} FROM places WHERE collection = ?1 GROUP BY {columns} ORDER BY {columns}"
    )
}

fn read_values(row: &Row<'_>, from: usize, by: &[FacetKey]) -> Result<Vec<Option<String>>> {
    let columns = (from..).zip(by);
    columns
        .map(|(at, key)| match key {
            FacetKey::SaidDay | FacetKey::FiledDay => {
                let micros: Option<i64> = row.get(at).map_err(sqlite_error)?;
                Ok(micros
                    .and_then(|micros| Timestamp::from_micros(micros).ok())
                    .map(Timestamp::day_text))
            }
            _ => row.get(at).map_err(sqlite_error),
        })
        .collect()
}

/// Calls `each` with the `columns` of every drawer of the scope that passes the test, in no particular order.
fn each_accepted(
    connection: &Connection,
    shelf: &CollectionShelf,
    scope: &FilterScope,
    test: &DrawerTest<'_>,
    columns: &str,
    mut each: impl FnMut(&Row<'_>) -> Result<()>,
) -> Result<()> {
    // Listed rows are looked up one by one; a complement has no list, so every drawer is walked.
    if let Some(listed) = scope.rows.listed_rows() {
        let sql = format!("SELECT {columns} FROM drawers WHERE row = ?1");
        let mut statement = connection.prepare_cached(&sql).map_err(sqlite_error)?;
        for row in listed {
            if test.passes(connection, *row)? {
                statement
                    .query_row([row], |found| Ok(each(found)))
                    .map_err(sqlite_error)??;
            }
        }
        return Ok(());
    }
    let sql = format!("SELECT {columns} FROM drawers WHERE collection = ?1");
    let mut statement = connection.prepare_cached(&sql).map_err(sqlite_error)?;
    let mut found = statement.query([shelf.collection]).map_err(sqlite_error)?;
    while let Some(entry) = found.next().map_err(sqlite_error)? {
        let row: i64 = entry.get(0).map_err(sqlite_error)?;
        if scope.rows.contains(row) && test.passes(connection, row)? {
            each(entry)?;
        }
    }
    Ok(())
}
