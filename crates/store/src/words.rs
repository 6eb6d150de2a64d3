//! Full text: an FTS5 table fed with our own tokens, kept in the same transaction as the rows.

use loci_core::{Context, Drawer, Result};
use loci_index::tokenise::{self, Indexer};
use rusqlite::{Connection, Transaction, params};

use crate::failure::sqlite;

/// Makes the table of a new projection.
///
/// It holds no text of its own. Its `ascii` tokenizer only splits at blanks what [`tokenise::indexed`] has folded,
/// stemmed and cut already: every letter outside ASCII is part of a token for it. Merging eight parts at a time
/// instead of four spends less of a bulk write on merging.
pub(crate) fn create(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    transaction
        .execute_batch(&format!(
            "CREATE VIRTUAL TABLE words_{projection} USING fts5(
                text, content = '', contentless_delete = 1, tokenize = 'ascii');
             INSERT INTO words_{projection}(words_{projection}, rank) VALUES ('automerge', 8)"
        ))
        .map_err(sqlite)
}

/// Removes the table of a projection.
pub(crate) fn drop_table(transaction: &Transaction<'_>, projection: i64) -> Result<()> {
    transaction
        .execute_batch(&format!("DROP TABLE IF EXISTS words_{projection}"))
        .map_err(sqlite)
}

/// The tokens of a drawer: those of its document with its context around it.
pub(crate) fn of(indexer: &mut Indexer, drawer: &Drawer) -> String {
    let document = drawer.document.as_deref().unwrap_or_default();
    indexer.indexed(&Context::indexed(drawer.context.as_ref(), document))
}

/// Indexes the tokens of the drawer in `row`.
pub(crate) fn insert(transaction: &Transaction<'_>, projection: i64, row: i64, tokens: &str) -> Result<()> {
    transaction
        .prepare_cached(&format!(
            "INSERT INTO words_{projection}(rowid, text) VALUES (?1, ?2)"
        ))
        .and_then(|mut statement| statement.execute(params![row, tokens]))
        .map(drop)
        .map_err(sqlite)
}

/// Takes the drawer in `row` out of the index.
pub(crate) fn delete(transaction: &Transaction<'_>, projection: i64, row: i64) -> Result<()> {
    transaction
        .prepare_cached(&format!("DELETE FROM words_{projection} WHERE rowid = ?1"))
        .and_then(|mut statement| statement.execute([row]))
        .map(drop)
        .map_err(sqlite)
}

/// The FTS5 expression that matches any of the tokens in `text`; `None` if it has none.
pub(crate) fn any_of(text: &str) -> Option<String> {
    let tokens = tokenise::query_tokens(text);
    let quoted: Vec<String> = tokens.iter().map(|token| format!("\"{token}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

/// Calls `each` with the row and score of every match, best first, until it says stop.
///
/// The table is asked alone and never joined, so no planner can choose to probe it once per row.
pub(crate) fn search(
    connection: &Connection,
    projection: i64,
    expression: &str,
    mut each: impl FnMut(i64, f32) -> Result<bool>,
) -> Result<()> {
    let mut statement = connection
        .prepare_cached(&search_sql(projection))
        .map_err(sqlite)?;
    let mut found = statement.query([expression]).map_err(sqlite)?;
    while let Some(hit) = found.next().map_err(sqlite)? {
        let (row, rank): (i64, f64) = (hit.get(0).map_err(sqlite)?, hit.get(1).map_err(sqlite)?);
        // FTS5 ranks are negative, better ones more so.
        if !each(row, -rank as f32)? {
            break;
        }
    }
    Ok(())
}

/// The one statement that searches; tests look at its plan.
pub(crate) fn search_sql(projection: i64) -> String {
    format!("SELECT rowid, rank FROM words_{projection} WHERE words_{projection} MATCH ?1 ORDER BY rank")
}
