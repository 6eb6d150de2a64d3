//! The list of copies that were made of a palace, kept in the palace itself.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use loci_core::Result;
use rusqlite::{Connection, MAIN_DB, OptionalExtension, Transaction, params};

use crate::backend::PATIENCE;
use crate::failure::{corrupt_error, sqlite_error};
use crate::palace::PalaceFile;

/// The key of the list in the table `palace`.
const KEY: &str = "copies";

/// Lists a new copy; a palace that cannot be written keeps no list.
pub(crate) fn add(palace: &PalaceFile, copy: &Path) -> Result<()> {
    let copy = std::path::absolute(copy).unwrap_or_else(|_| copy.to_path_buf());
    if palace.lease(PATIENCE)?.is_readonly(MAIN_DB).unwrap_or(true) {
        return Ok(());
    }
    change(palace, |files| {
        if !files.contains(&copy) {
            files.push(copy);
        }
    })
}

/// Removes copies from the list.
pub(crate) fn remove(palace: &PalaceFile, gone: &[PathBuf]) -> Result<()> {
    let gone: Vec<PathBuf> = gone
        .iter()
        .map(|file| std::path::absolute(file).unwrap_or_else(|_| file.clone()))
        .collect();
    change(palace, |files| files.retain(|file| !gone.contains(file)))
}

/// Returns the listed copies, oldest first.
pub(crate) fn list(connection: &Connection) -> Result<Vec<PathBuf>> {
    let stored: Option<Vec<u8>> = connection
        .query_row("SELECT value FROM palace WHERE key = ?1", [KEY], |row| row.get(0))
        .optional()
        .map_err(sqlite_error)?;
    let names = stored.unwrap_or_default();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    // Names are bytes on disk, and no name contains a NUL.
    let names = names.strip_suffix(b"\0");
    let names = names.ok_or_else(|| corrupt_error("the list of copies is damaged"))?;
    Ok(names
        .split(|byte| *byte == 0)
        .map(|name| PathBuf::from(std::ffi::OsStr::from_bytes(name)))
        .collect())
}

fn change(palace: &PalaceFile, change: impl FnOnce(&mut Vec<PathBuf>)) -> Result<()> {
    palace.write(PATIENCE, |transaction| {
        let mut files = list(transaction)?;
        let before = files.clone();
        change(&mut files);
        if files == before {
            return Ok(());
        }
        store(transaction, &files)
    })?;
    Ok(())
}

fn store(transaction: &Transaction<'_>, files: &[PathBuf]) -> Result<()> {
    let mut names = Vec::new();
    for file in files {
        names.extend_from_slice(file.as_os_str().as_bytes());
        names.push(0);
    }
    transaction
        .execute(
            "INSERT INTO palace(key, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value",
            params![KEY, names],
        )
        .map(drop)
        .map_err(sqlite_error)
}
