//! The log mark: the file's own record of the log beside it, in the last bytes of page 1.
//!
//! Acknowledged commits live in the log alone until a checkpoint copies them. A log that is deleted, cut,
//! damaged or exchanged while the palace is closed would silently take them along, so the file records
//! which log is its own and how many of its frames are known to be on disk.
//!
//! Two processes never write a mark at the same time:
//! - a new log header, a commit and an emptied log come with the log's write lock;
//! - the last connection to close holds the file exclusively, and so is alone;
//! - recovery holds the log's write, checkpoint and recovery locks.
//!
//! A checkpoint holds none of these while it writes page 1, and therefore stops short of the mark.

use super::base::BaseFile;
use super::page;
use super::second;
use rusqlite::ffi;
use std::ffi::c_int;
use twox_hash::XxHash3_64;

const NEEDED: u32 = 1 << 31;
const LOST: u32 = 1 << 30;
const SEED: u64 = 0x6c6f_6369_206d_6172;

/// The record that a file keeps of its log. Logs are named by their salts; 0 means no log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LogMark {
    /// The log whose frames are counted.
    pub(crate) log: u32,
    /// The log whose header is about to be written, or was; `log` once a commit in it is on disk.
    pub(crate) next: u32,
    /// The number of frames of `log` known to be on disk, the last of them a commit.
    pub(crate) frames: u32,
    /// Whether those frames may not be in the file yet: without them commits would be lost.
    pub(crate) needed: bool,
    /// Whether commits were lost and the palace has no note of it yet.
    pub(crate) lost: bool,
}

/// The log found beside the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdjacentLog {
    /// No log, or none that SQLite would read.
    Nothing,
    /// A log, and its number of sound frames up to its last commit.
    Log { id: u32, frames: u32 },
}

/// The judgement of a log by the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogVerdict {
    /// Everything the mark promises is there.
    Whole,
    /// Acknowledged commits are missing.
    Lost { promised: u32, found: u32 },
    /// An earlier part of the file's own log, which the file no longer needs: a power cut may bring it back.
    Outdated,
    /// The log belongs to another database, or is an older copy of this one's: reading it would bring back what is
    /// not this palace's present content.
    Foreign,
}

impl LogMark {
    pub(crate) const LENGTH: usize = 16;

    /// Parses the mark in these bytes; `None` if [`LogMark::to_bytes`] did not write them.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let [log, next, count] = unpack_checked(bytes)?;
        Some(Self {
            log,
            next,
            frames: count & !(NEEDED | LOST),
            needed: count & NEEDED != 0,
            lost: count & LOST != 0,
        })
    }

    /// Returns the bytes of the mark.
    pub(super) fn to_bytes(self) -> [u8; Self::LENGTH] {
        let flag = |set: bool, bit: u32| if set { bit } else { 0 };
        // The two highest bits are the flags, so the count must stay below them.
        let count = self.frames.min(LOST - 1) | flag(self.needed, NEEDED) | flag(self.lost, LOST);
        let mut bytes = [0; Self::LENGTH];
        pack_checked([self.log, self.next, count], &mut bytes);
        bytes
    }

    /// Reads the mark of a file with pages of `page_size`, or else its copy; `None` if both are damaged.
    pub(super) fn read(base: BaseFile, page_size: usize) -> Result<Option<Self>, c_int> {
        let mut bytes = [0; Self::LENGTH];
        match base.read(&mut bytes, mark_offset(page_size)) {
            ffi::SQLITE_OK => {}
            code => return Err(code),
        }
        let first = Self::parse(&bytes);
        // A file of an earlier format has no copy, and a new one may not have page 2 yet.
        let copied = || {
            let code = second::read_copy(base, page_size, Self::LENGTH, &mut bytes);
            (code == ffi::SQLITE_OK).then(|| Self::parse(&bytes)).flatten()
        };
        Ok(first.or_else(copied))
    }

    /// Writes the mark in place; it may be lost in a power cut until the file is synced.
    pub(super) fn write(self, base: BaseFile, page_size: usize) -> c_int {
        second::write_both(base, page_size, Self::LENGTH, &self.to_bytes())
    }

    /// Writes the mark in place and waits until it is on disk. If that fails, the earlier mark is put back.
    pub(super) fn write_lasting(self, base: BaseFile, page_size: usize) -> c_int {
        let before = Self::read(base, page_size);
        let code = match self.write(base, page_size) {
            ffi::SQLITE_OK => base.sync(),
            code => code,
        };
        // After a failed sync the system may show a mark that will never reach the disk. Taken for one that is there, it
        // would let the log go that the mark on disk still asks for.
        if code != ffi::SQLITE_OK
            && let Ok(Some(before)) = before
        {
            before.write(base, page_size);
        }
        code
    }

    /// Returns the mark to make durable before the header of log `next` is written over `beside`, which is on disk.
    ///
    /// Until the first commit in it is on disk, a power cut may bring either log back. The old one is already in the
    /// file, since SQLite never overwrites a log before that: complete, it may come back; truncated, it may not.
    pub(super) fn with_announced(self, next: u32, beside: u32) -> Self {
        Self {
            log: beside,
            next,
            // Nothing is promised of a log whose frames the mark did not count.
            frames: if beside == self.log { self.frames } else { 0 },
            needed: false,
            lost: self.lost,
        }
    }

    /// Returns the mark for `frames` frames of `log` on disk.
    pub(super) fn with_frames(self, log: u32, frames: u32) -> Self {
        Self {
            log,
            next: log,
            frames,
            needed: true,
            lost: self.lost,
        }
    }

    /// Returns whether the file knows the log `id` as its own.
    pub(super) fn names(self, id: u32) -> bool {
        id == self.log || id == self.next
    }

    /// Returns the mark for a log that holds more than this one promises, all of it on disk: a power cut may have kept
    /// a commit and lost the mark that was raised for it.
    pub(super) fn reach_log(self, beside: AdjacentLog) -> Option<Self> {
        match beside {
            AdjacentLog::Log { id, frames } if frames > 0 && (id != self.log || frames > self.frames) => {
                Some(self.with_frames(id, frames))
            }
            _ => None,
        }
    }

    /// Judges the log found beside the file.
    pub(crate) fn judge_log(self, beside: AdjacentLog) -> LogVerdict {
        let short = |found| {
            if self.needed {
                LogVerdict::Lost {
                    promised: self.frames,
                    found,
                }
            } else {
                LogVerdict::Outdated
            }
        };
        match beside {
            AdjacentLog::Nothing if self.needed && self.frames > 0 => short(0),
            AdjacentLog::Nothing => LogVerdict::Whole,
            AdjacentLog::Log { id, frames } if id == self.log && frames < self.frames => short(frames),
            // The log may hold more than the mark promises: after a power cut the mark itself
            // may be an older one.
            AdjacentLog::Log { id, .. } if self.names(id) => LogVerdict::Whole,
            AdjacentLog::Log { .. } => LogVerdict::Foreign,
        }
    }
}

/// Returns the offset of the mark: the end of page 1.
fn mark_offset(page_size: usize) -> i64 {
    page::page_offset(2, page_size) - LogMark::LENGTH as i64
}

/// Writes the words and a checksum of them.
pub(super) fn pack_checked<const N: usize>(words: [u32; N], into: &mut [u8]) {
    let (content, check) = into.split_at_mut(4 * N);
    for (place, word) in content.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    check.copy_from_slice(&words_checksum(content).to_le_bytes());
}

/// Returns the words that [`pack_checked`] wrote; `None` if a byte has changed since.
pub(super) fn unpack_checked<const N: usize>(bytes: &[u8]) -> Option<[u32; N]> {
    let (content, check) = bytes.split_last_chunk::<4>()?;
    if u32::from_le_bytes(*check) != words_checksum(content) {
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
fn words_checksum(content: &[u8]) -> u32 {
    XxHash3_64::oneshot_with_seed(SEED, content) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIVE: LogMark = LogMark {
        log: 7,
        next: 7,
        frames: 40,
        needed: true,
        lost: false,
    };

    fn log(id: u32, frames: u32) -> AdjacentLog {
        AdjacentLog::Log { id, frames }
    }

    #[test]
    fn a_mark_is_raised_only_for_a_log_that_holds_more() {
        assert_eq!(LIVE.reach_log(log(7, 41)), Some(LIVE.with_frames(7, 41)));
        for enough in [log(7, 40), log(7, 39), log(8, 0), AdjacentLog::Nothing] {
            assert_eq!(LIVE.reach_log(enough), None, "{enough:?}");
        }
        assert_eq!(LIVE.reach_log(log(8, 1)), Some(LIVE.with_frames(8, 1)));
    }

    #[test]
    fn a_mark_reads_back_and_no_byte_of_it_may_change() {
        for mark in [
            LogMark::default(),
            LIVE,
            LogMark {
                lost: true,
                needed: false,
                ..LIVE
            },
        ] {
            let mut bytes = mark.to_bytes();
            assert_eq!(LogMark::parse(&bytes), Some(mark));
            for at in 0..bytes.len() {
                bytes[at] ^= 0x10;
                assert_eq!(LogMark::parse(&bytes), None, "byte {at}");
                bytes[at] ^= 0x10;
            }
        }
        assert_eq!(LogMark::parse(&[0; LogMark::LENGTH]), None, "zeros are no mark");
    }

    #[test]
    fn a_log_in_use_must_be_there_with_all_its_frames() {
        assert_eq!(LIVE.judge_log(log(7, 40)), LogVerdict::Whole);
        assert_eq!(
            LIVE.judge_log(log(7, 39)),
            LogVerdict::Lost {
                promised: 40,
                found: 39
            }
        );
        assert_eq!(
            LIVE.judge_log(AdjacentLog::Nothing),
            LogVerdict::Lost {
                promised: 40,
                found: 0
            }
        );
        assert_eq!(LIVE.judge_log(log(8, 90)), LogVerdict::Foreign);
    }

    #[test]
    fn a_log_that_is_done_with_may_be_gone_or_whole_but_not_older() {
        let done = LogMark {
            needed: false,
            ..LIVE
        };
        assert_eq!(done.judge_log(AdjacentLog::Nothing), LogVerdict::Whole);
        assert_eq!(done.judge_log(log(7, 40)), LogVerdict::Whole);
        assert_eq!(done.judge_log(log(7, 12)), LogVerdict::Outdated);
        assert_eq!(
            LogMark::default().judge_log(AdjacentLog::Nothing),
            LogVerdict::Whole
        );
        assert_eq!(LogMark::default().judge_log(log(7, 0)), LogVerdict::Foreign);
    }

    #[test]
    fn while_a_log_is_announced_the_old_one_may_come_back_whole() {
        let announced = LIVE.with_announced(8, 7);
        assert_eq!(announced.judge_log(AdjacentLog::Nothing), LogVerdict::Whole);
        assert_eq!(announced.judge_log(log(8, 0)), LogVerdict::Whole);
        assert_eq!(announced.judge_log(log(7, 40)), LogVerdict::Whole);
        assert_eq!(announced.judge_log(log(7, 39)), LogVerdict::Outdated);
        assert_eq!(announced.judge_log(log(9, 1)), LogVerdict::Foreign);
        assert_eq!(
            LIVE.with_announced(8, 0).judge_log(log(7, 40)),
            LogVerdict::Foreign
        );
        assert_eq!(
            announced.with_frames(8, 3).judge_log(log(7, 40)),
            LogVerdict::Foreign
        );
    }
}
