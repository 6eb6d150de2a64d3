//! The bytes of the write-ahead log: its checksums, and the pages it holds.

use super::base::BaseFile;
use super::page;
use rusqlite::ffi;
use std::collections::BTreeSet;
use std::ffi::c_int;
use twox_hash::XxHash3_64;

pub(crate) const HEADER: usize = 32;
pub(crate) const FRAME_HEADER: usize = 24;
const MAGIC: u32 = 0x377f_0682;

/// SQLite's running checksum of the log, over words in the byte order that the log's header names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunningChecksum {
    pub(crate) big_endian: bool,
    pub(crate) sums: (u32, u32),
}

impl RunningChecksum {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let word = if self.big_endian {
            u32::from_be_bytes
        } else {
            u32::from_le_bytes
        };
        // Headers and pages are multiples of eight bytes, so there is never a remainder.
        let (pairs, _) = bytes.as_chunks::<8>();
        for [a, b, c, d, e, f, g, h] in pairs {
            let (first, second) = (word([*a, *b, *c, *d]), word([*e, *f, *g, *h]));
            self.sums.0 = self.sums.0.wrapping_add(first).wrapping_add(self.sums.1);
            self.sums.1 = self.sums.1.wrapping_add(second).wrapping_add(self.sums.0);
        }
    }
}

/// Returns the big-endian word at `at`; zero past the end.
pub(crate) fn read_word(bytes: &[u8], at: usize) -> u32 {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |word| u32::from_be_bytes(*word))
}

/// Returns the byte order of the checksums of a log that begins with `header`; `None` if that is not a log.
pub(crate) fn is_big_endian(header: &[u8]) -> Option<bool> {
    let magic = read_word(header, 0);
    // The lowest bit of the magic number is the byte order.
    (magic & !1 == MAGIC).then_some(magic & 1 == 1)
}

/// Returns the name of the log with these salts, which SQLite draws anew for each log; never 0.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the lower half of a hash is one too"
)]
pub(crate) fn log_id(salts: &[u8]) -> u32 {
    (XxHash3_64::oneshot(salts) as u32).max(1)
}

/// Returns the name of the log in this file; `None` if SQLite would not see one. Fails if it cannot be read now.
pub(super) fn read_log_id(log: BaseFile) -> Result<Option<u32>, c_int> {
    let mut header = [0; HEADER];
    let whole = log.read_whole(&mut header, 0)?;
    Ok(whole.then(|| parse_log_id(&header)).flatten())
}

fn parse_log_id(header: &[u8; HEADER]) -> Option<u32> {
    let (content, sums) = header.split_last_chunk::<8>()?;
    let mut running = RunningChecksum {
        big_endian: is_big_endian(header)?,
        sums: (0, 0),
    };
    running.add(content);
    (running.sums == (read_word(sums, 0), read_word(sums, 4)))
        .then(|| log_id(content.get(16..24).unwrap_or_default()))
}

/// One frame of a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogFrame {
    pub(super) page: u32,
    /// Whether it ends a transaction.
    pub(super) commits: bool,
}

/// The sound frames of a log from the first on, as SQLite's recovery sees them.
#[derive(Debug)]
pub(super) struct LogFrames {
    log: BaseFile,
    salts: [u8; 8],
    running: RunningChecksum,
    offset: i64,
    frame: Vec<u8>,
    /// The code of a read that failed. The log may go on behind it.
    failure: Option<c_int>,
}

impl LogFrames {
    /// Begins at the header; `None` if SQLite would not see a log.
    pub(super) fn from_log(log: BaseFile) -> Option<Self> {
        Self::try_from_log(log).ok().flatten()
    }

    /// As [`LogFrames::from_log`], and tells a log that cannot be read now from one that is not there.
    pub(super) fn try_from_log(log: BaseFile) -> Result<Option<Self>, c_int> {
        let mut header = [0; HEADER];
        match log.read(&mut header, 0) {
            ffi::SQLITE_OK => Ok(Self::after_header(log, &header)),
            ffi::SQLITE_IOERR_SHORT_READ => Ok(None),
            code => Err(code),
        }
    }

    /// Begins after a header that was read before; `None` if SQLite would not see a log.
    pub(super) fn after_header(log: BaseFile, header: &[u8; HEADER]) -> Option<Self> {
        let page_size = read_word(header, 8) as usize;
        let (content, sums) = header.split_last_chunk::<8>()?;
        let mut running = RunningChecksum {
            big_endian: is_big_endian(header)?,
            sums: (0, 0),
        };
        running.add(content);
        let sound = page::is_page_size(page_size) && running.sums == (read_word(sums, 0), read_word(sums, 4));
        sound.then_some(Self {
            log,
            salts: *content.last_chunk()?,
            running,
            offset: HEADER as i64,
            frame: vec![0; FRAME_HEADER + page_size],
            failure: None,
        })
    }

    /// Returns the name of this log.
    pub(super) fn id(&self) -> u32 {
        log_id(&self.salts)
    }
}

impl Iterator for LogFrames {
    type Item = LogFrame;

    fn next(&mut self) -> Option<LogFrame> {
        match self.log.read(&mut self.frame, self.offset) {
            ffi::SQLITE_OK => {}
            ffi::SQLITE_IOERR_SHORT_READ => return None,
            code => {
                self.failure = Some(code);
                return None;
            }
        }
        let (head, content) = self.frame.split_at_checked(FRAME_HEADER)?;
        self.running.add(head.get(..8)?);
        self.running.add(content);
        let page = read_word(head, 0);
        // Frames of an earlier use of the file may follow the valid ones; their salts differ. The checksum
        // also chains from frame to frame, so nothing after the first bad one can pass.
        if page == 0
            || head.get(8..16) != Some(&self.salts)
            || self.running.sums != (read_word(head, 16), read_word(head, 20))
        {
            return None;
        }
        self.offset = self.offset.saturating_add(self.frame.len() as i64);
        Some(LogFrame {
            page,
            commits: read_word(head, 4) != 0,
        })
    }
}

/// Returns the pages of all committed transactions in the log. Readers take these from the log, not from the file.
pub(super) fn pages_in(log: BaseFile) -> BTreeSet<u32> {
    let (mut committed, mut open) = (BTreeSet::new(), BTreeSet::new());
    for frame in LogFrames::from_log(log).into_iter().flatten() {
        open.insert(frame.page);
        if frame.commits {
            committed.append(&mut open);
        }
    }
    committed
}

/// Counts the first `limit` frames that are sound and lie before or at a commit; fails if one cannot be read.
pub(super) fn count_committed(mut frames: LogFrames, limit: u32) -> Result<u32, c_int> {
    let counted = (1..=limit)
        .zip(&mut frames)
        .filter(|(_, frame)| frame.commits)
        .last()
        .map_or(0, |(number, _)| number);
    match frames.failure {
        Some(code) => Err(code),
        None => Ok(counted),
    }
}
