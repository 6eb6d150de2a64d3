//! The file layer of the simulated machine: a SQLite VFS for each process, over a real one.
//!
//! Real files show what the system would show. Beside them [`crate::disk::SimDisk`] keeps what the disk would hold.
#![allow(unsafe_code)] // SQLite calls a VFS through C function tables; there is no safe replacement for them.

mod file;

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use rusqlite::ffi;

use crate::fault::{CallFate, CallKind};
use crate::world::SimWorld;
use file::{OpenFile, SimHandle};

pub(crate) type Vfs = *mut ffi::sqlite3_vfs;
pub(crate) type File = *mut ffi::sqlite3_file;

/// The most processes that a machine runs.
pub const MOST_PROCESSES: usize = 4;

const NAMES: [&CStr; MOST_PROCESSES] = [c"sim-0", c"sim-1", c"sim-2", c"sim-3"];

/// The machine that each process runs on now.
static WORLDS: [Mutex<Option<Arc<SimWorld>>>; MOST_PROCESSES] = [const { Mutex::new(None) }; MOST_PROCESSES];

/// The process that a VFS belongs to, and the VFS below it.
struct ProcessLayer {
    below: Vfs,
    process: usize,
}

/// Puts a layer for each process over the VFS named `below`, or SQLite's default, once.
pub(crate) fn register_layers(below: Option<&str>) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let below = below.map(|name| CString::new(name).expect("a VFS has a plain name"));
        // SAFETY: registered layers live for ever; ours are leaked and their names are static.
        unsafe {
            let below = ffi::sqlite3_vfs_find(below.as_ref().map_or(std::ptr::null(), |name| name.as_ptr()));
            assert!(!below.is_null(), "the layer below is registered first");
            for (process, name) in NAMES.iter().enumerate() {
                let mut vfs = *below;
                vfs.iVersion = vfs.iVersion.min(2);
                vfs.szOsFile += size_of::<SimHandle>() as c_int;
                vfs.zName = name.as_ptr();
                vfs.pNext = std::ptr::null_mut();
                vfs.pAppData = Box::into_raw(Box::new(ProcessLayer { below, process })).cast();
                vfs.xOpen = Some(open);
                vfs.xDelete = Some(delete);
                vfs.xAccess = Some(access);
                vfs.xFullPathname = Some(full_pathname);
                vfs.xSleep = Some(sleep);
                vfs.xCurrentTime = None;
                vfs.xCurrentTimeInt64 = Some(current_time);
                ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0);
            }
        }
    });
}

/// Returns the name of the layer of a process, which runs on `world` from now on.
pub(crate) fn attach_process(process: usize, world: Option<Arc<SimWorld>>) -> &'static str {
    *WORLDS[process].lock().unwrap_or_else(PoisonError::into_inner) = world;
    NAMES[process].to_str().expect("names are ASCII")
}

/// Makes SQLite's own random numbers, such as the salts of logs and the ids of palaces, follow from `seed`.
pub(crate) fn seed_sqlite(seed: u64) {
    static ONCE: Once = Once::new();
    // SQLite's layer resets the generator at the first file that it opens in a process, lest a fork repeat its
    // parent's numbers. After this one no seed is undone.
    ONCE.call_once(|| {
        let file = tempfile::NamedTempFile::new().expect("a file can be made");
        let opened = rusqlite::Connection::open(file.path());
        drop(opened.expect("an empty file is a database"));
    });
    // Zero would mean real randomness.
    let seed = (seed as c_int).wrapping_mul(2).wrapping_add(1);
    // SAFETY: this control takes an int and a connection, which may be null.
    unsafe {
        ffi::sqlite3_test_control(
            ffi::SQLITE_TESTCTRL_PRNG_SEED,
            seed,
            std::ptr::null_mut::<ffi::sqlite3>(),
        );
    }
}

/// Returns the process, its machine and the VFS below.
///
/// # Safety
/// `vfs` must be one that `register_layers` made.
unsafe fn parts(vfs: Vfs) -> (usize, Arc<SimWorld>, Vfs) {
    // SAFETY: `register_layers` put a leaked layer there.
    let layer = unsafe { &*(*vfs).pAppData.cast::<ProcessLayer>() };
    let world = WORLDS[layer.process]
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let world = world.clone().expect("a process runs on a machine");
    (layer.process, world, layer.below)
}

/// # Safety
/// `name` must be null or end with a zero byte.
unsafe fn path_from(name: *const c_char) -> Option<PathBuf> {
    // SAFETY: see above.
    (!name.is_null()).then(|| PathBuf::from(unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default()))
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
        let (process, world, below) = parts(vfs);
        let real_open = (*below).xOpen.expect("every VFS opens files");
        let path = path_from(name);
        let Some((path, on_disk)) = path.and_then(|path| Some((path.clone(), world.name_on_disk(&path)?)))
        else {
            return real_open(below, name, file, flags, out);
        };
        let (mut state, fate) = world.begin_call(process, CallKind::Open);
        if fate != CallFate::Proceed {
            state
                .trace
                .add_line(format_args!("p{process} open {on_disk} {fate:?}"));
            return ffi::SQLITE_CANTOPEN;
        }
        let known = path.exists();
        let real = SimHandle::file_below(file);
        (*real).pMethods = std::ptr::null();
        let code = real_open(below, name, real, flags, out);
        state
            .trace
            .add_line(format_args!("p{process} open {on_disk} {flags:x} {code}"));
        if code != ffi::SQLITE_OK {
            if let Some(methods) = (*real).pMethods.as_ref() {
                methods.xClose.expect("every file closes")(real);
            }
            return code;
        }
        let number = state.disk.find_file(&on_disk, &path).ok();
        drop(state);
        // The layer below syncs the folder with the first sync of a file that it made, and of every log.
        let made = !known && flags & ffi::SQLITE_OPEN_CREATE != 0;
        let syncs_folder = made || flags & ffi::SQLITE_OPEN_WAL != 0;
        SimHandle::init(
            file,
            OpenFile {
                world,
                process,
                name: on_disk,
                number,
                syncs_folder: Cell::new(syncs_folder),
            },
        );
        code
    }
}

unsafe extern "C" fn delete(vfs: Vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: SQLite passes our VFS and a name that ends with a zero byte.
    unsafe {
        let (process, world, below) = parts(vfs);
        let on_disk = path_from(name)
            .and_then(|path| world.name_on_disk(&path))
            .unwrap_or_default();
        let (mut state, fate) = world.begin_call(process, CallKind::Delete);
        let code = if fate == CallFate::Proceed {
            (*below).xDelete.expect("every VFS deletes files")(below, name, sync)
        } else {
            ffi::SQLITE_IOERR_DELETE
        };
        state
            .trace
            .add_line(format_args!("p{process} delete {on_disk} {fate:?} {code}"));
        if code == ffi::SQLITE_OK {
            state.disk.remove_name(&on_disk);
            if sync != 0 {
                state.disk.sync_folder(folder_name(&on_disk));
            }
        }
        code
    }
}

/// The folder of a name on the disk; the root is the empty name.
fn folder_name(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}

unsafe extern "C" fn access(vfs: Vfs, name: *const c_char, flags: c_int, out: *mut c_int) -> c_int {
    // SAFETY: SQLite passes our VFS and arguments meant for this method.
    unsafe {
        let (process, world, below) = parts(vfs);
        let (mut state, fate) = world.begin_call(process, CallKind::Plain);
        if fate == CallFate::Dead {
            return ffi::SQLITE_IOERR_ACCESS;
        }
        let code = (*below).xAccess.expect("every VFS looks for files")(below, name, flags, out);
        let found = out.read();
        state
            .trace
            .add_line(format_args!("p{process} access {code} {found}"));
        code
    }
}

unsafe extern "C" fn full_pathname(vfs: Vfs, name: *const c_char, n: c_int, out: *mut c_char) -> c_int {
    // SAFETY: SQLite passes our VFS and arguments meant for this method.
    unsafe {
        let below = (*(*vfs).pAppData.cast::<ProcessLayer>()).below;
        (*below).xFullPathname.expect("every VFS resolves names")(below, name, n, out)
    }
}

unsafe extern "C" fn sleep(vfs: Vfs, microseconds: c_int) -> c_int {
    // SAFETY: SQLite passes our VFS.
    let (process, world, _) = unsafe { parts(vfs) };
    world.sleep(process, Duration::from_micros(microseconds.max(0) as u64));
    microseconds
}

/// The time in milliseconds of the Julian day.
unsafe extern "C" fn current_time(vfs: Vfs, out: *mut i64) -> c_int {
    // SAFETY: SQLite passes our VFS and a place for the number.
    unsafe {
        let (_, world, _) = parts(vfs);
        out.write(210_866_760_000_000 + (world.lock().clock / 1000) as i64);
    }
    ffi::SQLITE_OK
}
