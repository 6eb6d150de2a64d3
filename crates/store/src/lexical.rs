//! Keyword matches: BM25 over the whole collection, the filter asked of each match in order.

use loci_core::{Hit, Lexical, Result};
use rusqlite::Connection;

use crate::failure::corrupt;
use crate::read::{self, Test};
use crate::shelf::Shelf;
use crate::{attributes, words};

/// A comparison that lists more rows than this is asked of the matches instead.
const BUDGET: usize = 50_000;

/// Answers a [`Lexical`] request, best first.
pub(crate) fn search(connection: &Connection, shelf: &Shelf, request: &Lexical) -> Result<Vec<Hit>> {
    request.check()?;
    let Some(expression) = words::any_of(&request.words) else {
        return Ok(Vec::new());
    };
    let scope = attributes::scope(connection, shelf.projection, &request.filter, BUDGET)?;
    let test = Test::new(&scope, &request.filter, &request.document);
    let mut found: Vec<(i64, f32)> = Vec::new();
    words::search(connection, shelf.projection, &expression, |row, score| {
        if scope.rows.contains(row) && test.passes(connection, row)? {
            found.push((row, score));
        }
        Ok(found.len() < request.k)
    })?;
    found
        .into_iter()
        .map(|(row, score)| {
            let drawer = read::hydrate(connection, shelf, row, request.include)?
                .ok_or_else(|| corrupt(format!("row {row} has words but no drawer")))?;
            Ok(Hit { drawer, score })
        })
        .collect()
}
