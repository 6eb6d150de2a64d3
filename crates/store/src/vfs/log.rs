//! What one open write-ahead log knows of its frames: every page read from it is verified.
//!
//! SQLite checks the frames of a log only when it rebuilds the shared index. Afterwards it trusts them, and
//! a checkpoint would copy a damaged one into the file and seal it there.

use super::base::Base;
use super::wal::{self, FRAME_HEADER, HEADER, Running, word};
use super::{damage, page};
use rusqlite::ffi;
use std::ffi::c_int;

/// The state of one open log.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The path of the database it belongs to.
    path: String,
    /// The byte order of its checksums, once known.
    big_endian: Option<bool>,
    /// Where a frame header was just written through this handle, until its page is.
    last_header: Option<i64>,
    /// From here on frames wait for their checksums. A transaction larger than the cache overwrites pages
    /// that it had already spilled, and SQLite writes the headers of all frames from the first such one
    /// again when it commits. Nobody else reads them before.
    unsettled: Option<i64>,
}

impl Log {
    pub(super) fn new(path: &str) -> Self {
        Self {
            path: path.strip_suffix("-wal").unwrap_or(path).to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn write(&mut self, base: Base, bytes: &[u8], offset: i64) -> c_int {
        if offset == 0 {
            (self.big_endian, self.unsettled) = (None, None);
        } else if bytes.len() == FRAME_HEADER {
            self.last_header = Some(offset);
            self.unsettled = self.unsettled.filter(|from| *from < offset);
        } else if let Some(header) = frame(bytes.len(), offset)
            && self.last_header.take() != Some(header)
        {
            self.unsettled = Some(self.unsettled.map_or(header, |from| from.min(header)));
        }
        base.write(bytes, offset)
    }

    /// Judges what the log gave for a read that ended with `code`.
    pub(super) fn judge(&mut self, base: Base, bytes: &[u8], offset: i64, code: c_int) -> c_int {
        let Some(header) = frame(bytes.len(), offset).filter(|_| code == ffi::SQLITE_OK) else {
            return code;
        };
        if self.unsettled.is_some_and(|from| header >= from) {
            return code;
        }
        let mut head = [0; FRAME_HEADER];
        match base.read(&mut head, header) {
            ffi::SQLITE_OK if self.follows(base, &head, bytes, header) => ffi::SQLITE_OK,
            ffi::SQLITE_OK => {
                damage::note(&self.path, word(&head, 0));
                ffi::SQLITE_IOERR_DATA
            }
            code => code,
        }
    }

    /// Whether the checksum of this frame goes on from the frame, or the log's header, before it.
    fn follows(&mut self, base: Base, head: &[u8], content: &[u8], header: i64) -> bool {
        let before = if header == HEADER as i64 {
            24
        } else {
            header - content.len() as i64 - 8
        };
        let mut sums = [0; 8];
        if base.read(&mut sums, before) != ffi::SQLITE_OK {
            return false;
        }
        if self.big_endian.is_none() {
            let mut first = [0; HEADER];
            base.read(&mut first, 0);
            self.big_endian = wal::is_big_endian(&first);
        }
        let Some(big_endian) = self.big_endian else {
            return false;
        };
        let mut running = Running {
            big_endian,
            sums: (word(&sums, 0), word(&sums, 4)),
        };
        running.add(head.get(..8).unwrap_or_default());
        running.add(content);
        running.sums == (word(head, 16), word(head, 20))
    }
}

/// Where the header of the frame stands whose page these bytes are; none where they are no page.
fn frame(length: usize, offset: i64) -> Option<i64> {
    let header = offset - FRAME_HEADER as i64;
    let from_first = header - HEADER as i64;
    (page::is_page_size(length) && from_first >= 0 && from_first % (FRAME_HEADER + length) as i64 == 0)
        .then_some(header)
}
