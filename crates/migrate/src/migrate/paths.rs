//! The paths of source and target: neither may be the other, nor lie inside it.

use std::path::{Path, PathBuf};

use loci_core::{Error, Result};

use loci_engine::palace::BorrowedAddress;

/// Refuses a source that is the target, and either of them inside the other.
pub(super) fn check_paths(from: BorrowedAddress<'_>, to: BorrowedAddress<'_>) -> Result<()> {
    let (Some(one), Some(other)) = (&from.reference.local_path, &to.reference.local_path) else {
        // Palaces on a server have no path; there the backend and the name decide.
        let same = from.backend.descriptor().name == to.backend.descriptor().name
            && (&from.reference.id, &from.reference.namespace) == (&to.reference.id, &to.reference.namespace);
        return if same {
            Err(same_place_error(&from.reference.id))
        } else {
            Ok(())
        };
    };
    // Compared without links: a link to the source would otherwise pass as another place, and be overwritten.
    let (one, other) = (resolve_path(one), resolve_path(other));
    if one == other {
        return Err(same_place_error(&from.reference.id));
    }
    if one.starts_with(&other) || other.starts_with(&one) {
        return Err(Error::invalid(format!(
            "one of {} and {} is inside the other, so they cannot be source and target",
            from.reference.id, to.reference.id
        ))
        .with_hint("nothing was changed; name a target beside the source"));
    }
    Ok(())
}

fn same_place_error(place: &str) -> Error {
    Error::invalid(format!("{place} is both the source and the target"))
        .with_hint("nothing was changed; name another place with --to")
}

/// Resolves the links of a path, as far as it exists.
pub(super) fn resolve_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    if path.components().next_back() == Some(std::path::Component::ParentDir) {
        // `..` of a folder that does not exist yet leads to the folder that would contain it.
        let within = path.parent().map(resolve_path).unwrap_or_default();
        return within.parent().map_or(within.clone(), Path::to_path_buf);
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !parent.as_os_str().is_empty() => resolve_path(parent).join(name),
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
        assert_eq!(resolve_path(&around), resolve_path(&palace));
        let missing = root.path().join("nowhere").join("..").join("new");
        assert_eq!(resolve_path(&missing), resolve_path(root.path()).join("new"));
    }

    #[test]
    fn what_does_not_exist_is_found_through_what_does() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        assert_eq!(
            resolve_path(&link.join("a/b")),
            resolve_path(folder.path()).join("a/b")
        );
    }
}
