//! Opening one connection to a palace file: recognised first, then set up the one way every connection is.

use std::path::Path;
use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags, Transaction, TransactionBehavior};

use crate::failure::{self, sqlite};
use crate::schema::{self, FileKind};
use crate::{collapse, lost, read_only, upgrade, vfs};

/// How much of the file SQLite may map: all of it, up to SQLite's own limit.
const MAPPED_BYTES: i64 = 0x7fff_0000;

/// How a connection is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opening<'a> {
    /// The file.
    pub(crate) file: &'a Path,
    /// The virtual file system under the page checksums; tests put their own there.
    pub(crate) base: Option<&'a str>,
    /// Make the file and its tables if they are missing.
    pub(crate) create: bool,
    /// Bring a file of an earlier format up to date; an examination leaves it as it is.
    pub(crate) mend: bool,
    /// How long to wait for other processes.
    pub(crate) wait: Duration,
}

/// Opens a connection to a palace of the current version, or says why not and leaves the file untouched.
///
/// The connection comes within the read transaction in which the file was recognised, so that the first read of a caller
/// need not begin another; [`end_read`] ends it.
pub(crate) fn open(how: Opening<'_>) -> Result<Connection> {
    let name = vfs::register(how.base)?;
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if how.create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let started = Instant::now();
    loop {
        match attempt(how, flags, name) {
            Err(error) if error.kind() == ErrorKind::Locked && started.elapsed() < how.wait => {
                // Another process is just making or switching the file; SQLite does not wait for that by itself.
                std::thread::sleep(Duration::from_millis(5));
            }
            done => return done.map_err(|error| error.with("file", how.file.display())),
        }
    }
}

fn attempt(how: Opening<'_>, flags: OpenFlags, vfs_name: &str) -> Result<Connection> {
    let read_only = !how.create && read_only::applies(how.file);
    let mut connection = match read_only {
        true => read_only::open(how.file, vfs_name)?,
        false => Connection::open_with_flags_and_vfs(how.file, flags, vfs_name).map_err(sqlite)?,
    };
    crate::crash::point("file-opened");
    connection.busy_timeout(how.wait).map_err(sqlite)?;
    // Until the file is known to be ours, closing must not even move its log into it. Where there is no log,
    // closing as usual removes what opening has put beside the file.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, has_log(how.file))
        .map_err(sqlite)?;
    set_up(&connection)?;
    let mut kind = begin_recognised(&connection)?;
    if kind == FileKind::Empty {
        end_read(&connection)?;
        make(&mut connection, how.create)?;
        kind = begin_recognised(&connection)?;
    }
    refuse_unchecked(&connection)?;
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
        .map_err(sqlite)?;
    let writable = !read_only && !connection.is_readonly(MAIN_DB).map_err(sqlite)?;
    if how.mend && writable {
        if needs_mending(&connection, kind)? {
            end_read(&connection)?;
            mend(&mut connection)?;
            begin_recognised(&connection)?;
        }
    } else if let FileKind::Older(version) = kind {
        upgrade::read_as_current(&connection, version)?;
        // Committed here: a damaged page that is met later must not undo it.
        connection.execute_batch("COMMIT").map_err(sqlite)?;
        begin_read(&connection)?;
    }
    // Both may be set within a transaction; the first needs the tables to be known, as they are by now.
    set_pragma(&connection, "cache_size", &-16_384)?;
    map(&connection, MAPPED_BYTES).map_err(sqlite)?;
    Ok(connection)
}

/// Makes the tables of a palace in a file in which nothing is stored, if it may.
fn make(connection: &mut Connection, create: bool) -> Result<()> {
    if vfs::lost_log(connection)?.is_some() {
        return Err(lost::nothing_left());
    }
    if !create {
        return Err(
            Error::new(ErrorKind::NotFound, "the file is empty: there is no palace in it")
                .hint("make one with `loci init`"),
        );
    }
    schema::prepare_file(connection)?;
    schema::create(connection)
}

/// Whether something must be written before a palace of this kind can be used as one of the current version.
fn needs_mending(connection: &Connection, kind: FileKind) -> Result<bool> {
    let lost = vfs::lost_log(connection)?.is_some();
    Ok(lost || kind != FileKind::Current || !schema::has_unique_pieces(connection)?)
}

/// Brings a palace to what this build writes; each step looks for itself whether another process did it meanwhile.
fn mend(connection: &mut Connection) -> Result<()> {
    // A loss that cannot be noted now stays on record in the file and is said all the same.
    let _ = lost::note(connection);
    upgrade::run_if_needed(connection)?;
    collapse::run_if_needed(connection)
}

/// Begins a read transaction and says what the file is in it.
fn begin_recognised(connection: &Connection) -> Result<FileKind> {
    begin_read(connection)?;
    schema::recognise_in(connection)
}

/// Begins a read transaction, unless the connection is in one.
pub(crate) fn begin_read(connection: &Connection) -> Result<()> {
    if connection.is_autocommit() {
        crate::crash::point("read-begins");
        connection.execute_batch("BEGIN").map_err(sqlite)?;
    }
    Ok(())
}

/// Ends the read transaction that the connection is in, if a damaged page has not ended it already.
pub(crate) fn end_read(connection: &Connection) -> Result<()> {
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK").map_err(sqlite)?;
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
    if vfs::checked(connection)? {
        return Ok(());
    }
    Err(failure::corrupt(
        "the palace's pages carry no checksums, so its header is damaged",
    ))
}

/// Sets what can be set without reading the file, and cannot be within a transaction.
fn set_up(connection: &Connection) -> Result<()> {
    set_pragma(connection, "foreign_keys", &true)?;
    set_pragma(connection, "trusted_schema", &false)?;
    set_pragma(connection, "temp_store", &"MEMORY")?;
    connection.set_prepared_statement_cache_capacity(128);
    Ok(())
}

fn set_pragma(connection: &Connection, name: &str, value: &dyn rusqlite::ToSql) -> Result<()> {
    connection.pragma_update(None, name, value).map_err(sqlite)
}

fn map(connection: &Connection, bytes: i64) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "mmap_size", bytes, |_| Ok(()))
}

/// Lets go of the mapped file; it is read page by page.
pub(crate) fn unmap(connection: &Connection) -> Result<()> {
    map(connection, 0).map_err(sqlite)
}

/// Maps the file anew at its present length; SQLite does so only when the limit changes.
pub(crate) fn map_again(connection: &Connection) -> Result<()> {
    unmap(connection)?;
    map(connection, MAPPED_BYTES).map_err(sqlite)
}

/// Begins the only kind of transaction that writes; the connection stays without a map after it.
///
/// Whoever writes must not map the file: a page that its transaction takes anew may lie within the map and behind the end
/// of a file that another process has cut meanwhile, and touching it there ends the process.
pub(crate) fn begin_write(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    crate::crash::point("write-begins");
    map(connection, 0)?;
    // Not when the connection is opened: SQLite reads the tables for it, which would be a transaction of its own.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// The error for a write that waited in vain, naming the process that holds the palace where that can be known.
pub(crate) fn locked(file: &Path, wait: Duration, cause: rusqlite::Error) -> Error {
    let holder = crate::holder::writer_of(file);
    let who = holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    let error = Error::new(
        ErrorKind::Locked,
        format!(
            "{who} has been writing to this palace for more than {} s",
            wait.as_secs_f64()
        ),
    )
    .hint("nothing was written; try again, or look at what that process is doing");
    let error = match holder {
        Some(pid) => error.with("pid", pid),
        None => error,
    };
    error
        .with("file", file.display())
        .caused_by(failure::sqlite(cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_handed_over_in_a_read_transaction_and_set_up() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("palace.db");
        let opening = |create| Opening {
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
            ("cache_size", -16_384),
            ("mmap_size", 0),
        ];
        for (name, expected) in set {
            let found: i64 = transaction
                .pragma_query_value(None, name, |row| row.get(0))
                .unwrap();
            assert_eq!(found, expected, "{name}");
        }
    }
}
