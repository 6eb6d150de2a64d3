//! Attributes, places and days against the rows: both sides are summed in any order and must agree.

use loci_core::{DrawerFields, Result};
use rusqlite::Connection;
use rusqlite::types::Value as Sql;
use twox_hash::XxHash3_64;

use super::rows::each_row_in_order;
use super::{ExaminationReport, rebuildable_finding};
use crate::failure::sqlite_error;
use crate::shelf::CollectionShelf;
use crate::{attributes, days, row, schema};

/// A sum over entries that does not depend on their order.
#[derive(Debug, Default, PartialEq, Eq, Clone, Copy)]
pub(super) struct UnorderedSum {
    pub(super) entries: u64,
    digest: u64,
}

impl UnorderedSum {
    pub(super) fn add(&mut self, row: i64, bytes: &[u8]) {
        self.entries += 1;
        // Addition commutes, so an index in order of keys and rows in order of ids sum up alike without
        // sorting, and in constant memory.
        self.digest = self
            .digest
            .wrapping_add(XxHash3_64::oneshot_with_seed(row as u64, bytes));
    }
}

/// Compares the attribute index with the attributes of the rows.
pub(super) fn check_attributes(
    report: &mut ExaminationReport,
    connection: &Connection,
    shelf: &CollectionShelf,
) -> Result<()> {
    let mut expected = UnorderedSum::default();
    let include = DrawerFields {
        metadata: true,
        ..DrawerFields::NOTHING
    };
    // A file of an earlier format is examined as it is, and may lack entries that format 5 has added.
    let current = schema::format_version(connection)? > attributes::LAST_BARE_FORMAT;
    each_row_in_order(connection, shelf, |number| {
        if let Ok(Some(stored)) = row::load_by_row(connection, number, include) {
            let attributes = attributes::list_attributes(&stored.drawer).into_iter();
            for attribute in attributes.filter(|one| current || !one.is_new_in_5()) {
                expected.add(
                    number,
                    &attribute_bytes(attribute.key, attribute.member, &attribute.value),
                );
            }
        }
        Ok(())
    })?;
    match indexed_attributes(connection, shelf.projection) {
        Ok(found) if found == expected => {}
        Ok(found) => report.add(rebuildable_finding(
            "attributes_differ",
            shelf,
            format!(
                "the attribute index holds {} entries, the rows have {}",
                found.entries, expected.entries
            ),
        )),
        Err(error) => report.add(rebuildable_finding(
            "attributes_damaged",
            shelf,
            format!("the attribute index cannot be read: {error}"),
        )),
    }
    Ok(())
}

fn indexed_attributes(connection: &Connection, projection: i64) -> Result<UnorderedSum> {
    let sql = format!(
        "SELECT a.row, k.name, a.value, a.key < 0 FROM attributes_{projection} AS a
         CROSS JOIN keys AS k ON k.key = abs(a.key)"
    );
    let mut statement = connection.prepare(&sql).map_err(sqlite_error)?;
    let mut found = statement.query([]).map_err(sqlite_error)?;
    let mut sum = UnorderedSum::default();
    while let Some(entry) = found.next().map_err(sqlite_error)? {
        let (key, value): (String, Sql) = (
            entry.get(1).map_err(sqlite_error)?,
            entry.get(2).map_err(sqlite_error)?,
        );
        let member = entry.get(3).map_err(sqlite_error)?;
        sum.add(
            entry.get(0).map_err(sqlite_error)?,
            &attribute_bytes(&key, member, &value),
        );
    }
    Ok(sum)
}

/// Compares the counts of places with the rows.
pub(super) fn check_places(
    report: &mut ExaminationReport,
    connection: &Connection,
    shelf: &CollectionShelf,
) -> Result<()> {
    let counted = |table: &str, number: &str| {
        let sql = format!(
            "SELECT wing, room, {number} FROM {table} WHERE collection = ?1 GROUP BY wing, room ORDER BY wing, room"
        );
        connection
            .prepare(&sql)
            .and_then(|mut statement| {
                let one = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
                statement.query_map([shelf.collection], one)?.collect()
            })
            .map_err(sqlite_error)
    };
    type PlaceCounts = Vec<(Option<String>, Option<String>, i64)>;
    let (kept, there): (PlaceCounts, PlaceCounts) = (
        counted("places", "sum(drawers)")?,
        counted("drawers", "count(*)")?,
    );
    if kept != there {
        let message = format!(
            "the counts list {} places, the rows are in {}",
            kept.len(),
            there.len()
        );
        report.add(rebuildable_finding("places_differ", shelf, message));
    }
    Ok(())
}

/// Compares the counts by day with the rows.
pub(super) fn check_days(
    report: &mut ExaminationReport,
    connection: &Connection,
    shelf: &CollectionShelf,
) -> Result<()> {
    if !days::agree_with_rows(connection, shelf.collection)? {
        let message = "the counts by day differ from the rows".to_owned();
        report.add(rebuildable_finding("days_differ", shelf, message));
    }
    Ok(())
}

/// Returns one attribute as bytes: key, whether it is a member of a list, type and value.
fn attribute_bytes(key: &str, member: bool, value: &Sql) -> Vec<u8> {
    let mut bytes = key.as_bytes().to_vec();
    let (tag, content) = match value {
        Sql::Null => (b'n', Vec::new()),
        Sql::Integer(int) => (b'#', int.to_le_bytes().to_vec()),
        Sql::Real(real) => float_bytes(*real),
        Sql::Text(text) => (b't', text.as_bytes().to_vec()),
        Sql::Blob(blob) => (b'b', blob.clone()),
    };
    bytes.extend([0, u8::from(member), tag]);
    bytes.extend(content);
    bytes
}

/// Returns a float as SQLite may return it: negative zero loses its sign.
fn float_bytes(real: f64) -> (u8, Vec<u8>) {
    (b'.', (real + 0.0).to_le_bytes().to_vec())
}
