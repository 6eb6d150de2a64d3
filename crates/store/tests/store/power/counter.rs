//! A VFS that passes everything to real files and counts, for each thread, what SQLite locks to read and to write.
#![allow(unsafe_code)] // SQLite calls a VFS through C function tables.

use rusqlite::ffi;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::{Once, OnceLock};

/// The name of the counting VFS.
pub(crate) const NAME: &str = "count";

/// The operations of one thread on databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LockCounts {
    /// Databases that were opened.
    pub(crate) opened: usize,
    /// Transactions that began to read a log.
    pub(crate) reads: usize,
    /// Transactions that began to write to one.
    pub(crate) writes: usize,
}

/// The lock that a writer holds, and the first of those that readers share.
const WRITER: c_int = 0;
const FIRST_READER: c_int = 3;

thread_local! {
    static COUNTS: Cell<LockCounts> = const { Cell::new(LockCounts { opened: 0, reads: 0, writes: 0 }) };
}

/// The methods of the files below, and the same with locks counted.
struct Methods {
    below: &'static ffi::sqlite3_io_methods,
    counting: ffi::sqlite3_io_methods,
}

static METHODS: OnceLock<Methods> = OnceLock::new();

/// Registers the VFS over the default one. Repeated calls change nothing.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: SQLite's own VFS lives for ever; ours and its name are leaked or static.
        unsafe {
            let below = ffi::sqlite3_vfs_find(std::ptr::null());
            let mut vfs = *below;
            vfs.zName = c"count".as_ptr();
            vfs.pNext = std::ptr::null_mut();
            vfs.xOpen = Some(open);
            ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0);
        }
    });
}

/// Does something and says what this thread locked meanwhile.
pub(crate) fn count<T>(act: impl FnOnce() -> T) -> (T, LockCounts) {
    COUNTS.set(LockCounts::default());
    let done = act();
    (done, COUNTS.get())
}

fn change(change: impl FnOnce(&mut LockCounts)) {
    let mut counts = COUNTS.get();
    change(&mut counts);
    COUNTS.set(counts);
}

type File = *mut ffi::sqlite3_file;

/// Opens a file as the VFS below does, whose state ours is a copy of, and counts what is done to a database.
unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: File,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes our VFS and room for a file; the methods of its files live for ever.
    unsafe {
        let below = ffi::sqlite3_vfs_find(std::ptr::null());
        let open = (*below).xOpen.expect("every VFS opens files");
        let code = open(vfs, name, file, flags, out);
        if code == ffi::SQLITE_OK && flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
            change(|counts| counts.opened += 1);
            let below: &'static ffi::sqlite3_io_methods = &*(*file).pMethods;
            let counting = ffi::sqlite3_io_methods {
                xShmLock: Some(shm_lock),
                ..*below
            };
            let methods = METHODS.get_or_init(|| Methods { below, counting });
            assert!(
                std::ptr::eq(methods.below, below),
                "files have one table of methods"
            );
            (*file).pMethods = &methods.counting;
        }
        code
    }
}

unsafe extern "C" fn shm_lock(file: File, offset: c_int, n: c_int, flags: c_int) -> c_int {
    let methods = METHODS.get().expect("a file was opened before it is locked");
    let lock = methods.below.xShmLock.expect("files of the system share memory");
    // SAFETY: SQLite passes an open file of the VFS below.
    let code = unsafe { lock(file, offset, n, flags) };
    if code == ffi::SQLITE_OK && flags & ffi::SQLITE_SHM_LOCK != 0 {
        if flags & ffi::SQLITE_SHM_SHARED != 0 && offset >= FIRST_READER {
            change(|counts| counts.reads += 1);
        }
        if flags & ffi::SQLITE_SHM_EXCLUSIVE != 0 && offset == WRITER && n == 1 {
            change(|counts| counts.writes += 1);
        }
    }
    code
}
