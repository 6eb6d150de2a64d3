//! Reads of overflow pages past SQLite's cache.
//!
//! A long record continues on overflow pages. SQLite reads these straight into the caller's buffer: the content of each
//! page without the reserved bytes behind it, so that the checksum is not among the bytes read.

use super::base::BaseFile;
use super::connection::with_file;
use super::page;
use super::pages::DatabasePages;
use rusqlite::{Connection, ffi};
use std::ffi::c_int;

/// An overflow page that SQLite has read, and how many bytes of the record it took from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PagePart {
    pub(crate) number: u32,
    pub(crate) bytes: usize,
}

/// Records which overflow pages a connection reads past its cache, until it is dropped.
#[derive(Debug)]
pub(crate) struct PartTrace<'a>(&'a Connection);

impl<'a> PartTrace<'a> {
    /// Begins to record. A database of another VFS records nothing.
    pub(crate) fn begin(connection: &'a Connection) -> Self {
        let _ = with_file(connection, |_, pages| pages.parts = Some(Vec::new()));
        Self(connection)
    }

    /// Returns the pages in the order in which they were read.
    pub(crate) fn finish(self) -> Vec<PagePart> {
        with_file(self.0, |_, pages| pages.parts.take())
            .ok()
            .flatten()
            .unwrap_or_default()
    }
}

impl Drop for PartTrace<'_> {
    fn drop(&mut self) {
        let _ = with_file(self.0, |_, pages| pages.parts = None);
    }
}

impl DatabasePages {
    /// Judges the first part of a page, read with `code`; `None` if that is not what was read.
    ///
    /// The page is read whole and verified at its first use by this handle. After that its parts are taken as they are.
    ///
    /// No process can be writing it: a checkpoint copies only frames that every reader's snapshot holds, and a reader
    /// takes such a page from the log; a reader that ignores the log holds read lock 0, which a checkpoint needs for
    /// itself; without a log a shared lock keeps writers out. A page changed by another process since we saw it sound
    /// was sealed by it. So one look per page and handle is enough to catch what the disk gives back, and `write` and
    /// `truncate` here clear what they replace.
    pub(super) fn judge_part(
        &mut self,
        base: BaseFile,
        bytes: &mut [u8],
        offset: i64,
        code: c_int,
    ) -> Option<c_int> {
        let (page_size, number) = self.part_of_page(bytes.len(), offset)?;
        // The first four bytes are the number of the next page.
        let content = bytes.len().saturating_sub(4);
        if let Some(parts) = &mut self.parts {
            parts.push(PagePart {
                number,
                bytes: content,
            });
        }
        if code == ffi::SQLITE_OK && self.was_seen(number) {
            return Some(ffi::SQLITE_OK);
        }
        // Taken out for the call, since judging borrows the pages.
        let mut whole = std::mem::take(&mut self.scratch);
        whole.resize(page_size, 0);
        let code = match base.read(&mut whole, offset) {
            code @ (ffi::SQLITE_OK | ffi::SQLITE_IOERR_SHORT_READ) => {
                self.judge_read(base, &mut whole, offset, code)
            }
            code => code,
        };
        if let (ffi::SQLITE_OK, Some(part)) = (code, whole.get(..bytes.len())) {
            // The bytes that were verified are used, even if the two reads differ.
            bytes.copy_from_slice(part);
            self.note_seen(number);
        }
        self.scratch = whole;
        Some(code)
    }

    /// Returns the page size and the number of the page if `length` bytes at `offset` are the first part of one.
    fn part_of_page(&self, length: usize, offset: i64) -> Option<(usize, u32)> {
        let page_size = self.known_page_size()?;
        // Page 1 is never an overflow page; SQLite reads parts of it before it knows the page size.
        let is_part = offset > 0 && offset % page_size as i64 == 0 && length < page_size;
        is_part.then_some((page_size, page::page_number(offset, page_size)?))
    }
}
