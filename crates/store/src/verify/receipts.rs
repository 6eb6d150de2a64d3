//! Receipts kept for idempotency keys against the collections they belong to and what a receipt can be.

use loci_core::{Finding, IdempotencyKey, Receipt, Result, Severity};
use rusqlite::Connection;

use super::Report;
use crate::failure::sqlite;

/// Names every entry whose collection is gone, or whose key, hash or receipt no writer can have left so.
pub(super) fn check(report: &mut Report, connection: &Connection) -> Result<()> {
    let mut statement = connection
        .prepare(
            "SELECT key, batch, receipt, scope, collection NOT IN (SELECT collection FROM collections)
             FROM receipts ORDER BY entry",
        )
        .map_err(sqlite)?;
    let mut found = statement.query([]).map_err(sqlite)?;
    let mut findings = Vec::new();
    while let Some(row) = found.next().map_err(sqlite)? {
        let (key, batch): (String, Vec<u8>) = (row.get(0).map_err(sqlite)?, row.get(1).map_err(sqlite)?);
        let (receipt, scope): (String, Vec<u8>) = (row.get(2).map_err(sqlite)?, row.get(3).map_err(sqlite)?);
        let homeless: bool = row.get(4).map_err(sqlite)?;
        let well_formed = IdempotencyKey::new(key.as_str()).is_ok()
            && batch.len() == 32
            && matches!(scope.len(), 0 | 32)
            && serde_json::from_str::<Receipt>(&receipt).is_ok();
        match (homeless, well_formed) {
            (true, _) => findings.push(stray(&key, "belongs to no collection")),
            (false, false) => findings.push(stray(&key, "cannot be read")),
            (false, true) => {}
        }
    }
    report.list(findings);
    Ok(())
}

fn stray(key: &str, why: &str) -> Finding {
    let message = format!("the receipt kept for the idempotency key {key:?} {why}");
    Finding::new("receipt_stray", Severity::Error, message)
        .hint("no drawer is lost; it is forgotten within a day, go back to a backup with `loci restore` if more is wrong")
}
