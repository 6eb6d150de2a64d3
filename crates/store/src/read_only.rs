//! Palaces in a folder that may not be written: read in place, without SQLite's shared files.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use loci_core::Result;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access};

use crate::failure::sqlite_error;

/// Returns whether the folder of `file` is not writable and holds no log that would have to be read too.
///
/// SQLite reads a palace through files that it creates beside it. If it may not, the file alone is the palace, as
/// the last writer closed it; the checksum of each page is still checked.
pub(crate) fn is_read_only_place(file: &Path) -> bool {
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    // Opened as immutable, SQLite would ignore a log and silently drop the commits in it.
    let no_log = std::fs::metadata(PathBuf::from(log)).map_or(true, |found| found.len() == 0);
    no_log && access(folder, Access::WRITE_OK).is_err()
}

/// Opens a file that does not change.
pub(crate) fn open(file: &Path, vfs_name: &str) -> Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags_and_vfs(immutable_uri(file), flags, vfs_name).map_err(sqlite_error)
}

/// Returns the file as a URI with `immutable` set; bytes with a meaning in URIs are escaped.
fn immutable_uri(file: &Path) -> PathBuf {
    let mut address = b"file:".to_vec();
    for byte in file.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => address.extend(format!("%{byte:02x}").bytes()),
            plain => address.push(*plain),
        }
    }
    address.extend(b"?immutable=1");
    PathBuf::from(OsString::from_vec(address))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EmbeddedBackend, vfs};
    use loci_core::{
        Backend, CollectionExt, CollectionName, CreateMode, DrawerId, NewDrawer, OpenOptions, PalaceRef,
    };

    #[test]
    fn a_file_that_may_not_be_written_is_read_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let palace = folder.path().join("odd %20?#name");
        let name = CollectionName::new("drawers").unwrap();
        let backend = EmbeddedBackend::new();
        let collection = backend
            .create(
                &PalaceRef::local(&palace),
                &name,
                CreateMode::OpenExisting,
                &OpenOptions::default(),
            )
            .unwrap();
        collection
            .add_drawer(NewDrawer::new(DrawerId::new("a").unwrap(), "text"))
            .unwrap();
        drop(collection);
        backend.close();
        let file = palace.join(EmbeddedBackend::FILE);
        let connection = open(&file, vfs::register(None).unwrap()).unwrap();
        let count: i64 = connection
            .query_row("SELECT count(*) FROM drawers", [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, 1);
        assert!(connection.execute("DELETE FROM drawers", []).is_err());
        assert_eq!(
            std::fs::read_dir(&palace).unwrap().count(),
            1,
            "nothing was made beside it"
        );
        assert!(
            !is_read_only_place(&file),
            "a folder that may be written is opened as usual"
        );
    }
}
