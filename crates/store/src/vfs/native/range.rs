//! Locks on ranges of bytes that belong to an open file description, not to the process.

use rusqlite::ffi;
use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The kind of a lock on a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RangeLock {
    Shared,
    Exclusive,
    Released,
}

impl RangeLock {
    fn kind(self) -> libc::c_short {
        // The constants are small numbers of another integer type.
        let kind = match self {
            Self::Shared => libc::F_RDLCK,
            Self::Exclusive => libc::F_WRLCK,
            Self::Released => libc::F_UNLCK,
        };
        libc::c_short::try_from(kind).expect("lock kinds are small numbers")
    }

    fn describe(self, start: i64, length: i64) -> libc::flock {
        // SAFETY: a `flock` is plain numbers, for which zeros are valid.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = self.kind();
        lock.l_whence = libc::c_short::try_from(libc::SEEK_SET).expect("SEEK_SET is a small number");
        lock.l_start = start;
        lock.l_len = length;
        lock
    }
}

/// Sets the lock on `length` bytes from `start`, without waiting: `SQLITE_BUSY` if another descriptor, of any process,
/// holds a lock that conflicts.
pub(super) fn set_lock(file: &File, lock: RangeLock, start: i64, length: i64) -> c_int {
    let mut wanted = lock.describe(start, length);
    loop {
        // SAFETY: the descriptor is open, and `wanted` outlives the call.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut wanted) } == 0 {
            return ffi::SQLITE_OK;
        }
        let cause = io::Error::last_os_error();
        match cause.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::EACCES | libc::EAGAIN | libc::EBUSY | libc::ETIMEDOUT | libc::ENOLCK) => {
                return ffi::SQLITE_BUSY;
            }
            Some(libc::EPERM) => return ffi::SQLITE_PERM,
            _ => return ffi::SQLITE_IOERR_LOCK,
        }
    }
}

/// Returns the strongest lock that another descriptor holds somewhere in the range.
pub(super) fn find_other(file: &File, start: i64, length: i64) -> Result<RangeLock, c_int> {
    let mut asked = RangeLock::Exclusive.describe(start, length);
    // SAFETY: as above.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut asked) } != 0 {
        return Err(ffi::SQLITE_IOERR_LOCK);
    }
    Ok(match c_int::from(asked.l_type) {
        libc::F_UNLCK => RangeLock::Released,
        libc::F_RDLCK => RangeLock::Shared,
        _ => RangeLock::Exclusive,
    })
}

/// The first of the bytes by which openers tell each other which files they use together. No file is that long.
const FAMILY: i64 = 0x6c6f_6369_0000_0000;
/// The number of those bytes.
const FAMILIES: i64 = 1 << 32;

/// Holds the family byte `tag` of a file: `SQLITE_BUSY` if another opener holds a different one.
pub(super) fn hold_family(file: &File, tag: i64) -> c_int {
    let own = FAMILY + tag.rem_euclid(FAMILIES);
    // Taken before looking: of two openers that arrive at once at least one sees the other.
    match set_lock(file, RangeLock::Shared, own, 1) {
        ffi::SQLITE_OK => {}
        code => return code,
    }
    let sides = [(FAMILY, own - FAMILY), (own + 1, FAMILY + FAMILIES - own - 1)];
    for (start, length) in sides {
        // A length of zero would mean "to the end".
        if length > 0 && find_other(file, start, length) != Ok(RangeLock::Released) {
            release_family(file);
            return ffi::SQLITE_BUSY;
        }
    }
    ffi::SQLITE_OK
}

/// Releases the family byte, if one is held.
pub(super) fn release_family(file: &File) {
    set_lock(file, RangeLock::Released, FAMILY, FAMILIES);
}
