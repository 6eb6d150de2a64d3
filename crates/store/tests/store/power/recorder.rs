//! A VFS that passes everything to real files and keeps a log of all that a power cut could undo.
//!
//! Main databases, logs and journals below one folder are recorded, in one order over all files, threads
//! and connections. Shared memory is not: it does not outlive a power cut.
#![allow(unsafe_code)] // SQLite calls a VFS through C function tables.

use rusqlite::ffi;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// The name of the recording VFS.
pub(crate) const NAME: &str = "record";

/// One step that changes what is on disk, or makes a change last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    /// A file came to be; its name lasts after [`Op::SyncFolder`].
    Create {
        file: String,
    },
    Write {
        file: String,
        offset: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        file: String,
        size: u64,
    },
    Sync {
        file: String,
    },
    /// A name was removed; the removal lasts after [`Op::SyncFolder`].
    Delete {
        file: String,
    },
    SyncFolder,
    /// A remark of the test, such as "batch 7 acknowledged".
    Mark(String),
}

#[derive(Default)]
struct Recording {
    folder: Option<PathBuf>,
    ops: Vec<Op>,
}

static RECORDING: Mutex<Recording> = Mutex::new(Recording {
    folder: None,
    ops: Vec::new(),
});

fn recording() -> MutexGuard<'static, Recording> {
    RECORDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers the VFS over the one that is now the default. As the new `default`, it also serves callers that
/// name no VFS. Repeated calls change nothing.
pub(crate) fn register(default: bool) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: SQLite's own VFS lives for ever; ours and its name are leaked or static.
        unsafe {
            let below = ffi::sqlite3_vfs_find(std::ptr::null());
            let mut vfs = *below;
            vfs.szOsFile += size_of::<Handle>() as c_int;
            vfs.zName = c"record".as_ptr();
            vfs.pNext = std::ptr::null_mut();
            vfs.pAppData = below.cast();
            vfs.xOpen = Some(open);
            vfs.xDelete = Some(delete);
            vfs.xAccess = Some(access);
            vfs.xFullPathname = Some(full_pathname);
            ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), c_int::from(default));
        }
    });
}

/// Begins a new log of what happens below `folder`. One recording runs at a time in a process.
pub(crate) fn start(folder: &Path) {
    let folder = folder.canonicalize().expect("the folder exists");
    *recording() = Recording {
        folder: Some(folder),
        ops: Vec::new(),
    };
}

/// Puts a note between the steps.
pub(crate) fn mark(text: impl Into<String>) {
    recording().ops.push(Op::Mark(text.into()));
}

/// Ends the recording and hands the log over.
pub(crate) fn finish() -> Vec<Op> {
    std::mem::take(&mut *recording()).ops
}

/// The name of `path` within the recorded folder.
fn recorded_name(path: *const c_char) -> Option<String> {
    if path.is_null() {
        return None;
    }
    // SAFETY: SQLite's file names end with a zero byte.
    let path = Path::new(unsafe { CStr::from_ptr(path) }.to_str().ok()?);
    let recording = recording();
    Some(
        path.strip_prefix(recording.folder.as_ref()?)
            .ok()?
            .to_str()?
            .to_owned(),
    )
}

/// A recorded file; the real one follows it in memory.
#[repr(C)]
struct Handle {
    head: ffi::sqlite3_file,
    state: *mut State,
}

struct State {
    file: String,
    /// The VFS below syncs the folder with the first sync of a log or journal that it made.
    sync_folder: bool,
}

type File = *mut ffi::sqlite3_file;
type Vfs = *mut ffi::sqlite3_vfs;

/// The real file, its methods and what we know of it.
///
/// # Safety
/// `file` must be an open file that `open` made a [`Handle`] of.
unsafe fn parts<'a>(file: File) -> (File, &'a ffi::sqlite3_io_methods, &'a mut State) {
    // SAFETY: `open` put the handle and the real file one after the other.
    unsafe {
        let real: File = file.cast::<Handle>().add(1).cast();
        (real, &*(*real).pMethods, &mut *(*file.cast::<Handle>()).state)
    }
}

unsafe extern "C" fn open(
    vfs: Vfs,
    name: ffi::sqlite3_filename,
    file: File,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes our VFS, `szOsFile` bytes for the file and a name that outlives it.
    unsafe {
        let below: Vfs = (*vfs).pAppData.cast();
        let open = (*below).xOpen.expect("every VFS opens files");
        let Some(recorded) = recorded_name(name) else {
            return open(below, name, file, flags, out);
        };
        let mut recording = recording();
        let existed = CStr::from_ptr(name)
            .to_str()
            .is_ok_and(|path| Path::new(path).exists());
        let real: File = file.cast::<Handle>().add(1).cast();
        (*file).pMethods = std::ptr::null();
        let code = open(below, name, real, flags, out);
        if code != ffi::SQLITE_OK {
            return code;
        }
        if !existed {
            recording.ops.push(Op::Create {
                file: recorded.clone(),
            });
        }
        let log = flags & (ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL) != 0;
        let state = State {
            file: recorded,
            sync_folder: log && flags & ffi::SQLITE_OPEN_CREATE != 0,
        };
        file.cast::<Handle>().write(Handle {
            head: ffi::sqlite3_file { pMethods: &METHODS },
            state: Box::into_raw(Box::new(state)),
        });
        code
    }
}

unsafe extern "C" fn delete(vfs: Vfs, name: *const c_char, sync: c_int) -> c_int {
    let recorded = recorded_name(name);
    let mut recording = recording();
    // SAFETY: SQLite passes our VFS and a name.
    let code = unsafe {
        let below: Vfs = (*vfs).pAppData.cast();
        (*below).xDelete.expect("every VFS deletes files")(below, name, sync)
    };
    if let (Some(file), ffi::SQLITE_OK) = (recorded, code) {
        recording.ops.push(Op::Delete { file });
        if sync != 0 {
            recording.ops.push(Op::SyncFolder);
        }
    }
    code
}

unsafe extern "C" fn access(vfs: Vfs, name: *const c_char, flags: c_int, out: *mut c_int) -> c_int {
    // SAFETY: SQLite passes our VFS and arguments meant for this method.
    unsafe {
        let below: Vfs = (*vfs).pAppData.cast();
        (*below).xAccess.expect("every VFS looks for files")(below, name, flags, out)
    }
}

unsafe extern "C" fn full_pathname(vfs: Vfs, name: *const c_char, n: c_int, out: *mut c_char) -> c_int {
    // SAFETY: as above.
    unsafe {
        let below: Vfs = (*vfs).pAppData.cast();
        (*below).xFullPathname.expect("every VFS resolves names")(below, name, n, out)
    }
}

unsafe extern "C" fn close(file: File) -> c_int {
    // SAFETY: SQLite closes a file once.
    unsafe {
        let (real, methods, state) = parts(file);
        drop(Box::from_raw(std::ptr::from_mut(state)));
        methods.xClose.expect("every file closes")(real)
    }
}

unsafe extern "C" fn write(file: File, buffer: *const c_void, length: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes an open file and `length` bytes.
    unsafe {
        let (real, methods, state) = parts(file);
        let mut recording = recording();
        let code = methods.xWrite.expect("every file is written")(real, buffer, length, offset);
        if code == ffi::SQLITE_OK {
            let bytes = std::slice::from_raw_parts(buffer.cast::<u8>(), length as usize).to_vec();
            recording.ops.push(Op::Write {
                file: state.file.clone(),
                offset: offset as u64,
                bytes,
            });
        }
        code
    }
}

unsafe extern "C" fn truncate(file: File, size: i64) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (real, methods, state) = parts(file);
        let mut recording = recording();
        let code = methods.xTruncate.expect("every file is cut")(real, size);
        if code == ffi::SQLITE_OK {
            recording.ops.push(Op::Truncate {
                file: state.file.clone(),
                size: size as u64,
            });
        }
        code
    }
}

unsafe extern "C" fn sync(file: File, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (real, methods, state) = parts(file);
        let mut recording = recording();
        let code = methods.xSync.expect("every file syncs")(real, flags);
        if code == ffi::SQLITE_OK {
            recording.ops.push(Op::Sync {
                file: state.file.clone(),
            });
            if std::mem::take(&mut state.sync_folder) {
                recording.ops.push(Op::SyncFolder);
            }
        }
        code
    }
}

unsafe extern "C" fn control(file: File, op: c_int, argument: *mut c_void) -> c_int {
    // The hint may grow the file by other means than a write, unseen by us; it is only a hint.
    if op == ffi::SQLITE_FCNTL_SIZE_HINT {
        return ffi::SQLITE_OK;
    }
    // SAFETY: SQLite passes an open file and an argument meant for it.
    unsafe {
        let (real, methods, _) = parts(file);
        methods
            .xFileControl
            .map_or(ffi::SQLITE_NOTFOUND, |control| control(real, op, argument))
    }
}

unsafe extern "C" fn shm_barrier(file: File) {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (real, methods, _) = parts(file);
        methods.xShmBarrier.expect("the file shares memory")(real);
    }
}

macro_rules! pass {
    ($name:ident => $method:ident($($argument:ident: $kind:ty),*)) => {
        unsafe extern "C" fn $name(file: File, $($argument: $kind),*) -> c_int {
            // SAFETY: SQLite passes an open file and arguments meant for this method.
            unsafe {
                let (real, methods, _) = parts(file);
                methods.$method.expect("files of the system have this method")(real, $($argument),*)
            }
        }
    };
}

pass!(read => xRead(buffer: *mut c_void, length: c_int, offset: i64));
pass!(file_size => xFileSize(size: *mut i64));
pass!(lock => xLock(level: c_int));
pass!(unlock => xUnlock(level: c_int));
pass!(check_reserved_lock => xCheckReservedLock(out: *mut c_int));
pass!(sector_size => xSectorSize());
pass!(characteristics => xDeviceCharacteristics());
pass!(shm_map => xShmMap(region: c_int, size: c_int, extend: c_int, out: *mut *mut c_void));
pass!(shm_lock => xShmLock(offset: c_int, n: c_int, flags: c_int));
pass!(shm_unmap => xShmUnmap(delete: c_int));
pass!(fetch => xFetch(offset: i64, length: c_int, page: *mut *mut c_void));
pass!(unfetch => xUnfetch(offset: i64, page: *mut c_void));

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 3,
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
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};
