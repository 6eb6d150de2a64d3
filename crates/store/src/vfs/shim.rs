//! The VFS itself: databases and their logs get a checked file, everything else goes to the VFS below.

use super::base::BaseFile;
use super::file::{self, FileContent, ShimHandle};
use super::log::OpenLog;
use super::pages::DatabasePages;
use super::recovery::{FOREIGN_JOURNAL, FOREIGN_LOG};
use super::wal::HEADER;
use super::{File, Vfs, native};
use loci_core::{Error, ErrorKind, Result};
use rusqlite::ffi;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Mutex, PoisonError};

/// The shims of this process: the VFS below → the name of the shim over it.
static REGISTERED: Mutex<BTreeMap<String, &'static str>> = Mutex::new(BTreeMap::new());

/// Puts the shim over the VFS named `base` (the default one if none is given), once per process, and
/// returns the name to open databases with.
pub(crate) fn register(base: Option<&str>) -> Result<&'static str> {
    let wanted = base
        .map(CString::new)
        .transpose()
        .map_err(|cause| Error::invalid("the name of a VFS holds a zero byte").caused_by(cause))?;
    native::register_native()?;
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the name is null or ends with a zero byte; SQLite never frees a registered VFS.
    let below = unsafe {
        let found = ffi::sqlite3_vfs_find(wanted.as_ref().map_or(std::ptr::null(), |name| name.as_ptr()));
        // A test may have put another layer in front of SQLite's own; else ours takes its place.
        let usual = wanted.is_none() && found == ffi::sqlite3_vfs_find(c"unix".as_ptr());
        if usual {
            ffi::sqlite3_vfs_find(c"loci-native".as_ptr())
        } else {
            found
        }
    };
    if below.is_null() {
        return Err(Error::new(ErrorKind::Internal, "SQLite knows no such VFS")
            .with_context("vfs", base.unwrap_or("default")));
    }
    // SAFETY: `below` is a registered VFS, whose name stays in memory.
    let below_name = unsafe { CStr::from_ptr((*below).zName) }
        .to_string_lossy()
        .into_owned();
    if let Some(name) = registered.get(&below_name) {
        return Ok(name);
    }
    let name: &'static str = Box::leak(format!("loci+{below_name}").into_boxed_str());
    // SAFETY: `below` is a registered VFS.
    let code = unsafe { register_over(below, name) };
    if code != ffi::SQLITE_OK {
        return Err(
            Error::new(ErrorKind::Internal, "SQLite refused the checking VFS").with_context("code", code)
        );
    }
    registered.insert(below_name, name);
    Ok(name)
}

/// # Safety
/// `below` must stay registered with SQLite for the life of the process.
unsafe fn register_over(below: Vfs, name: &str) -> c_int {
    let Ok(name) = CString::new(name) else {
        return ffi::SQLITE_MISUSE;
    };
    // SAFETY: see above.
    let base = unsafe { &*below };
    let Ok(handle) = c_int::try_from(size_of::<ShimHandle>()) else {
        return ffi::SQLITE_MISUSE;
    };
    let vfs = ffi::sqlite3_vfs {
        // Version 3 only adds replaceable system calls, which the shim does not pass on.
        iVersion: base.iVersion.min(2),
        // SQLite allocates one block for both: our handle first, then the file of the VFS below.
        szOsFile: base.szOsFile.saturating_add(handle),
        mxPathname: base.mxPathname,
        pNext: std::ptr::null_mut(),
        zName: name.into_raw(),
        pAppData: below.cast(),
        xOpen: Some(open),
        xDelete: base.xDelete.and(Some(delete)),
        xAccess: base.xAccess.and(Some(access)),
        xFullPathname: base.xFullPathname.and(Some(full_pathname)),
        xDlOpen: base.xDlOpen.and(Some(dl_open)),
        xDlError: base.xDlError.and(Some(dl_error)),
        xDlSym: base.xDlSym.and(Some(dl_sym)),
        xDlClose: base.xDlClose.and(Some(dl_close)),
        xRandomness: base.xRandomness.and(Some(randomness)),
        xSleep: base.xSleep.and(Some(sleep)),
        xCurrentTime: base.xCurrentTime.and(Some(current_time)),
        xGetLastError: base.xGetLastError.and(Some(get_last_error)),
        xCurrentTimeInt64: base.xCurrentTimeInt64.and(Some(current_time_int64)),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    };
    // SAFETY: the VFS and its name are leaked, as SQLite never lets go of them.
    unsafe { ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0) }
}

/// Returns the VFS below.
///
/// # Safety
/// `vfs` must be one that `register_over` made.
unsafe fn below<'a>(vfs: Vfs) -> (Vfs, &'a ffi::sqlite3_vfs) {
    // SAFETY: `register_over` put a VFS that is never freed into `pAppData`.
    unsafe {
        let below: Vfs = (*vfs).pAppData.cast();
        (below, &*below)
    }
}

unsafe extern "C" fn open(
    vfs: Vfs,
    name: ffi::sqlite3_filename,
    file: File,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes our VFS, `szOsFile` bytes for the file, and a name that outlives it.
    unsafe {
        (*file).pMethods = std::ptr::null();
        let (below, methods) = below(vfs);
        let Some(open) = methods.xOpen else {
            return ffi::SQLITE_CANTOPEN;
        };
        if flags & ffi::SQLITE_OPEN_MAIN_JOURNAL != 0 && flags & ffi::SQLITE_OPEN_CREATE == 0 {
            // SQLite has found a journal beside the database and would roll it back.
            let database = ffi::sqlite3_database_file_object(name);
            if !database.is_null()
                && file::is_ours(database)
                && let (base, FileContent::Database(pages)) = file::parts(database)
                && pages.keeps_log(base)
            {
                return FOREIGN_JOURNAL;
            }
        }
        // Journals and temporary files are opened by the VFS below in our place: SQLite then calls
        // its methods directly.
        if flags & (ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL) == 0 || name.is_null() {
            return open(below, name, file, flags, out);
        }
        let inner = ShimHandle::file_below(file);
        (*inner).pMethods = std::ptr::null();
        let code = open(below, name, inner, flags, out);
        let base = BaseFile::new(inner);
        if code == ffi::SQLITE_OK {
            let path = CStr::from_ptr(name).to_string_lossy().into_owned();
            let content = if flags & ffi::SQLITE_OPEN_WAL == 0 {
                FileContent::Database(DatabasePages::new(path))
            } else {
                // SQLite opens a database before its log and closes it after. Another VFS may lie over ours.
                let database = ffi::sqlite3_database_file_object(name);
                let database = (!database.is_null() && file::is_ours(database)).then_some(database);
                let mut log = OpenLog::new(&path, database);
                log.link_database(Some(base));
                FileContent::Log(log)
            };
            ShimHandle::init(file, base, content);
        } else if let Some(close) = base.methods().and_then(|methods| methods.xClose) {
            // A VFS may fail and still want to be closed; SQLite will not see this file.
            close(inner);
        }
        code
    }
}

/// Passes a call to the VFS below.
macro_rules! pass {
    ($name:ident => $method:ident($($argument:ident: $kind:ty),*) -> $result:ty, $missing:expr) => {
        unsafe extern "C" fn $name(vfs: Vfs, $($argument: $kind),*) -> $result {
            // SAFETY: SQLite passes our VFS and arguments meant for this method.
            unsafe {
                let (below, methods) = below(vfs);
                match methods.$method {
                    Some(method) => method(below, $($argument),*),
                    None => $missing,
                }
            }
        }
    };
}

/// Deletes a file, but not the log beside an emptied database: SQLite would delete it, and with it what may
/// be all that is left of the palace.
unsafe extern "C" fn delete(vfs: Vfs, name: *const c_char, sync: c_int) -> c_int {
    let length = |path: &[u8]| std::fs::metadata(OsStr::from_bytes(path)).map_or(0, |found| found.len());
    // SAFETY: SQLite passes our VFS and a name that ends with a zero byte.
    unsafe {
        let path = CStr::from_ptr(name).to_bytes();
        if let Some(database) = path.strip_suffix(b"-wal")
            && length(database) == 0
            && length(path) > HEADER as u64
        {
            return FOREIGN_LOG;
        }
        base_delete(vfs, name, sync)
    }
}

type LibrarySymbol = Option<unsafe extern "C" fn(Vfs, *mut c_void, *const c_char)>;

pass!(base_delete => xDelete(name: *const c_char, sync: c_int) -> c_int, ffi::SQLITE_IOERR_DELETE);
pass!(access => xAccess(name: *const c_char, flags: c_int, out: *mut c_int) -> c_int, ffi::SQLITE_IOERR_ACCESS);
pass!(full_pathname => xFullPathname(name: *const c_char, n: c_int, out: *mut c_char) -> c_int, ffi::SQLITE_CANTOPEN);
pass!(dl_open => xDlOpen(name: *const c_char) -> *mut c_void, std::ptr::null_mut());
pass!(dl_error => xDlError(n: c_int, out: *mut c_char) -> (), ());
pass!(dl_sym => xDlSym(library: *mut c_void, name: *const c_char) -> LibrarySymbol, None);
pass!(dl_close => xDlClose(library: *mut c_void) -> (), ());
pass!(randomness => xRandomness(n: c_int, out: *mut c_char) -> c_int, 0);
pass!(sleep => xSleep(microseconds: c_int) -> c_int, 0);
pass!(current_time => xCurrentTime(out: *mut f64) -> c_int, ffi::SQLITE_ERROR);
pass!(get_last_error => xGetLastError(n: c_int, out: *mut c_char) -> c_int, 0);
pass!(current_time_int64 => xCurrentTimeInt64(out: *mut i64) -> c_int, ffi::SQLITE_ERROR);
