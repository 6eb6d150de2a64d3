//! Erasing to the last byte: indexes without removed rows, then every page of the file anew, then an empty log.
//!
//! SQLite's `secure_delete` leaves bytes of removed cells between the live ones, so pages are not cleaned but
//! rewritten: `VACUUM` builds each of them from live rows only (decision 025).

mod traces;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::{CollectionName, Error, ErrorKind, MaintenanceKind, PurgeReport, Result, UnreachedPart};
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::failure::{self, sqlite_error};
use crate::maintain::{MaintenanceTurn, rewrite_worn};
use crate::palace::PalaceFile;
use crate::shelf::CollectionShelf;
use crate::write::last_seq;
use crate::{clock, connection, holder, receipts};

pub(crate) use traces::find_traces;

/// The key in the table `palace` of an erasure that has begun: the sequence number at which it did.
const BEGUN: &str = "erasing";

/// The steps of a purge.
const STEPS: u64 = 4;

/// The pause between two attempts to empty the log.
const PAUSE: Duration = Duration::from_millis(50);

/// Records that an erasure has begun.
pub(crate) fn begin(transaction: &Transaction<'_>) -> Result<()> {
    let seq = last_seq(transaction)?;
    transaction
        .execute(
            "INSERT INTO palace(key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value + (value = excluded.value)",
            rusqlite::params![BEGUN, seq],
        )
        .map(drop)
        .map_err(sqlite_error)
}

/// Returns the mark of an erasure that has begun and was not finished.
pub(crate) fn find_unfinished(connection: &Connection) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT value FROM palace WHERE key = ?1")
        .and_then(|mut statement| statement.query_row([BEGUN], |row| row.get(0)).optional())
        .map_err(sqlite_error)
}

/// Rewrites everything that a palace stores.
pub(crate) fn purge(
    palace: &PalaceFile,
    wait: Duration,
    watch: &mut dyn FnMut(u64, u64),
) -> Result<PurgeReport> {
    let kind = MaintenanceKind::from_name("erase");
    let Some(_turn) = MaintenanceTurn::take(palace.file(), &kind)? else {
        return Err(
            Error::new(ErrorKind::Locked, "another process is erasing from this palace")
                .with_hint("try again when it has ended"),
        );
    };
    let (begun, names) = palace.read(wait, |connection| {
        let names = CollectionShelf::list_all(connection)?
            .into_iter()
            .map(|shelf| shelf.name);
        Ok((
            find_unfinished(connection)?,
            names.collect::<Vec<CollectionName>>(),
        ))
    })?;
    for name in &names {
        match rewrite_worn(palace, name, wait) {
            // Another process may drop a collection meanwhile; its tables are gone then.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            done => drop(done?),
        }
    }
    watch(1, STEPS);
    palace.write(wait, drop_remnants)?;
    watch(2, STEPS);
    rewrite_file(palace, wait)?;
    watch(3, STEPS);
    let mut report = PurgeReport {
        reached: [
            "drawers",
            "words",
            "vectors",
            "packed segments",
            "receipts",
            "source records",
        ]
        .map(str::to_owned)
        .to_vec(),
        not_reached: list_lost_logs(palace.file()),
    };
    report.reached.push(palace.file().display().to_string());
    let log = beside(palace.file(), "-wal");
    if empty_log(palace, wait)? {
        report.reached.push(log.display().to_string());
    } else {
        report.not_reached.push(busy_log(palace.file(), &log));
    }
    watch(4, STEPS);
    if report.not_reached.is_empty() {
        palace.write(wait, |transaction| finish(transaction, begun))?;
    }
    Ok(report)
}

/// Removes what is of no use without the rows: hashes of batches whose drawers were removed or changed, which are made
/// of texts, and names of attributes that no drawer has.
fn drop_remnants(transaction: &Transaction<'_>) -> Result<()> {
    receipts::forget_batches(transaction)?;
    let projections: Vec<i64> = CollectionShelf::list_all(transaction)?
        .iter()
        .map(|shelf| shelf.projection)
        .collect();
    let used = projections
        .iter()
        .map(|p| format!("EXISTS (SELECT 1 FROM attributes_{p} WHERE key IN (keys.key, -keys.key))"));
    // While an index is being rebuilt, its own table may use a name that no other does.
    let sql = format!(
        "DELETE FROM keys WHERE NOT ({}) AND NOT EXISTS (SELECT 1 FROM palace WHERE key = 'building')",
        used.chain(std::iter::once("0".to_owned()))
            .collect::<Vec<_>>()
            .join(" OR ")
    );
    transaction.execute(&sql, []).map(drop).map_err(sqlite_error)
}

/// Writes every page of the file anew, from live rows only. Readers keep the state they see; writers wait.
fn rewrite_file(palace: &PalaceFile, wait: Duration) -> Result<()> {
    let lease = palace.lease(wait)?;
    crate::crash::point("erase-rewrites");
    lease.execute_batch("VACUUM").map_err(|cause| {
        if failure::is_busy(&cause) {
            return connection::locked_error(palace.file(), wait, cause);
        }
        sqlite_error(cause).with_hint(
            "what was removed stays removed, but bytes of it are still in the file; run `loci forget --finish` \
             when there is room on the disk",
        )
    })?;
    crate::crash::point("erase-rewritten");
    palace.confirm_answer(&lease)
}

/// Copies the log into the file and cuts it to nothing; returns whether it could.
fn empty_log(palace: &PalaceFile, wait: Duration) -> Result<bool> {
    let started = clock::instant();
    loop {
        let lease = palace.lease(wait)?;
        let busy: i64 = lease
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(sqlite_error)?;
        crate::crash::point("erase-emptied");
        if busy == 0 {
            return Ok(true);
        }
        drop(lease);
        if clock::instant() - started >= wait {
            return Ok(false);
        }
        clock::sleep(PAUSE);
    }
}

/// Removes the mark of an erasure, unless another has begun since.
fn finish(transaction: &Transaction<'_>, begun: Option<i64>) -> Result<()> {
    transaction
        .execute(
            "DELETE FROM palace WHERE key = ?1 AND value IS ?2",
            rusqlite::params![BEGUN, begun],
        )
        .map(drop)
        .map_err(sqlite_error)
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn busy_log(file: &Path, log: &Path) -> UnreachedPart {
    let users = holder::users_of(file);
    UnreachedPart {
        part: log.display().to_string(),
        reason: format!(
            "{} from it; run `loci forget --finish` when it has ended",
            failure::name_users(&users, "still reads", "still read")
        ),
    }
}

/// Lists the damaged logs that were set aside for inspection: they are copies of unknown content.
fn list_lost_logs(file: &Path) -> Vec<UnreachedPart> {
    lost_logs(file)
        .into_iter()
        .map(|path| UnreachedPart {
            part: path.display().to_string(),
            reason: "a damaged log, kept for inspection; remove it when you have looked at it".to_owned(),
        })
        .collect()
}

/// Returns the damaged logs beside a palace.
fn lost_logs(file: &Path) -> Vec<PathBuf> {
    let mut start = file.file_name().unwrap_or_default().to_owned();
    start.push("-wal.lost-");
    let start = start.to_string_lossy().into_owned();
    let entries = file.parent().and_then(|folder| fs::read_dir(folder).ok());
    let mut found: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&start))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}
