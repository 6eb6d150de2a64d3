//! Where two palaces lie to each other: one may not be the other, nor within it.

use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use loci_engine::palace::BorrowedAddress;

/// Refuses a source that is the target, and one that lies within the other.
pub(super) fn check(from: BorrowedAddress<'_>, to: BorrowedAddress<'_>) -> Result<()> {
    let (Some(one), Some(other)) = (&from.reference.local_path, &to.reference.local_path) else {
        let same = from.backend.descriptor().name == to.backend.descriptor().name
            && (&from.reference.id, &from.reference.namespace) == (&to.reference.id, &to.reference.namespace);
        return match same {
            true => Err(same_place(&from.reference.id)),
            false => Ok(()),
        };
    };
    let (one, other) = (real(one), real(other));
    if one == other {
        return Err(same_place(&from.reference.id));
    }
    if one.starts_with(&other) || other.starts_with(&one) {
        return Err(Error::invalid(format!(
            "{} and {} lie within each other, so one cannot be moved to the other",
            from.reference.id, to.reference.id
        ))
        .hint("nothing was changed; name a target beside the source"));
    }
    Ok(())
}

fn same_place(place: &str) -> Error {
    Error::invalid(format!("{place} is both the source and the target"))
        .hint("nothing was changed; name another place with --to")
}

/// The path without links, as far as it exists.
pub(super) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    if path.components().next_back() == Some(std::path::Component::ParentDir) {
        // A step back out of a folder that is not there yet leads to where that folder would lie.
        let within = path.parent().map(real).unwrap_or_default();
        return within.parent().map_or(within.clone(), Path::to_path_buf);
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => real(parent).join(name),
        _ => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_through_a_folder_that_is_not_there_is_the_place_it_means() {
        let root = tempfile::tempdir().unwrap();
        let palace = root.path().join("palace");
        std::fs::create_dir(&palace).unwrap();
        let around = root.path().join("nowhere").join("..").join("palace");
        assert_eq!(real(&around), real(&palace));
        let missing = root.path().join("nowhere").join("..").join("new");
        assert_eq!(real(&missing), real(root.path()).join("new"));
    }

    #[test]
    fn what_does_not_exist_is_found_through_what_does() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert_eq!(real(&link.join("a/b")), real(folder.path()).join("a/b"));
    }
}
