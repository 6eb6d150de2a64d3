//! A VFS over the store's own layer that knows what a power cut would leave of each file, and whose failing syncs lose
//! what they should have made safe, as those of Linux may: the system goes on to show it.
#![allow(unsafe_code)] // SQLite calls a VFS through C function tables.

use rusqlite::ffi;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};

/// The name of the forgetful VFS.
pub(crate) const NAME: &str = "forgetful";

/// The calls of this thread that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiskFault {
    None,
    /// Writes of frames to the log.
    Frames,
    /// Syncs of the log, from the next sync of the database on.
    LogSyncs,
    /// Writes and syncs of the log, from the next sync of the database on.
    LogCalls,
    /// The next sync of the database, and its writes from then on.
    DatabaseSync,
}

thread_local! {
    static FAULT: Cell<DiskFault> = const { Cell::new(DiskFault::None) };
    /// Whether the sync of the database came that a fault waits for.
    static BEGUN: Cell<bool> = const { Cell::new(false) };
}

/// A change of a file that waits for a sync.
enum WaitingChange {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

/// One file: its bytes on disk, and the changes that are not.
#[derive(Default)]
struct FileImage {
    lasting: Vec<u8>,
    waiting: Vec<WaitingChange>,
}

impl FileImage {
    fn settle(&mut self) {
        for change in self.waiting.drain(..) {
            match change {
                WaitingChange::Write(offset, bytes) => {
                    let end = offset + bytes.len();
                    self.lasting.resize(self.lasting.len().max(end), 0);
                    self.lasting[offset..end].copy_from_slice(&bytes);
                }
                WaitingChange::Truncate(size) => self.lasting.resize(size, 0),
            }
        }
    }
}

/// The files by their paths, and the paths of the open ones by their handles.
static IMAGES: Mutex<BTreeMap<String, FileImage>> = Mutex::new(BTreeMap::new());
static OPEN: Mutex<BTreeMap<usize, String>> = Mutex::new(BTreeMap::new());

/// The methods of the files below, and the same over images.
struct Methods {
    below: &'static ffi::sqlite3_io_methods,
    forgetful: ffi::sqlite3_io_methods,
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
            vfs.zName = c"forgetful".as_ptr();
            vfs.pNext = std::ptr::null_mut();
            vfs.xOpen = Some(open);
            ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0);
        }
    });
}

/// Does something while calls of this thread fail.
pub(crate) fn with_fault<T>(fault: DiskFault, act: impl FnOnce() -> T) -> T {
    FAULT.set(fault);
    BEGUN.set(false);
    let done = act();
    FAULT.set(DiskFault::None);
    done
}

/// The bytes of a file after a power cut that keeps nothing but what was synced.
pub(crate) fn after_cut(path: &Path) -> Vec<u8> {
    let images = hold(&IMAGES);
    let image = images.get(path.to_str().unwrap()).expect("the file was opened");
    image.lasting.clone()
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn below() -> *mut ffi::sqlite3_vfs {
    // SAFETY: the name ends with a zero byte.
    unsafe { ffi::sqlite3_vfs_find(c"loci-native".as_ptr()) }
}

type File = *mut ffi::sqlite3_file;

/// Opens a file as the layer below does, whose state ours is a copy of. What it holds at first counts as on disk.
unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: File,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes our VFS, a name and room for a file; the methods of its files live for ever.
    unsafe {
        let open = (*below()).xOpen.expect("every VFS opens files");
        let code = open(vfs, name, file, flags, out);
        if code == ffi::SQLITE_OK && flags & (ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL) != 0 {
            let path = CStr::from_ptr(name).to_str().unwrap().to_owned();
            let found = || FileImage {
                lasting: std::fs::read(&path).unwrap(),
                waiting: Vec::new(),
            };
            hold(&IMAGES).entry(path.clone()).or_insert_with(found);
            hold(&OPEN).insert(file as usize, path);
            let below: &'static ffi::sqlite3_io_methods = &*(*file).pMethods;
            let forgetful = ffi::sqlite3_io_methods {
                xWrite: Some(write),
                xTruncate: Some(truncate),
                xSync: Some(sync),
                ..*below
            };
            let methods = METHODS.get_or_init(|| Methods { below, forgetful });
            assert!(
                std::ptr::eq(methods.below, below),
                "files have one table of methods"
            );
            (*file).pMethods = &methods.forgetful;
        }
        code
    }
}

fn methods_below() -> &'static ffi::sqlite3_io_methods {
    METHODS.get().expect("a file was opened before it is used").below
}

/// Lets a call see the image of its file, and whether that is a log.
fn with_image<T>(file: File, act: impl FnOnce(&mut FileImage, bool) -> T) -> T {
    let path = hold(&OPEN).get(&(file as usize)).cloned().expect("it is open");
    let mut images = hold(&IMAGES);
    let image = images.get_mut(&path).expect("open files have images");
    act(image, path.ends_with("-wal"))
}

unsafe extern "C" fn write(file: File, buffer: *const c_void, length: c_int, offset: i64) -> c_int {
    let (length, place) = (length as usize, offset as usize);
    // SAFETY: SQLite passes a buffer of this length.
    let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), length) };
    let allowed = with_image(file, |image, is_log| {
        let fails = match FAULT.get() {
            DiskFault::None | DiskFault::LogSyncs => false,
            DiskFault::Frames => is_log && offset > 0,
            DiskFault::LogCalls => is_log && BEGUN.get(),
            DiskFault::DatabaseSync => !is_log && BEGUN.get(),
        };
        if !fails {
            image.waiting.push(WaitingChange::Write(place, bytes.to_vec()));
        }
        !fails
    });
    if !allowed {
        return ffi::SQLITE_IOERR_WRITE;
    }
    let write = methods_below().xWrite.expect("files can be written");
    // SAFETY: SQLite passes an open file of the layer below.
    unsafe { write(file, buffer, length as c_int, offset) }
}

unsafe extern "C" fn truncate(file: File, size: i64) -> c_int {
    with_image(file, |image, _| {
        image.waiting.push(WaitingChange::Truncate(size as usize));
    });
    let truncate = methods_below().xTruncate.expect("files can be cut");
    // SAFETY: SQLite passes an open file of the layer below.
    unsafe { truncate(file, size) }
}

unsafe extern "C" fn sync(file: File, flags: c_int) -> c_int {
    let code = with_image(file, |image, is_log| {
        let fails = match FAULT.get() {
            DiskFault::None | DiskFault::Frames => false,
            DiskFault::LogSyncs | DiskFault::LogCalls => is_log && BEGUN.get(),
            DiskFault::DatabaseSync => !is_log,
        };
        BEGUN.set(BEGUN.get() || !is_log);
        if fails {
            image.waiting.clear();
            return ffi::SQLITE_IOERR_FSYNC;
        }
        image.settle();
        ffi::SQLITE_OK
    });
    if code != ffi::SQLITE_OK {
        return code;
    }
    let sync = methods_below().xSync.expect("files can be synced");
    // SAFETY: SQLite passes an open file of the layer below.
    unsafe { sync(file, flags) }
}
