//! The file below the shim, reached through its own method table.

use rusqlite::ffi;
use std::ffi::{c_int, c_void};

/// A file that the VFS below has opened. It is used by one connection, hence one thread, at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct BaseFile(*mut ffi::sqlite3_file);

impl BaseFile {
    /// # Safety
    /// `file` must stay open in its VFS for as long as the value is used.
    pub(super) unsafe fn new(file: *mut ffi::sqlite3_file) -> Self {
        Self(file)
    }

    pub(super) fn raw(self) -> *mut ffi::sqlite3_file {
        self.0
    }

    /// The method table; none for a file that failed to open.
    pub(super) fn methods(&self) -> Option<&'static ffi::sqlite3_io_methods> {
        // SAFETY: the file is open (see `new`), and SQLite keeps method tables in static memory.
        unsafe { (*self.0).pMethods.as_ref() }
    }

    /// Reads `length` bytes at `offset` to `buffer`.
    ///
    /// # Safety
    /// `buffer` must be valid for writing `length` bytes.
    pub(super) unsafe fn read_raw(self, buffer: *mut c_void, length: c_int, offset: i64) -> c_int {
        match self.methods().and_then(|methods| methods.xRead) {
            // SAFETY: the file is open, and the caller vouches for the buffer.
            Some(read) => unsafe { read(self.0, buffer, length, offset) },
            None => ffi::SQLITE_IOERR_READ,
        }
    }

    /// Fills `buffer` from `offset`; `SQLITE_IOERR_SHORT_READ` where the file ends first.
    pub(super) fn read(self, buffer: &mut [u8], offset: i64) -> c_int {
        let Ok(length) = c_int::try_from(buffer.len()) else {
            return ffi::SQLITE_IOERR_READ;
        };
        // SAFETY: the slice is valid for its length.
        unsafe { self.read_raw(buffer.as_mut_ptr().cast(), length, offset) }
    }

    /// Fills `buffer` from `offset`; returns false where the file ends first, and fails if it cannot be read now.
    pub(super) fn read_whole(self, buffer: &mut [u8], offset: i64) -> Result<bool, c_int> {
        match self.read(buffer, offset) {
            ffi::SQLITE_OK => Ok(true),
            ffi::SQLITE_IOERR_SHORT_READ => Ok(false),
            code => Err(code),
        }
    }

    /// Writes all of `bytes` at `offset`.
    pub(super) fn write(self, bytes: &[u8], offset: i64) -> c_int {
        let (Some(write), Ok(length)) = (
            self.methods().and_then(|methods| methods.xWrite),
            c_int::try_from(bytes.len()),
        ) else {
            return ffi::SQLITE_IOERR_WRITE;
        };
        // SAFETY: the file is open, and the slice is valid for its length.
        unsafe { write(self.0, bytes.as_ptr().cast(), length, offset) }
    }

    /// Waits until all that was written is on disk; for a new log its name as well.
    pub(super) fn sync(self) -> c_int {
        match self.methods().and_then(|methods| methods.xSync) {
            // SAFETY: the file is open.
            Some(sync) => unsafe { sync(self.0, ffi::SQLITE_SYNC_NORMAL) },
            None => ffi::SQLITE_IOERR_FSYNC,
        }
    }

    /// Cuts the file to `size` bytes.
    pub(super) fn truncate(self, size: i64) -> c_int {
        match self.methods().and_then(|methods| methods.xTruncate) {
            // SAFETY: the file is open.
            Some(truncate) => unsafe { truncate(self.0, size) },
            None => ffi::SQLITE_IOERR_TRUNCATE,
        }
    }

    /// Sends a file control.
    pub(super) fn control<T>(self, op: c_int, argument: &mut T) -> c_int {
        match self.methods().and_then(|methods| methods.xFileControl) {
            // SAFETY: the file is open, and the argument outlives the call and is of the type `op` expects.
            Some(control) => unsafe { control(self.0, op, std::ptr::from_mut(argument).cast()) },
            None => ffi::SQLITE_NOTFOUND,
        }
    }

    /// The length of the file in bytes.
    pub(super) fn size(self) -> Result<i64, c_int> {
        let file_size = self
            .methods()
            .and_then(|methods| methods.xFileSize)
            .ok_or(ffi::SQLITE_IOERR_FSTAT)?;
        let mut size = 0;
        // SAFETY: the file is open, and `size` outlives the call.
        match unsafe { file_size(self.0, &mut size) } {
            ffi::SQLITE_OK => Ok(size),
            code => Err(code),
        }
    }
}
