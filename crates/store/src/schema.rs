//! The tables of a palace file, its version, and the recognition of files.

use loci_core::{Error, ErrorKind, Result, Timestamp};
use rusqlite::{Connection, Transaction, params};

use crate::clock;
use crate::connection::begin_write;
use crate::failure::sqlite_error;
use crate::{days, places, receipts, vfs};

/// "LOCI" in the SQLite header: this file is a palace.
pub(crate) const APPLICATION_ID: i32 = 0x4c4f_4349;

/// The version of the file: of the tables below, and of the records that the file layer keeps.
pub(crate) const VERSION: i32 = 6;

/// The bytes of a page: five vectors of 384 values fit on one, and a segment takes few pages.
pub(crate) const PAGE_SIZE: i32 = 8192;

/// The unique index that keeps each piece of a source in one drawer, and lists pieces in the order of their
/// source. With a null source or start no two drawers are equal: SQLite treats nulls as distinct.
pub(crate) const SOURCE_INDEX: &str = "CREATE UNIQUE INDEX drawers_source
    ON drawers(collection, source, start, hash) WHERE source IS NOT NULL OR start IS NOT NULL";

/// The index that earlier formats have instead.
pub(crate) const OLD_CONTENT_INDEX: &str = "drawers_content";

/// The index that finds the spaces of a collection.
pub(crate) const SPACES_INDEX: &str = "CREATE INDEX spaces_collection ON spaces(collection)";

/// The table that remembers sources.
pub(crate) const SOURCES_TABLE: &str = "CREATE TABLE sources (
    collection INTEGER NOT NULL REFERENCES collections(collection),
    source TEXT NOT NULL,
    revision INTEGER NOT NULL,
    revised_at INTEGER NOT NULL,
    stamp TEXT NOT NULL,
    PRIMARY KEY (collection, source)
) STRICT, WITHOUT ROWID";

/// The other tables every palace has; `docs/format.md` describes them.
const TABLES: &str = "
CREATE TABLE palace (
    key TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE collections (
    collection INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    metric TEXT NOT NULL,
    space INTEGER NOT NULL,
    projection INTEGER NOT NULL,
    drawers INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE spaces (
    space INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL REFERENCES collections(collection),
    dimension INTEGER,
    model TEXT,
    revision TEXT,
    vectors INTEGER NOT NULL DEFAULT 0,
    tail INTEGER NOT NULL DEFAULT 0,
    sealed INTEGER NOT NULL DEFAULT 0,
    state TEXT,
    turn INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE drawers (
    row INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL REFERENCES collections(collection),
    id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    uses INTEGER NOT NULL,
    filed_at INTEGER NOT NULL,
    said_at INTEGER,
    wing TEXT,
    room TEXT,
    source TEXT,
    start INTEGER,
    stop INTEGER,
    line_start INTEGER,
    line_end INTEGER,
    speaker TEXT,
    kind TEXT,
    provenance TEXT,
    metadata TEXT NOT NULL,
    before TEXT,
    after TEXT,
    document TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX drawers_id ON drawers(collection, id);
CREATE UNIQUE INDEX drawers_seq ON drawers(seq);
CREATE INDEX drawers_place ON drawers(collection, wing, room);

CREATE TABLE keys (
    key INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE tombstones (
    seq INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL REFERENCES collections(collection),
    id TEXT NOT NULL,
    UNIQUE (collection, id)
) STRICT;

CREATE TABLE segments (
    segment INTEGER PRIMARY KEY,
    space INTEGER NOT NULL REFERENCES spaces(space),
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    data BLOB NOT NULL
) STRICT;
CREATE INDEX segments_space ON segments(space, first, last, rows);

CREATE TABLE dead (
    space INTEGER NOT NULL REFERENCES spaces(space),
    row INTEGER NOT NULL,
    PRIMARY KEY (space, row)
) STRICT, WITHOUT ROWID;

CREATE TABLE notes (
    note INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    text TEXT NOT NULL
) STRICT;
";

/// Gives a new, empty database file its page size, checksums and log. Harmless on a file that has them.
pub(crate) fn prepare_file(connection: &Connection) -> Result<()> {
    connection
        // The order matters: page size and reserved bytes must be set before the first write, and setting
        // `auto_vacuum` or `journal_mode` is one.
        .pragma_update(None, "page_size", PAGE_SIZE)
        .map_err(sqlite_error)?;
    vfs::reserve_checksums(connection)?;
    connection
        .pragma_update(None, "auto_vacuum", "INCREMENTAL")
        .map_err(sqlite_error)?;
    begin_log(connection)
}

/// Returns whether the file is written through a log.
pub(crate) fn has_log(connection: &Connection) -> Result<bool> {
    connection
        .pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0))
        .map(|mode| mode == "wal")
        .map_err(sqlite_error)
}

/// Switches a file to a log. One whose making was interrupted by a failing disk may have tables and none: its journal
/// is deleted without a sync of the folder, so that a power cut could bring it back and undo the last commit.
pub(crate) fn begin_log(connection: &Connection) -> Result<()> {
    let mode = switch_to_log(connection).map_err(sqlite_error)?;
    if mode == "wal" {
        return Ok(());
    }
    // A file system without shared memory maps has no write-ahead log.
    Err(Error::new(
        ErrorKind::Unsupported,
        format!("this file system cannot hold a palace: SQLite fell back to {mode:?}"),
    ))
}

/// Returns the mode that SQLite has chosen. The statement commits only after it has given its row, so it must be run to
/// its end: else a commit that fails would go unnoticed.
fn switch_to_log(connection: &Connection) -> rusqlite::Result<String> {
    let mut statement = connection.prepare("PRAGMA journal_mode = WAL")?;
    let modes: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    Ok(modes.concat())
}

/// Creates the tables of a new palace, unless another process has just done so.
pub(crate) fn create_tables(connection: &mut Connection) -> Result<()> {
    let transaction = begin_write(connection).map_err(sqlite_error)?;
    // Another process may have created them while this one waited for the lock.
    if format_version(&transaction)? == 0 {
        for made in [
            TABLES,
            SOURCES_TABLE,
            places::TABLE,
            receipts::TABLE,
            days::TABLE,
            &days::triggers_sql(),
            SOURCE_INDEX,
            SPACES_INDEX,
        ] {
            transaction.execute_batch(made).map_err(sqlite_error)?;
        }
        // The tables of statistics are made now, too: with them the schema no longer fits on page 1, and its other
        // pages should lie at the start of the file, where a cut does least.
        transaction
            .execute_batch("ANALYZE sqlite_schema")
            .map_err(sqlite_error)?;
        let set = |key: &str, value: &dyn rusqlite::ToSql| {
            transaction
                .execute(
                    "INSERT INTO palace(key, value) VALUES (?1, ?2)",
                    params![key, value],
                )
                .map_err(sqlite_error)
        };
        set("id", &new_palace_id(&transaction)?.as_slice())?;
        set("created_at", &clock::now().as_micros())?;
        set("seq", &0_i64)?;
        transaction
            // In the transaction of the tables: a crash leaves either a palace or an empty file.
            .pragma_update(None, "application_id", APPLICATION_ID)
            .map_err(sqlite_error)?;
        transaction
            .pragma_update(None, "user_version", VERSION)
            .map_err(sqlite_error)?;
    }
    transaction.commit().map_err(sqlite_error)
}

/// The kind of a database file, as far as its header tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// Nothing has been written to it yet.
    Empty,
    /// A palace of the version this build writes.
    Current,
    /// A palace of an earlier version.
    Older(i32),
}

/// Recognises the open file. A file that is not a palace or is newer than this build is refused and not changed.
pub(crate) fn recognise_file(connection: &Connection) -> Result<FileKind> {
    // One transaction for all three reads: another process may be creating the palace right now.
    let moment = connection.unchecked_transaction().map_err(sqlite_error)?;
    recognise_in(&moment)
}

/// As [`recognise_file`], within a transaction.
pub(crate) fn recognise_in(moment: &Connection) -> Result<FileKind> {
    let pragma = |name: &str| {
        moment
            .pragma_query_value(None, name, |row| row.get::<_, i32>(0))
            .map_err(sqlite_error)
    };
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = moment
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(sqlite_error)?;
    match (application, version) {
        // Without a table nothing is lost by making a palace of it. Another program's database that never set
        // the two numbers has tables, and is refused below.
        (0, 0) if tables == 0 => Ok(FileKind::Empty),
        (APPLICATION_ID, VERSION) => Ok(FileKind::Current),
        (APPLICATION_ID, older) if (1..VERSION).contains(&older) => Ok(FileKind::Older(older)),
        (APPLICATION_ID, newer) if newer > VERSION => Err(too_new(newer)),
        _ => Err(Error::new(
            ErrorKind::Format,
            "the file is an SQLite database but not a palace",
        )
        .with_hint("it was left untouched; name another folder with --palace")),
    }
}

/// Returns the format of the file.
pub(crate) fn format_version(connection: &Connection) -> Result<i32> {
    connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(sqlite_error)
}

/// Returns the error for a file written by a later release.
pub(crate) fn too_new(version: i32) -> Error {
    Error::new(
        ErrorKind::Format,
        format!("the palace has format {version}; this build reads formats up to {VERSION}"),
    )
    .with_hint("it was left untouched; install a newer loci")
}

/// Returns the 16 random bytes that identify this palace.
pub(crate) fn palace_id(connection: &Connection) -> Result<[u8; 16]> {
    let bytes: Vec<u8> = connection
        .query_row("SELECT value FROM palace WHERE key = 'id'", [], |row| row.get(0))
        .map_err(sqlite_error)?;
    bytes
        .try_into()
        .map_err(|_| crate::failure::corrupt_error("the palace's own id is damaged"))
}

/// Returns sixteen random bytes from SQLite's own generator, which is seeded by the system.
fn new_palace_id(transaction: &Transaction<'_>) -> Result<[u8; 16]> {
    transaction
        .query_row("SELECT randomblob(16)", [], |row| row.get(0))
        .map_err(sqlite_error)
}

/// Returns whether a unique index keeps a piece of a source from being filed twice; the first files lack one.
pub(crate) fn has_unique_pieces(connection: &Connection) -> Result<bool> {
    Ok(has_source_index(connection)? || has_index(connection, OLD_CONTENT_INDEX)?)
}

/// Returns whether the index of pieces in the order of their source exists; earlier formats lack it.
pub(crate) fn has_source_index(connection: &Connection) -> Result<bool> {
    has_index(connection, "drawers_source")
}

/// Returns whether the file has an index of this name.
pub(crate) fn has_index(connection: &Connection, name: &str) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?1")
        .and_then(|mut statement| statement.exists([name]))
        .map_err(sqlite_error)
}

/// Writes a line into the palace's own log.
pub(crate) fn add_note(transaction: &Transaction<'_>, at: Timestamp, text: &str) -> Result<()> {
    transaction
        .execute(
            "INSERT INTO notes(at, text) VALUES (?1, ?2)",
            params![at.as_micros(), text],
        )
        .map(drop)
        .map_err(sqlite_error)
}
