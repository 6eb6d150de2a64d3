//! Page 1 as it was written, although a bit of it is flipped in the file.
//!
//! Without page 1 SQLite reads nothing at all, so this one page is worth a search: of all pages that differ in one bit
//! from the one in the file, only the right one has its checksum. The file is not changed; the next checkpoint that
//! writes page 1 puts it right.

use super::base::BaseFile;
use super::page::{self, DatabaseHeader};
use super::second;
use rusqlite::ffi;
use std::time::Duration;

/// The waits before a page 1 that fails its check counts as damaged.
const PATIENCE: [Duration; 3] = [
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(15),
];

/// The last page 1 that failed its check, and the page it was before.
#[derive(Debug, Default)]
pub(super) struct MendedPage {
    raw: Vec<u8>,
    page: Option<Vec<u8>>,
}

impl MendedPage {
    /// Returns page 1 as it was written, if exactly one bit of its content or checksum is flipped in the file.
    pub(super) fn look(&mut self, base: BaseFile) -> Option<&[u8]> {
        let mut header = [0; DatabaseHeader::LENGTH];
        if base.read(&mut header, 0) != ffi::SQLITE_OK {
            return None;
        }
        let Some(page_size) = checked_size(&header) else {
            self.page = mend_header(base, header);
            return self.page.as_deref();
        };
        let raw = read_first(base, page_size)?;
        if page::is_content_sound(1, &raw) {
            return None;
        }
        // The search takes a moment, and SQLite reads page 1 often.
        if self.raw != raw {
            // Another process may be writing it just now.
            if is_settled(base, &raw) {
                return None;
            }
            let mut mended = raw.clone();
            self.page = page::correct_flipped_bit(1, &mut mended).then_some(mended);
            self.raw = raw;
        }
        self.page.as_deref()
    }
}

/// Returns whether page 1 of which a torn state was read becomes sound, or another one, after a moment.
fn is_settled(base: BaseFile, raw: &[u8]) -> bool {
    PATIENCE.iter().any(|pause| {
        std::thread::sleep(*pause);
        read_first(base, raw.len()).is_none_or(|again| again != raw)
    })
}

/// Returns the size of the pages of a checked file with this header.
fn checked_size(header: &[u8]) -> Option<usize> {
    let found = DatabaseHeader::parse(header).filter(|found| found.reserved == page::RESERVED)?;
    Some(found.page_size)
}

fn read_first(base: BaseFile, page_size: usize) -> Option<Vec<u8>> {
    let mut first = vec![0; page_size];
    (base.read(&mut first, 0) == ffi::SQLITE_OK).then_some(first)
}

/// Searches a header that does not name a checked file for the flipped bit: few enough that each is tried by itself.
fn mend_header(base: BaseFile, header: [u8; DatabaseHeader::LENGTH]) -> Option<Vec<u8>> {
    (0..header.len() * 8).find_map(|bit| {
        let mut tried = header;
        *tried.get_mut(bit / 8)? ^= 1 << (bit % 8);
        let mut first = read_first(base, checked_size(&tried)?)?;
        *first.get_mut(bit / 8)? ^= 1 << (bit % 8);
        page::is_content_sound(1, &first).then_some(first)
    })
}

/// Returns which of the first two pages are damaged in the file and read all the same.
pub(super) fn mended_pages(base: BaseFile, page_size: usize) -> Vec<u32> {
    let mut found = Vec::new();
    let Some(first) = read_first(base, page_size) else {
        return found;
    };
    let readable = page::is_content_sound(1, &first) || MendedPage::default().look(base).is_some();
    if !page::is_sealed(1, &first) && readable && second::has_records(base, page_size) {
        found.push(1);
    }
    let mut next = vec![0; page_size];
    if base.read(&mut next, page::page_offset(2, page_size)) == ffi::SQLITE_OK
        && page::is_content_sound(2, &next)
        && !page::is_pristine(2, &next)
    {
        found.push(2);
    }
    found
}
