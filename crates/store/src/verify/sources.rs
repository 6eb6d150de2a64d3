//! Records of sources against the collections they belong to and the sequence numbers given.

use loci_core::{FindingSeverity, PalaceFinding, Result};
use rusqlite::{Connection, Row};

use super::ExaminationReport;
use crate::failure::sqlite_error;

/// Selects the records that no writer can have left.
const STRAY: &str = "SELECT source,
    collection NOT IN (SELECT collection FROM collections) AS homeless
    FROM sources
    WHERE homeless OR revision < 1 OR revision > (SELECT value FROM palace WHERE key = 'seq')
    ORDER BY collection, source";

/// Reports every record whose collection is gone or whose revision was never given.
pub(super) fn check_sources(report: &mut ExaminationReport, connection: &Connection) -> Result<()> {
    let mut statement = connection.prepare(STRAY).map_err(sqlite_error)?;
    let found = statement
        .query_map([], stray_finding)
        .and_then(Iterator::collect)
        .map_err(sqlite_error)?;
    report.add_listed(found);
    Ok(())
}

fn stray_finding(row: &Row<'_>) -> rusqlite::Result<PalaceFinding> {
    let source: String = row.get(0)?;
    let why = if row.get(1)? {
        "belongs to no collection"
    } else {
        "has a revision that the palace never gave"
    };
    let message = format!("the record of the source {source:?} {why}");
    Ok(
        PalaceFinding::new("source_record_stray", FindingSeverity::Error, message)
            .with_hint("no drawer is lost; go back to a backup with `loci restore` if more is wrong"),
    )
}
