//! Receipts kept for idempotency keys against the collections they belong to and the form of a receipt.

use loci_core::{FindingSeverity, IdempotencyKey, PalaceFinding, Receipt, Result};
use rusqlite::Connection;

use super::ExaminationReport;
use super::listed::ListedFindings;
use crate::failure::sqlite_error;

/// Reports every entry whose collection is gone, or whose key, hash or receipt no writer can have left.
pub(super) fn check_receipts(report: &mut ExaminationReport, connection: &Connection) -> Result<()> {
    let mut statement = connection
        .prepare(
            "SELECT key, batch, receipt, scope, collection NOT IN (SELECT collection FROM collections)
             FROM receipts ORDER BY entry",
        )
        .map_err(sqlite_error)?;
    let mut found = statement.query([]).map_err(sqlite_error)?;
    let mut findings = ListedFindings::default();
    while let Some(row) = found.next().map_err(sqlite_error)? {
        let (key, batch): (String, Vec<u8>) = (
            row.get(0).map_err(sqlite_error)?,
            row.get(1).map_err(sqlite_error)?,
        );
        let (receipt, scope): (String, Vec<u8>) = (
            row.get(2).map_err(sqlite_error)?,
            row.get(3).map_err(sqlite_error)?,
        );
        let homeless: bool = row.get(4).map_err(sqlite_error)?;
        let well_formed = IdempotencyKey::new(key.as_str()).is_ok()
            && matches!(batch.len(), 0 | 32)
            && matches!(scope.len(), 0 | 32)
            && serde_json::from_str::<Receipt>(&receipt).is_ok();
        if homeless {
            findings.push(|| stray_finding(&key, "belongs to no collection"));
        } else if !well_formed {
            findings.push(|| stray_finding(&key, "cannot be read"));
        }
    }
    report.add_listed(findings);
    Ok(())
}

fn stray_finding(key: &str, why: &str) -> PalaceFinding {
    let message = format!("the receipt kept for the idempotency key {key:?} {why}");
    PalaceFinding::new("receipt_stray", FindingSeverity::Error, message)
        .with_hint("no drawer is lost; it expires within a day, go back to a backup with `loci restore` if more is wrong")
}
