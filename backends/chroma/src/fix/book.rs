//! The database of a folder while a step is planned or applied: read-only, or locked against other processes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::{DAMAGED_HINT, copy};
use crate::catalogue::{self, ChromaSchema, ListedCollection};
use crate::database::{self, ChromaDatabase, ReadingMode};
use crate::failure;
use crate::folder;
use crate::shelf::RecordShelf;
use crate::users;

/// The offset of the change counter in the header, which SQLite maintains outside log mode.
const COUNTER_OFFSET: u64 = 24;

/// An open database with its schema and collections.
#[derive(Debug)]
pub(super) struct FixSession {
    /// The folder.
    pub(super) folder: PathBuf,
    /// The connection.
    pub(super) database: ChromaDatabase,
    /// Its tables.
    pub(super) schema: ChromaSchema,
    /// Its collections.
    pub(super) listed: Vec<ListedCollection>,
    /// The file itself. It must be closed after the connection: closing it drops the connection's POSIX locks. Fields
    /// are dropped in the order of their declaration, so this one stays last.
    pub(super) file: File,
}

impl FixSession {
    /// Opens the database for reading. Nothing in the folder changes.
    pub(super) fn open_read_only(folder: &Path) -> Result<Self> {
        let file = open_database_file(folder)?;
        let database = ChromaDatabase::open(folder).map_err(hint_if_damaged)?;
        if database.is_salvaged() {
            let error = Error::new(
                ErrorKind::Corrupt,
                format!("{} is damaged", folder::database_path(folder).display()),
            );
            return Err(hint_if_damaged(error));
        }
        Self::with_database(folder, database, file)
    }

    /// Opens the database for writing, and excludes all other readers and writers until it is dropped or committed.
    pub(super) fn open_locked(folder: &Path) -> Result<Self> {
        let path = folder::database_path(folder);
        // SQLite's lock is not enough: an idle Chroma holds none,
        // keeps its graph in memory and would save it again.
        check_users(&path)?;
        let file = open_database_file(folder)?;
        let connection = database::connect_file(&path, "mode=rw").map_err(hint_if_damaged)?;
        // SQLite falls back to read-only without an error, and the failure would come late.
        let is_read_only = connection
            .is_readonly("main")
            .map_err(|cause| failure::sqlite_error("the database", cause))?;
        if is_read_only {
            let message = format!("{} is not writable", path.display());
            return Err(Error::new(ErrorKind::Io, message).with_hint("nothing was changed"));
        }
        // The log is merged into the file, so that a copy of the file alone is complete.
        run_statement(&connection, "PRAGMA wal_checkpoint(TRUNCATE)")?;
        run_statement(&connection, "BEGIN EXCLUSIVE")?;
        if copy::file_length(&folder::path_beside(folder, "-wal")) > 0 {
            let message = format!("another process is reading the log beside {}", path.display());
            return Err(Error::new(ErrorKind::Locked, message).with_hint("nothing was changed; try again"));
        }
        let database = ChromaDatabase {
            connection,
            reading: ReadingMode::InPlace,
        };
        Self::with_database(folder, database, file)
    }

    fn with_database(folder: &Path, database: ChromaDatabase, file: File) -> Result<Self> {
        let schema = ChromaSchema::read(&database.connection).map_err(hint_if_damaged)?;
        let listed = catalogue::list_collections(&database.connection, &schema).map_err(hint_if_damaged)?;
        Ok(Self {
            folder: folder.to_path_buf(),
            database,
            schema,
            listed,
            file,
        })
    }

    /// The connection.
    pub(super) fn connection(&self) -> &Connection {
        &self.database.connection
    }

    /// The database's file.
    pub(super) fn path(&self) -> PathBuf {
        folder::database_path(&self.folder)
    }

    /// Reads a collection.
    pub(super) fn read_shelf(&self, listed: &ListedCollection) -> Result<RecordShelf> {
        RecordShelf::read(&self.folder, &self.database, &self.schema, listed.clone()).map_err(hint_if_damaged)
    }

    /// Encodes a sequence number the way the release that wrote here last stores it.
    pub(super) fn encode_sequence(&self, number: i64) -> rusqlite::types::Value {
        if self.schema.is_since_1() {
            rusqlite::types::Value::Integer(number)
        } else {
            rusqlite::types::Value::Blob(number.to_be_bytes().to_vec())
        }
    }

    /// Locks the database again after a transaction, with the whole transaction in the file.
    pub(super) fn lock_again(&self) -> Result<()> {
        let locked = run_statement(self.connection(), "PRAGMA wal_checkpoint(TRUNCATE)")
            .and_then(|()| run_statement(self.connection(), "BEGIN EXCLUSIVE"));
        locked.map_err(|error| {
            error.with_hint(
                "the database is repaired; run the step again to finish it, or undo it with --undo",
            )
        })
    }

    /// Returns the number of transactions in the file, or `None` in log mode, which does not count them.
    pub(super) fn transaction_counter(&self) -> Option<u32> {
        let mut header = [0; 28];
        // Through the handle that is open anyway: opening and closing another one would drop the lock.
        self.file.read_exact_at(&mut header, 0).ok()?;
        let is_in_log_mode = header.get(18..20) == Some(&[2, 2][..]);
        let counter = header.get(COUNTER_OFFSET as usize..)?.try_into().ok()?;
        (!is_in_log_mode).then_some(u32::from_be_bytes(counter))
    }

    /// Returns the newest write in the queue, of any collection.
    pub(super) fn newest_write(&self) -> Result<Option<i64>> {
        if !self.schema.has_table("embeddings_queue") {
            return Ok(None);
        }
        let sql = "SELECT max(seq_id) FROM embeddings_queue";
        catalogue::query_number(self.connection(), "the write queue", sql, &[])
    }
}

/// Runs a statement and ignores its rows.
pub(super) fn run_statement(connection: &Connection, sql: &str) -> Result<()> {
    // A checkpoint returns a row, which `execute` would refuse.
    let ran = connection.prepare(sql).and_then(|mut statement| {
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    });
    ran.map_err(|cause| write_error("the database", cause))
}

/// Converts an error of SQLite while it wrote `what`.
pub(super) fn write_error(what: &str, cause: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode;
    let kind = match cause.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Locked,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorKind::Corrupt,
        _ => ErrorKind::Io,
    };
    let error = Error::new(kind, format!("cannot write {what}: {cause}")).caused_by(cause);
    error.with_hint("nothing was changed")
}

fn open_database_file(folder: &Path) -> Result<File> {
    let path = folder::database_path(folder);
    File::open(&path).map_err(|cause| failure::io_error("open", &path, cause))
}

/// Adds the hint for a damaged database, which is never written: any change may damage more.
pub(super) fn hint_if_damaged(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Corrupt => error.with_hint(DAMAGED_HINT),
        _ => error,
    }
}

/// Fails if another process has the database open.
pub(super) fn check_users(path: &Path) -> Result<()> {
    let users = users::find_users(path);
    let Some(first) = users.first() else {
        return Ok(());
    };
    let message = format!(
        "the process {} ({}) has {} open",
        first.process,
        first.name,
        path.display()
    );
    Err(Error::new(ErrorKind::Locked, message).with_hint("nothing was changed; stop it and try again"))
}
