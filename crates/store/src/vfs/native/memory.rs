//! The shared memory of a log: the file `-shm`, mapped in regions, with SQLite's locks on its bytes.

use super::fault::GuardedMap;
use super::file::give_to_owner;
use super::range::{RangeLock, find_other, hold_family, release_family, set_lock};
use crate::vfs::family::CUT_MEMORY;
use crate::vfs::standing::{FileStanding, InodeId, MemoryStanding};
use rusqlite::ffi;
use std::ffi::{c_int, c_void};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The byte of the first lock; SQLite has eight.
const LOCKS: i64 = 120;
/// The byte that every opener holds shared: an opener that finds it free is the first, and starts afresh.
const OPENERS: i64 = LOCKS + 8;
/// The length to which the first opener cuts the file: shorter than a header, so that the index counts as empty.
const FRESH: u64 = 3;
/// The step in which the file grows; a byte is written into each, so that a full disk is an error and not a lost page.
const STEP: u64 = 4096;

/// The bytes of a region, and the frames that the first and the later ones list; SQLite's format fixes them.
const REGION: u64 = 32_768;
const FIRST_FRAMES: u64 = 4062;
const NEXT_FRAMES: u64 = 4096;

/// One connection's view of the shared memory.
#[derive(Debug)]
pub(super) struct SharedMemory {
    file: File,
    path: PathBuf,
    inode: InodeId,
    writable: bool,
    /// Whether this connection is on the list of openers; a reader without write access may have to wait for one.
    attached: bool,
    regions: Vec<GuardedMap>,
    region_size: usize,
    /// The locks held, one bit each.
    shared: u16,
    exclusive: u16,
    /// Whether a mapped page was lost. Boxed: maps and callers keep pointers to it.
    lost: Box<AtomicBool>,
}

impl SharedMemory {
    /// Opens the memory beside `database`, and creates the file if it is missing.
    pub(super) fn open(database: &Path, mode: u32) -> Result<Self, c_int> {
        let mut name = database.as_os_str().to_owned();
        name.push("-shm");
        let path = PathBuf::from(name);
        let writing = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(mode)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&path);
        let (file, writable) = match writing {
            Ok(file) => (file, true),
            // A reader may join what a writer has set up.
            Err(_) => match File::open(&path) {
                Ok(file) => (file, false),
                Err(_) => return Err(ffi::SQLITE_CANTOPEN),
            },
        };
        give_to_owner(&file, &path);
        let found = file.metadata().map_err(|_| ffi::SQLITE_IOERR_FSTAT)?;
        let mut memory = Self {
            inode: InodeId::from_metadata(&found),
            file,
            path,
            writable,
            attached: false,
            regions: Vec::new(),
            region_size: 0,
            shared: 0,
            exclusive: 0,
            lost: Box::default(),
        };
        match memory.attach() {
            // A reader without write access gets another chance with each map; see `map_region`.
            ffi::SQLITE_OK | ffi::SQLITE_READONLY_CANTINIT => Ok(memory),
            code => Err(code),
        }
    }

    /// Joins the openers; the first one cuts the file, whose content belongs to processes that are gone.
    fn attach(&mut self) -> c_int {
        match find_other(&self.file, OPENERS, 1) {
            Err(code) => return code,
            Ok(RangeLock::Exclusive) => return ffi::SQLITE_BUSY,
            Ok(RangeLock::Released) if !self.writable => return ffi::SQLITE_READONLY_CANTINIT,
            Ok(RangeLock::Released) => {
                match set_lock(&self.file, RangeLock::Exclusive, OPENERS, 1) {
                    ffi::SQLITE_OK => {}
                    code => return code,
                }
                if self.file.set_len(FRESH).is_err() {
                    return ffi::SQLITE_IOERR_SHMOPEN;
                }
                // Grown before others may join: whoever finds the file shorter later knows that it was cut.
                match self.grow(REGION) {
                    ffi::SQLITE_OK => {}
                    code => return code,
                }
            }
            Ok(RangeLock::Shared) => {}
        }
        let code = set_lock(&self.file, RangeLock::Shared, OPENERS, 1);
        self.attached = code == ffi::SQLITE_OK;
        code
    }

    /// Returns region `number` of `size` bytes; null if the file does not have it and it must not be made.
    pub(super) fn map_region(
        &mut self,
        number: usize,
        size: usize,
        extend: bool,
    ) -> Result<*mut c_void, c_int> {
        if !self.attached {
            match self.attach() {
                ffi::SQLITE_OK => {}
                code => return Err(code),
            }
        }
        self.region_size = size;
        while self.regions.len() <= number {
            let offset = (self.regions.len() * size) as u64;
            if !self.has_length(offset + size as u64, extend)? {
                return Ok(std::ptr::null_mut());
            }
            // SAFETY: the flag is boxed and dropped after the maps (see `Drop`).
            let map = unsafe {
                GuardedMap::new(
                    &self.file,
                    offset,
                    size,
                    self.writable,
                    NonNull::from(&*self.lost),
                )
            };
            self.regions.push(map.map_err(|_| ffi::SQLITE_IOERR_SHMMAP)?);
        }
        let region = self.regions.get(number).map(|map| map.start().as_ptr());
        Ok(region.unwrap_or(std::ptr::null_mut()))
    }

    /// Returns whether the file has `length` bytes, growing it if that is allowed.
    fn has_length(&self, length: u64, extend: bool) -> Result<bool, c_int> {
        let present = self.file.metadata().map_err(|_| ffi::SQLITE_IOERR_SHMSIZE)?.len();
        if present >= length {
            return Ok(true);
        }
        if length > REGION && self.was_cut(present) {
            return Err(CUT_MEMORY);
        }
        if !extend {
            return Ok(false);
        }
        if length <= REGION {
            // The first opener has grown the file, unless it is one that uses SQLite's own layer, which is about to.
            return Err(if present <= FRESH {
                ffi::SQLITE_BUSY
            } else {
                CUT_MEMORY
            });
        }
        match self.grow(length) {
            ffi::SQLITE_OK => Ok(true),
            code => Err(code),
        }
    }

    /// Returns whether the file, now of `present` bytes, has lost regions that were in use: it grows in steps, which a
    /// full disk or a kill may end before a region is whole, and only when the frames that its header counts have
    /// filled the earlier ones.
    fn was_cut(&self, present: u64) -> bool {
        /// The place of the number of frames in the index header.
        const LAST_FRAME: usize = 16;
        let Some(first) = self.regions.first() else {
            return true;
        };
        // SAFETY: the first region is mapped and far longer; the place is aligned for a word.
        let frames = unsafe {
            first
                .start()
                .cast::<u8>()
                .add(LAST_FRAME)
                .cast::<AtomicU32>()
                .as_ref()
        };
        let held = FIRST_FRAMES + (present / REGION).saturating_sub(1) * NEXT_FRAMES;
        !present.is_multiple_of(STEP) || u64::from(frames.load(Ordering::Acquire)) > held
    }

    /// Grows the file to `length` bytes.
    fn grow(&self, length: u64) -> c_int {
        let present = self.file.metadata().map_or(0, |found| found.len());
        for step in present / STEP..length / STEP {
            if self.file.write_all_at(&[0], step * STEP + STEP - 1).is_err() {
                return ffi::SQLITE_IOERR_SHMSIZE;
            }
        }
        ffi::SQLITE_OK
    }

    /// Takes or releases `count` locks from `first`.
    pub(super) fn change_locks(&mut self, first: c_int, count: c_int, flags: c_int) -> c_int {
        if self.is_lost() {
            return ffi::SQLITE_IOERR_SHMLOCK;
        }
        let mask = (first..first.saturating_add(count)).fold(0_u16, |mask, at| mask | 1 << at);
        let (start, length) = (LOCKS + i64::from(first), i64::from(count));
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            if (self.shared | self.exclusive) & mask == 0 {
                return ffi::SQLITE_OK;
            }
            let code = set_lock(&self.file, RangeLock::Released, start, length);
            if code == ffi::SQLITE_OK {
                self.shared &= !mask;
                self.exclusive &= !mask;
            }
            return code;
        }
        if flags & ffi::SQLITE_SHM_SHARED != 0 {
            if self.shared & mask == mask {
                return ffi::SQLITE_OK;
            }
            let code = set_lock(&self.file, RangeLock::Shared, start, length);
            if code == ffi::SQLITE_OK {
                self.shared |= mask;
            }
            return code;
        }
        // SQLite raises no lock that it holds shared: nothing of this connection's may stand in the way.
        if self.shared & mask != 0 {
            return ffi::SQLITE_BUSY;
        }
        let code = set_lock(&self.file, RangeLock::Exclusive, start, length);
        if code == ffi::SQLITE_OK {
            self.exclusive |= mask;
        }
        code
    }

    pub(super) fn is_writable(&self) -> bool {
        self.writable
    }

    fn is_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }

    pub(super) fn standing(&self) -> MemoryStanding {
        let mapped = (self.regions.len() * self.region_size) as u64;
        MemoryStanding {
            file: FileStanding {
                opened: self.inode,
                named: InodeId::from_path(&self.path),
            },
            cut: self.is_lost() || self.file.metadata().map_or(true, |found| found.len() < mapped),
        }
    }

    pub(super) fn hold_family(&self, tag: i64) -> c_int {
        hold_family(&self.file, tag)
    }

    /// Unmaps the memory and gives up every lock; `remove` also removes the file, if its name still leads to it.
    pub(super) fn close(self, remove: bool) {
        if remove && self.standing().file.is_named() {
            let _ = std::fs::remove_file(&self.path);
        }
        release_family(&self.file);
    }
}

/// Returns whether any descriptor has joined the openers of the memory at `path`.
pub(super) fn is_in_use(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| find_other(&file, OPENERS, 1) != Ok(RangeLock::Released))
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // The maps point to the flag.
        self.regions.clear();
    }
}
