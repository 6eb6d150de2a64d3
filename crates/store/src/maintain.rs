//! Maintenance: statistics, space and rebuilt indexes; each kind runs once at a time on a palace.

mod compact;
mod mend;
mod reindex;
mod turn;

use std::collections::BTreeMap;
use std::time::Duration;

use loci_core::{
    CollectionName, Error, ErrorKind, MaintenanceKind, MaintenanceReport, MaintenanceState,
    MaintenanceStatus, Result,
};
use rusqlite::Connection;

use crate::failure::sqlite;
use crate::palace::Palace;
use crate::shelf::Shelf;

use turn::Turn;

/// The kinds this store runs.
const KINDS: [MaintenanceKind; 3] = [
    MaintenanceKind::ANALYZE,
    MaintenanceKind::COMPACT,
    MaintenanceKind::REINDEX,
];

/// Figures by name, as a report gives them.
pub(crate) type Figures = BTreeMap<String, i64>;

/// Runs one kind of maintenance on a collection, unless somebody is already at it.
pub(crate) fn run(
    palace: &Palace,
    name: &CollectionName,
    kind: &MaintenanceKind,
    wait: Duration,
) -> Result<MaintenanceReport> {
    if !KINDS.contains(kind) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("the embedded store has no maintenance {:?}", kind.name()),
        )
        .hint("it has analyze, compact and reindex"));
    }
    let report = |status, figures| {
        Ok(MaintenanceReport {
            kind: kind.clone(),
            status,
            figures,
        })
    };
    let Some(_turn) = Turn::take(palace.file(), kind)? else {
        return report(MaintenanceStatus::AlreadyRunning, Figures::new());
    };
    let figures = match kind {
        kind if *kind == MaintenanceKind::ANALYZE => Some(analyze(palace, wait)?),
        kind if *kind == MaintenanceKind::COMPACT => compact::run(palace, name, wait)?,
        _ => Some(reindex::run(palace, name, wait)?),
    };
    match figures {
        Some(figures) => report(MaintenanceStatus::Ran, figures),
        None => report(MaintenanceStatus::NothingToDo, Figures::new()),
    }
}

/// Which kinds are running, and which would do something useful.
pub(crate) fn state(connection: &Connection, palace: &Palace, shelf: &Shelf) -> Result<MaintenanceState> {
    let running = KINDS
        .into_iter()
        .filter(|kind| Turn::is_taken(palace.file(), kind))
        .collect();
    let mut due = Vec::new();
    let compact::Reclaimable {
        vectors,
        words,
        pages,
    } = compact::reclaimable(connection, shelf)?;
    let dead = vectors.max(words);
    if dead > 0 || pages > 0 {
        due.push((
            MaintenanceKind::COMPACT,
            format!("{dead} removed rows still stand in packed segments, {pages} pages are free"),
        ));
    }
    Ok(MaintenanceState { running, due })
}

/// Refreshes the statistics that plan queries.
fn analyze(palace: &Palace, wait: Duration) -> Result<Figures> {
    let statistics = palace.write(wait, |transaction| {
        transaction
            .execute_batch("PRAGMA analysis_limit = 1000; ANALYZE")
            .map_err(sqlite)?;
        transaction
            .query_row("SELECT count(*) FROM sqlite_stat1", [], |row| row.get(0))
            .map_err(sqlite)
    })?;
    Ok(Figures::from([("statistics".to_owned(), statistics)]))
}
