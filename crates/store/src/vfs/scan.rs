//! Checking every page of the file on disk.

use super::base::BaseFile;
use super::pages::PageProtection;
use super::{connection, damage, mend, page, wal};
use loci_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, ffi};
use std::ffi::c_int;
use std::time::Duration;

/// The waits before each rereading of the pages that failed so far: a checkpoint elsewhere may be writing them.
const PATIENCE: [Duration; 3] = [
    Duration::from_millis(1),
    Duration::from_millis(5),
    Duration::from_millis(20),
];

/// Reads every page of the main database from disk and returns the numbers of those that are damaged or
/// cut off, ascending. Changes nothing, and may run while other processes write: a page whose newest
/// version is in the log is left to the log, since that is where readers find it and the next checkpoint
/// writes it anew. An unchecked database is `Unsupported`.
pub(crate) fn scan_pages(connection: &Connection) -> Result<Vec<u32>> {
    let (base, page_size) = connection::with_file(connection, |base, pages| (base, pages.protection(base)))
        .and_then(|(base, kind)| match kind {
        PageProtection::Checked { page_size } => Ok((base, page_size)),
        PageProtection::Plain | PageProtection::Unborn => Err(Error::new(
            ErrorKind::Unsupported,
            "the pages of this database carry no checksums",
        )),
    })?;
    // A snapshot keeps the log from being restarted and the file from shrinking meanwhile. There is none
    // if page 1 itself is damaged: then the file's own length counts.
    let snapshot = connection
        .is_autocommit()
        .then(|| connection.unchecked_transaction())
        .and_then(|began| began.ok());
    let counted = connection.query_row("PRAGMA page_count", [], |row| row.get::<_, u32>(0));
    let in_file = base.size().map_err(read_failure)? / page_size as i64;
    let count = counted.unwrap_or_else(|_| u32::try_from(in_file).unwrap_or(u32::MAX));
    let all: Vec<u32> = (1..=count)
        .filter(|number| !page::is_lock_page(*number, page_size))
        .collect();
    let mut damaged = outside_log(connection, unsound_pages(base, &all, page_size)?)?;
    for pause in PATIENCE {
        if damaged.is_empty() {
            break;
        }
        crate::clock::sleep(pause);
        damaged = outside_log(connection, unsound_pages(base, &damaged, page_size)?)?;
    }
    drop(snapshot);
    // On record, so that reading them later does not wait for each again.
    connection::with_file(connection, |_, pages| {
        damaged
            .iter()
            .for_each(|number| damage::note_page(pages.path(), *number));
    })?;
    Ok(damaged)
}

/// Returns those of the first two pages that are damaged in the file and read all the same: a single bit of page 1 is
/// flipped, or one of the two copies of the log's records is unreadable.
pub(crate) fn mended_pages(connection: &Connection) -> Result<Vec<u32>> {
    let (base, kind) = connection::with_file(connection, |base, pages| (base, pages.protection(base)))?;
    match kind {
        PageProtection::Checked { page_size } => outside_log(connection, mend::mended_pages(base, page_size)),
        PageProtection::Plain | PageProtection::Unborn => Ok(Vec::new()),
    }
}

/// Returns the pages that readers do not find in the log.
fn outside_log(connection: &Connection, mut numbers: Vec<u32>) -> Result<Vec<u32>> {
    if !numbers.is_empty()
        && let Some(log) = connection::log_file(connection)?
    {
        let logged = wal::pages_in(log);
        numbers.retain(|number| !logged.contains(number));
    }
    Ok(numbers)
}

/// Returns the pages that are not sealed in the file, or lie beyond its end.
fn unsound_pages(base: BaseFile, numbers: &[u32], page_size: usize) -> Result<Vec<u32>> {
    let mut bytes = vec![0; page_size];
    let mut found = Vec::new();
    for number in numbers {
        match base.read(&mut bytes, page::page_offset(*number, page_size)) {
            ffi::SQLITE_OK if page::is_pristine(*number, &bytes) => {}
            ffi::SQLITE_OK | ffi::SQLITE_IOERR_SHORT_READ => found.push(*number),
            code => return Err(read_failure(code)),
        }
    }
    Ok(found)
}

fn read_failure(code: c_int) -> Error {
    Error::new(ErrorKind::Io, "cannot read the pages of the database")
        .caused_by(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None))
}
