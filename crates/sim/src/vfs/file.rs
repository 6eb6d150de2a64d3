//! The method table of a file on the simulated disk: each call may be delayed, refused, done in part or be the last.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::slice;
use std::sync::{Arc, MutexGuard};

use rusqlite::ffi;

use super::{File, folder_name};
use crate::disk::{FileNumber, SECTOR};
use crate::fault::{CallFate, CallKind};
use crate::trace::fingerprint;
use crate::world::{SimWorld, WorldState};

/// An open file of a process.
pub(super) struct OpenFile {
    pub(super) world: Arc<SimWorld>,
    pub(super) process: usize,
    pub(super) name: String,
    pub(super) number: Option<FileNumber>,
    /// Whether the next sync also makes the names in its folder last.
    pub(super) syncs_folder: Cell<bool>,
}

/// The object that SQLite holds; the file of the layer below follows it in memory.
#[repr(C)]
pub(super) struct SimHandle {
    head: ffi::sqlite3_file,
    state: *mut OpenFile,
}

impl SimHandle {
    /// # Safety
    /// `file` must be an allocation of at least `szOsFile` bytes of our VFS.
    pub(super) unsafe fn file_below(file: File) -> File {
        // SAFETY: the allocation continues after the handle, whose size is a multiple of pointer alignment.
        unsafe { file.cast::<Self>().add(1).cast() }
    }

    /// # Safety
    /// As for [`SimHandle::file_below`]; the file below must be open.
    pub(super) unsafe fn init(file: File, open: OpenFile) {
        let handle = Self {
            head: ffi::sqlite3_file { pMethods: &METHODS },
            state: Box::into_raw(Box::new(open)),
        };
        // SAFETY: the allocation has room for a handle and is aligned for pointers.
        unsafe { file.cast::<Self>().write(handle) };
    }
}

/// Returns the file below, its methods and our state.
///
/// # Safety
/// `file` must have been made by [`SimHandle::init`] and be open.
unsafe fn parts<'a>(file: File) -> (File, &'static ffi::sqlite3_io_methods, &'a mut OpenFile) {
    // SAFETY: see above; SQLite uses a file from one thread at a time, and keeps method tables in static memory.
    unsafe {
        let real = SimHandle::file_below(file);
        (real, &*(*real).pMethods, &mut *(*file.cast::<SimHandle>()).state)
    }
}

impl OpenFile {
    fn begin(&self, kind: CallKind) -> (MutexGuard<'_, WorldState>, CallFate) {
        self.world.begin_call(self.process, kind)
    }

    fn note(&self, state: &mut WorldState, call: &str, fate: CallFate, code: c_int) {
        let Self { process, name, .. } = self;
        let fate = short_fate(fate);
        state
            .trace
            .add_line(format_args!("p{process} {call} {name}{fate} {code}"));
    }
}

fn short_fate(fate: CallFate) -> &'static str {
    match fate {
        CallFate::Proceed => "",
        CallFate::Dead => " dead",
        CallFate::Fail => " fails",
        CallFate::Full => " full",
    }
}

unsafe extern "C" fn close(file: File) -> c_int {
    // SAFETY: SQLite closes a file once.
    unsafe {
        let (real, methods, open) = parts(file);
        let open = Box::from_raw(std::ptr::from_mut(open));
        let (mut state, fate) = open.begin(CallKind::Release);
        let code = methods.xClose.expect("every file closes")(real);
        open.note(&mut state, "close", fate, code);
        code
    }
}

unsafe extern "C" fn read(file: File, buffer: *mut c_void, length: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes an open file and a buffer of `length` bytes.
    unsafe {
        let (real, methods, open) = parts(file);
        let (mut state, fate) = open.begin(CallKind::Read);
        let mut seen = 0;
        let code = if fate == CallFate::Proceed {
            let code = methods.xRead.expect("every file is read")(real, buffer, length, offset);
            if code == ffi::SQLITE_OK || code == ffi::SQLITE_IOERR_SHORT_READ {
                seen = fingerprint(slice::from_raw_parts(buffer.cast::<u8>(), length as usize));
            }
            code
        } else {
            ffi::SQLITE_IOERR_READ
        };
        let call = format!("read {offset}+{length} {seen:016x}");
        open.note(&mut state, &call, fate, code);
        code
    }
}

unsafe extern "C" fn write(file: File, buffer: *const c_void, length: c_int, offset: i64) -> c_int {
    // SAFETY: SQLite passes an open file and `length` bytes.
    unsafe {
        let (real, methods, open) = parts(file);
        let (mut state, fate) = open.begin(CallKind::Write);
        let wanted = slice::from_raw_parts(buffer.cast::<u8>(), length as usize);
        let (done, mut code) = match fate {
            CallFate::Proceed => (length as usize, ffi::SQLITE_OK),
            CallFate::Dead => (0, ffi::SQLITE_IOERR_WRITE),
            CallFate::Fail => (
                fail_within(offset, wanted.len(), &mut state),
                ffi::SQLITE_IOERR_WRITE,
            ),
            CallFate::Full => fill_disk(real, methods, offset, wanted.len(), &mut state),
        };
        if done > 0 {
            let written = methods.xWrite.expect("every file is written")(real, buffer, done as c_int, offset);
            if written == ffi::SQLITE_OK {
                if let Some(number) = open.number {
                    state.disk.write(number, offset as u64, &wanted[..done]);
                }
            } else {
                code = written;
            }
        }
        let call = format!("write {offset}+{done}/{length} {:016x}", fingerprint(wanted));
        open.note(&mut state, &call, fate, code);
        code
    }
}

/// Decides how much of a write that fails is carried out: whole sectors, and never all.
fn fail_within(offset: i64, length: usize, state: &mut WorldState) -> usize {
    let done = state.random.below(length);
    let behind = (offset as usize + done) % SECTOR;
    done.saturating_sub(behind)
}

/// Decides how much of a write fits on a full disk: what lies within the file does, and by chance some of the rest.
///
/// # Safety
/// `real` must be open and have these methods.
unsafe fn fill_disk(
    real: File,
    methods: &ffi::sqlite3_io_methods,
    offset: i64,
    length: usize,
    state: &mut WorldState,
) -> (usize, c_int) {
    let mut size = 0;
    // SAFETY: the file is open, and `size` outlives the call.
    unsafe { methods.xFileSize.expect("every file has a size")(real, &mut size) };
    if offset + length as i64 <= size {
        return (length, ffi::SQLITE_OK);
    }
    let within = usize::try_from(size - offset).unwrap_or(0);
    let more = state.random.below(length - within);
    (within + more, ffi::SQLITE_FULL)
}

unsafe extern "C" fn truncate(file: File, size: i64) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (real, methods, open) = parts(file);
        let (mut state, fate) = open.begin(CallKind::Truncate);
        let code = if fate == CallFate::Proceed {
            methods.xTruncate.expect("every file is cut")(real, size)
        } else {
            ffi::SQLITE_IOERR_TRUNCATE
        };
        if code == ffi::SQLITE_OK
            && let Some(number) = open.number
        {
            state.disk.truncate(number, size as u64);
        }
        open.note(&mut state, &format!("truncate {size}"), fate, code);
        code
    }
}

unsafe extern "C" fn sync(file: File, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (real, methods, open) = parts(file);
        let (mut state, fate) = open.begin(CallKind::Sync);
        let code = match fate {
            CallFate::Proceed => methods.xSync.expect("every file syncs")(real, flags),
            _ => ffi::SQLITE_IOERR_FSYNC,
        };
        open.note(&mut state, "sync", fate, code);
        let WorldState {
            disk, random, plan, ..
        } = &mut *state;
        match open.number {
            Some(number) if code == ffi::SQLITE_OK => {
                disk.sync(number);
                if open.syncs_folder.take() {
                    disk.sync_folder(folder_name(&open.name));
                }
            }
            Some(number) if fate == CallFate::Fail && plan.lossy_syncs => disk.fail_sync(number, random),
            _ => {}
        }
        let (world, process) = (&open.world, open.process);
        if code == ffi::SQLITE_OK {
            world.delay_sync(state, process);
        }
        code
    }
}

unsafe extern "C" fn file_size(file: File, size: *mut i64) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the number.
    unsafe {
        let (real, methods, open) = parts(file);
        let (mut state, fate) = open.begin(CallKind::Plain);
        if fate == CallFate::Dead {
            return ffi::SQLITE_IOERR_FSTAT;
        }
        let code = methods.xFileSize.expect("every file has a size")(real, size);
        open.note(&mut state, &format!("size {}", size.read()), fate, code);
        code
    }
}

unsafe extern "C" fn lock(file: File, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (real, methods, open) = parts(file);
        let (mut state, fate) = open.begin(CallKind::Lock);
        let code = if fate == CallFate::Proceed {
            methods.xLock.expect("every file is locked")(real, level)
        } else {
            ffi::SQLITE_IOERR_LOCK
        };
        open.note(&mut state, &format!("lock {level}"), fate, code);
        code
    }
}

unsafe extern "C" fn unlock(file: File, level: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (real, methods, open) = parts(file);
        let (mut state, fate) = open.begin(CallKind::Release);
        let code = methods.xUnlock.expect("every file is unlocked")(real, level);
        open.note(&mut state, &format!("unlock {level}"), fate, code);
        code
    }
}

unsafe extern "C" fn check_reserved_lock(file: File, out: *mut c_int) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the answer.
    unsafe {
        let (real, methods, open) = parts(file);
        let (mut state, fate) = open.begin(CallKind::Plain);
        let code = methods.xCheckReservedLock.expect("every file knows its locks")(real, out);
        open.note(&mut state, "reserved", fate, code);
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

unsafe extern "C" fn shm_map(
    file: File,
    region: c_int,
    size: c_int,
    extend: c_int,
    out: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes an open file and a place for the pointer.
    unsafe {
        let (real, methods, open) = parts(file);
        let (mut state, fate) = open.begin(CallKind::Plain);
        if fate == CallFate::Dead {
            out.write(std::ptr::null_mut());
            return ffi::SQLITE_IOERR_SHMMAP;
        }
        let code = methods.xShmMap.expect("the file shares memory")(real, region, size, extend, out);
        open.note(&mut state, &format!("map {region} {extend}"), fate, code);
        code
    }
}

unsafe extern "C" fn shm_lock(file: File, offset: c_int, n: c_int, flags: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (real, methods, open) = parts(file);
        let releases = flags & ffi::SQLITE_SHM_UNLOCK != 0;
        let kind = if releases {
            CallKind::Release
        } else {
            CallKind::Lock
        };
        let (mut state, fate) = open.begin(kind);
        let code = if releases || fate == CallFate::Proceed {
            methods.xShmLock.expect("the file shares memory")(real, offset, n, flags)
        } else {
            ffi::SQLITE_IOERR_SHMLOCK
        };
        open.note(&mut state, &format!("shmlock {offset}+{n} {flags}"), fate, code);
        code
    }
}

unsafe extern "C" fn shm_barrier(file: File) {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (real, methods, open) = parts(file);
        let (_state, _) = open.begin(CallKind::Release);
        methods.xShmBarrier.expect("the file shares memory")(real);
    }
}

unsafe extern "C" fn shm_unmap(file: File, delete: c_int) -> c_int {
    // SAFETY: SQLite passes an open file.
    unsafe {
        let (real, methods, open) = parts(file);
        let (mut state, fate) = open.begin(CallKind::Release);
        // A process that was killed deletes nothing.
        let delete = if fate == CallFate::Dead { 0 } else { delete };
        let code = methods.xShmUnmap.expect("the file shares memory")(real, delete);
        open.note(&mut state, &format!("unmap {delete}"), fate, code);
        code
    }
}

macro_rules! pass {
    ($name:ident => $method:ident($($argument:ident: $kind:ty),*)) => {
        unsafe extern "C" fn $name(file: File, $($argument: $kind),*) -> c_int {
            // SAFETY: SQLite passes an open file and arguments meant for this method.
            unsafe {
                let (real, methods, _) = parts(file);
                methods.$method.map_or(0, |method| method(real, $($argument),*))
            }
        }
    };
}

pass!(sector_size => xSectorSize());
pass!(characteristics => xDeviceCharacteristics());

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
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
