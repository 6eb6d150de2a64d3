//! The damage that the checks catch, what they let pass, and the absence of false alarms.

mod backfill;
mod beyond;
mod copies;
mod damage;
mod logs;
mod marks;
mod processes;

use super::{
    damaged_pages, is_checked, lost_log, mended_pages, note_loss, register, reserve_checksums, scan_pages,
};
use rusqlite::{Connection, OpenFlags, ffi};
use std::path::Path;
use std::time::Duration;

const PAGE: u64 = 4096;

/// Opens (and makes) a checked database with a write-ahead log.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = bare(path)?;
    connection.pragma_update(None, "page_size", PAGE as i64)?;
    reserve_checksums(&connection).expect("the VFS takes the reserve");
    connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL;")?;
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
    Ok(connection)
}

/// Opens a database through the shim and changes nothing.
fn bare(path: &Path) -> rusqlite::Result<Connection> {
    let vfs = register(None).expect("the VFS registers");
    let connection = Connection::open_with_flags_and_vfs(path, OpenFlags::default(), vfs)?;
    connection.busy_timeout(Duration::from_secs(60))?;
    Ok(connection)
}

/// The text of row `id`: short, within a page, or over several.
fn text(id: i64) -> String {
    let length = [20, 900, 3 * PAGE as usize, 300, 11_000][id as usize % 5];
    format!("row {id} ").repeat(length / 6)
}

/// Writes rows `ids`, each with its text.
fn fill(connection: &Connection, ids: std::ops::Range<i64>) -> rusqlite::Result<()> {
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS drawers (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
         CREATE INDEX IF NOT EXISTS by_text ON drawers (substr(text, 1, 12)); BEGIN IMMEDIATE;",
    )?;
    for id in ids {
        connection.execute("INSERT OR REPLACE INTO drawers VALUES (?1, ?2)", (id, text(id)))?;
    }
    connection.execute_batch("COMMIT")
}

fn read(connection: &Connection, id: i64) -> rusqlite::Result<String> {
    connection.query_row("SELECT text FROM drawers WHERE id = ?1", [id], |row| row.get(0))
}

fn integrity(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))
}

/// Shows that the database is whole: by SQLite, by its rows and page by page on disk.
fn assert_whole(connection: &Connection) {
    assert_eq!(integrity(connection).as_deref(), Ok("ok"));
    assert_eq!(is_checked(connection).ok(), Some(true));
    assert_eq!(
        scan_pages(connection).expect("the pages can be read"),
        Vec::<u32>::new()
    );
}

fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error, rusqlite::Error::SqliteFailure(failure, _) if failure.extended_code == ffi::SQLITE_IOERR_DATA)
}

/// Changes the byte at `offset` of a file that is not open.
fn flip(path: &Path, offset: u64, mask: u8) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(path)
        .expect("the file opens");
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).expect("the byte is there");
    file.write_all_at(&[byte[0] ^ mask], offset)
        .expect("the byte changes");
}
