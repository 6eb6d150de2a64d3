//! The folder of a palace's spool: in this platform's data folder, never in the palace, which may be missing.

use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use loci_engine::spool::EventSpool;

use crate::palace::PalacePlace;
use crate::session::CommandSession;

/// The spool of the palace that the arguments mean. Creates nothing.
pub(crate) fn find_spool(session: &CommandSession) -> Result<EventSpool> {
    let spools = spools_folder(session).ok_or_else(|| {
        Error::new(
            ErrorKind::NotFound,
            "this user has no home folder to keep events in",
        )
    })?;
    // Two ways to one palace must share one spool, or two drainers would mine the same conversation.
    let palace = match session.location()?.place {
        PalacePlace::Folder(folder) => resolve_links(&folder),
        PalacePlace::Server(url) => PathBuf::from(url.shown().text.as_str()),
    };
    Ok(EventSpool::for_palace(&spools, &palace))
}

/// The log for events whose palace is not known.
pub(super) fn shared_log(session: &CommandSession) -> Option<EventSpool> {
    spools_folder(session).map(EventSpool::at)
}

fn spools_folder(session: &CommandSession) -> Option<PathBuf> {
    let data = session.environment().data.as_ref()?;
    Some(data.join("loci").join("spool"))
}

/// Resolves the links of a path as far as it exists: the result is the same before a palace is made and after.
fn resolve_links(path: &Path) -> PathBuf {
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
        let bytes = |path: &str| resolve_links(&real.join(path)).into_os_string();
        assert_eq!(bytes("b/palace"), there);
        std::fs::create_dir(&there).unwrap();
        for path in ["b/palace", "a/palace", "a/palace/", "a/./palace"] {
            assert_eq!(bytes(path), there.as_os_str(), "{path}");
        }
    }
}
