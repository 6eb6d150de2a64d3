//! The bytes of the write-ahead log: its checksums, and which pages it holds.

use super::base::Base;
use super::page;
use rusqlite::ffi;
use std::collections::BTreeSet;

pub(super) const HEADER: usize = 32;
pub(super) const FRAME_HEADER: usize = 24;
const MAGIC: u32 = 0x377f_0682;

/// SQLite's running checksum of the log, over words in the byte order the log names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Running {
    pub(super) big_endian: bool,
    pub(super) sums: (u32, u32),
}

impl Running {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let word = if self.big_endian {
            u32::from_be_bytes
        } else {
            u32::from_le_bytes
        };
        let (pairs, _) = bytes.as_chunks::<8>();
        for [a, b, c, d, e, f, g, h] in pairs {
            let (first, second) = (word([*a, *b, *c, *d]), word([*e, *f, *g, *h]));
            self.sums.0 = self.sums.0.wrapping_add(first).wrapping_add(self.sums.1);
            self.sums.1 = self.sums.1.wrapping_add(second).wrapping_add(self.sums.0);
        }
    }
}

/// The big-endian word at `at`; zero past the end.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |word| u32::from_be_bytes(*word))
}

/// The byte order of the checksums of a log that begins with `header`; none where that is no log.
pub(super) fn is_big_endian(header: &[u8]) -> Option<bool> {
    let magic = word(header, 0);
    (magic & !1 == MAGIC).then_some(magic & 1 == 1)
}

/// The pages of all committed transactions in the log. Readers take these from it, not from the file.
pub(super) fn pages_in(log: Base) -> BTreeSet<u32> {
    let mut committed = BTreeSet::new();
    let mut header = [0; HEADER];
    let code = log.read(&mut header, 0);
    let Some(big_endian) = is_big_endian(&header).filter(|_| code == ffi::SQLITE_OK) else {
        return committed;
    };
    let page_size = word(&header, 8) as usize;
    if !page::is_page_size(page_size) {
        return committed;
    }
    let mut running = Running {
        big_endian,
        sums: (0, 0),
    };
    running.add(header.get(..HEADER - 8).unwrap_or_default());
    if running.sums != (word(&header, 24), word(&header, 28)) {
        return committed;
    }
    let mut open = BTreeSet::new();
    let mut frame = vec![0; FRAME_HEADER + page_size];
    let mut offset = HEADER as i64;
    while log.read(&mut frame, offset) == ffi::SQLITE_OK {
        let (head, content) = frame.split_at_checked(FRAME_HEADER).unwrap_or_default();
        running.add(head.get(..8).unwrap_or_default());
        running.add(content);
        if head.get(8..16) != header.get(16..24) || running.sums != (word(head, 16), word(head, 20)) {
            break;
        }
        open.insert(word(head, 0));
        if word(head, 4) != 0 {
            committed.append(&mut open);
        }
        offset = offset.saturating_add(frame.len() as i64);
    }
    committed
}
