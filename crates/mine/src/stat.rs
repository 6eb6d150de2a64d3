//! What a file looks like to a stat, and how to read one whole without ever waiting for it.
//!
//! The only file of `mine` that knows Unix.

use std::fmt;
use std::fs::{File, FileType, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Access, Mode, OFlags};
use serde::{Deserialize, Serialize};

/// How long after a change another one may leave the same times behind, in nanoseconds, on the coarsest file systems
/// in use, which count whole seconds.
const COARSE: i64 = 2_000_000_000;
/// The same where times have fractions: ten ticks of the slowest kernel clock.
const FINE: i64 = 100_000_000;
/// How often a file that changes while it is read is read again.
const RETRIES: u32 = 2;

/// What a stat says of a file; equal means unchanged as far as a stat can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stat {
    /// How many bytes it holds.
    pub size: u64,
    /// When its bytes last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// When its bytes or anything about it last changed, in nanoseconds since 1970; nobody can set it.
    pub changed: i64,
    /// Its number on its device.
    pub inode: u64,
    /// The device it lies on.
    pub device: u64,
}

impl Stat {
    /// What `metadata` says.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }

    /// Stats the file itself; a link is not followed.
    pub fn read(path: &Path) -> io::Result<Self> {
        path.symlink_metadata().map(|metadata| Self::of(&metadata))
    }

    /// Whether a write could have come after this stat within the clock's grain: the file was changed just before
    /// `now`, in nanoseconds since 1970, or later than `now`.
    pub fn is_fresh(&self, now: i64) -> bool {
        let grain = |time: i64| if time % 1_000_000_000 == 0 { COARSE } else { FINE };
        // Anybody can set `modified` to a year that is far off; that alone says nothing of another write.
        let near = |time: i64| now.saturating_sub(time).saturating_abs() < grain(time);
        self.changed > now || near(self.changed) || near(self.modified)
    }
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// What something is in words, where it is neither a file nor a folder.
pub fn odd_kind(kind: FileType) -> Option<&'static str> {
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

/// Whether this process may read the file, asked without opening it.
pub fn check_readable(path: &Path) -> io::Result<()> {
    rustix::fs::access(path, Access::READ_OK).map_err(io::Error::from)
}

/// Why a file could not be read whole.
#[derive(Debug)]
pub enum ReadFailure {
    /// It is no regular file; what it is, in words.
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
            Self::Changed => f.write_str("it was written to each time it was read"),
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

/// Reads a regular file whole, if it holds at most `most` bytes, and says what a stat said of it before.
///
/// Never waits for a pipe, a device or a lock, and follows no link. A file that changes while it is read is read
/// again, twice at most, so that the bytes are those of one moment as far as a stat can tell.
pub fn read_whole(path: &Path, most: u64) -> Result<(Vec<u8>, Stat), ReadFailure> {
    for _ in 0..=RETRIES {
        let (file, before) = open_regular(path)?;
        if before.size > most {
            return Err(ReadFailure::TooLarge(before.size));
        }
        let bytes = read_some(&file, before.size)?;
        let after = Stat::of(&file.metadata()?);
        if after == before && bytes.len() as u64 == before.size {
            return Ok((bytes, before));
        }
    }
    Err(ReadFailure::Changed)
}

/// Opens a regular file. Other things are told apart before they are opened, because opening alone can move a tape
/// or wake a writer, and again afterwards, because somebody may have put one there meanwhile.
fn open_regular(path: &Path) -> Result<(File, Stat), ReadFailure> {
    check_regular(&path.symlink_metadata()?)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).map_err(io::Error::from)?);
    let metadata = file.metadata()?;
    check_regular(&metadata)?;
    Ok((file, Stat::of(&metadata)))
}

fn check_regular(metadata: &Metadata) -> Result<(), ReadFailure> {
    let kind = metadata.file_type();
    match odd_kind(kind) {
        Some(odd) => Err(ReadFailure::NotRegular(odd)),
        None if kind.is_dir() => Err(ReadFailure::NotRegular("a folder")),
        None => Ok(()),
    }
}

/// Reads `size` bytes and one more, if there is one, which shows that the file grew.
fn read_some(file: &File, size: u64) -> io::Result<Vec<u8>> {
    let room = usize::try_from(size.saturating_add(1)).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(room)?;
    file.take(size.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What the system says went wrong, without its number.
pub fn system_words(error: &io::Error) -> String {
    let words = error.to_string();
    match words.find(" (os error") {
        Some(at) => words.get(..at).unwrap_or(&words).to_owned(),
        None => words,
    }
}

/// A number of bytes as people say it: `812 bytes`, `82.4 MB`.
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

    fn stat(modified: i64, changed: i64) -> Stat {
        Stat {
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
        assert_eq!(stat, Stat::read(&path).unwrap());
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
        let before = Stat::read(&path).unwrap();
        fs::write(folder.path().join("b"), "two").unwrap();
        fs::rename(folder.path().join("b"), &path).unwrap();
        assert_ne!(before, Stat::read(&path).unwrap());
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
                // A file half written is a moment, too; a mixture of two rounds is none.
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
