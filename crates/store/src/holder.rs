//! Finds the processes that use a palace, and the one that holds its write lock, from what the kernel reveals of them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::vfs::InodeId;

/// The byte of the shared-memory file that SQLite's writer locks.
const WRITER_BYTE: u64 = 120;

/// Returns the process that is writing to the palace `file` now, if the system reveals it.
///
/// Never opens the palace's files: a process that uses SQLite's own file layer would lose its locks when it closes one.
pub(crate) fn writer_of(file: &Path) -> Option<u32> {
    let shared = beside(file, "-shm");
    let inode = fs::metadata(&shared).ok()?.ino();
    let ours = || {
        open_descriptors(InodeId::from_path(&shared)?)
            .into_iter()
            .find(|found| holds_write_lock(found, inode))
            .map(|found| found.process)
    };
    // Processes that use SQLite's own layer are in the kernel's list of locks under their number.
    let others = || {
        let locks = fs::read_to_string("/proc/locks").ok()?;
        locks.lines().find_map(|line| writer_in(line, inode))
    };
    ours().or_else(others)
}

/// Returns the other processes that have the palace `file`, its log or its shared memory open.
pub(crate) fn users_of(file: &Path) -> Vec<u32> {
    let files = [file.to_path_buf(), beside(file, "-wal"), beside(file, "-shm")];
    let mut users: Vec<u32> = files
        .iter()
        .filter_map(|path| InodeId::from_path(path))
        .flat_map(open_descriptors)
        .map(|found| found.process)
        .filter(|process| *process != std::process::id())
        .collect();
    users.sort_unstable();
    users.dedup();
    users
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// An open descriptor of some process.
struct OpenDescriptor {
    process: u32,
    /// Its entry in `/proc/PID/fdinfo`.
    details: PathBuf,
}

/// Returns the descriptors that are open on a file, of every process that we may look at.
fn open_descriptors(inode: InodeId) -> Vec<OpenDescriptor> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(number) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        for descriptor in fs::read_dir(process.path().join("fd"))
            .into_iter()
            .flatten()
            .flatten()
        {
            if InodeId::from_path(&descriptor.path()) == Some(inode) {
                found.push(OpenDescriptor {
                    process: number,
                    details: process.path().join("fdinfo").join(descriptor.file_name()),
                });
            }
        }
    }
    found
}

fn holds_write_lock(descriptor: &OpenDescriptor, inode: u64) -> bool {
    let details = fs::read_to_string(&descriptor.details).unwrap_or_default();
    details
        .lines()
        .filter_map(|line| line.strip_prefix("lock:"))
        .any(|lock| locks_writer_byte(lock, "OFDLCK", inode).is_some())
}

/// Returns the process of one line of `/proc/locks`, if it is the writer's lock on the file with this inode.
fn writer_in(line: &str, inode: u64) -> Option<u32> {
    locks_writer_byte(line, "POSIX", inode)?.parse().ok()
}

/// Returns the process field of the description of a lock, if it is the writer's lock of this kind on this file.
fn locks_writer_byte<'a>(line: &'a str, kind: &str, inode: u64) -> Option<&'a str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, found, _, "WRITE", process, file, start, end] = fields.as_slice() else {
        return None;
    };
    // The field is MAJOR:MINOR:INODE. The inode alone may match a file of another device, which can at worst
    // name a wrong process in an error message.
    let same_file = *found == kind && file.rsplit(':').next()?.parse::<u64>().ok()? == inode;
    let from: u64 = start.parse().ok()?;
    let to: u64 = if *end == "EOF" {
        u64::MAX
    } else {
        end.parse().ok()?
    };
    (same_file && (from..=to).contains(&WRITER_BYTE)).then_some(*process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_is_read_from_the_kernels_list() {
        let line = "12: POSIX  ADVISORY  WRITE 4711 fd:01:1234 120 120";
        assert_eq!(writer_in(line, 1234), Some(4711));
        assert_eq!(writer_in(line, 1235), None, "another file");
        assert_eq!(
            writer_in("1: POSIX  ADVISORY  READ 4711 fd:01:1234 120 120", 1234),
            None
        );
        assert_eq!(
            writer_in("1: POSIX  ADVISORY  WRITE 4711 fd:01:1234 123 123", 1234),
            None
        );
        assert_eq!(
            writer_in("1: POSIX  ADVISORY  WRITE 7 fd:01:1234 0 EOF", 1234),
            Some(7)
        );
        assert_eq!(
            writer_in("1: FLOCK  ADVISORY  WRITE 7 fd:01:1234 0 EOF", 1234),
            None
        );
        assert_eq!(writer_in("", 1234), None);
    }
}
