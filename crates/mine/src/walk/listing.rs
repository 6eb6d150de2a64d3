//! The entries of one folder, sorted by name.

use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::io;
use std::path::Path;

/// The names in a folder with their file types, in byte order.
#[derive(Debug)]
pub(super) struct FolderListing(Vec<(OsString, FileType)>);

impl FolderListing {
    /// Lists a folder.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type() {
                Ok(kind) => entries.push((entry.file_name(), kind)),
                // The entry was removed between listing the folder and looking at it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        // The order of `read_dir` differs between file systems; reports and commits must not. `kind` relies
        // on it, too.
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Self(entries))
    }

    /// Returns the file type of the entry with this name, if there is one.
    pub(super) fn kind(&self, name: &str) -> Option<FileType> {
        let name = OsStr::new(name);
        let at = self
            .0
            .binary_search_by(|(one, _)| one.as_os_str().cmp(name))
            .ok()?;
        self.0.get(at).map(|(_, kind)| *kind)
    }

    /// Returns whether the folder holds a regular file of this name.
    pub(super) fn holds_file(&self, name: &str) -> bool {
        self.kind(name).is_some_and(|kind| kind.is_file())
    }

    /// Returns all entries.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsStr, FileType)> {
        self.0.iter().map(|(name, kind)| (name.as_os_str(), *kind))
    }
}
