//! The place of a palace on disk: its folder, the identity of its file, and whether the file system can hold it.

use std::fs;
use std::path::Path;

use loci_core::{Error, ErrorKind, Result};

use crate::failure;
use crate::vfs::InodeId;

/// Returns the file at `path` now, if there is one.
pub(crate) fn find_file(path: &Path) -> Option<InodeId> {
    let found = fs::metadata(path).ok()?;
    found.is_file().then(|| InodeId::from_metadata(&found))
}

/// Creates the folder of a palace, private to its owner. An existing folder keeps its permissions.
pub(crate) fn make_folder(folder: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new()
        .recursive(true)
        // A palace may hold private conversations, which other users must not read.
        .mode(0o700)
        .create(folder)
        .map_err(|cause| failure::io_error("create the palace folder", folder, cause))
}

/// Refuses a folder on a network file system, where SQLite's shared log is not safe.
pub(crate) fn refuse_network(folder: &Path) -> Result<()> {
    let found = rustix::fs::statfs(folder)
        .map_err(|cause| failure::io_error("look at the file system of", folder, cause.into()))?;
    #[allow(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        reason = "file system magics are 32 bits"
    )]
    match network_name(found.f_type as u32) {
        None => Ok(()),
        Some(name) => Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} lies on a network file system ({name}), where a palace would be damaged",
                folder.display()
            ),
        )
        .with_hint("keep the palace on a local disk and copy it with `loci backup`")),
    }
}

/// The name of a file system that is served over a network, by its magic number (statfs(2)).
fn network_name(magic: u32) -> Option<&'static str> {
    Some(match magic {
        // Numbers from linux/magic.h. FUSE is not among them: it serves local file systems as well.
        0x0000_6969 => "NFS",
        0xff53_4d42 => "CIFS",
        0x0000_517b => "SMB",
        0xfe53_4d42 => "SMB2",
        0x0102_1997 => "9P",
        0x5346_414f => "AFS",
        0x7375_7245 => "CODA",
        0x00c3_6400 => "CEPH",
        0x0bd0_0bd0 => "LUSTRE",
        0x0000_564c => "NCP",
        _ => return None,
    })
}

/// Syncs a folder, so that the names of new files in it survive a power cut.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    take_step(FileStep::SyncFolder(folder))
        .map_err(|cause| failure::io_error("sync the folder", folder, cause))
}

/// A step on files that the store takes without SQLite. A simulated machine may lose it or let it fail.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(feature = "crash-points"),
    allow(unreachable_pub, reason = "tests see it through `testing`")
)]
pub enum FileStep<'a> {
    /// Syncs a file.
    Sync(&'a Path),
    /// Syncs a folder.
    SyncFolder(&'a Path),
    /// Gives the file `from` the second name `to`.
    Link {
        /// Its name.
        from: &'a Path,
        /// The new name.
        to: &'a Path,
    },
    /// Removes a name.
    Remove(&'a Path),
}

/// Takes a step on files.
pub(crate) fn take_step(step: FileStep<'_>) -> std::io::Result<()> {
    let act = || match step {
        FileStep::Sync(path) | FileStep::SyncFolder(path) => fs::File::open(path)?.sync_all(),
        FileStep::Link { from, to } => fs::hard_link(from, to),
        FileStep::Remove(path) => fs::remove_file(path),
    };
    #[cfg(feature = "crash-points")]
    if let Some(machine) = crate::testing::simulated_machine() {
        let mut act = act;
        return machine.take_step(step, &mut act);
    }
    act()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_magic() {
        assert_eq!(network_name(0x6969), Some("NFS"));
        assert_eq!(network_name(0xff53_4d42), Some("CIFS"));
        for local in [0xef53, 0x9123_683e, 0x0102_1994, 0x5846_5342, 0x6573_5546] {
            assert_eq!(network_name(local), None, "{local:x}");
        }
    }

    #[test]
    fn a_replaced_file_is_another_file() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("a"), folder.path().join("b"));
        assert!(find_file(&path).is_none());
        fs::write(&path, "1").unwrap();
        let first = find_file(&path).unwrap();
        assert!(first.same_as(find_file(&path).unwrap()));
        fs::write(&other, "2").unwrap();
        fs::rename(&other, &path).unwrap();
        assert!(!first.same_as(find_file(&path).unwrap()));
        let no_inode = InodeId { inode: 0, ..first };
        assert!(
            no_inode.same_as(first),
            "a file system without inodes never looks replaced"
        );
    }

    #[test]
    fn a_new_folder_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let palace = folder.path().join("deep/palace");
        make_folder(&palace).unwrap();
        assert_eq!(fs::metadata(&palace).unwrap().permissions().mode() & 0o777, 0o700);
        make_folder(&palace).unwrap();
    }
}
