//! The log mark: what the file itself says about the log beside it, in the last bytes of page 1.
//!
//! Acknowledged commits live in the log alone until a checkpoint copies them. A log that is deleted, cut,
//! damaged or exchanged while the palace is closed would take them along without a word, so the file says
//! which log is its own and how many of its frames are known to be on disk.
//!
//! Nobody writes a mark while another does:
//! - a new log header, a commit and an emptied log come with the log's write lock;
//! - the last connection that closes holds the file exclusively, and so is alone;
//! - recovery holds the log's write, checkpoint and recovery locks.
//!
//! A checkpoint holds none of these while it writes page 1, and therefore stops short of the mark.

use super::base::Base;
use super::page;
use rusqlite::ffi;
use std::ffi::c_int;
use twox_hash::XxHash3_64;

const NEEDED: u32 = 1 << 31;
const LOST: u32 = 1 << 30;
const SEED: u64 = 0x6c6f_6369_206d_6172;

/// What a file says about its log. Logs are named by their salts; 0 is no log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    /// The log whose frames are counted.
    pub(super) log: u32,
    /// The log whose header is about to be written, or was; `log` once a commit in it is on disk.
    pub(super) next: u32,
    /// So many frames of `log` are on disk, the last of them a commit.
    pub(super) frames: u32,
    /// Those frames are not known to be in the file: without them commits are lost.
    pub(super) needed: bool,
    /// Commits were lost, and the palace has no note of it yet.
    pub(super) lost: bool,
}

/// What stands beside the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// No log, or none that SQLite would read.
    Nothing,
    /// A log with so many sound frames up to a commit, counted no further than the mark goes.
    Log { id: u32, frames: u32 },
}

/// What the mark makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// All that was promised is there.
    Whole,
    /// Acknowledged commits are missing.
    Lost { promised: u32, found: u32 },
    /// The log is another database's, or an older copy of this one's: reading it would put back what is
    /// not this palace's present content.
    Foreign,
}

impl Mark {
    pub(super) const LENGTH: usize = 16;

    /// The mark in these bytes; none where they were not written by [`Mark::bytes`].
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let [log, next, count] = unpack(bytes)?;
        Some(Self {
            log,
            next,
            frames: count & !(NEEDED | LOST),
            needed: count & NEEDED != 0,
            lost: count & LOST != 0,
        })
    }

    /// The bytes of the mark.
    pub(super) fn bytes(self) -> [u8; Self::LENGTH] {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        let count = self.frames.min(LOST - 1) | flag(self.needed, NEEDED) | flag(self.lost, LOST);
        let mut bytes = [0; Self::LENGTH];
        pack([self.log, self.next, count], &mut bytes);
        bytes
    }

    /// Reads the mark of a file with pages of `page_size`; none where it is damaged.
    pub(super) fn read(base: Base, page_size: usize) -> Result<Option<Self>, c_int> {
        let mut bytes = [0; Self::LENGTH];
        match base.read(&mut bytes, place(page_size)) {
            ffi::SQLITE_OK => Ok(Self::of(&bytes)),
            code => Err(code),
        }
    }

    /// Writes the mark in place; it may be lost in a power cut until the file is synced.
    pub(super) fn write(self, base: Base, page_size: usize) -> c_int {
        base.write(&self.bytes(), place(page_size))
    }

    /// Writes the mark in place and waits until it is on disk.
    pub(super) fn write_lasting(self, base: Base, page_size: usize) -> c_int {
        match self.write(base, page_size) {
            ffi::SQLITE_OK => base.sync(),
            code => code,
        }
    }

    /// The mark to make last before the header of log `next` is written over `beside`, which is on disk.
    ///
    /// Until the first commit in it is on disk, a power cut may bring either log back. The old one is in the
    /// file by then, since SQLite never writes over a log before: whole, it may come back; cut, it may not.
    pub(super) fn announcing(self, next: u32, beside: u32) -> Self {
        Self {
            log: beside,
            next,
            frames: if beside == self.log { self.frames } else { 0 },
            needed: false,
            lost: self.lost,
        }
    }

    /// The mark for `frames` frames of `log` on disk.
    pub(super) fn holding(self, log: u32, frames: u32) -> Self {
        Self {
            log,
            next: log,
            frames,
            needed: true,
            lost: self.lost,
        }
    }

    /// Judges what stands beside the file.
    pub(super) fn judge(self, beside: Beside) -> Verdict {
        let short = |found| match self.needed {
            true => Verdict::Lost {
                promised: self.frames,
                found,
            },
            false => Verdict::Foreign,
        };
        match beside {
            Beside::Nothing if self.needed && self.frames > 0 => short(0),
            Beside::Nothing => Verdict::Whole,
            Beside::Log { id, frames } if id == self.log && frames < self.frames => short(frames),
            Beside::Log { id, .. } if id == self.log || id == self.next => Verdict::Whole,
            Beside::Log { .. } => Verdict::Foreign,
        }
    }
}

/// Where the mark stands: at the end of page 1.
fn place(page_size: usize) -> i64 {
    page::offset(2, page_size) - Mark::LENGTH as i64
}

/// Writes the words and a checksum of them.
pub(super) fn pack<const N: usize>(words: [u32; N], into: &mut [u8]) {
    let (content, check) = into.split_at_mut(4 * N);
    for (place, word) in content.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    check.copy_from_slice(&checksum(content).to_le_bytes());
}

/// The words that [`pack`] wrote; none where a byte has changed since.
pub(super) fn unpack<const N: usize>(bytes: &[u8]) -> Option<[u32; N]> {
    let (content, check) = bytes.split_last_chunk::<4>()?;
    if u32::from_le_bytes(*check) != checksum(content) {
        return None;
    }
    let (words, []) = content.as_chunks::<4>() else {
        return None;
    };
    Some(<&[[u8; 4]; N]>::try_from(words).ok()?.map(u32::from_le_bytes))
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "the lower half of a hash is one too"
)]
fn checksum(content: &[u8]) -> u32 {
    XxHash3_64::oneshot_with_seed(SEED, content) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVE: Mark = Mark {
        log: 7,
        next: 7,
        frames: 40,
        needed: true,
        lost: false,
    };

    fn log(id: u32, frames: u32) -> Beside {
        Beside::Log { id, frames }
    }

    #[test]
    fn a_mark_reads_back_and_no_byte_of_it_may_change() {
        for mark in [
            Mark::default(),
            LIVE,
            Mark {
                lost: true,
                needed: false,
                ..LIVE
            },
        ] {
            let mut bytes = mark.bytes();
            assert_eq!(Mark::of(&bytes), Some(mark));
            for at in 0..bytes.len() {
                bytes[at] ^= 0x10;
                assert_eq!(Mark::of(&bytes), None, "byte {at}");
                bytes[at] ^= 0x10;
            }
        }
        assert_eq!(Mark::of(&[0; Mark::LENGTH]), None, "zeros are no mark");
    }

    #[test]
    fn a_log_in_use_must_be_there_with_all_its_frames() {
        assert_eq!(LIVE.judge(log(7, 40)), Verdict::Whole);
        assert_eq!(
            LIVE.judge(log(7, 39)),
            Verdict::Lost {
                promised: 40,
                found: 39
            }
        );
        assert_eq!(
            LIVE.judge(Beside::Nothing),
            Verdict::Lost {
                promised: 40,
                found: 0
            }
        );
        assert_eq!(LIVE.judge(log(8, 90)), Verdict::Foreign);
    }

    #[test]
    fn a_log_that_is_done_with_may_be_gone_or_whole_but_not_older() {
        let done = Mark {
            needed: false,
            ..LIVE
        };
        assert_eq!(done.judge(Beside::Nothing), Verdict::Whole);
        assert_eq!(done.judge(log(7, 40)), Verdict::Whole);
        assert_eq!(done.judge(log(7, 12)), Verdict::Foreign);
        assert_eq!(Mark::default().judge(Beside::Nothing), Verdict::Whole);
        assert_eq!(Mark::default().judge(log(7, 0)), Verdict::Foreign);
    }

    #[test]
    fn while_a_log_is_announced_the_old_one_may_come_back_whole() {
        let announced = LIVE.announcing(8, 7);
        assert_eq!(announced.judge(Beside::Nothing), Verdict::Whole);
        assert_eq!(announced.judge(log(8, 0)), Verdict::Whole);
        assert_eq!(announced.judge(log(7, 40)), Verdict::Whole);
        assert_eq!(announced.judge(log(7, 39)), Verdict::Foreign);
        assert_eq!(announced.judge(log(9, 1)), Verdict::Foreign);
        assert_eq!(LIVE.announcing(8, 0).judge(log(7, 40)), Verdict::Foreign);
        assert_eq!(announced.holding(8, 3).judge(log(7, 40)), Verdict::Foreign);
    }
}
