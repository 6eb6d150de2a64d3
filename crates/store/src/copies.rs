//! The list of copies that were made of a palace, kept in the palace itself.
//!
//! A copy beside the palace's folder, or below the folder that this one is in, is listed by its path from there, so that
//! it is found again when all of it is moved.

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
    let copy = listed_path(palace, copy);
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
    let gone: Vec<PathBuf> = gone.iter().map(|file| listed_path(palace, file)).collect();
    change(palace, |files| files.retain(|file| !gone.contains(file)))
}

/// Returns the listed copies, oldest first.
pub(crate) fn list(palace: &PalaceFile) -> Result<Vec<PathBuf>> {
    let listed = palace.read(PATIENCE, read)?;
    let around = surroundings(palace);
    // Joining leaves an absolute path as it is.
    Ok(listed
        .into_iter()
        .map(|file| around.map_or_else(|| file.clone(), |around| around.join(&file)))
        .collect())
}

/// Returns the folder that the palace's own folder is in.
fn surroundings(palace: &PalaceFile) -> Option<&Path> {
    palace.file().parent()?.parent()
}

/// Returns the path under which a copy is listed.
fn listed_path(palace: &PalaceFile, copy: &Path) -> PathBuf {
    let copy = std::path::absolute(copy).unwrap_or_else(|_| copy.to_path_buf());
    let near = surroundings(palace).filter(|around| around.parent().is_some());
    match near.and_then(|around| copy.strip_prefix(around).ok()) {
        Some(near) => near.to_path_buf(),
        None => copy,
    }
}

fn read(connection: &Connection) -> Result<Vec<PathBuf>> {
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
        let mut files = read(transaction)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palace::AbsentPalace;

    #[test]
    fn a_copy_near_the_palace_is_found_again_when_both_are_moved() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (folder.path().join("here"), folder.path().join("there"));
        std::fs::create_dir_all(here.join("palace")).unwrap();
        let palace = PalaceFile::new(here.join("palace/palace.db"), None);
        drop(palace.lease_reading(AbsentPalace::Create, PATIENCE).unwrap());
        let copies = [here.join("copies/a.db"), PathBuf::from("/elsewhere/b.db")];
        copies.iter().for_each(|copy| add(&palace, copy).unwrap());
        add(&palace, &copies[0]).unwrap();
        assert_eq!(list(&palace).unwrap(), copies);
        palace.close();
        std::fs::rename(&here, &there).unwrap();
        let palace = PalaceFile::new(there.join("palace/palace.db"), None);
        let moved = [there.join("copies/a.db"), PathBuf::from("/elsewhere/b.db")];
        assert_eq!(list(&palace).unwrap(), moved);
        remove(&palace, &moved[..1]).unwrap();
        assert_eq!(list(&palace).unwrap(), moved[1..]);
    }
}
