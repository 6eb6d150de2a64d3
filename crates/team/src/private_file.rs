//! Files that only their owner may read: opened, replaced in one step, and locked.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use loci_core::{Error, ErrorKind, Result};

/// Numbers the unfinished files of this process.
static PARTIAL: AtomicU64 = AtomicU64::new(0);

/// A file that changed this recently may change again without another time stamp: file systems count in ticks.
const TICK: Duration = Duration::from_secs(1);

/// The state of a file by which a change is noticed without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatStamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl StatStamp {
    fn read_metadata(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Reads the state of the file at `path`; `None` if there is none.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(Self::read_metadata(&metadata))),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(file_error("look at", path, cause)),
        }
    }

    /// Reports whether any later change will have another stamp.
    fn is_settled(&self) -> bool {
        let (seconds, nanos) = self.changed;
        let since = u64::try_from(seconds).unwrap_or(0);
        let changed = UNIX_EPOCH + Duration::new(since, u32::try_from(nanos).unwrap_or(0));
        SystemTime::now()
            .duration_since(changed)
            .is_ok_and(|age| age > TICK)
    }
}

/// Who besides the owner may do something with a file that is still accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OthersMay {
    /// Nothing: the file holds secrets.
    Nothing,
    /// Read it: the file must only be safe from changes.
    Read,
}

/// The bytes of a file, and its state when they were read.
#[derive(Debug)]
pub(crate) struct FileSnapshot {
    pub(crate) bytes: Vec<u8>,
    stamp: StatStamp,
    is_settled: bool,
    /// Held open, so that no other file gets the same inode number while this snapshot is compared with files.
    _file: File,
}

impl FileSnapshot {
    /// Reads the file at `path`; `None` if there is none. A file that other users could have changed is refused.
    pub(crate) fn read(path: &Path, others: OthersMay, most_bytes: u64) -> Result<Option<Self>> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(file_error("read", path, cause)),
        };
        let metadata = file
            .metadata()
            .map_err(|cause| file_error("look at", path, cause))?;
        check_owner(path, &metadata, others)?;
        let mut bytes = Vec::new();
        let read = (&mut file).take(most_bytes + 1).read_to_end(&mut bytes);
        read.map_err(|cause| file_error("read", path, cause))?;
        if bytes.len() as u64 > most_bytes {
            let message = format!("{} is longer than {most_bytes} bytes", path.display());
            return Err(
                Error::new(ErrorKind::Format, message).with_hint("it is left as it is; check what wrote it")
            );
        }
        let stamp = StatStamp::read_metadata(&metadata);
        Ok(Some(Self {
            bytes,
            is_settled: stamp.is_settled(),
            stamp,
            _file: file,
        }))
    }

    /// Reports whether the file at `path` is certainly still the one that was read.
    pub(crate) fn is_current(&self, path: &Path) -> Result<bool> {
        Ok(self.is_settled && StatStamp::read(path)? == Some(self.stamp))
    }
}

/// Refuses a file that others than its owner, or its owner without our knowledge, could have read or changed.
pub(crate) fn check_owner(path: &Path, metadata: &fs::Metadata, others: OthersMay) -> Result<()> {
    let refuse = |what: &str, hint: &str| {
        let message = format!("{} {what}", path.display());
        Err(Error::invalid(message).with_hint(format!("it was not used; {hint}")))
    };
    if !metadata.is_file() {
        return refuse("is not a file", "name a file");
    }
    let own = rustix::process::geteuid().as_raw();
    let is_foreign = metadata.uid() != own;
    // A published key set may come from a package or an administrator; secrets may not.
    if is_foreign && !(others == OthersMay::Read && metadata.uid() == 0) {
        return refuse(
            "belongs to another user",
            "run the command as the user that the server runs as",
        );
    }
    let (forbidden, what) = match others {
        OthersMay::Nothing => (0o077, "can be read or written by other users"),
        OthersMay::Read => (0o022, "can be written by other users"),
    };
    if metadata.mode() & forbidden != 0 {
        let fix = match others {
            OthersMay::Nothing => "chmod 600",
            OthersMay::Read => "chmod go-w",
        };
        return refuse(what, &format!("type `{fix} {}`", path.display()));
    }
    Ok(())
}

/// Replaces the file at `path` in one step and makes it durable. Readers see the old bytes or the new ones.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let partial = write_partial(path, bytes)?;
    let renamed = fs::rename(&partial, path).and_then(|()| sync_folder(path));
    renamed.map_err(|cause| {
        let _ = fs::remove_file(&partial);
        file_error("write", path, cause)
    })
}

/// Makes the file at `path` durably; false if there is one already, which is left as it is.
pub(crate) fn create_file(path: &Path, bytes: &[u8]) -> Result<bool> {
    let partial = write_partial(path, bytes)?;
    // A link never replaces a file that appeared meanwhile, as a rename would.
    let linked = fs::hard_link(&partial, path);
    let _ = fs::remove_file(&partial);
    match linked {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        linked => linked
            .and_then(|()| sync_folder(path))
            .map(|()| true)
            .map_err(|cause| file_error("write", path, cause)),
    }
}

/// Waits until no other process changes the file at `path`, and keeps them from it until the returned file is dropped.
pub(crate) fn lock_beside(path: &Path) -> Result<File> {
    let lock = lock_path(path);
    let locked = create_folder(path).and_then(|()| {
        let file = open_lock(&lock)?;
        file.lock()?;
        Ok(file)
    });
    locked.map_err(|cause| file_error("lock", &lock, cause))
}

/// Returns the path of the lock file of `path`, which is never replaced itself.
pub(crate) fn lock_path(path: &Path) -> PathBuf {
    append_to_name(path, ".lock")
}

/// Opens or makes a lock file without locking it.
pub(crate) fn open_lock(lock: &Path) -> io::Result<File> {
    File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(lock)
}

/// Makes the folder of `path`, readable by its owner only, unless it exists.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder_of(path))
}

/// Makes the names in the folder of `path` durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// Returns the folder of a file; the current one for a bare name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().unwrap_or(path);
    if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    }
}

/// Returns the error for an operation on a file that the system refused.
pub(crate) fn file_error(act: &str, path: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot {act} {}", path.display())).caused_by(cause)
}

fn append_to_name(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn write_partial(path: &Path, bytes: &[u8]) -> Result<PathBuf> {
    let (process, nth) = (std::process::id(), PARTIAL.fetch_add(1, Ordering::Relaxed));
    let partial = append_to_name(path, &format!(".{process}-{nth}.partial"));
    let written = create_folder(path).and_then(|()| {
        // Left by a process of the same number that was killed.
        let _ = fs::remove_file(&partial);
        let mut file = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&partial)?;
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map(|()| partial.clone()).map_err(|cause| {
        let _ = fs::remove_file(&partial);
        file_error("write", path, cause).with_hint("the file is unchanged")
    })
}
