//! Keyword search: BM25 among exactly the drawers that the request's filters accept.

mod best;
mod part;
mod parts;

use loci_core::{DrawerHit, ErrorKind, Filter, LexicalRequest, Result};
use loci_index::rows::RowSet;
use loci_index::tokenise;
use rusqlite::Connection;

use crate::crosscheck;
use crate::failure::sqlite_error;
use crate::palace::PalaceFile;
use crate::read::{DrawerHydrator, DrawerTest};
use crate::scope::resolve_scope;
use crate::shelf::CollectionShelf;
use crate::view::ReadView;
use crate::words;
use parts::LexicalSearch;

pub(crate) use parts::rows_within;

/// Answers a [`LexicalRequest`] among the drawers that `filter` accepts, best first.
pub(crate) fn search_words(
    view: &ReadView<'_>,
    request: &LexicalRequest,
    filter: &Filter,
) -> Result<Vec<DrawerHit>> {
    request.check_request()?;
    let (connection, shelf) = (view.connection, view.shelf);
    let mut terms = tokenise::query_tokens(&request.words);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    // The directory of a segment and the words of a drawer are walked once for all terms, in byte order.
    terms.sort_unstable();
    let search = LexicalSearch {
        connection,
        palace: view.palace,
        shelf,
        deadline: view.deadline,
        terms: terms.iter().map(String::as_bytes).collect(),
    };
    let scope = resolve_scope(connection, shelf, filter)?;
    let report = &|finding| view.palace.warn(finding);
    crosscheck::check_places(connection, shelf, filter, &scope, report)?;
    let test = DrawerTest::new(&scope, filter, &request.document).reporting_to(shelf, report);
    let accepted = if test.is_trivial() {
        scope.rows
    } else {
        // Rarity and average length are taken over every accepted drawer, not only over those that match, so
        // each one must be tested.
        RowSet::from_rows(test.passing_rows(connection, shelf, &scope)?)
    };
    let best = search.find_best(accepted, request.k)?;
    let mut hits = Vec::with_capacity(best.len());
    let mut hydrator = DrawerHydrator::new(connection, shelf, request.include, report)?;
    for (row, score) in best {
        // A hit without a drawer is reported and left out; the others are still right.
        let drawer = hydrator.hydrate(row)?;
        hits.extend(drawer.map(|drawer| DrawerHit { drawer, score }));
    }
    Ok(hits)
}

/// Counts the drawers that the word index covers; all if it cannot be read, since a search then reads the rows.
pub(crate) fn count_reached(
    connection: &Connection,
    palace: &PalaceFile,
    shelf: &CollectionShelf,
) -> Result<i64> {
    if !words::tables_exist(connection, shelf.projection)? {
        return Ok(shelf.drawers);
    }
    match words::count_covered(connection, shelf.projection) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            palace.warn(parts::damaged_finding(shelf, &error));
            Ok(shelf.drawers)
        }
        reached => reached,
    }
}

/// Returns the rows of the collection between two rows, in order.
pub(crate) fn live_rows(
    connection: &Connection,
    shelf: &CollectionShelf,
    first: i64,
    last: i64,
) -> Result<Vec<i64>> {
    connection
        .prepare_cached(
            "SELECT row FROM drawers WHERE row BETWEEN ?1 AND ?2 AND +collection = ?3 ORDER BY row",
        )
        .and_then(|mut statement| {
            statement
                .query_map([first, last, shelf.collection], |row| row.get(0))?
                .collect()
        })
        .map_err(sqlite_error)
}
