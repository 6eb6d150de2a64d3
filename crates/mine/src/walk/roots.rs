//! The roots of a walk: existing paths with links resolved, each once.

use std::io;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};

use crate::stat::system_words;

/// The roots of a walk, sorted.
#[derive(Debug)]
pub(super) struct WalkRoots(Vec<PathBuf>);

impl WalkRoots {
    /// Resolves the links in every root; a root that does not exist is an error.
    pub(super) fn resolve(roots: &[PathBuf]) -> Result<Self> {
        let mut found = roots
            .iter()
            .map(|root| {
                root.canonicalize()
                    .map_err(|error| missing_root_error(root, error))
            })
            .collect::<Result<Vec<_>>>()?;
        // Sorted by path, an outer root comes before the roots inside it, and `contains` can search by
        // halves.
        found.sort_unstable();
        found.dedup();
        Ok(Self(found))
    }

    /// Returns each root, outer ones before those inside them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }

    /// Returns whether this path is a root itself.
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.0.binary_search_by(|root| root.as_path().cmp(path)).is_ok()
    }

    /// Returns whether a root lies below this folder.
    pub(super) fn lie_below(&self, folder: &Path) -> bool {
        self.iter().any(|root| root != folder && root.starts_with(folder))
    }

    /// Returns the outermost root that contains this one; if there is none, the root itself or, for a file, its folder.
    pub(super) fn home_of<'a>(&'a self, root: &'a Path, is_folder: bool) -> &'a Path {
        let outermost = self.iter().find(|one| root.starts_with(one)).unwrap_or(root);
        if outermost != root || is_folder {
            return outermost;
        }
        root.parent().unwrap_or(root)
    }
}

fn missing_root_error(root: &Path, error: io::Error) -> Error {
    let path = root.display();
    let error = match error.kind() {
        io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, format!("no such file or folder: {path}")),
        _ => Error::new(
            ErrorKind::Io,
            format!("cannot open {path}: {}", system_words(&error)),
        ),
    };
    error
        .with_context("path", path)
        .with_hint("nothing was mined; name files and folders that exist")
}
