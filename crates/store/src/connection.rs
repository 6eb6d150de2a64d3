//! Opening one connection to a palace file: the file is recognised first, then every connection is set up alike.

use std::path::Path;
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags, Transaction, TransactionBehavior, ffi};

use crate::failure::{self, sqlite_error};
use crate::schema::{self, FileKind};
use crate::{clock, collapse, holder, lost, palace, read_only, upgrade, vfs};

/// The longest wait for another opener that uses the same files in another combination.
const DIVIDED_WAIT: Duration = Duration::from_secs(1);

/// The pages that a connection keeps in memory, in kibibytes as SQLite writes them: a search reads hundreds of scattered
/// rows and vectors, and most of those of 50,000 drawers fit.
const CACHE: i32 = -65_536;

/// The pages that a walk over many drawers leaves in memory.
const WALKED_CACHE: i32 = -16_384;

/// The options for opening a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionOptions<'a> {
    /// The file.
    pub(crate) file: &'a Path,
    /// The virtual file system under the page checksums; tests put their own there.
    pub(crate) base: Option<&'a str>,
    /// Create the file and its tables if they are missing.
    pub(crate) create: bool,
    /// Bring a file of an earlier format up to date; an examination leaves it as it is.
    pub(crate) mend: bool,
    /// The longest wait for other processes.
    pub(crate) wait: Duration,
}

/// Opens a connection to a palace of the current version, or fails and leaves the file untouched.
///
/// The connection is returned within the read transaction in which the file was recognised, so that the caller's first
/// read need not begin another; [`end_read`] ends it.
pub(crate) fn open(how: ConnectionOptions<'_>) -> Result<Connection> {
    let name = vfs::register(how.base)?;
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if how.create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let started = clock::instant();
    loop {
        match attempt_open(how, flags, name) {
            Err(error) if error.kind() == ErrorKind::Locked && clock::instant() - started < how.wait => {
                // Another process is creating the file or switching it to a log; SQLite's busy timeout
                // does not cover that.
                clock::sleep(Duration::from_millis(5));
            }
            // The other opener may be a connection of this process that is about to end.
            Err(error)
                if failure::is_divided(&error) && clock::instant() - started < how.wait.min(DIVIDED_WAIT) =>
            {
                clock::sleep(Duration::from_millis(20));
            }
            done => return done.map_err(|error| name_opener(error, how.file)),
        }
    }
}

/// Names the file, and the processes that stand in the way.
fn name_opener(error: Error, file: &Path) -> Error {
    if !failure::is_divided(&error) {
        return failure::name_pages(error, file).with_context("file", file.display());
    }
    failure::divided_error(&holder::users_of(file)).with_context("file", file.display())
}

fn attempt_open(how: ConnectionOptions<'_>, flags: OpenFlags, vfs_name: &str) -> Result<Connection> {
    let read_only = !how.create && read_only::is_read_only_place(how.file);
    let mut connection = if read_only {
        read_only::open(how.file, vfs_name)?
    } else {
        Connection::open_with_flags_and_vfs(how.file, flags, vfs_name).map_err(sqlite_error)?
    };
    crate::crash::point("file-opened");
    connection.busy_timeout(how.wait).map_err(sqlite_error)?;
    // Until the file is recognised as a palace, closing must not even checkpoint its log. Without a log,
    // a usual close removes the files that opening has put beside it.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log(how.file))
        .map_err(sqlite_error)?;
    set_up(&connection)?;
    let mut kind = begin_recognised(&connection)?;
    if kind == FileKind::Empty {
        end_read(&connection)?;
        refuse_exchanged(&connection, how.file)?;
        make_tables(&mut connection, how.create)?;
        kind = begin_recognised(&connection)?;
    }
    // Only now does the connection count as one to a palace, and closing may checkpoint as usual.
    refuse_unchecked(&connection)?;
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
        .map_err(sqlite_error)?;
    let writable = !read_only && !connection.is_readonly(MAIN_DB).map_err(sqlite_error)?;
    if how.mend && writable {
        if needs_mending(&connection, kind)? {
            end_read(&connection)?;
            refuse_exchanged(&connection, how.file)?;
            mend_file(&mut connection)?;
            begin_recognised(&connection)?;
        }
    } else if let FileKind::Older(version) = kind {
        upgrade::read_as_current(&connection, version)?;
        // Committed here: a damaged page met later rolls the transaction back, and must not
        // take the views along.
        connection.execute_batch("COMMIT").map_err(sqlite_error)?;
        begin_read(&connection)?;
    }
    // May be set within a transaction, but needs the schema to be loaded, as it is by now.
    set_pragma(&connection, "cache_size", &CACHE)?;
    #[cfg(feature = "crash-points")]
    if let Some(machine) = crate::testing::simulated_machine() {
        machine.tune_connection(&connection);
    }
    Ok(connection)
}

/// Refuses to change a file that does not belong to the log and the memory that others use with it.
fn refuse_exchanged(connection: &Connection, file: &Path) -> Result<()> {
    match vfs::find_breach(connection)? {
        None => Ok(()),
        Some(breach) => Err(palace::exchanged_error(file, breach).with_hint(
            "nothing was changed; stop the processes that use the palace, then run `loci verify`",
        )),
    }
}

/// Creates the tables of a palace in an empty file, if `create` allows it.
fn make_tables(connection: &mut Connection, create: bool) -> Result<()> {
    // An empty file whose mark promises a log is a palace that lost everything, not a new one.
    if vfs::lost_log(connection)?.is_some() {
        return Err(lost::nothing_left_error());
    }
    if !create {
        return Err(
            Error::new(ErrorKind::NotFound, "the file is empty and holds no palace")
                .with_hint("make one with `loci init`"),
        );
    }
    schema::prepare_file(connection)?;
    schema::create_tables(connection)
}

/// Returns whether a palace of this kind must be changed before it can be used as one of the current version.
fn needs_mending(connection: &Connection, kind: FileKind) -> Result<bool> {
    let lost = vfs::lost_log(connection)?.is_some();
    Ok(lost
        || kind != FileKind::Current
        || !schema::has_unique_pieces(connection)?
        || !schema::has_log(connection)?)
}

/// Brings a palace up to date; each step checks again whether another process has already done it.
fn mend_file(connection: &mut Connection) -> Result<()> {
    schema::begin_log(connection)?;
    // A loss that cannot be noted now stays on record in the file and is reported all the same.
    let _ = lost::record_loss(connection);
    // Upgraded first: collapsing writes rows, and knows only the tables of the current version.
    upgrade::run_if_needed(connection)?;
    collapse::run_if_needed(connection)
}

/// Begins a read transaction and recognises the file in it.
fn begin_recognised(connection: &Connection) -> Result<FileKind> {
    begin_read(connection)?;
    schema::recognise_in(connection)
}

/// Begins a read transaction, unless the connection is in one.
pub(crate) fn begin_read(connection: &Connection) -> Result<()> {
    if connection.is_autocommit() {
        crate::crash::point("read-begins");
        connection.execute_batch("BEGIN").map_err(sqlite_error)?;
    }
    Ok(())
}

/// Ends the connection's read transaction, unless a damaged page has already ended it.
pub(crate) fn end_read(connection: &Connection) -> Result<()> {
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK").map_err(sqlite_error)?;
    }
    Ok(())
}

fn has_log(file: &Path) -> bool {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|found| found.len() > 0)
}

/// Refuses a palace whose pages carry no checksums: a damaged header could have switched them off.
fn refuse_unchecked(connection: &Connection) -> Result<()> {
    if vfs::is_checked(connection)? {
        return Ok(());
    }
    Err(failure::corrupt_error(
        "the palace's pages carry no checksums, so its header is damaged",
    ))
}

/// Applies the settings that need no read of the file and cannot be changed within a transaction.
fn set_up(connection: &Connection) -> Result<()> {
    set_pragma(connection, "foreign_keys", &true)?;
    // The file may come from anywhere; a hostile schema must not run functions with side effects.
    set_pragma(connection, "trusted_schema", &false)?;
    set_pragma(connection, "temp_store", &"MEMORY")?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

fn set_pragma(connection: &Connection, name: &str, value: &dyn rusqlite::ToSql) -> Result<()> {
    connection.pragma_update(None, name, value).map_err(sqlite_error)
}

/// Drops all but the pages used last: a walk over many drawers hardly meets a page again.
pub(crate) fn trim_cache(connection: &Connection) {
    // Only memory is at stake, so that the answer in hand must not fail for it.
    let _ = set_pragma(connection, "cache_size", &WALKED_CACHE);
    let _ = set_pragma(connection, "cache_size", &CACHE);
}

/// Begins the only kind of transaction that writes.
pub(crate) fn begin_write(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    crate::crash::point("write-begins");
    // Not set when the connection is opened: SQLite loads the schema for it, which would cost
    // another transaction.
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Immediate takes the write lock at once. A read transaction that wanted to write later could not wait for
    // it: the state it has read would be stale by then.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // SQLite reads the statistics again when another process has changed the schema, and ignores that this fails. A
    // failed read ends the transaction all the same, and every further statement would commit by itself. Nobody changes
    // the schema from here on, so one look is enough.
    transaction
        .prepare_cached("SELECT 1 FROM sqlite_schema LIMIT 0")?
        .query([])?
        .next()?;
    if transaction.is_autocommit() {
        return Err(rusqlite::Error::SqliteFailure(
            ffi::Error::new(ffi::SQLITE_IOERR_READ),
            Some("a failed read ended the transaction".to_owned()),
        ));
    }
    Ok(transaction)
}

/// The number of changed rows from which on a transaction is a large one: some hundred drawers.
const LARGE_TRANSACTION: u64 = 4096;

/// How much longer the log may grow behind a large transaction: to 128 MB.
const LARGE_LOG: i64 = 16;

/// A larger log for a while. Many large transactions in a row change the same pages of indexes again and again, and each
/// checkpoint copies them into the file. The first small transaction behind them finds the usual limit exceeded.
#[derive(Debug)]
pub(crate) struct LogAllowance {
    usual: i64,
}

impl LogAllowance {
    /// Lets the log grow at the next commit if that changes many rows.
    pub(crate) fn raise_for(connection: &Connection, changes: u64) -> Result<Option<Self>> {
        if changes < LARGE_TRANSACTION {
            return Ok(None);
        }
        let usual = connection
            .pragma_query_value(None, LOG_LIMIT, |row| row.get(0))
            .map_err(sqlite_error)?;
        set_log_limit(connection, usual * LARGE_LOG)?;
        Ok(Some(Self { usual }))
    }

    /// Sets the usual limit again.
    pub(crate) fn restore(self, connection: &Connection) {
        // What is committed is committed: a limit that stays high costs space and nothing else.
        let _ = set_log_limit(connection, self.usual);
    }
}

/// The setting for the pages of a log from which on a commit copies them into the file.
const LOG_LIMIT: &str = "wal_autocheckpoint";

fn set_log_limit(connection: &Connection, pages: i64) -> Result<()> {
    // The setting answers with its new value, which `pragma_update` does not expect.
    connection
        .pragma_update_and_check(None, LOG_LIMIT, pages, |_| Ok(()))
        .map_err(sqlite_error)
}

/// Returns the error for a write that waited in vain; names the process that holds the lock if it is known.
pub(crate) fn locked_error(file: &Path, wait: Duration, cause: rusqlite::Error) -> Error {
    let holder = crate::holder::writer_of(file);
    let who = holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    let error = Error::new(
        ErrorKind::Locked,
        format!(
            "{who} has been writing to this palace for more than {} s",
            wait.as_secs_f64()
        ),
    )
    .with_hint("nothing was written; try again, or look at what that process is doing");
    let error = match holder {
        Some(pid) => error.with_context("pid", pid),
        None => error,
    };
    error
        .with_context("file", file.display())
        .caused_by(failure::sqlite_error(cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_handed_over_in_a_read_transaction_and_set_up() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("palace.db");
        let opening = |create| ConnectionOptions {
            file: &file,
            base: None,
            create,
            mend: true,
            wait: Duration::from_secs(5),
        };
        drop(open(opening(true)).unwrap());
        let mut connection = open(opening(false)).unwrap();
        assert!(!connection.is_autocommit());
        end_read(&connection).unwrap();
        let transaction = begin_write(&mut connection).unwrap();
        let set = [
            ("synchronous", 2),
            ("foreign_keys", 1),
            ("trusted_schema", 0),
            ("temp_store", 2),
            ("cache_size", -65_536),
        ];
        for (name, expected) in set {
            let found: i64 = transaction
                .pragma_query_value(None, name, |row| row.get(0))
                .unwrap();
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn the_log_may_grow_behind_a_large_transaction_only() {
        let connection = Connection::open_in_memory().unwrap();
        let limit = || -> i64 {
            connection
                .pragma_query_value(None, LOG_LIMIT, |row| row.get(0))
                .unwrap()
        };
        let usual = limit();
        assert!(
            LogAllowance::raise_for(&connection, LARGE_TRANSACTION - 1)
                .unwrap()
                .is_none()
        );
        assert_eq!(limit(), usual);
        let raised = LogAllowance::raise_for(&connection, LARGE_TRANSACTION).unwrap();
        assert_eq!(limit(), usual * LARGE_LOG);
        raised.unwrap().restore(&connection);
        assert_eq!(limit(), usual);
    }
}
