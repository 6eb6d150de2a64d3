//! A VFS over the store's own layer whose reads fail when a test says so, for its thread alone.
#![allow(unsafe_code)] // SQLite calls a VFS through C function tables.

use rusqlite::ffi;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::{Once, OnceLock};

/// The name of the failing VFS.
pub(crate) const NAME: &str = "unreadable";

/// The reads that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailingReads {
    None,
    /// One in so many; 1 means all.
    OneIn(usize),
    /// All of them, from the next sync of a log.
    AfterSync,
}

thread_local! {
    static FAILING: Cell<FailingReads> = const { Cell::new(FailingReads::None) };
    static READS: Cell<usize> = const { Cell::new(0) };
}

/// The methods of the files below, and the same with reads that may fail.
struct Methods {
    below: &'static ffi::sqlite3_io_methods,
    failing: ffi::sqlite3_io_methods,
}

static METHODS: OnceLock<Methods> = OnceLock::new();

/// Registers the VFS over the store's layer, which any opened palace has registered. Repeated calls change nothing.
pub(crate) fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the store's layer lives for ever; ours is leaked and its name static.
        unsafe {
            let below = below();
            assert!(!below.is_null(), "a palace was opened before");
            let mut vfs = *below;
            vfs.zName = c"unreadable".as_ptr();
            vfs.pNext = std::ptr::null_mut();
            vfs.xOpen = Some(open);
            ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0);
        }
    });
}

/// Does something while reads of this thread fail.
pub(crate) fn with_failing<T>(failing: FailingReads, act: impl FnOnce() -> T) -> T {
    FAILING.set(failing);
    let done = act();
    FAILING.set(FailingReads::None);
    done
}

fn below() -> *mut ffi::sqlite3_vfs {
    // SAFETY: the name ends with a zero byte.
    unsafe { ffi::sqlite3_vfs_find(c"loci-native".as_ptr()) }
}

type File = *mut ffi::sqlite3_file;

/// Opens a file as the layer below does, whose state ours is a copy of.
unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: File,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes our VFS and room for a file; the methods of its files live for ever.
    unsafe {
        let open = (*below()).xOpen.expect("every VFS opens files");
        let code = open(vfs, name, file, flags, out);
        if code == ffi::SQLITE_OK && flags & (ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL) != 0 {
            let below: &'static ffi::sqlite3_io_methods = &*(*file).pMethods;
            let failing = ffi::sqlite3_io_methods {
                xRead: Some(read),
                xSync: Some(sync),
                ..*below
            };
            let methods = METHODS.get_or_init(|| Methods { below, failing });
            assert!(
                std::ptr::eq(methods.below, below),
                "files have one table of methods"
            );
            (*file).pMethods = &methods.failing;
        }
        code
    }
}

fn methods_below() -> &'static ffi::sqlite3_io_methods {
    METHODS.get().expect("a file was opened before it is used").below
}

unsafe extern "C" fn read(file: File, buffer: *mut c_void, length: c_int, offset: i64) -> c_int {
    READS.set(READS.get() + 1);
    if let FailingReads::OneIn(count) = FAILING.get()
        && READS.get().is_multiple_of(count)
    {
        return ffi::SQLITE_IOERR_READ;
    }
    let read = methods_below().xRead.expect("files can be read");
    // SAFETY: SQLite passes an open file of the layer below.
    unsafe { read(file, buffer, length, offset) }
}

unsafe extern "C" fn sync(file: File, flags: c_int) -> c_int {
    if FAILING.get() == FailingReads::AfterSync {
        FAILING.set(FailingReads::OneIn(1));
    }
    let sync = methods_below().xSync.expect("files can be synced");
    // SAFETY: SQLite passes an open file of the layer below.
    unsafe { sync(file, flags) }
}
