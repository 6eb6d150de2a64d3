//! Folders that are created for a settings file, and removed again by an undo.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The note left in a folder that was there before us and empty: an undo must not remove it. A folder with
/// other files needs none.
const NOTE_NAME: &str = ".loci-keep";
const NOTE_TEXT: &str =
    "This folder was here before `loci connect`. `loci connect --undo` removes this note.\n";

/// Creates `folder` and those above it, up to the first that exists.
pub(super) fn create_folders(folder: &Path, root: &Path) -> io::Result<()> {
    // Only the nearest existing folder can be empty: those above it contain it.
    let existing = folder.ancestors().find(|folder| folder.exists());
    if let Some(existing) = existing
        && !is_same_folder(existing, root)
        && list_names(existing).is_some_and(|names| names.is_empty())
    {
        fs::write(existing.join(NOTE_NAME), NOTE_TEXT)?;
    }
    fs::create_dir_all(folder)
}

/// Removes `folder` and those above it as long as they are empty, up to `root` or to a folder with a note.
pub(super) fn remove_empty_folders(folder: &Path, root: &Path) {
    for folder in folder.ancestors() {
        if is_same_folder(folder, root) {
            return;
        }
        let names = list_names(folder).unwrap_or_default();
        if names == [PathBuf::from(NOTE_NAME)] {
            // A note that cannot be removed does no harm.
            let _ = fs::remove_file(folder.join(NOTE_NAME));
            return;
        }
        // Fails for a folder that is not empty, also if a file was put there just now.
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

fn is_same_folder(folder: &Path, root: &Path) -> bool {
    fs::canonicalize(folder).is_ok_and(|folder| folder == root)
}

fn list_names(folder: &Path) -> Option<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).ok()?;
    entries
        .map(|entry| entry.ok().map(|entry| entry.file_name().into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_folders_that_were_created_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let folder = root.join("a/b/c");
        create_folders(&folder, &root).unwrap();
        remove_empty_folders(&folder, &root);
        assert_eq!(list_names(&root).unwrap(), Vec::<PathBuf>::new());

        fs::create_dir(root.join("a")).unwrap();
        create_folders(&folder, &root).unwrap();
        remove_empty_folders(&folder, &root);
        assert_eq!(list_names(&root).unwrap(), [PathBuf::from("a")]);
        assert_eq!(list_names(&root.join("a")).unwrap(), Vec::<PathBuf>::new());

        create_folders(&folder, &root).unwrap();
        fs::write(root.join("a/b/mine"), "").unwrap();
        remove_empty_folders(&folder, &root);
        assert!(root.join("a/b/mine").exists() && !folder.exists());
    }
}
