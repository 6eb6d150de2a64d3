//! Keyword matches: BM25 among the drawers that the request's filters accept, and no others count.

mod best;
mod part;
mod parts;

use loci_core::{ErrorKind, Filter, Hit, Lexical, Result};
use loci_index::rows::Rows;
use loci_index::tokenise;
use rusqlite::Connection;

use crate::attributes;
use crate::failure::{corrupt, sqlite};
use crate::palace::Palace;
use crate::read::{self, Test};
use crate::shelf::Shelf;
use crate::view::ReadView;
use crate::words;
use parts::Search;

pub(crate) use parts::among;

/// Answers a [`Lexical`] request among the drawers that `filter` accepts, best first.
pub(crate) fn search(view: &ReadView<'_>, request: &Lexical, filter: &Filter) -> Result<Vec<Hit>> {
    request.check()?;
    let (connection, shelf) = (view.connection, view.shelf);
    let mut terms = tokenise::query_tokens(&request.words);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    terms.sort_unstable();
    let search = Search {
        connection,
        palace: view.palace,
        shelf,
        deadline: view.deadline,
        terms: terms.iter().map(String::as_bytes).collect(),
    };
    let scope = attributes::scope(connection, shelf.projection, filter)?;
    let test = Test::new(&scope, filter, &request.document);
    let accepted = match test.is_trivial() {
        true => scope.rows,
        // All that a filter accepts count, whether they match or not.
        false => Rows::of(test.passing_rows(connection, shelf, &scope)?),
    };
    let best = search.best(accepted, request.k)?;
    best.into_iter()
        .map(|(row, score)| {
            let drawer = read::hydrate(connection, shelf, row, request.include)?
                .ok_or_else(|| corrupt(format!("row {row} has words but no drawer")))?;
            Ok(Hit { drawer, score })
        })
        .collect()
}

/// How many drawers the index of words reaches; where it cannot be read, all, since a match then reads the rows.
pub(crate) fn reached(connection: &Connection, palace: &Palace, shelf: &Shelf) -> Result<i64> {
    if !words::are_there(connection, shelf.projection)? {
        return Ok(shelf.drawers);
    }
    match words::covered(connection, shelf.projection) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            palace.warn(parts::damaged(shelf, &error));
            Ok(shelf.drawers)
        }
        reached => reached,
    }
}

/// The rows of the collection between two, in order.
pub(crate) fn live_rows(connection: &Connection, shelf: &Shelf, first: i64, last: i64) -> Result<Vec<i64>> {
    connection
        .prepare_cached(
            "SELECT row FROM drawers WHERE row BETWEEN ?1 AND ?2 AND +collection = ?3 ORDER BY row",
        )
        .and_then(|mut statement| {
            statement
                .query_map([first, last, shelf.collection], |row| row.get(0))?
                .collect()
        })
        .map_err(sqlite)
}
