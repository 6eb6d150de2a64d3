//! Where a walk begins: roots that exist, without links, each once.

use std::io;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};

use crate::stat::system_words;

/// The roots of a walk, sorted.
#[derive(Debug)]
pub(super) struct Roots(Vec<PathBuf>);

impl Roots {
    /// Follows the links in every root; one that does not exist is an error.
    pub(super) fn resolve(roots: &[PathBuf]) -> Result<Self> {
        let mut found = roots
            .iter()
            .map(|root| root.canonicalize().map_err(|error| absent(root, error)))
            .collect::<Result<Vec<_>>>()?;
        found.sort_unstable();
        found.dedup();
        Ok(Self(found))
    }

    /// Each root, outer ones before those inside them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }

    /// Whether this is a root itself.
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.0.binary_search_by(|root| root.as_path().cmp(path)).is_ok()
    }

    /// Whether a root lies below this folder.
    pub(super) fn lie_below(&self, folder: &Path) -> bool {
        self.iter().any(|root| root != folder && root.starts_with(folder))
    }

    /// The outermost root that holds this one; the root itself or, for a file, its folder, where there is none.
    pub(super) fn home<'a>(&'a self, root: &'a Path, is_folder: bool) -> &'a Path {
        let outermost = self.iter().find(|one| root.starts_with(one)).unwrap_or(root);
        if outermost != root || is_folder {
            return outermost;
        }
        root.parent().unwrap_or(root)
    }
}

fn absent(root: &Path, error: io::Error) -> Error {
    let path = root.display();
    let error = match error.kind() {
        io::ErrorKind::NotFound => {
            Error::new(ErrorKind::NotFound, format!("there is no file or folder {path}"))
        }
        _ => Error::new(
            ErrorKind::Io,
            format!("cannot look at {path}: {}", system_words(&error)),
        ),
    };
    error
        .with("path", path)
        .hint("nothing was mined; name files and folders that exist")
}
