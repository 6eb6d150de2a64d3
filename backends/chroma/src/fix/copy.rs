//! Copies of a database that were read back and compared, and whether there is room for them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use loci_core::{Error, ErrorKind, Result};

use crate::failure;

/// How much is read at once.
const STRETCH: usize = 1 << 18;
/// What must stay free beside all that is written.
const SPARE: u64 = 1 << 20;

/// The hash of a file's bytes, read without moving its cursor.
pub(super) fn hash(file: &File, path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    each(file, path, &mut |stretch| {
        hasher.update(stretch);
        Ok(())
    })?;
    Ok(hasher.finalize().to_hex().to_string())
}

/// The hash of the file at `path`.
///
/// Never for a database that this process has locked: closing a file lets go of its locks.
pub(super) fn hash_at(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(|cause| failure::io("open", path, cause))?;
    hash(&file, path)
}

fn each(file: &File, path: &Path, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut stretch = vec![0; STRETCH];
    let mut offset = 0;
    loop {
        let read = match file.read_at(&mut stretch, offset) {
            Ok(read) => read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => return Err(failure::io("read", path, cause)),
        };
        match stretch.get(..read) {
            None | Some([]) => return Ok(()),
            Some(stretch) => take(stretch)?,
        }
        offset += read as u64;
    }
}

/// Copies the file `from`, which lies at `path`, to the new file `to`; both are read back, and their hash returned.
pub(super) fn take(from: &File, path: &Path, to: &Path) -> Result<String> {
    let found = from
        .metadata()
        .map_err(|cause| failure::io("read", path, cause))?;
    let refused = |cause| failure::io("write", to, cause);
    let mut copy = OpenOptions::new()
        .write(true)
        .read(true)
        .create_new(true)
        .mode(found.mode() & 0o777)
        .open(to)
        .map_err(refused)?;
    each(from, path, &mut |stretch| {
        copy.write_all(stretch).map_err(refused)
    })?;
    if let Ok(modified) = found.modified() {
        copy.set_modified(modified).map_err(refused)?;
    }
    copy.sync_all().map_err(refused)?;
    let (before, copied) = (hash(from, path)?, hash(&copy, to)?);
    match before == copied {
        true => Ok(before),
        false => Err(Error::new(
            ErrorKind::Io,
            format!("{} does not read back as {}", to.display(), path.display()),
        )),
    }
}

/// Makes what was made, renamed or removed in `folder` last.
pub(super) fn settle(folder: &Path) -> Result<()> {
    let opened = File::open(folder).and_then(|folder| folder.sync_all());
    opened.map_err(|cause| failure::io("write", folder, cause))
}

/// Refuses where fewer than `needed` bytes are free.
pub(super) fn check_room(folder: &Path, needed: u64) -> Result<()> {
    let found = rustix::fs::statvfs(folder).map_err(|cause| failure::io("look at", folder, cause.into()))?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let needed = needed.saturating_add(SPARE);
    if free >= needed {
        return Ok(());
    }
    let message = format!(
        "{} has {free} bytes free, and the step needs {needed}",
        folder.display()
    );
    Err(Error::new(ErrorKind::Io, message).hint("nothing was changed; make room and try again"))
}

/// How long a file is; nothing where it is not there.
pub(super) fn length(path: &Path) -> u64 {
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
        let taken = take(&from, &path, &to).unwrap();
        assert_eq!(taken, hash_at(&to).unwrap());
        assert_eq!(fs::read(&to).unwrap(), fs::read(&path).unwrap());
        assert!(take(&from, &path, &to).is_err());
        fs::write(&path, b"else").unwrap();
        assert_ne!(hash(&from, &path).unwrap(), taken);
    }

    #[test]
    fn more_than_any_disk_holds_is_refused_before_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        check_room(folder.path(), 1).unwrap();
        let error = check_room(folder.path(), u64::MAX).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
    }
}
