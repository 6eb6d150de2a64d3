//! Where the spool of a palace lies: in this platform's data folder, never in the palace, which may be missing.

use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use loci_engine::spool::Spool;

use crate::session::Session;

/// The spool of the palace that is meant. Looks, but makes nothing.
pub(crate) fn spool(session: &Session) -> Result<Spool> {
    let spools = spools(session).ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            "this user has no home folder to keep events in",
        )
    })?;
    let palace = session.located()?.folder;
    Ok(Spool::of_palace(&spools, &settled(&palace)))
}

/// Where to note what belongs to no palace.
pub(super) fn of_no_palace(session: &Session) -> Option<Spool> {
    spools(session).map(Spool::at)
}

fn spools(session: &Session) -> Option<PathBuf> {
    let data = session.environment().data.as_ref()?;
    Some(data.join("loci").join("spool"))
}

/// A path as it is without links, as far as it is there: the same before a palace is made and after.
fn settled(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            // Part by part: joined with nothing, a path would get a slash at its end.
            return real.components().chain(rest.components()).collect();
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_palace_has_one_spool_whether_it_is_there_or_not_and_by_whichever_way() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("a")).unwrap();
        std::os::unix::fs::symlink(real.join("a"), real.join("b")).unwrap();
        let there = real.join("a/palace");
        let bytes = |path: &str| settled(&real.join(path)).into_os_string();
        assert_eq!(bytes("b/palace"), there);
        std::fs::create_dir(&there).unwrap();
        for path in ["b/palace", "a/palace", "a/palace/", "a/./palace"] {
            assert_eq!(bytes(path), there.as_os_str(), "{path}");
        }
    }
}
