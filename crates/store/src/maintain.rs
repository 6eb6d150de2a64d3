//! Maintenance: statistics, compaction and rebuilding of indexes; each kind runs once at a time on a palace.

mod compact;
mod mend;
mod reindex;
mod turn;

use std::collections::BTreeMap;
use std::time::Duration;

use loci_core::{
    CollectionName, Error, ErrorKind, MaintenanceKind, MaintenanceReport, MaintenanceState,
    MaintenanceStatus, QueryPrecision, Result,
};
use rusqlite::Connection;

use crate::failure::sqlite_error;
use crate::palace::PalaceFile;
use crate::shelf::CollectionShelf;

pub(crate) use compact::rewrite_worn;
pub(crate) use turn::MaintenanceTurn;

/// The kinds this store runs.
const KINDS: [MaintenanceKind; 3] = [
    MaintenanceKind::ANALYZE,
    MaintenanceKind::COMPACT,
    MaintenanceKind::REINDEX,
];

/// Figures of a maintenance report, by name.
pub(crate) type MaintenanceFigures = BTreeMap<String, i64>;

/// Runs one kind of maintenance on a collection, unless another process is already running it.
pub(crate) fn run(
    palace: &PalaceFile,
    name: &CollectionName,
    kind: &MaintenanceKind,
    wait: Duration,
) -> Result<MaintenanceReport> {
    if !KINDS.contains(kind) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("the embedded store has no maintenance {:?}", kind.name()),
        )
        .with_hint("it has analyze, compact and reindex"));
    }
    let report = |status, figures| {
        Ok(MaintenanceReport {
            kind: kind.clone(),
            status,
            figures,
        })
    };
    // Held until this function returns: a plain `_` would release it at once.
    let Some(_turn) = MaintenanceTurn::take(palace.file(), kind)? else {
        return report(MaintenanceStatus::AlreadyRunning, MaintenanceFigures::new());
    };
    let figures = match kind {
        kind if *kind == MaintenanceKind::ANALYZE => Some(refresh_statistics(palace, wait)?),
        kind if *kind == MaintenanceKind::COMPACT => compact::run(palace, name, wait)?,
        _ => Some(reindex::run(palace, name, wait)?),
    };
    match figures {
        Some(figures) => report(MaintenanceStatus::Ran, figures),
        None => report(MaintenanceStatus::NothingToDo, MaintenanceFigures::new()),
    }
}

/// Returns the kinds that are running, and those that would do something useful.
pub(crate) fn maintenance_state(
    connection: &Connection,
    palace: &PalaceFile,
    shelf: &CollectionShelf,
) -> Result<MaintenanceState> {
    let running = KINDS
        .into_iter()
        .filter(|kind| MaintenanceTurn::is_taken(palace.file(), kind))
        .collect();
    let mut due = Vec::new();
    let compact::CompactEstimate {
        vectors,
        words,
        pages,
    } = compact::estimate_gains(connection, shelf)?;
    // A removed drawer usually is in both kinds of segments; adding the two would count it twice.
    let dead = vectors.max(words);
    if dead > 0 || pages > 0 {
        due.push((
            MaintenanceKind::COMPACT,
            format!("{dead} removed rows are still in packed segments, {pages} pages are free"),
        ));
    }
    Ok(MaintenanceState {
        running,
        due,
        ..MaintenanceState::default()
    })
}

/// Confirms that answers are exact: the packed segments of this store never change an answer.
pub(crate) fn choose_precision(precision: QueryPrecision) -> Result<MaintenanceReport> {
    if precision == QueryPrecision::Approximate {
        let message = "the backend \"embedded\" has no approximate index: it answers every query exactly";
        return Err(Error::new(ErrorKind::Unsupported, message).with_hint("nothing was changed"));
    }
    Ok(MaintenanceReport {
        kind: MaintenanceKind::from_name(precision.name()),
        status: MaintenanceStatus::NothingToDo,
        figures: MaintenanceFigures::new(),
    })
}

/// Refreshes the statistics of the query planner.
fn refresh_statistics(palace: &PalaceFile, wait: Duration) -> Result<MaintenanceFigures> {
    let statistics = palace.write(wait, |transaction| {
        transaction
            // The limit keeps the write lock short: without it every index is read from end to end.
            .execute_batch("PRAGMA analysis_limit = 1000; ANALYZE")
            .map_err(sqlite_error)?;
        transaction
            .query_row("SELECT count(*) FROM sqlite_stat1", [], |row| row.get(0))
            .map_err(sqlite_error)
    })?;
    Ok(MaintenanceFigures::from([("statistics".to_owned(), statistics)]))
}
