//! The layer below the checks: plain files, open-file-description locks and shared memory that survives truncation.
//!
//! SQLite's own layer keeps the locks of a process together, and closing any descriptor of a file drops them all; it
//! maps the database, and a file that is cut while it is mapped kills the process; and it does not reveal which files
//! it has open. This layer speaks the same protocol on the same bytes, so that both kinds of process may use one
//! palace, but each connection owns its descriptors and its locks. The database is never mapped. See
//! `docs/decisions/024-exchanged-files.md`.

mod control;
mod fault;
mod file;
mod level;
mod memory;
mod range;

use super::{File, Vfs};
use file::NativeFile;
use loci_core::{Error, ErrorKind, Result};
use rusqlite::ffi;
use std::ffi::{CStr, OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of times that this process has waited for the disk to store a file.
static SYNCS: AtomicU64 = AtomicU64::new(0);

/// Returns how often this process has waited for the disk to store a file.
pub(crate) fn count_syncs() -> u64 {
    SYNCS.load(Ordering::Relaxed)
}

/// Registers the layer, once per process.
pub(super) fn register_native() -> Result<()> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: SQLite's own VFS lives for ever; ours is leaked and its name is static.
        unsafe {
            let unix = ffi::sqlite3_vfs_find(c"unix".as_ptr());
            if unix.is_null() {
                return;
            }
            let mut vfs = *unix;
            let handle = c_int::try_from(size_of::<file::NativeHandle>()).unwrap_or(c_int::MAX);
            vfs.szOsFile = vfs.szOsFile.max(handle);
            vfs.zName = c"loci-native".as_ptr();
            vfs.pNext = std::ptr::null_mut();
            // Names, times and random numbers stay SQLite's own; those functions do not look at the VFS.
            vfs.pAppData = unix.cast();
            vfs.xOpen = Some(open);
            ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0);
        }
    });
    // SAFETY: the name ends with a zero byte.
    if unsafe { ffi::sqlite3_vfs_find(c"loci-native".as_ptr()) }.is_null() {
        return Err(Error::new(
            ErrorKind::Internal,
            "SQLite refused the native file layer",
        ));
    }
    Ok(())
}

/// Returns whether any process, this one included, has mapped the shared memory at `path`.
pub(crate) fn is_memory_in_use(path: &Path) -> bool {
    memory::is_in_use(path)
}

/// Opens a database or its log; temporary files and journals are left to SQLite's own layer.
unsafe extern "C" fn open(
    vfs: Vfs,
    name: ffi::sqlite3_filename,
    file: File,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes our VFS, whose `pAppData` is its own, room for a file, and a name that outlives it.
    unsafe {
        (*file).pMethods = std::ptr::null();
        if flags & (ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL) == 0 || name.is_null() {
            let unix: Vfs = (*vfs).pAppData.cast();
            return match (*unix).xOpen {
                Some(open) => open(unix, name, file, flags, out),
                None => ffi::SQLITE_CANTOPEN,
            };
        }
        let path = Path::new(OsStr::from_bytes(CStr::from_ptr(name).to_bytes()));
        match NativeFile::open(path, flags) {
            Ok((opened, flags)) => {
                file::install(file, opened);
                if !out.is_null() {
                    out.write(flags);
                }
                ffi::SQLITE_OK
            }
            Err(code) => code,
        }
    }
}
