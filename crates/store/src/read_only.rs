//! Palaces in a place that may not be written: read as they lie there, without SQLite's shared files.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use loci_core::Result;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access};

use crate::failure::sqlite;

/// Whether the folder of `file` is closed to writing and no log stands beside it that would have to be read too.
///
/// SQLite reads a palace through files that it makes beside it. Where it may not, the file alone is the palace, as
/// it was when the last writer closed it; the checksum of each page still stands guard.
pub(crate) fn applies(file: &Path) -> bool {
    let folder = file.parent().unwrap_or(Path::new("."));
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    let no_log = std::fs::metadata(PathBuf::from(log)).map_or(true, |found| found.len() == 0);
    no_log && access(folder, Access::WRITE_OK).is_err()
}

/// Opens a file that nobody changes.
pub(crate) fn open(file: &Path, vfs_name: &str) -> Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags_and_vfs(address(file), flags, vfs_name).map_err(sqlite)
}

/// The file as an address that says it does not change; whatever an address could misread is escaped.
fn address(file: &Path) -> PathBuf {
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
    use crate::{Embedded, vfs};
    use loci_core::{
        Backend, CollectionExt, CollectionName, CreateMode, DrawerId, NewDrawer, OpenOptions, PalaceRef,
    };

    #[test]
    fn a_file_that_may_not_be_written_is_read_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let palace = folder.path().join("odd %20?#name");
        let name = CollectionName::new("drawers").unwrap();
        let backend = Embedded::new();
        let collection = backend
            .create(
                &PalaceRef::local(&palace),
                &name,
                CreateMode::OpenExisting,
                &OpenOptions::default(),
            )
            .unwrap();
        collection
            .add(NewDrawer::new(DrawerId::new("a").unwrap(), "text"))
            .unwrap();
        drop(collection);
        backend.close();
        let file = palace.join(Embedded::FILE);
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
        assert!(!applies(&file), "a folder that may be written is opened as usual");
    }
}
