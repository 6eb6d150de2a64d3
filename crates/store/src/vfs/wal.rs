//! The bytes of the write-ahead log: its checksums, and which pages it holds.

use super::base::Base;
use super::page;
use rusqlite::ffi;
use std::collections::BTreeSet;
use twox_hash::XxHash3_64;

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

/// The name of the log with these salts, which are drawn anew for each; never 0.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the lower half of a hash is one too"
)]
pub(super) fn id(salts: &[u8]) -> u32 {
    (XxHash3_64::oneshot(salts) as u32).max(1)
}

/// One frame of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) page: u32,
    /// It ends a transaction.
    pub(super) commits: bool,
}

/// The sound frames of a log from the first on, as SQLite sees them when it recovers.
#[derive(Debug)]
pub(super) struct Frames {
    log: Base,
    salts: [u8; 8],
    running: Running,
    offset: i64,
    frame: Vec<u8>,
}

impl Frames {
    /// Begins at the header; none where SQLite would see no log.
    pub(super) fn of(log: Base) -> Option<Self> {
        let mut header = [0; HEADER];
        if log.read(&mut header, 0) != ffi::SQLITE_OK {
            return None;
        }
        let page_size = word(&header, 8) as usize;
        let (content, sums) = header.split_last_chunk::<8>()?;
        let mut running = Running {
            big_endian: is_big_endian(&header)?,
            sums: (0, 0),
        };
        running.add(content);
        let sound = page::is_page_size(page_size) && running.sums == (word(sums, 0), word(sums, 4));
        sound.then_some(Self {
            log,
            salts: *content.last_chunk()?,
            running,
            offset: HEADER as i64,
            frame: vec![0; FRAME_HEADER + page_size],
        })
    }

    /// The name of this log.
    pub(super) fn id(&self) -> u32 {
        id(&self.salts)
    }
}

impl Iterator for Frames {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        if self.log.read(&mut self.frame, self.offset) != ffi::SQLITE_OK {
            return None;
        }
        let (head, content) = self.frame.split_at_checked(FRAME_HEADER)?;
        self.running.add(head.get(..8)?);
        self.running.add(content);
        let page = word(head, 0);
        if page == 0
            || head.get(8..16) != Some(&self.salts)
            || self.running.sums != (word(head, 16), word(head, 20))
        {
            return None;
        }
        self.offset = self.offset.saturating_add(self.frame.len() as i64);
        Some(Frame {
            page,
            commits: word(head, 4) != 0,
        })
    }
}

/// The pages of all committed transactions in the log. Readers take these from it, not from the file.
pub(super) fn pages_in(log: Base) -> BTreeSet<u32> {
    let (mut committed, mut open) = (BTreeSet::new(), BTreeSet::new());
    for frame in Frames::of(log).into_iter().flatten() {
        open.insert(frame.page);
        if frame.commits {
            committed.append(&mut open);
        }
    }
    committed
}

/// How many of the first `limit` frames are sound and lie before or at a commit.
pub(super) fn committed(frames: Frames, limit: u32) -> u32 {
    (1..=limit)
        .zip(frames)
        .filter(|(_, frame)| frame.commits)
        .last()
        .map_or(0, |(number, _)| number)
}
