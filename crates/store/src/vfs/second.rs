//! The second copy of the records of the log, in the room of page 2.
//!
//! The mark and the progress of checkpoints are written in place, so either may be torn or damaged on its own. Each is
//! written to page 1 first and then here, without a sync between the two: before a step that makes an older record wrong,
//! both are on disk by the one sync that the step waits for anyway. The copy is read only if the first cannot be, and is
//! then the same record, or one that promises less.
//!
//! Files of earlier formats have zeros here, and get no copy before they are upgraded: an older release would take page 2
//! for damaged.

use super::backfill::LogBackfill;
use super::base::BaseFile;
use super::mark::LogMark;
use super::page;
use rusqlite::ffi;
use std::ffi::c_int;

/// The first format whose files hold the copy.
const FIRST_FORMAT: u32 = 6;
/// The place of the format in the database header.
const FORMAT_PLACE: i64 = 60;
/// The most attempts to copy records that another process keeps changing.
const MOST_ATTEMPTS: usize = 8;

/// Returns the offset of the copy of a record that begins `from_end` bytes before the end of page 1.
fn copy_offset(page_size: usize, from_end: usize) -> i64 {
    page::page_offset(3, page_size) - from_end as i64
}

/// Reads the copy of a record that begins `from_end` bytes before the end of page 1.
pub(super) fn read_copy(base: BaseFile, page_size: usize, from_end: usize, into: &mut [u8]) -> c_int {
    base.read(into, copy_offset(page_size, from_end))
}

/// Writes a record that begins `from_end` bytes before the end of page 1, and its copy if the file holds copies.
///
/// The code is that of the record itself: a copy that could not be written promises less, but nothing wrong.
pub(super) fn write_both(base: BaseFile, page_size: usize, from_end: usize, bytes: &[u8]) -> c_int {
    let code = base.write(bytes, page::page_offset(2, page_size) - from_end as i64);
    if code == ffi::SQLITE_OK && has_copies(base, page_size) {
        base.write(bytes, copy_offset(page_size, from_end));
    }
    code
}

/// Returns whether the room of page 2 is in use, be its content sound or not.
fn has_copies(base: BaseFile, page_size: usize) -> bool {
    let mut room = [0; page::ROOM];
    read_copy(base, page_size, page::ROOM, &mut room) == ffi::SQLITE_OK && room.iter().any(|byte| *byte != 0)
}

/// Returns whether the room of page 2 holds at least one record. Otherwise it is blank, damaged, or part of a page of a
/// database that had no checks before.
pub(super) fn holds_copy(base: BaseFile, page_size: usize) -> bool {
    let mut room = [0; page::ROOM];
    let (copied, mark) = match read_copy(base, page_size, page::ROOM, &mut room) {
        ffi::SQLITE_OK => room.split_at(LogBackfill::LENGTH),
        _ => return false,
    };
    LogMark::parse(mark).is_some() || LogBackfill::parse(copied).is_some()
}

/// Begins to keep copies in a file whose format has them, once page 2 is in the file.
///
/// A writer may change the records meanwhile, and does not write copies before there are some. So the records are read
/// again after the copy was written, until both agree.
pub(super) fn begin_copies(base: BaseFile, page_size: usize) {
    let mut format = [0; 4];
    let is_new = base.read(&mut format, FORMAT_PLACE) == ffi::SQLITE_OK
        && u32::from_be_bytes(format) >= FIRST_FORMAT
        && base
            .size()
            .is_ok_and(|size| size >= page::page_offset(3, page_size));
    if !is_new || has_copies(base, page_size) {
        return;
    }
    let place = page::page_offset(2, page_size) - page::ROOM as i64;
    for _ in 0..MOST_ATTEMPTS {
        let (mut records, mut again) = ([0; page::ROOM], [0; page::ROOM]);
        if base.read(&mut records, place) != ffi::SQLITE_OK || !page::is_room(&records) {
            return;
        }
        base.write(&records, copy_offset(page_size, page::ROOM));
        if base.read(&mut again, place) == ffi::SQLITE_OK && again == records {
            return;
        }
    }
}

/// Returns whether both records can be read, from page 1 or from their copies.
pub(super) fn has_records(base: BaseFile, page_size: usize) -> bool {
    matches!(LogMark::read(base, page_size), Ok(Some(_)))
        && matches!(LogBackfill::read(base, page_size), Ok(Some(_)))
}
