//! The log beside a damaged file: which of its frames can be read, and whether they belong to the file.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use super::image::PAGE;
use crate::vfs::{
    self, AdjacentLog, FRAME_HEADER, LOG_HEADER, LogBackfill, LogMark, LogVerdict, RunningChecksum, read_word,
};

/// The frames of a log that can be read.
#[derive(Debug, Default)]
pub(super) struct LogScan {
    /// The name of the log, as the mark of its file has it.
    pub(super) id: u32,
    /// The frame that holds the newest committed version of each page.
    pages: BTreeMap<u32, u32>,
    /// The frames that a transaction with missing frames replaced, by page; 0 stands for the page in the file. What such
    /// a transaction moved to another page may be in these alone.
    replaced: BTreeMap<u32, Vec<u32>>,
    /// The last damaged frame of each page.
    damaged: BTreeMap<u32, u32>,
    /// The number of pages of the file after the last commit; `None` if no commit was read.
    pub(super) file_pages: Option<u32>,
    /// The highest page of the last transaction if its commit cannot be read, else 0.
    pub(super) torn_pages: u32,
    /// The number of frames from the first on that are sound and committed, counted no further than was promised.
    found: u32,
    /// The number of promised frames that are sound.
    readable: u32,
    /// The last frame that is sound.
    reach: u32,
    /// Whether frames of the same log follow that were not read, because the first of them is damaged.
    pub(super) is_unfinished: bool,
}

/// The frames behind the last commit.
#[derive(Debug, Default)]
struct OpenTransaction {
    pages: BTreeMap<u32, u32>,
    /// Whether frames of it are missing.
    is_torn: bool,
}

/// The use that can be made of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogUse {
    /// Its pages are newer than those of the file.
    Newer,
    /// It was cut while it was being copied into the file: a page may be newer in either.
    Mixed,
    /// The file alone is as new as the log, or newer.
    Unneeded,
    /// It belongs to another file, or is an older copy.
    Foreign,
}

/// The judgement of the log by the records of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogJudgement {
    pub(super) used: LogUse,
    /// The number of frames that were promised and that of those found, if some are missing.
    pub(super) missing: Option<(u32, u32)>,
}

impl LogScan {
    /// Reads a log. Past damage within the frames that `mark` counts the reading goes on; behind them it ends at the first
    /// frame that does not continue its predecessor, as SQLite's own does.
    pub(super) fn read(log: &File, mark: Option<LogMark>) -> Option<Self> {
        let mut header = [0; LOG_HEADER];
        log.read_exact_at(&mut header, 0).ok()?;
        let mut frame = vec![0; FRAME_HEADER + PAGE];
        let salts = find_salts(log, &header)?;
        let mut scan = Self {
            id: vfs::log_id(&salts),
            ..Self::default()
        };
        // Until the first commit in a new log, the mark still counts the frames of the one before.
        let promised = mark
            .filter(|mark| mark.log == scan.id)
            .map_or(0, |mark| mark.frames);
        let mut before = (read_word(&header, 24), read_word(&header, 28));
        let (mut open, mut unbroken) = (OpenTransaction::default(), true);
        for number in 1.. {
            if log.read_exact_at(&mut frame, frame_offset(number)).is_err() {
                if number <= promised {
                    scan.close_torn(&mut open);
                }
                break;
            }
            let (page, commits) = (read_word(&frame, 0), read_word(&frame, 4));
            let sound = frame.get(8..16) == Some(&salts) && is_continued(&header, before, &frame) && page > 0;
            // Each checksum continues the one stored before it, so a damaged frame spoils at most its successor.
            before = (read_word(&frame, 16), read_word(&frame, 20));
            if sound {
                open.pages.insert(page, number);
                scan.reach = number;
                scan.readable += u32::from(number <= promised);
            } else if number > promised {
                scan.is_unfinished = has_frames(log, number, salts);
                break;
            } else {
                (unbroken, open.is_torn) = (false, true);
                scan.damaged.insert(page, number);
            }
            if sound && commits != 0 {
                scan.close_transaction(&mut open);
                (scan.file_pages, scan.torn_pages) = (Some(commits), 0);
                if unbroken && number <= promised {
                    scan.found = number;
                }
            } else if number == promised {
                // The mark counts up to a commit, even if the frame that carries it is damaged.
                scan.close_torn(&mut open);
            }
        }
        Some(scan)
    }

    /// Takes the frames of a transaction that was committed.
    fn close_transaction(&mut self, open: &mut OpenTransaction) {
        let OpenTransaction { pages, is_torn } = std::mem::take(open);
        for (page, frame) in pages {
            let replaced = self.pages.insert(page, frame).unwrap_or(0);
            if is_torn {
                self.replaced.entry(page).or_default().push(replaced);
            }
        }
    }

    /// Takes the frames of a transaction whose commit, which knew the length of the file, cannot be read.
    fn close_torn(&mut self, open: &mut OpenTransaction) {
        self.torn_pages = open.pages.last_key_value().map_or(0, |(page, _)| *page);
        open.is_torn = true;
        self.close_transaction(open);
    }

    /// Judges the log by the records of the file beside it.
    pub(super) fn judge(&self, mark: LogMark, copied: Option<LogBackfill>) -> LogJudgement {
        let beside = AdjacentLog::Log {
            id: self.id,
            frames: self.found,
        };
        let (used, missing) = match mark.judge_log(beside) {
            LogVerdict::Whole => (LogUse::Newer, None),
            LogVerdict::Outdated => (LogUse::Unneeded, None),
            LogVerdict::Foreign => (LogUse::Foreign, judge_missing(mark, copied)),
            LogVerdict::Lost { promised, .. } => {
                let copied = copied.filter(|copied| copied.log == mark.log).unwrap_or_default();
                if copied.whole && copied.frames >= self.reach {
                    let lost = copied.frames < promised;
                    (LogUse::Unneeded, lost.then_some((promised, copied.frames)))
                } else if copied.frames > self.reach {
                    (LogUse::Mixed, Some((promised, self.reach)))
                } else {
                    (LogUse::Newer, Some((promised, self.readable)))
                }
            }
        };
        LogJudgement { used, missing }
    }

    /// Returns the frame that holds the newest version of each page.
    pub(super) fn newest_frames(&self) -> &BTreeMap<u32, u32> {
        &self.pages
    }

    /// Returns the frames that were replaced by a transaction with missing frames; 0 stands for the page in the file.
    pub(super) fn replaced_frames(&self) -> &BTreeMap<u32, Vec<u32>> {
        &self.replaced
    }

    /// Returns the pages of which a version newer than any that can be read was in a damaged frame.
    pub(super) fn outdated_pages(&self) -> impl Iterator<Item = u32> {
        self.damaged
            .iter()
            .filter(|(page, frame)| self.pages.get(page).is_none_or(|newest| newest < frame))
            .map(|(page, _)| *page)
    }
}

/// Returns where a frame begins.
fn frame_offset(number: u32) -> u64 {
    LOG_HEADER as u64 + u64::from(number.saturating_sub(1)) * (FRAME_HEADER + PAGE) as u64
}

/// Returns where the page in a frame begins.
pub(super) fn content_offset(number: u32) -> u64 {
    frame_offset(number) + FRAME_HEADER as u64
}

/// Returns whether a frame from `first` on carries the salts of the log.
fn has_frames(log: &File, first: u32, salts: [u8; 8]) -> bool {
    let mut carried = [0; 8];
    (first..)
        .map_while(|number| {
            let place = frame_offset(number) + 8;
            log.read_exact_at(&mut carried, place).ok().map(|()| carried)
        })
        .any(|carried| carried == salts)
}

/// Returns the frames that are missing if there is no log, or none that can be used.
pub(super) fn judge_missing(mark: LogMark, copied: Option<LogBackfill>) -> Option<(u32, u32)> {
    let LogVerdict::Lost { promised, .. } = mark.judge_log(AdjacentLog::Nothing) else {
        return None;
    };
    let in_file = copied.filter(|copied| copied.log == mark.log && copied.whole);
    let found = in_file.map_or(0, |copied| copied.frames.min(promised));
    (found < promised).then_some((promised, found))
}

/// Returns the salts of a log: from its header or, if that is damaged, from its first frame.
fn find_salts(log: &File, header: &[u8]) -> Option<[u8; 8]> {
    let mut running = RunningChecksum {
        big_endian: vfs::is_big_endian(header).unwrap_or(false),
        sums: (0, 0),
    };
    running.add(header.get(..24)?);
    let sound = vfs::is_big_endian(header).is_some()
        && read_word(header, 8) as usize == PAGE
        && running.sums == (read_word(header, 24), read_word(header, 28));
    if sound {
        return header.get(16..24)?.try_into().ok();
    }
    let mut salts = [0; 8];
    log.read_exact_at(&mut salts, LOG_HEADER as u64 + 8).ok()?;
    // A log of zeros was wiped.
    salts.iter().any(|byte| *byte != 0).then_some(salts)
}

/// Returns whether the checksum of a frame continues the one before it.
fn is_continued(header: &[u8], before: (u32, u32), frame: &[u8]) -> bool {
    let Some((head, content)) = frame.split_at_checked(FRAME_HEADER) else {
        return false;
    };
    let mut running = RunningChecksum {
        // Every machine this builds for writes logs of this byte order.
        big_endian: vfs::is_big_endian(header).unwrap_or(false),
        sums: before,
    };
    running.add(head.get(..8).unwrap_or_default());
    running.add(content);
    running.sums == (read_word(head, 16), read_word(head, 20))
}
