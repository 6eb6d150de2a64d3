//! Finds the process that holds the write lock of a palace, from the kernel's own list of locks.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The byte of the shared-memory file that SQLite's writer locks.
const WRITER_BYTE: u64 = 120;

/// Returns the process that is writing to the palace `file` now, if the system reveals it.
///
/// Reads `/proc/locks` and never opens the palace's files: closing one would drop this process's own locks.
pub(crate) fn writer_of(file: &Path) -> Option<u32> {
    let mut shared = file.as_os_str().to_owned();
    shared.push("-shm");
    let inode = fs::metadata(PathBuf::from(shared)).ok()?.ino();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| writer_in(line, inode))
}

/// Returns the process of one line of `/proc/locks`, if it is the writer's lock on the file with this inode.
fn writer_in(line: &str, inode: u64) -> Option<u32> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, "POSIX", _, "WRITE", pid, file, start, end] = fields.as_slice() else {
        return None;
    };
    // The field is MAJOR:MINOR:INODE. The inode alone may match a file of another device, which can at worst
    // name a wrong process in an error message.
    let same_file = file.rsplit(':').next()?.parse::<u64>().ok()? == inode;
    let from: u64 = start.parse().ok()?;
    let to: u64 = if *end == "EOF" {
        u64::MAX
    } else {
        end.parse().ok()?
    };
    (same_file && (from..=to).contains(&WRITER_BYTE)).then(|| pid.parse().ok())?
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
