//! The method table of a database and of its log: pages are sealed and judged, all other calls are passed down.

use super::File;
use super::backfill;
use super::base::BaseFile;
use super::family;
use super::log::OpenLog;
use super::pages::DatabasePages;
use super::recovery;
use rusqlite::ffi;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::slice;

/// A private file control: the file, still empty, will be checked.
pub(super) const ASK: c_int = 0x6c6f_6369;

/// The state of an open file.
#[derive(Debug)]
pub(super) enum FileContent {
    Database(DatabasePages),
    Log(OpenLog),
}

/// The object that SQLite holds for an open main database or log; the file of the VFS below follows it in memory.
#[repr(C)]
pub(super) struct ShimHandle {
    head: ffi::sqlite3_file,
    content: *mut FileContent,
}

impl ShimHandle {
    /// Returns the place in SQLite's allocation where the VFS below keeps its own file.
    ///
    /// # Safety
    /// `file` must be an allocation of at least `szOsFile` bytes of the shim.
    pub(super) unsafe fn file_below(file: File) -> File {
        // SAFETY: the allocation continues after the handle, whose size is a multiple of pointer alignment.
        unsafe { file.cast::<Self>().add(1).cast() }
    }

    /// Makes `file` a checked file over `base`, which is already open.
    ///
    /// # Safety
    /// As for [`ShimHandle::file_below`], and `base` must be what it returned.
    pub(super) unsafe fn init(file: File, base: BaseFile, content: FileContent) {
        let shared_memory = base
            .methods()
            .is_some_and(|m| m.iVersion >= 2 && m.xShmMap.is_some());
        let methods = if shared_memory { &WITH_LOG } else { &WITHOUT_LOG };
        let handle = Self {
            head: ffi::sqlite3_file { pMethods: methods },
            content: Box::into_raw(Box::new(content)),
        };
        // SAFETY: the allocation has room for a handle and is aligned for pointers.
        unsafe { file.cast::<Self>().write(handle) };
    }
}

/// Returns whether an open file is one of ours.
///
/// # Safety
/// `file` must be an open file of any VFS.
pub(super) unsafe fn is_ours(file: File) -> bool {
    // SAFETY: every open file begins with the pointer to its method table.
    let methods = unsafe { (*file).pMethods };
    std::ptr::eq(methods, &WITH_LOG) || std::ptr::eq(methods, &WITHOUT_LOG)
}

/// Returns the file below and the state of an open file.
///
/// # Safety
/// `file` must have been made by [`ShimHandle::init`], not be closed, and be used by this thread alone.
pub(super) unsafe fn parts<'a>(file: File) -> (BaseFile, &'a mut FileContent) {
    // SAFETY: `init` wrote the handle; SQLite uses a file from one thread at a time.
    unsafe {
        (
            BaseFile::new(ShimHandle::file_below(file)),
            &mut *(*file.cast::<ShimHandle>()).content,
        )
    }
}

/// Passes a call to the file below; returns `$missing` if that file has no such method.
macro_rules! pass {
    ($name:ident => $method:ident($($argument:ident: $kind:ty),*), $missing:expr) => {
        unsafe extern "C" fn $name(file: File, $($argument: $kind),*) -> c_int {
            // SAFETY: SQLite calls this only with a file that `Handle::init` made and that is open.
            let (base, _) = unsafe { parts(file) };
            match base.methods().and_then(|methods| methods.$method) {
                // SAFETY: the arguments are SQLite's own, meant for this method.
                Some(method) => unsafe { method(base.raw(), $($argument),*) },
                None => $missing,
            }
        }
    };
}

pass!(base_sync => xSync(flags: c_int), ffi::SQLITE_IOERR_FSYNC);
pass!(base_file_size => xFileSize(size: *mut i64), ffi::SQLITE_IOERR_FSTAT);
pass!(base_lock => xLock(level: c_int), ffi::SQLITE_IOERR_LOCK);
pass!(base_unlock => xUnlock(level: c_int), ffi::SQLITE_IOERR_UNLOCK);
pass!(check_reserved_lock => xCheckReservedLock(out: *mut c_int), ffi::SQLITE_IOERR_CHECKRESERVEDLOCK);
pass!(sector_size => xSectorSize(), 4096);
pass!(base_characteristics => xDeviceCharacteristics(), 0);
pass!(base_truncate => xTruncate(size: i64), ffi::SQLITE_IOERR_TRUNCATE);
pass!(base_control => xFileControl(op: c_int, argument: *mut c_void), ffi::SQLITE_NOTFOUND);
pass!(base_shm_lock => xShmLock(offset: c_int, n: c_int, flags: c_int), ffi::SQLITE_IOERR_SHMLOCK);
pass!(base_shm_unmap => xShmUnmap(delete: c_int), ffi::SQLITE_OK);
pass!(base_shm_map => xShmMap(region: c_int, size: c_int, extend: c_int, out: *mut *mut c_void), ffi::SQLITE_IOERR_SHMMAP);

unsafe extern "C" fn shm_barrier(file: File) {
    // SAFETY: SQLite calls this only with a file that `Handle::init` made and that is open.
    let (base, _) = unsafe { parts(file) };
    if let Some(barrier) = base.methods().and_then(|methods| methods.xShmBarrier) {
        // SAFETY: the file below is open.
        unsafe { barrier(base.raw()) };
    }
}

unsafe extern "C" fn close(file: File) -> c_int {
    // SAFETY: SQLite closes a file once; the box came from `Handle::init` and is not used afterwards.
    let (base, content) = unsafe {
        (
            BaseFile::new(ShimHandle::file_below(file)),
            Box::from_raw((*file.cast::<ShimHandle>()).content),
        )
    };
    // The database outlives its log and must not keep a pointer to a closed file.
    if let FileContent::Log(mut log) = *content {
        log.link_database(None);
    }
    match base.methods().and_then(|methods| methods.xClose) {
        // SAFETY: the file below is open until this call.
        Some(close) => unsafe { close(base.raw()) },
        None => ffi::SQLITE_OK,
    }
}

unsafe extern "C" fn read(file: File, buffer: *mut c_void, length: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes an open file and a buffer of `length` bytes.
    let (base, content) = unsafe { parts(file) };
    // SAFETY: as above.
    let code = unsafe { base.read_raw(buffer, length, offset) };
    if code != ffi::SQLITE_OK && code != ffi::SQLITE_IOERR_SHORT_READ {
        return code;
    }
    // SAFETY: after either code all `length` bytes of the buffer are filled.
    let bytes =
        unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), usize::try_from(length).unwrap_or(0)) };
    match content {
        FileContent::Database(pages) => pages.judge_read(base, bytes, offset, code),
        FileContent::Log(log) => log.judge_read(base, bytes, offset, code),
    }
}

unsafe extern "C" fn write(file: File, buffer: *const c_void, length: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes an open file and a buffer of `length` bytes.
    let (base, content) = unsafe { parts(file) };
    // SAFETY: as above.
    let bytes = unsafe { slice::from_raw_parts(buffer.cast::<u8>(), usize::try_from(length).unwrap_or(0)) };
    match content {
        FileContent::Database(pages) => {
            if pages.checkpointing {
                // The pages of a log must not reach a file that is not its own.
                match family::refuse_exchanged(base, pages) {
                    ffi::SQLITE_OK => {}
                    code => return code,
                }
                if pages.watch.unrecorded {
                    return ffi::SQLITE_IOERR_WRITE;
                }
            }
            pages.write(base, bytes, offset)
        }
        FileContent::Log(log) => log.write(base, bytes, offset),
    }
}

/// Returns the length of the file when it was complete: pages that were cut off are damaged pages like others, and
/// no reason for SQLite to refuse the remaining ones.
///
/// A checkpoint asks for it before it copies anything, and ends if it gets no answer. One that must not write has to end
/// here: it might have nothing to write, and would then count as done what no record on the file says.
unsafe extern "C" fn file_size(file: File, size: *mut i64) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the number.
    unsafe {
        if let (_, FileContent::Database(pages)) = parts(file)
            && pages.checkpointing
        {
            if pages.watch.exchanged {
                return family::EXCHANGED_FILE;
            }
            if pages.watch.unrecorded {
                return ffi::SQLITE_IOERR_FSTAT;
            }
        }
        let code = base_file_size(file, size);
        if code == ffi::SQLITE_OK
            && let (base, FileContent::Database(pages)) = parts(file)
        {
            size.write(pages.promised_size(base, size.read()));
        }
        code
    }
}

unsafe extern "C" fn truncate(file: File, size: i64) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        match parts(file).1 {
            FileContent::Database(pages) => pages.forget_seen(size, i64::MAX),
            // The mark must stop asking for the log before the log is gone; a crash in between leaves one
            // that is not needed, the other order would report a loss that never happened.
            FileContent::Log(log) if size == 0 => match log.prepare_emptying() {
                ffi::SQLITE_OK => {}
                code => return code,
            },
            FileContent::Log(_) => {}
        }
        base_truncate(file, size)
    }
}

unsafe extern "C" fn sync(file: File, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let code = base_sync(file, flags);
        match parts(file) {
            (_, FileContent::Log(log)) => log.raise_mark(code),
            (base, FileContent::Database(pages)) if code == ffi::SQLITE_OK => {
                backfill::finish_copy(base, pages)
            }
            (_, FileContent::Database(pages)) => backfill::repeat_copy(pages),
        }
        code
    }
}

/// Takes a lock on the file. SQLite asks for the exclusive lock when the last connection closes, to copy the
/// log into the file and delete it, which must not happen with a log that was refused.
unsafe extern "C" fn lock(file: File, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let exclusive = level == ffi::SQLITE_LOCK_EXCLUSIVE;
        if let FileContent::Database(pages) = parts(file).1
            && exclusive
            && pages.watch.refused
        {
            return ffi::SQLITE_BUSY;
        }
        let code = base_lock(file, level);
        if let (base, FileContent::Database(pages)) = parts(file)
            && exclusive
            && code == ffi::SQLITE_OK
            && family::may_settle(base, pages) != Ok(true)
        {
            // SQLite would copy the log into a file that is not its own, or remove a log that is another file's. A log
            // that is kept because nobody could read that now is settled by the next connection.
            base_unlock(file, ffi::SQLITE_LOCK_SHARED);
            return ffi::SQLITE_BUSY;
        }
        if let FileContent::Database(pages) = parts(file).1 {
            pages.watch.exclusive |= exclusive && code == ffi::SQLITE_OK;
        }
        code
    }
}

unsafe extern "C" fn unlock(file: File, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        if let FileContent::Database(pages) = parts(file).1 {
            pages.watch.exclusive = false;
        }
        base_unlock(file, level)
    }
}

/// Maps a part of the log's shared index; the first part is remembered, since SQLite keeps its counters at its start.
unsafe extern "C" fn shm_map(
    file: File,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the pointer, which is null without a region.
    unsafe {
        let code = base_shm_map(file, region, size, extend, out);
        if let (base, FileContent::Database(pages)) = parts(file)
            && code == ffi::SQLITE_OK
            && region == 0
        {
            pages.watch.index = NonNull::new(out.read().cast());
            if pages.watch.index.is_some() {
                let joined = family::join_family(base, pages);
                if joined != ffi::SQLITE_OK {
                    // SQLite keeps the pointer whatever the code, and would settle a log that is not this file's.
                    out.write(std::ptr::null_mut());
                    pages.watch.index = None;
                    pages.watch.refused = true;
                }
                return joined;
            }
        }
        code
    }
}

unsafe extern "C" fn shm_unmap(file: File, delete: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        if let (base, FileContent::Database(pages)) = parts(file) {
            pages.watch.index = None;
            pages.watch.stamp = None;
            pages.watch.writing = false;
            family::leave_family(base, pages);
        }
        base_shm_unmap(file, delete)
    }
}

/// Takes or releases locks of the log. Only recovery takes the recovery lock exclusively, which is
/// when the log is judged.
unsafe extern "C" fn shm_lock(file: File, offset: c_int, n: c_int, flags: c_int) -> c_int {
    /// The places of these locks in SQLite's shared memory.
    const WRITE: c_int = 0;
    const RECOVER: c_int = 2;
    const FIRST_READ: c_int = 3;
    // SAFETY: SQLite passes an open file.
    unsafe {
        let code = base_shm_lock(file, offset, n, flags);
        let taken = code == ffi::SQLITE_OK && flags == ffi::SQLITE_SHM_LOCK | ffi::SQLITE_SHM_EXCLUSIVE;
        let (base, FileContent::Database(pages)) = parts(file) else {
            return code;
        };
        let covered = offset..offset.saturating_add(n);
        let reads = code == ffi::SQLITE_OK
            && flags == ffi::SQLITE_SHM_LOCK | ffi::SQLITE_SHM_SHARED
            && offset >= FIRST_READ;
        if reads {
            family::begin_lineage(base, pages);
        }
        if taken && covered.contains(&WRITE) {
            pages.watch.turn = pages.watch.turn.wrapping_add(1);
        }
        if covered.contains(&WRITE) && (taken || flags & ffi::SQLITE_SHM_UNLOCK != 0) {
            pages.watch.writing = taken;
        }
        if !taken || !covered.contains(&RECOVER) {
            return code;
        }
        match recovery::begin_recovery(base, pages) {
            ffi::SQLITE_OK => ffi::SQLITE_OK,
            refused => {
                pages.watch.writing = false;
                // SQLite takes the error for a lock that was not given, and will not release it by itself.
                base_shm_lock(
                    file,
                    offset,
                    n,
                    ffi::SQLITE_SHM_UNLOCK | ffi::SQLITE_SHM_EXCLUSIVE,
                );
                refused
            }
        }
    }
}

/// Allows reads of parts of pages in a database, by which SQLite reads overflow pages past its cache.
unsafe extern "C" fn characteristics(file: File) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let below = base_characteristics(file);
        match parts(file).1 {
            // Whatever the file below says: it is asked for whole pages as well as for parts.
            FileContent::Database(_) => below | ffi::SQLITE_IOCAP_SUBPAGE_READ,
            FileContent::Log(_) => below & !ffi::SQLITE_IOCAP_SUBPAGE_READ,
        }
    }
}

unsafe extern "C" fn control(file: File, op: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: SQLite passes an open file.
    let (base, content) = unsafe { parts(file) };
    match (op, content) {
        (ASK, FileContent::Database(pages)) => {
            pages.request_checks();
            return ffi::SQLITE_OK;
        }
        // Growing the file ahead of its pages would leave pages of zeros, which fail the
        // check; it is only a hint.
        (ffi::SQLITE_FCNTL_SIZE_HINT, FileContent::Database(_)) => return ffi::SQLITE_OK,
        // The last connection has copied the log into the file, is still alone, and asks whether to keep the
        // log before it deletes it. The log is kept if the mark cannot record that it is no longer needed.
        (ffi::SQLITE_FCNTL_PERSIST_WAL, FileContent::Database(pages)) if pages.watch.exclusive => {
            let own = family::has_own_log_name(pages);
            let told = recovery::release_log(base, pages);
            // A file that took the name of the log meanwhile is not ours to delete.
            if told != ffi::SQLITE_OK || !own {
                // SAFETY: the argument of this control is an int.
                unsafe { argument.cast::<c_int>().write(1) };
                return ffi::SQLITE_OK;
            }
        }
        (ffi::SQLITE_FCNTL_CKPT_START, FileContent::Database(pages)) => {
            pages.checkpointing = true;
            let settles = family::may_settle(base, pages);
            pages.watch.exchanged = settles == Ok(false);
            pages.watch.unrecorded = match settles {
                Ok(own) => own && backfill::begin_copy(base, pages) != ffi::SQLITE_OK,
                Err(_) => true,
            };
        }
        (ffi::SQLITE_FCNTL_CKPT_DONE, FileContent::Database(pages)) => pages.checkpointing = false,
        _ => {}
    }
    // SAFETY: the arguments are SQLite's own.
    unsafe { base_control(file, op, argument) }
}

/// The second version: SQLite never uses a database in place, since maps of a file that others may cut are deadly.
const METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
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

static WITH_LOG: ffi::sqlite3_io_methods = METHODS;

/// For a VFS below without shared memory: SQLite then offers no write-ahead log.
static WITHOUT_LOG: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    ..METHODS
};
