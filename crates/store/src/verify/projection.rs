//! Full text and attributes against the rows: both sides are summed up in any order and must agree.

use loci_core::{Include, Result};
use loci_index::tokenise::Indexer;
use rusqlite::Connection;
use rusqlite::types::Value as Sql;
use twox_hash::XxHash3_64;

use super::rows::each_row;
use super::{Report, rebuildable};
use crate::failure::sqlite;
use crate::shelf::Shelf;
use crate::{attributes, row, words};

/// A sum over entries that does not depend on their order.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
struct Sum {
    entries: u64,
    digest: u64,
}

impl Sum {
    fn add(&mut self, row: i64, bytes: &[u8]) {
        self.entries += 1;
        self.digest = self
            .digest
            .wrapping_add(XxHash3_64::oneshot_with_seed(row as u64, bytes));
    }
}

/// Compares the full text with the tokens of the rows.
pub(super) fn words(report: &mut Report, connection: &Connection, shelf: &Shelf) -> Result<()> {
    let mut expected = Sum::default();
    let mut indexer = Indexer::default();
    let include = Include {
        document: true,
        context: true,
        ..Include::NOTHING
    };
    each_row(connection, shelf, |_, number| {
        // A row that cannot be read is named by the check of rows.
        if let Ok(Some(stored)) = row::by_row(connection, number, include) {
            words::of(&mut indexer, &stored.drawer)
                .split(' ')
                .filter(|token| !token.is_empty())
                .for_each(|token| {
                    expected.add(number, token.as_bytes());
                });
        }
        Ok(())
    })?;
    let projection = shelf.projection;
    let found = indexed_words(connection, projection)
        .and_then(|found| Ok((found, documents(connection, projection)?)));
    match found {
        Ok((found, documents)) if found == expected && documents == shelf.drawers => {}
        Ok((found, documents)) => report.add(rebuildable(
            "full_text_differs",
            shelf,
            format!(
                "the full text holds {} words of {documents} drawers; the rows have {} words in {} drawers{}",
                found.entries,
                expected.entries,
                shelf.drawers,
                if found.entries == expected.entries {
                    ", and they are not the same words"
                } else {
                    ""
                }
            ),
        )),
        Err(error) => {
            report.add(rebuildable(
                "full_text_damaged",
                shelf,
                format!("the full text cannot be read: {error}"),
            ));
        }
    }
    Ok(())
}

fn documents(connection: &Connection, projection: i64) -> Result<i64> {
    connection
        .query_row(
            &format!("SELECT count(*) FROM words_{projection}_docsize"),
            [],
            |row| row.get(0),
        )
        .map_err(sqlite)
}

fn indexed_words(connection: &Connection, projection: i64) -> Result<Sum> {
    connection
        .execute_batch(&format!(
            "DROP TABLE IF EXISTS temp.instances;
             CREATE VIRTUAL TABLE temp.instances USING fts5vocab(main, words_{projection}, instance)"
        ))
        .map_err(sqlite)?;
    let mut statement = connection
        .prepare("SELECT doc, term FROM temp.instances")
        .map_err(sqlite)?;
    let mut found = statement.query([]).map_err(sqlite)?;
    let mut sum = Sum::default();
    while let Some(entry) = found.next().map_err(sqlite)? {
        sum.add(
            entry.get(0).map_err(sqlite)?,
            entry.get_ref(1).map_err(sqlite)?.as_bytes().unwrap_or_default(),
        );
    }
    drop(found);
    drop(statement);
    connection
        .execute_batch("DROP TABLE temp.instances")
        .map_err(sqlite)?;
    Ok(sum)
}

/// Compares the attribute index with the attributes of the rows.
pub(super) fn attributes(report: &mut Report, connection: &Connection, shelf: &Shelf) -> Result<()> {
    let mut expected = Sum::default();
    let include = Include {
        metadata: true,
        ..Include::NOTHING
    };
    each_row(connection, shelf, |_, number| {
        if let Ok(Some(stored)) = row::by_row(connection, number, include) {
            for (key, value) in attributes::of(&stored.drawer) {
                expected.add(number, &flat(key, &value));
            }
        }
        Ok(())
    })?;
    match indexed_attributes(connection, shelf.projection) {
        Ok(found) if found == expected => {}
        Ok(found) => report.add(rebuildable(
            "attributes_differ",
            shelf,
            format!(
                "the attribute index holds {} entries, the rows have {}",
                found.entries, expected.entries
            ),
        )),
        Err(error) => report.add(rebuildable(
            "attributes_damaged",
            shelf,
            format!("the attribute index cannot be read: {error}"),
        )),
    }
    Ok(())
}

fn indexed_attributes(connection: &Connection, projection: i64) -> Result<Sum> {
    let sql = format!(
        "SELECT a.row, k.name, a.value FROM attributes_{projection} AS a CROSS JOIN keys AS k ON k.key = a.key"
    );
    let mut statement = connection.prepare(&sql).map_err(sqlite)?;
    let mut found = statement.query([]).map_err(sqlite)?;
    let mut sum = Sum::default();
    while let Some(entry) = found.next().map_err(sqlite)? {
        let (key, value): (String, Sql) = (entry.get(1).map_err(sqlite)?, entry.get(2).map_err(sqlite)?);
        sum.add(entry.get(0).map_err(sqlite)?, &flat(&key, &value));
    }
    Ok(sum)
}

/// One attribute as bytes: key, type and value.
fn flat(key: &str, value: &Sql) -> Vec<u8> {
    let mut bytes = key.as_bytes().to_vec();
    let (tag, content) = match value {
        Sql::Null => (b'n', Vec::new()),
        Sql::Integer(int) => (b'#', int.to_le_bytes().to_vec()),
        Sql::Real(real) => whole(*real),
        Sql::Text(text) => (b't', text.as_bytes().to_vec()),
        Sql::Blob(blob) => (b'b', blob.clone()),
    };
    bytes.extend([0, tag]);
    bytes.extend(content);
    bytes
}

/// A float as SQLite may hand it back: negative zero has lost its sign.
fn whole(real: f64) -> (u8, Vec<u8>) {
    (b'.', (real + 0.0).to_le_bytes().to_vec())
}
