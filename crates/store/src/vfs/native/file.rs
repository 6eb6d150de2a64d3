//! One open database or log: reads, writes and syncs through its own descriptor.

use super::control::answer_control;
use super::level::LockLevel;
use super::memory::SharedMemory;
use crate::vfs::File;
use crate::vfs::standing::InodeId;
use rusqlite::ffi;
use std::ffi::{OsStr, c_int, c_void};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::atomic::{Ordering, fence};

/// The permissions of a new database, as SQLite sets them.
const NEW_FILE: u32 = 0o600;

/// An open file.
#[derive(Debug)]
pub(super) struct NativeFile {
    pub(super) file: fs::File,
    pub(super) path: PathBuf,
    pub(super) inode: InodeId,
    pub(super) level: LockLevel,
    pub(super) memory: Option<SharedMemory>,
    pub(super) persist_log: bool,
    pub(super) powersafe: bool,
    /// Whether the name of the file is not on disk yet; the first sync sees to it.
    name_unsynced: bool,
}

/// The object that SQLite holds.
#[repr(C)]
pub(super) struct NativeHandle {
    head: ffi::sqlite3_file,
    native: *mut NativeFile,
}

impl NativeFile {
    /// Opens a file as SQLite's flags say, read-only if it may not be written; returns the flags that apply.
    pub(super) fn open(path: &Path, flags: c_int) -> Result<(Self, c_int), c_int> {
        let (log, create) = (
            flags & ffi::SQLITE_OPEN_WAL != 0,
            flags & ffi::SQLITE_OPEN_CREATE != 0,
        );
        let writable = flags & ffi::SQLITE_OPEN_READWRITE != 0;
        let mode = if log { database_mode(path) } else { NEW_FILE };
        let existed = create && path.exists();
        let opened = fs::OpenOptions::new()
            .read(true)
            .write(writable)
            .create(create)
            .create_new(flags & ffi::SQLITE_OPEN_EXCLUSIVE != 0)
            .mode(mode)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path);
        let (file, flags) = match opened {
            Ok(file) => (file, flags),
            Err(cause) if writable && cause.kind() != io::ErrorKind::IsADirectory => {
                let file = fs::OpenOptions::new()
                    .read(true)
                    .custom_flags(libc::O_NOFOLLOW)
                    .open(path)
                    .map_err(|_| ffi::SQLITE_CANTOPEN)?;
                let writing = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE;
                (file, flags & !writing | ffi::SQLITE_OPEN_READONLY)
            }
            Err(_) => return Err(ffi::SQLITE_CANTOPEN),
        };
        if log {
            give_to_owner(&file, path);
        }
        let found = file.metadata().map_err(|_| ffi::SQLITE_IOERR_FSTAT)?;
        // A folder opens for reading, too.
        if found.is_dir() {
            return Err(ffi::SQLITE_CANTOPEN);
        }
        let native = Self {
            inode: InodeId::from_metadata(&found),
            file,
            path: path.to_path_buf(),
            level: LockLevel::default(),
            memory: None,
            persist_log: false,
            powersafe: true,
            name_unsynced: create && (log || !existed),
        };
        Ok((native, flags))
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> c_int {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset + filled as u64) {
                // SQLite wants zeros behind the end.
                Ok(0) => {
                    rest.fill(0);
                    return ffi::SQLITE_IOERR_SHORT_READ;
                }
                Ok(n) => filled += n,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause)
                    if matches!(cause.raw_os_error(), Some(libc::ERANGE | libc::EIO | libc::ENXIO)) =>
                {
                    return ffi::SQLITE_IOERR_CORRUPTFS;
                }
                Err(_) => return ffi::SQLITE_IOERR_READ,
            }
        }
        ffi::SQLITE_OK
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> c_int {
        match self.file.write_all_at(bytes, offset) {
            Ok(()) => ffi::SQLITE_OK,
            Err(cause) => match cause.raw_os_error() {
                Some(libc::ENOSPC | libc::EDQUOT) => ffi::SQLITE_FULL,
                _ => ffi::SQLITE_IOERR_WRITE,
            },
        }
    }

    /// Waits until the content is on disk, and for a new file also its name.
    fn sync_content(&mut self) -> c_int {
        super::SYNCS.fetch_add(1, Ordering::Relaxed);
        if self.file.sync_data().is_err() {
            return ffi::SQLITE_IOERR_FSYNC;
        }
        if self.name_unsynced
            && let Some(folder) = self.path.parent()
            && let Ok(folder) = fs::File::open(folder)
        {
            if folder.sync_all().is_err() {
                return ffi::SQLITE_IOERR_DIR_FSYNC;
            }
            self.name_unsynced = false;
        }
        ffi::SQLITE_OK
    }

    fn map_memory(&mut self, region: usize, size: usize, extend: bool) -> Result<*mut c_void, c_int> {
        if self.memory.is_none() {
            let mode = self
                .file
                .metadata()
                .map_or(NEW_FILE, |found| found.mode() & 0o777);
            self.memory = Some(SharedMemory::open(&self.path, mode)?);
        }
        match &mut self.memory {
            Some(memory) => memory.map_region(region, size, extend),
            None => Err(ffi::SQLITE_IOERR_SHMMAP),
        }
    }
}

/// Returns the database that the log or shared memory at `path` belongs to.
fn find_database(path: &Path) -> Option<fs::Metadata> {
    // Both suffixes are four bytes long.
    let (database, _) = path.as_os_str().as_bytes().split_last_chunk::<4>()?;
    fs::metadata(OsStr::from_bytes(database)).ok()
}

/// Returns the permissions for a file beside a database: those of the database.
fn database_mode(path: &Path) -> u32 {
    find_database(path).map_or(NEW_FILE, |found| found.mode() & 0o777)
}

/// Gives a file beside a database to the database's owner, whom root would otherwise lock out.
pub(super) fn give_to_owner(file: &fs::File, path: &Path) {
    if rustix::process::geteuid().is_root()
        && let Some(database) = find_database(path)
    {
        let _ = std::os::unix::fs::fchown(file, Some(database.uid()), Some(database.gid()));
    }
}

/// Hands an open file to SQLite.
///
/// # Safety
/// `file` must be an allocation of `szOsFile` bytes.
pub(super) unsafe fn install(file: File, native: NativeFile) {
    let handle = NativeHandle {
        head: ffi::sqlite3_file { pMethods: &METHODS },
        native: Box::into_raw(Box::new(native)),
    };
    // SAFETY: the allocation has room for a handle and is aligned for pointers.
    unsafe { file.cast::<NativeHandle>().write(handle) };
}

/// # Safety
/// `file` must have been installed and not be closed, and be used by this thread alone.
unsafe fn native<'a>(file: File) -> &'a mut NativeFile {
    // SAFETY: see above.
    unsafe { &mut *(*file.cast::<NativeHandle>()).native }
}

/// Returns an unsigned number for one of SQLite's; negative ones do not occur.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

unsafe extern "C" fn close(file: File) -> c_int {
    // SAFETY: SQLite closes a file once; the box came from `install`.
    unsafe {
        drop(Box::from_raw((*file.cast::<NativeHandle>()).native));
        (*file).pMethods = std::ptr::null();
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(file: File, buffer: *mut c_void, length: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes an open file and a buffer of `length` bytes.
    unsafe {
        let buffer = slice::from_raw_parts_mut(buffer.cast::<u8>(), usize::try_from(length).unwrap_or(0));
        native(file).read_at(buffer, unsigned(offset))
    }
}

unsafe extern "C" fn write(file: File, buffer: *const c_void, length: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes an open file and a buffer of `length` bytes.
    unsafe {
        let bytes = slice::from_raw_parts(buffer.cast::<u8>(), usize::try_from(length).unwrap_or(0));
        native(file).write_at(bytes, unsigned(offset))
    }
}

unsafe extern "C" fn truncate(file: File, size: i64) -> c_int {
    // SAFETY: SQLite passes an open file.
    match unsafe { native(file) }.file.set_len(unsigned(size)) {
        Ok(()) => ffi::SQLITE_OK,
        Err(_) => ffi::SQLITE_IOERR_TRUNCATE,
    }
}

unsafe extern "C" fn sync(file: File, _flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe { native(file) }.sync_content()
}

unsafe extern "C" fn file_size(file: File, size: *mut i64) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the number.
    unsafe {
        match native(file).file.metadata() {
            Ok(found) => {
                size.write(i64::try_from(found.len()).unwrap_or(i64::MAX));
                ffi::SQLITE_OK
            }
            Err(_) => ffi::SQLITE_IOERR_FSTAT,
        }
    }
}

unsafe extern "C" fn lock(file: File, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    let native = unsafe { native(file) };
    native.level.raise(&native.file, level)
}

unsafe extern "C" fn unlock(file: File, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    let native = unsafe { native(file) };
    native.level.lower(&native.file, level)
}

unsafe extern "C" fn check_reserved_lock(file: File, out: *mut c_int) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the answer.
    unsafe {
        let native = native(file);
        match native.level.is_reserved(&native.file) {
            Ok(reserved) => {
                out.write(c_int::from(reserved));
                ffi::SQLITE_OK
            }
            Err(code) => code,
        }
    }
}

unsafe extern "C" fn control(file: File, op: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: SQLite passes an open file and the argument of `op`.
    unsafe { answer_control(native(file), op, argument) }
}

unsafe extern "C" fn sector_size(_file: File) -> c_int {
    4096
}

unsafe extern "C" fn characteristics(file: File) -> c_int {
    // SAFETY: SQLite passes an open file.
    if unsafe { native(file) }.powersafe {
        ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
    } else {
        0
    }
}

unsafe extern "C" fn shm_map(
    file: File,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the pointer.
    unsafe {
        out.write(std::ptr::null_mut());
        let native = native(file);
        let (region, size) = (
            usize::try_from(region).unwrap_or(0),
            usize::try_from(size).unwrap_or(0),
        );
        match native.map_memory(region, size, extend != 0) {
            Ok(start) => {
                out.write(start);
                match &native.memory {
                    Some(memory) if !memory.is_writable() => ffi::SQLITE_READONLY,
                    _ => ffi::SQLITE_OK,
                }
            }
            Err(code) => code,
        }
    }
}

unsafe extern "C" fn shm_lock(file: File, offset: c_int, n: c_int, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    match &mut unsafe { native(file) }.memory {
        Some(memory) => memory.change_locks(offset, n, flags),
        None => ffi::SQLITE_IOERR_SHMLOCK,
    }
}

unsafe extern "C" fn shm_barrier(_file: File) {
    fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: File, delete: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    if let Some(memory) = unsafe { native(file) }.memory.take() {
        memory.close(delete != 0);
    }
    ffi::SQLITE_OK
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    // Version 3 would add maps of the database itself: a file that is cut while it is mapped kills the process.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};
