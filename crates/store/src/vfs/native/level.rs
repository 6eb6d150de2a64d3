//! SQLite's locks on a database file: shared, reserved, pending, exclusive, on the bytes that SQLite uses.

use super::range::{RangeLock, find_other, set_lock};
use rusqlite::ffi;
use std::ffi::c_int;
use std::fs::File;

const PENDING: i64 = 0x4000_0000;
const RESERVED: i64 = PENDING + 1;
const SHARED: i64 = PENDING + 2;
const SHARED_LENGTH: i64 = 510;

/// The level of one connection's lock on its database.
#[derive(Debug, Default)]
pub(super) struct LockLevel(c_int);

impl LockLevel {
    pub(super) fn current(&self) -> c_int {
        self.0
    }

    /// Raises the lock to `wanted`; `SQLITE_BUSY` if another connection is in the way.
    pub(super) fn raise(&mut self, file: &File, wanted: c_int) -> c_int {
        if self.0 >= wanted {
            return ffi::SQLITE_OK;
        }
        let code = match wanted {
            ffi::SQLITE_LOCK_SHARED => Self::take_shared(file),
            ffi::SQLITE_LOCK_RESERVED => set_lock(file, RangeLock::Exclusive, RESERVED, 1),
            _ => self.take_exclusive(file),
        };
        if code == ffi::SQLITE_OK {
            self.0 = wanted;
        }
        code
    }

    /// A connection that waits for the exclusive lock holds the pending byte, which keeps new readers out.
    fn take_shared(file: &File) -> c_int {
        match set_lock(file, RangeLock::Shared, PENDING, 1) {
            ffi::SQLITE_OK => {}
            code => return code,
        }
        let taken = set_lock(file, RangeLock::Shared, SHARED, SHARED_LENGTH);
        let released = set_lock(file, RangeLock::Released, PENDING, 1);
        if taken == ffi::SQLITE_OK && released != ffi::SQLITE_OK {
            set_lock(file, RangeLock::Released, SHARED, SHARED_LENGTH);
            return ffi::SQLITE_IOERR_UNLOCK;
        }
        taken
    }

    fn take_exclusive(&mut self, file: &File) -> c_int {
        // The last connection of a log raises its shared lock directly when it closes, and keeps nobody out meanwhile.
        if self.0 == ffi::SQLITE_LOCK_RESERVED {
            match set_lock(file, RangeLock::Exclusive, PENDING, 1) {
                ffi::SQLITE_OK => self.0 = ffi::SQLITE_LOCK_PENDING,
                code => return code,
            }
        }
        // If readers are left, the lock stays pending: SQLite tries again or lowers it.
        set_lock(file, RangeLock::Exclusive, SHARED, SHARED_LENGTH)
    }

    /// Lowers the lock to shared or none.
    pub(super) fn lower(&mut self, file: &File, wanted: c_int) -> c_int {
        if self.0 <= wanted {
            return ffi::SQLITE_OK;
        }
        let code = if wanted == ffi::SQLITE_LOCK_SHARED {
            // Downgraded before the other bytes are released, so that the file is never without a lock.
            let shared = set_lock(file, RangeLock::Shared, SHARED, SHARED_LENGTH);
            let released = set_lock(file, RangeLock::Released, PENDING, 2);
            if shared == ffi::SQLITE_OK {
                released
            } else {
                shared
            }
        } else {
            set_lock(
                file,
                RangeLock::Released,
                PENDING,
                SHARED + SHARED_LENGTH - PENDING,
            )
        };
        if code == ffi::SQLITE_OK {
            self.0 = wanted;
            return ffi::SQLITE_OK;
        }
        ffi::SQLITE_IOERR_UNLOCK
    }

    /// Returns whether any connection is about to write.
    pub(super) fn is_reserved(&self, file: &File) -> Result<bool, c_int> {
        if self.0 > ffi::SQLITE_LOCK_SHARED {
            return Ok(true);
        }
        find_other(file, RESERVED, 1)
            .map(|other| other != RangeLock::Released)
            .map_err(|_| ffi::SQLITE_IOERR_CHECKRESERVEDLOCK)
    }
}
