//! What lies in one folder, sorted.

use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::io;
use std::path::Path;

/// The names in a folder and what they are, in the order of their bytes.
#[derive(Debug)]
pub(super) struct Listing(Vec<(OsString, FileType)>);

impl Listing {
    /// Lists a folder.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type() {
                Ok(kind) => entries.push((entry.file_name(), kind)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Self(entries))
    }

    /// What the name stands for, if it is there.
    pub(super) fn kind(&self, name: &str) -> Option<FileType> {
        let name = OsStr::new(name);
        let at = self
            .0
            .binary_search_by(|(one, _)| one.as_os_str().cmp(name))
            .ok()?;
        self.0.get(at).map(|(_, kind)| *kind)
    }

    /// Whether a regular file of this name is there.
    pub(super) fn holds_file(&self, name: &str) -> bool {
        self.kind(name).is_some_and(|kind| kind.is_file())
    }

    /// All of it.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsStr, FileType)> {
        self.0.iter().map(|(name, kind)| (name.as_os_str(), *kind))
    }
}
