//! Keyword matches: BM25 among the drawers that the request's filters accept, and no others count.

mod best;
mod part;
mod parts;

use loci_core::{ErrorKind, Hit, Lexical, Result};
use loci_index::rows::Rows;
use loci_index::tokenise;
use rusqlite::Connection;

use crate::attributes::{self, Scope};
use crate::failure::{corrupt, sqlite};
use crate::palace::Palace;
use crate::read::{self, Test};
use crate::shelf::Shelf;
use crate::words;
use parts::{Search, among};

/// Answers a [`Lexical`] request, best first.
pub(crate) fn search(
    connection: &Connection,
    palace: &Palace,
    shelf: &Shelf,
    request: &Lexical,
) -> Result<Vec<Hit>> {
    request.check()?;
    let mut terms = tokenise::query_tokens(&request.words);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    terms.sort_unstable();
    let search = Search {
        connection,
        palace,
        shelf,
        terms: terms.iter().map(String::as_bytes).collect(),
    };
    let scope = attributes::scope(connection, shelf.projection, &request.filter)?;
    let test = Test::new(&scope, &request.filter, &request.document);
    let accepted = match test.is_trivial() {
        true => scope.rows,
        false => accepted(connection, shelf, &scope, &test)?,
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

/// Asks every drawer of the scope: all that a filter accepts count, whether they match or not.
fn accepted(connection: &Connection, shelf: &Shelf, scope: &Scope, test: &Test<'_>) -> Result<Rows> {
    let rows = match scope.rows.listed() {
        Some(listed) => listed.to_vec(),
        None => among(&live_rows(connection, shelf, i64::MIN, i64::MAX)?, &scope.rows),
    };
    let mut accepted = Vec::new();
    for row in rows {
        if test.passes(connection, row)? {
            accepted.push(row);
        }
    }
    Ok(Rows::of(accepted))
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
