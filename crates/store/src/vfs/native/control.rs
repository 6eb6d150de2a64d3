//! File controls: the few of SQLite's that matter here, and the private ones of [`standing`](crate::vfs::standing).

use super::file::NativeFile;
use super::range::{hold_family, release_family};
use crate::vfs::standing::{
    FileStanding, HOLD_BYTE, HOLD_MEMORY_BYTE, InodeId, MEMORY_STANDING, MemoryStanding, RELEASE_BYTE,
    STANDING,
};
use rusqlite::ffi;
use std::ffi::{c_int, c_void};

/// Answers a file control.
///
/// # Safety
/// `argument` must point to what SQLite, or the sender of a private control, passes with `op`.
pub(super) unsafe fn answer_control(native: &mut NativeFile, op: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: see above.
    unsafe {
        match op {
            ffi::SQLITE_FCNTL_LOCKSTATE => argument.cast::<c_int>().write(native.level.current()),
            ffi::SQLITE_FCNTL_PERSIST_WAL => set_or_get(argument.cast(), &mut native.persist_log),
            ffi::SQLITE_FCNTL_POWERSAFE_OVERWRITE => set_or_get(argument.cast(), &mut native.powersafe),
            ffi::SQLITE_FCNTL_HAS_MOVED => {
                argument
                    .cast::<c_int>()
                    .write(c_int::from(!standing_of(native).is_named()));
            }
            ffi::SQLITE_FCNTL_SIZE_HINT => {}
            // The database is never mapped, whatever is asked for.
            ffi::SQLITE_FCNTL_MMAP_SIZE => argument.cast::<i64>().write(0),
            STANDING => argument.cast::<FileStanding>().write(standing_of(native)),
            MEMORY_STANDING => match &native.memory {
                Some(memory) => argument.cast::<MemoryStanding>().write(memory.standing()),
                None => return ffi::SQLITE_NOTFOUND,
            },
            HOLD_BYTE => return hold_family(&native.file, argument.cast::<i64>().read()),
            HOLD_MEMORY_BYTE => {
                return match &native.memory {
                    Some(memory) => memory.hold_family(argument.cast::<i64>().read()),
                    None => ffi::SQLITE_NOTFOUND,
                };
            }
            RELEASE_BYTE => release_family(&native.file),
            _ => return ffi::SQLITE_NOTFOUND,
        }
    }
    ffi::SQLITE_OK
}

fn standing_of(native: &NativeFile) -> FileStanding {
    FileStanding {
        opened: native.inode,
        named: InodeId::from_path(&native.path),
    }
}

/// Reads a flag into `value` if that is negative, else sets the flag.
///
/// # Safety
/// `value` must be valid.
unsafe fn set_or_get(value: *mut c_int, flag: &mut bool) {
    // SAFETY: see above.
    unsafe {
        match value.read() {
            asked if asked < 0 => value.write(c_int::from(*flag)),
            wanted => *flag = wanted != 0,
        }
    }
}
