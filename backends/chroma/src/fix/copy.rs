//! Verified copies of a database, and the check for free space.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use loci_core::{Error, ErrorKind, Result};

use crate::failure;

/// The number of bytes read at once.
const STRETCH: usize = 1 << 18;
/// The number of bytes that must stay free.
const SPARE: u64 = 1 << 20;

/// Hashes a file without moving its cursor.
pub(super) fn hash_file(file: &File, path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    read_stretches(file, path, &mut |stretch| {
        hasher.update(stretch);
        Ok(())
    })?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// Hashes the file at `path`.
///
/// Must not be used on a database that this process has locked: closing a file drops its POSIX locks.
pub(super) fn hash_path(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(|cause| failure::io_error("open", path, cause))?;
    hash_file(&file, path)
}

fn read_stretches(file: &File, path: &Path, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut stretch = vec![0; STRETCH];
    let mut offset = 0;
    loop {
        let read = match file.read_at(&mut stretch, offset) {
            Ok(read) => read,
            // `read_at` may be interrupted by a signal, and unlike `read_exact_at` it does not retry.
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => return Err(failure::io_error("read", path, cause)),
        };
        match stretch.get(..read) {
            None | Some([]) => return Ok(()),
            Some(stretch) => take(stretch)?,
        }
        offset += read as u64;
    }
}

/// Copies the file `from` at `path` to the new file `to`, reads both back, and returns their hash.
pub(super) fn copy_verified(from: &File, path: &Path, to: &Path) -> Result<String> {
    let found = from
        .metadata()
        .map_err(|cause| failure::io_error("read", path, cause))?;
    let refused = |cause| failure::io_error("write", to, cause);
    let mut copy = OpenOptions::new()
        .write(true)
        .read(true)
        .create_new(true)
        // The copy may replace the database in an undo, so it must be readable for the same users.
        .mode(found.mode() & 0o777)
        .open(to)
        .map_err(refused)?;
    read_stretches(from, path, &mut |stretch| {
        copy.write_all(stretch).map_err(refused)
    })?;
    if let Ok(modified) = found.modified() {
        copy.set_modified(modified).map_err(refused)?;
    }
    copy.sync_all().map_err(refused)?;
    // Both are read again: a copy that went wrong on a failing disk must not be trusted as the way back.
    let (before, copied) = (hash_file(from, path)?, hash_file(&copy, to)?);
    if before == copied {
        Ok(before)
    } else {
        Err(Error::new(
            ErrorKind::Io,
            format!("{} does not read back as {}", to.display(), path.display()),
        ))
    }
}

/// Makes new, renamed and removed files in `folder` durable.
pub(super) fn sync_folder(folder: &Path) -> Result<()> {
    let opened = File::open(folder).and_then(|folder| folder.sync_all());
    opened.map_err(|cause| failure::io_error("write", folder, cause))
}

/// Fails if fewer than `needed` bytes are free.
pub(super) fn check_room(folder: &Path, needed: u64) -> Result<()> {
    let found =
        rustix::fs::statvfs(folder).map_err(|cause| failure::io_error("look at", folder, cause.into()))?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let needed = needed.saturating_add(SPARE);
    if free >= needed {
        return Ok(());
    }
    let message = format!(
        "{} has {free} bytes free, and the step needs {needed}",
        folder.display()
    );
    Err(Error::new(ErrorKind::Io, message).with_hint("nothing was changed; free some space and try again"))
}

/// Returns the length of a file, or 0 if it does not exist.
pub(super) fn file_length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_whole_and_takes_no_place_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let (path, to) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&path, vec![7; STRETCH + 3]).unwrap();
        let from = File::open(&path).unwrap();
        let taken = copy_verified(&from, &path, &to).unwrap();
        assert_eq!(taken, hash_path(&to).unwrap());
        assert_eq!(fs::read(&to).unwrap(), fs::read(&path).unwrap());
        assert!(copy_verified(&from, &path, &to).is_err());
        fs::write(&path, b"else").unwrap();
        assert_ne!(hash_file(&from, &path).unwrap(), taken);
    }

    #[test]
    fn more_than_any_disk_holds_is_refused_before_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        check_room(folder.path(), 1).unwrap();
        let error = check_room(folder.path(), u64::MAX).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
    }
}
