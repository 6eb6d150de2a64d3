//! A SQLite VFS that puts a checksum on every page of the palace file and refuses pages that fail it.
//!
//! A database opts in through its header: thirty-six reserved bytes per page ([`reserve_checksums`]). Each page that
//! reaches the file carries XXH3-64 of its content in them, seeded with the page number, and is
//! verified whenever SQLite takes it back from the file. Damage is `SQLITE_IOERR_DATA`, never an answer.
//! The log beside the file carries SQLite's own checksums, which SQLite itself looks at only when it
//! recovers: frames are verified here whenever they are read. See `docs/format.md` for the bytes.
//!
//! Page 1 also names the file's own log and says how much of it is on disk. A log that was removed, truncated
//! or damaged while no process had it open is detected by that ([`lost_log`]), and another database's log or
//! an older copy is refused ([`FOREIGN_LOG`]).
//!
//! Rules for callers:
//! - call [`reserve_checksums`] on a new database before its first write, and on the target of a backup;
//! - refuse a palace for which [`is_checked`] is false: damage to the header could have switched checks off;
//! - never copy an unchecked database over a checked one with the backup API, nor change the page size
//!   of a checked one in place: use `VACUUM INTO`;
//! - never set `locking_mode` to `EXCLUSIVE`: SQLite then recovers without the lock by which recovery is detected;
//! - never open `palace.db` by other means while connections exist in this process: closing that second
//!   descriptor would drop SQLite's POSIX locks. [`scan_pages`] reads through the connection's own file.
#![allow(unsafe_code)] // SQLite calls a VFS through C function tables; there is no safe replacement for them.

mod backfill;
mod base;
mod connection;
mod damage;
mod family;
mod file;
mod log;
mod mark;
mod mend;
mod native;
mod overflow;
mod page;
mod pages;
mod raw;
mod recovery;
mod scan;
mod second;
mod shim;
mod standing;
mod wal;

#[cfg(test)]
mod tests;

pub(crate) use backfill::LogBackfill;
pub(crate) use connection::{is_checked, lost_log, note_loss, reserve_checksums};
pub(crate) use damage::damaged_pages;
pub(crate) use family::{
    CUT_MEMORY, DIVIDED_FAMILY, EXCHANGED_FILE, FamilyBreach, find_breach, find_overwriting, is_overwritten,
};
pub(crate) use mark::{AdjacentLog, LogMark, LogVerdict};
pub(crate) use native::{count_syncs, is_memory_in_use};
pub(crate) use overflow::{PagePart, PartTrace};
pub(crate) use page::{RESERVED, ROOM, correct_flipped_bit, is_content_sound, is_lock_page};
#[cfg(feature = "crash-points")]
pub(crate) use raw::runs_read;
pub(crate) use raw::{OverflowPage, RawPages};
pub(crate) use recovery::{FOREIGN_JOURNAL, FOREIGN_LOG, LostLog, TORN_LOG};
pub(crate) use scan::{mended_pages, scan_pages};
pub(crate) use shim::register;
pub(crate) use standing::InodeId;
pub(crate) use wal::{FRAME_HEADER, HEADER as LOG_HEADER, RunningChecksum, is_big_endian, log_id, read_word};

type File = *mut rusqlite::ffi::sqlite3_file;
type Vfs = *mut rusqlite::ffi::sqlite3_vfs;
