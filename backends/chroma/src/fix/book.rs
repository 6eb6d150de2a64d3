//! A folder's database while a step is planned or taken: read-only, or locked against everybody else.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use super::{MOVE, copy};
use crate::catalogue::{self, Listed, Schema};
use crate::database::{self, Database, Reading};
use crate::failure;
use crate::folder;
use crate::shelf::Shelf;
use crate::users;

/// Where SQLite counts the transactions a file has seen, outside log mode.
const COUNTER: u64 = 24;

/// An open database and what it lists.
#[derive(Debug)]
pub(super) struct Book {
    /// The folder.
    pub(super) folder: PathBuf,
    /// The connection.
    pub(super) database: Database,
    /// Its tables.
    pub(super) schema: Schema,
    /// Its collections.
    pub(super) listed: Vec<Listed>,
    /// The file itself. It must be closed after the connection: closing it lets go of the connection's locks.
    pub(super) file: File,
}

impl Book {
    /// Opens it to be read. Nothing in the folder changes.
    pub(super) fn look(folder: &Path) -> Result<Self> {
        let file = open(folder)?;
        let database = Database::open(folder).map_err(damaged)?;
        if database.is_salvaged() {
            let error = Error::new(
                ErrorKind::Corrupt,
                format!("{} is damaged", folder::database(folder).display()),
            );
            return Err(damaged(error));
        }
        Self::of(folder, database, file)
    }

    /// Opens it to be written, with nobody else reading or writing until it is dropped or committed.
    pub(super) fn lock(folder: &Path) -> Result<Self> {
        let path = folder::database(folder);
        check_users(&path)?;
        let file = open(folder)?;
        let connection = database::connect(&path, "mode=rw").map_err(damaged)?;
        let is_read_only = connection
            .is_readonly("main")
            .map_err(|cause| failure::sqlite("the database", cause))?;
        if is_read_only {
            let message = format!("{} may not be written", path.display());
            return Err(Error::new(ErrorKind::Io, message).hint("nothing was changed"));
        }
        // What lies in a log becomes part of the file, so that a copy of the file is a copy of everything.
        run(&connection, "PRAGMA wal_checkpoint(TRUNCATE)")?;
        run(&connection, "BEGIN EXCLUSIVE")?;
        if copy::length(&folder::beside(folder, "-wal")) > 0 {
            let message = format!("somebody reads the log beside {}", path.display());
            return Err(Error::new(ErrorKind::Locked, message).hint("nothing was changed; try again"));
        }
        let database = Database {
            connection,
            reading: Reading::InPlace,
        };
        Self::of(folder, database, file)
    }

    fn of(folder: &Path, database: Database, file: File) -> Result<Self> {
        let schema = Schema::read(&database.connection).map_err(damaged)?;
        let listed = catalogue::collections(&database.connection, &schema).map_err(damaged)?;
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
        folder::database(&self.folder)
    }

    /// Lays out a collection.
    pub(super) fn shelf(&self, listed: &Listed) -> Result<Shelf> {
        Shelf::read(&self.folder, &self.database, &self.schema, listed.clone()).map_err(damaged)
    }

    /// A sequence number as the release that wrote here last keeps it.
    pub(super) fn kept(&self, number: i64) -> rusqlite::types::Value {
        match self.schema.is_since_1() {
            true => rusqlite::types::Value::Integer(number),
            false => rusqlite::types::Value::Blob(number.to_be_bytes().to_vec()),
        }
    }

    /// Locks it again after a transaction, with all of it in the file.
    pub(super) fn lock_again(&self) -> Result<()> {
        let locked = run(self.connection(), "PRAGMA wal_checkpoint(TRUNCATE)")
            .and_then(|()| run(self.connection(), "BEGIN EXCLUSIVE"));
        locked.map_err(|error| {
            error.hint("the database is mended; take the step again to finish it, or --undo")
        })
    }

    /// How many transactions the file has seen; nothing where it is in log mode, which does not count them.
    pub(super) fn counter(&self) -> Option<u32> {
        let mut header = [0; 28];
        self.file.read_exact_at(&mut header, 0).ok()?;
        let is_in_log_mode = header.get(18..20) == Some(&[2, 2][..]);
        let counter = header.get(COUNTER as usize..)?.try_into().ok()?;
        (!is_in_log_mode).then_some(u32::from_be_bytes(counter))
    }

    /// The newest write in the queue, of any collection.
    pub(super) fn newest(&self) -> Result<Option<i64>> {
        if !self.schema.has("embeddings_queue") {
            return Ok(None);
        }
        let sql = "SELECT max(seq_id) FROM embeddings_queue";
        catalogue::number(self.connection(), "the write queue", sql, &[])
    }
}

/// Runs a statement for what it does; rows it gives are not looked at.
pub(super) fn run(connection: &Connection, sql: &str) -> Result<()> {
    let ran = connection.prepare(sql).and_then(|mut statement| {
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    });
    ran.map_err(|cause| unwritten("the database", cause))
}

/// What SQLite refused while `what` was written.
pub(super) fn unwritten(what: &str, cause: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode;
    let kind = match cause.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Locked,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorKind::Corrupt,
        _ => ErrorKind::Io,
    };
    let error = Error::new(kind, format!("cannot write {what}: {cause}")).caused_by(cause);
    error.hint("nothing was changed")
}

fn open(folder: &Path) -> Result<File> {
    let path = folder::database(folder);
    File::open(&path).map_err(|cause| failure::io("open", &path, cause))
}

/// A damaged database is never written: whatever is changed in it may damage more.
pub(super) fn damaged(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Corrupt => error.hint(MOVE),
        _ => error,
    }
}

/// Refuses while another process has the database open.
pub(super) fn check_users(path: &Path) -> Result<()> {
    let users = users::of(path);
    let Some(first) = users.first() else {
        return Ok(());
    };
    let message = format!(
        "the process {} ({}) has {} open",
        first.process,
        first.name,
        path.display()
    );
    Err(Error::new(ErrorKind::Locked, message).hint("nothing was changed; end it and try again"))
}
