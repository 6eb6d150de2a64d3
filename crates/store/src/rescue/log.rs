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
    /// The frame that holds the newest committed version of each page, and where its content begins.
    pages: BTreeMap<u32, (u32, u64)>,
    /// The last damaged frame of each page.
    damaged: BTreeMap<u32, u32>,
    /// The number of pages of the file after the last commit; 0 if no commit was read.
    pub(super) file_pages: u32,
    /// The number of frames from the first on that are sound and committed, counted no further than was promised.
    found: u32,
    /// The last frame that is sound.
    reach: u32,
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
    /// Reads a log of which `promised` frames are known to be committed. Past damage within these the reading goes on;
    /// behind them it ends at the first frame that does not continue its predecessor, as SQLite's own does.
    pub(super) fn read(log: &File, promised: u32) -> Option<Self> {
        let mut header = [0; LOG_HEADER];
        log.read_exact_at(&mut header, 0).ok()?;
        let mut frame = vec![0; FRAME_HEADER + PAGE];
        let salts = find_salts(log, &header)?;
        let mut scan = Self {
            id: vfs::log_id(&salts),
            ..Self::default()
        };
        let mut before = (read_word(&header, 24), read_word(&header, 28));
        let (mut open, mut unbroken) = (Vec::new(), true);
        for number in 1.. {
            let offset = LOG_HEADER as u64 + u64::from(number - 1) * frame.len() as u64;
            if log.read_exact_at(&mut frame, offset).is_err() {
                break;
            }
            let (page, commits) = (read_word(&frame, 0), read_word(&frame, 4));
            let sound = frame.get(8..16) == Some(&salts) && is_continued(&header, before, &frame);
            // Each checksum continues the one stored before it, so a damaged frame spoils at most its successor.
            before = (read_word(&frame, 16), read_word(&frame, 20));
            if sound && page > 0 {
                open.push((page, (number, offset + FRAME_HEADER as u64)));
                scan.reach = number;
            } else if number > promised {
                break;
            } else {
                unbroken = false;
                scan.damaged.insert(page, number);
            }
            // The mark counts up to a commit, even if the frame that carries it is damaged.
            if (sound && commits != 0) || number == promised {
                scan.pages.extend(open.drain(..));
            }
            if sound && commits != 0 {
                scan.file_pages = commits;
                if unbroken && number <= promised {
                    scan.found = number;
                }
            }
        }
        Some(scan)
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
                let left = promised - (self.damaged.len() as u32).min(promised);
                if copied.whole && copied.frames >= self.reach {
                    let lost = copied.frames < promised;
                    (LogUse::Unneeded, lost.then_some((promised, copied.frames)))
                } else if copied.frames > self.reach {
                    (LogUse::Mixed, Some((promised, self.reach)))
                } else {
                    (LogUse::Newer, Some((promised, left.min(self.reach))))
                }
            }
        };
        LogJudgement { used, missing }
    }

    /// Returns where the content of the newest version of each page begins.
    pub(super) fn page_offsets(&self) -> BTreeMap<u32, u64> {
        self.pages
            .iter()
            .map(|(page, (_, offset))| (*page, *offset))
            .collect()
    }

    /// Returns the pages of which a version newer than any that can be read was in a damaged frame.
    pub(super) fn outdated_pages(&self) -> impl Iterator<Item = u32> {
        self.damaged
            .iter()
            .filter(|(page, frame)| self.pages.get(page).is_none_or(|(newest, _)| newest < frame))
            .map(|(page, _)| *page)
    }
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
