//! Access to a connection's files, its checks, and the fate of its log.

use super::File;
use super::base::BaseFile;
use super::file::{self, ASK, FileContent};
use super::mark::LogMark;
use super::page::RESERVED;
use super::pages::{DatabasePages, PageProtection};
use super::recovery::LostLog;
use loci_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, ffi};
use std::ffi::{c_int, c_void};

/// Sends a file control for the main database.
fn file_control<T>(connection: &Connection, op: c_int, argument: &mut T) -> Result<()> {
    let argument: *mut c_void = std::ptr::from_mut(argument).cast();
    // SAFETY: the connection is open, and the argument outlives the call and is of the type `op` expects.
    match unsafe { ffi::sqlite3_file_control(connection.handle(), c"main".as_ptr(), op, argument) } {
        ffi::SQLITE_OK => Ok(()),
        code => Err(
            Error::new(ErrorKind::Io, "the database file refused a control call")
                .caused_by(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
        ),
    }
}

fn file_pointer(connection: &Connection, op: c_int) -> Result<File> {
    let mut file: File = std::ptr::null_mut();
    file_control(connection, op, &mut file)?;
    Ok(file)
}

/// Calls `then` with the main database's file below the shim and its state.
pub(super) fn with_file<T>(
    connection: &Connection,
    then: impl FnOnce(BaseFile, &mut DatabasePages) -> T,
) -> Result<T> {
    let file = file_pointer(connection, ffi::SQLITE_FCNTL_FILE_POINTER)?;
    // SAFETY: the connection keeps its file open while it is borrowed, and is not shared between threads.
    unsafe {
        if !file.is_null()
            && file::is_ours(file)
            && let (base, FileContent::Database(pages)) = file::parts(file)
        {
            return Ok(then(base, pages));
        }
    }
    Err(Error::new(
        ErrorKind::Internal,
        "the database was not opened through the checking VFS",
    ))
}

/// Returns the file of the write-ahead log, if it is open.
pub(super) fn log_file(connection: &Connection) -> Result<Option<BaseFile>> {
    let file = file_pointer(connection, ffi::SQLITE_FCNTL_JOURNAL_POINTER)?;
    // SAFETY: the connection keeps its log open while it is borrowed.
    let base = unsafe { BaseFile::new(file) };
    Ok((!file.is_null() && base.methods().is_some()).then_some(base))
}

/// Makes a new database carry a checksum on every page. Call it before the first write, which includes
/// `PRAGMA auto_vacuum` and `PRAGMA journal_mode` but not `PRAGMA page_size`; a database that exists
/// already keeps what it has until `VACUUM` (with a write-ahead log) or `VACUUM INTO`.
pub(crate) fn reserve_checksums(connection: &Connection) -> Result<()> {
    with_file(connection, |_, _| ())?;
    file_control(
        connection,
        ffi::SQLITE_FCNTL_RESERVE_BYTES,
        &mut c_int::from(RESERVED),
    )?;
    // The header is written last, so the shim must know before that that the pages are to be sealed.
    file_control(connection, ASK, &mut 0)
}

/// Returns whether the pages of the main database are checked; false for a database not yet written.
pub(crate) fn is_checked(connection: &Connection) -> Result<bool> {
    with_file(connection, |base, pages| {
        matches!(pages.protection(base), PageProtection::Checked { .. })
    })
}

/// Returns the acknowledged commits that were lost with the log, until a commit that [`note_loss`] announced.
pub(crate) fn lost_log(connection: &Connection) -> Result<Option<LostLog>> {
    with_file(connection, |base, pages| {
        let PageProtection::Checked { page_size } = pages.protection(base) else {
            return None;
        };
        let mark = LogMark::read(base, page_size).ok().flatten()?;
        mark.lost.then(|| pages.watch.loss.clone().unwrap_or_default())
    })
}

/// Announces that the open write transaction records the loss: once it is on disk, [`lost_log`] returns none.
pub(crate) fn note_loss(connection: &Connection) -> Result<()> {
    with_file(connection, |_, pages| {
        pages.watch.noted = Some(pages.watch.turn);
    })
}
