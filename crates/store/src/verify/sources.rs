//! Records of sources against the collections they belong to and the numbers that were given.

use loci_core::{Finding, Result, Severity};
use rusqlite::{Connection, Row};

use super::Report;
use crate::failure::sqlite;

/// Records that no writer can have left so.
const STRAY: &str = "SELECT source,
    collection NOT IN (SELECT collection FROM collections) AS homeless
    FROM sources
    WHERE homeless OR revision < 1 OR revision > (SELECT value FROM palace WHERE key = 'seq')
    ORDER BY collection, source";

/// Names every record whose collection is gone or whose number was never given.
pub(super) fn check(report: &mut Report, connection: &Connection) -> Result<()> {
    let mut statement = connection.prepare(STRAY).map_err(sqlite)?;
    let found = statement
        .query_map([], stray)
        .and_then(Iterator::collect)
        .map_err(sqlite)?;
    report.list(found);
    Ok(())
}

fn stray(row: &Row<'_>) -> rusqlite::Result<Finding> {
    let source: String = row.get(0)?;
    let why = match row.get(1)? {
        true => "belongs to no collection",
        false => "has a number that the palace has not given",
    };
    let message = format!("the record of the source {source:?} {why}");
    Ok(Finding::new("source_record_stray", Severity::Error, message)
        .hint("no drawer is lost; go back to a backup with `loci restore` if more is wrong"))
}
