//! Stats of files, and reading a whole file without ever blocking on it.
//!
//! The only file of `mine` that uses Unix interfaces.

use std::fmt;
use std::fs::{File, FileType, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Access, Mode, OFlags};
use serde::{Deserialize, Serialize};

/// The time after a change in which another one may leave the same timestamps, in nanoseconds, on the coarsest file
/// systems in use, which count whole seconds.
const COARSE: i64 = 2_000_000_000;
/// The same where times have fractions: ten ticks of the slowest kernel clock.
const FINE: i64 = 100_000_000;
/// The number of further attempts at a file that changes while it is read.
const RETRIES: u32 = 2;

/// The stat of a file; equal stats mean unchanged as far as a stat can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileStat {
    /// The size of the file in bytes.
    pub size: u64,
    /// The time its bytes last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// The time its bytes or its metadata last changed, in nanoseconds since 1970; programs cannot set it.
    pub changed: i64,
    /// Its number on its device.
    pub inode: u64,
    /// The device it lies on.
    pub device: u64,
}

impl FileStat {
    /// Takes the stat from `metadata`.
    pub fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: join_nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: join_nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }

    /// Stats the file itself; a link is not followed.
    pub fn read(path: &Path) -> io::Result<Self> {
        path.symlink_metadata()
            .map(|metadata| Self::from_metadata(&metadata))
    }

    /// Returns whether a later write could leave this same stat, because the file was changed within the clock's grain
    /// of `now`, in nanoseconds since 1970, or after it.
    pub fn is_fresh(&self, now: i64) -> bool {
        // A time without a fraction most likely comes from a file system that counts whole seconds.
        let grain = |time: i64| if time % 1_000_000_000 == 0 { COARSE } else { FINE };
        // Programs may set `modified` to any time, so a far-off one says nothing about another write.
        let near = |time: i64| now.saturating_sub(time).saturating_abs() < grain(time);
        self.changed > now || near(self.changed) || near(self.modified)
    }
}

fn join_nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// Describes a file type in words; `None` for files and folders.
pub fn describe_special_file(kind: FileType) -> Option<&'static str> {
    if kind.is_file() || kind.is_dir() {
        None
    } else if kind.is_symlink() {
        Some("a symbolic link")
    } else if kind.is_fifo() {
        Some("a named pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("a device")
    } else {
        Some("neither a file nor a folder")
    }
}

/// Checks that this process may read the file, without opening it.
pub fn check_readable(path: &Path) -> io::Result<()> {
    rustix::fs::access(path, Access::READ_OK).map_err(io::Error::from)
}

/// The reason why a file could not be read whole.
#[derive(Debug)]
pub enum ReadFailure {
    /// It is not a regular file; the words describe it.
    NotRegular(&'static str),
    /// It holds this many bytes, or more, which is over the limit.
    TooLarge(u64),
    /// It changed each time it was read.
    Changed,
    /// The system refused.
    Io(io::Error),
}

impl fmt::Display for ReadFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRegular(kind) => f.write_str(kind),
            Self::TooLarge(size) => write!(f, "{} is over the limit", size_in_words(*size)),
            Self::Changed => f.write_str("it changed each time it was read"),
            Self::Io(error) => f.write_str(&system_words(error)),
        }
    }
}

impl std::error::Error for ReadFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for ReadFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads a whole regular file of at most `most` bytes, and returns its stat from before the read.
///
/// Never blocks on a pipe, a device or a lock, and follows no link. A file that changes while it is read is read again,
/// twice at most, so that the bytes are those of one moment as far as a stat can tell.
pub fn read_whole(path: &Path, most: u64) -> Result<(Vec<u8>, FileStat), ReadFailure> {
    for _ in 0..=RETRIES {
        let (file, before) = open_regular(path)?;
        if before.size > most {
            return Err(ReadFailure::TooLarge(before.size));
        }
        let bytes = read_one_beyond(&file, before.size)?;
        let after = FileStat::from_metadata(&file.metadata()?);
        // The length is compared as well: files under /proc report a size of 0 and hold more.
        if after == before && bytes.len() as u64 == before.size {
            return Ok((bytes, before));
        }
    }
    Err(ReadFailure::Changed)
}

/// Opens a regular file. The file type is checked before opening, because opening a device can have effects (a tape
/// rewinds, a writer of a pipe wakes up), and after it, because another process may have replaced the file meanwhile.
fn open_regular(path: &Path) -> Result<(File, FileStat), ReadFailure> {
    check_regular(&path.symlink_metadata()?)?;
    // NONBLOCK: a pipe put here since the check must not block the open. NOCTTY: nor may a terminal become
    // ours.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?);
    let metadata = file.metadata()?;
    check_regular(&metadata)?;
    Ok((file, FileStat::from_metadata(&metadata)))
}

fn check_regular(metadata: &Metadata) -> Result<(), ReadFailure> {
    let kind = metadata.file_type();
    match describe_special_file(kind) {
        Some(odd) => Err(ReadFailure::NotRegular(odd)),
        None if kind.is_dir() => Err(ReadFailure::NotRegular("a folder")),
        None => Ok(()),
    }
}

/// Reads up to `size` bytes and one more, which reveals that the file grew.
fn read_one_beyond(file: &File, size: u64) -> io::Result<Vec<u8>> {
    let room = usize::try_from(size.saturating_add(1)).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    // A huge sparse file must be an error of this source, not an abort of the process.
    bytes.try_reserve_exact(room)?;
    file.take(size.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the system's error message without its number.
pub fn system_words(error: &io::Error) -> String {
    let words = error.to_string();
    match words.find(" (os error") {
        Some(at) => words.get(..at).unwrap_or(&words).to_owned(),
        None => words,
    }
}

/// Formats a number of bytes for people: `812 bytes`, `82.4 MB`.
pub fn size_in_words(bytes: u64) -> String {
    const STEPS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match STEPS.iter().find(|(step, _)| bytes >= *step) {
        Some((step, unit)) => format!("{:.1} {unit}", bytes as f64 / *step as f64),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::net::UnixListener;

    fn stat(modified: i64, changed: i64) -> FileStat {
        FileStat {
            size: 1,
            modified,
            changed,
            inode: 1,
            device: 1,
        }
    }

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_stat_is_fresh_while_another_write_could_leave_the_same_times() {
        let now = 1_000 * SECOND;
        assert!(stat(now, now).is_fresh(now));
        assert!(stat(0, now - SECOND).is_fresh(now), "a clock of whole seconds");
        assert!(stat(now - SECOND, 0).is_fresh(now));
        assert!(!stat(0, now - SECOND + 1).is_fresh(now), "a clock of fractions");
        assert!(stat(0, now - SECOND / 20).is_fresh(now));
        assert!(stat(0, now + 50 * SECOND).is_fresh(now));
        assert!(!stat(0, now - 2 * SECOND).is_fresh(now));
        assert!(!stat(i64::MAX, 0).is_fresh(now));
        assert!(!stat(i64::MIN, 0).is_fresh(i64::MAX));
    }

    #[test]
    fn a_file_is_read_whole_with_the_stat_of_that_moment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "every word").unwrap();
        let (bytes, stat) = read_whole(&path, 10).unwrap();
        assert_eq!(bytes, b"every word");
        assert_eq!(stat, FileStat::read(&path).unwrap());
        assert_eq!(stat.size, 10);
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(i128::from(stat.modified), since.as_nanos() as i128);
    }

    #[test]
    fn a_changed_file_has_another_stat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let before = FileStat::read(&path).unwrap();
        fs::write(folder.path().join("b"), "two").unwrap();
        fs::rename(folder.path().join("b"), &path).unwrap();
        assert_ne!(before, FileStat::read(&path).unwrap());
    }

    fn failure(path: &Path) -> String {
        read_whole(path, 4).unwrap_err().to_string()
    }

    #[test]
    fn what_is_no_regular_file_is_never_opened() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(at("pipe")).status();
        assert!(made.unwrap().success());
        let _socket = UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("/dev/null", at("link")).unwrap();
        assert_eq!(failure(&at("pipe")), "a named pipe");
        assert_eq!(failure(&at("socket")), "a socket");
        assert_eq!(failure(&at("link")), "a symbolic link");
        assert_eq!(failure(Path::new("/dev/zero")), "a device");
        assert_eq!(failure(folder.path()), "a folder");
        assert_eq!(failure(&at("nothing")), "No such file or directory");
    }

    #[test]
    fn a_file_over_the_limit_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(failure(&path), "5 bytes is over the limit");
        fs::write(&path, "1234").unwrap();
        assert!(read_whole(&path, 4).is_ok());
    }

    #[test]
    fn a_file_that_holds_more_than_its_stat_says_counts_as_changing() {
        // The kernel's own tables say they are empty and are not.
        let table = Path::new("/proc/self/stat");
        if table.exists() {
            assert!(matches!(read_whole(table, 1 << 20), Err(ReadFailure::Changed)));
        }
    }

    #[test]
    fn a_file_that_is_written_to_all_the_time_never_comes_out_torn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, vec![b'0'; 200_000]).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                for round in 1..=200_usize {
                    let digit = b'0' + (round % 10) as u8;
                    fs::write(&path, vec![digit; 200_000 + round]).unwrap();
                }
            });
            while !writer.is_finished() {
                // A half-written file is one moment, too; a mixture of two rounds is not.
                match read_whole(&path, 1 << 20) {
                    Ok((bytes, stat)) => {
                        assert_eq!(bytes.len() as u64, stat.size);
                        assert!(bytes.iter().all(|byte| Some(byte) == bytes.first()));
                    }
                    Err(failure) => assert!(matches!(failure, ReadFailure::Changed)),
                }
            }
        });
    }

    #[test]
    fn sizes_are_said_as_people_say_them() {
        assert_eq!(size_in_words(0), "0 bytes");
        assert_eq!(size_in_words(82_400_000), "82.4 MB");
        assert_eq!(size_in_words(1_500), "1.5 kB");
        assert_eq!(size_in_words(u64::MAX), "18446744073.7 GB");
    }
}
