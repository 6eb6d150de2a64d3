//! Records of sources against the collections they belong to and the sequence numbers given.

use loci_core::{FindingSeverity, PalaceFinding, Result};
use rusqlite::{Connection, Row};

use super::ExaminationReport;
use super::listed::ListedFindings;
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
    let mut strays = statement.query([]).map_err(sqlite_error)?;
    let mut findings = ListedFindings::default();
    while let Some(row) = strays.next().map_err(sqlite_error)? {
        let finding = stray_finding(row).map_err(sqlite_error)?;
        findings.push(|| finding);
    }
    report.add_listed(findings);
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
