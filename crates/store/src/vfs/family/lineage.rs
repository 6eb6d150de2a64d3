//! Whether the content of a database, its log and its shared index descend from each other.

use super::FamilyBreach;
use crate::vfs::backfill::LogBackfill;
use crate::vfs::base::BaseFile;
use crate::vfs::mark::LogMark;
use crate::vfs::page;
use crate::vfs::pages::{DatabasePages, PageProtection};
use crate::vfs::wal::{self, FRAME_HEADER, HEADER};
use rusqlite::ffi;
use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// The places in the shared index where SQLite's format has these words (see walformat in SQLite's documentation).
const FLAGS: usize = 12;
const LAST_FRAME: usize = 16;
const FRAME_SUM: usize = 24;
const SALTS: usize = 32;
const COPIED: usize = 96;
const ATTEMPTED: usize = 128;
const FIRST_PAGE: usize = 136;
/// The length of one copy of the index header.
const INDEX_HEADER: usize = 48;

/// The state at the last look: page 1, by its checksum, and the shared index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineageStamp {
    seal: [u8; 8],
    index: IndexState,
}

impl LineageStamp {
    /// Returns whether this state may have come from `last`: page 1 changes only when a checkpoint copies it, which
    /// counts what it copies, until a new log begins.
    fn may_follow(&self, last: &Self) -> bool {
        let copying = self.index.attempted > self.index.copied;
        self.seal == last.seal || copying || self.index.progress() != last.index.progress()
    }
}

/// The counters of the shared index that change with every commit, restart and checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IndexState {
    header: [u32; INDEX_HEADER / 4],
    copied: u32,
    attempted: u32,
    /// The page of the first frame.
    first_page: u32,
}

impl IndexState {
    fn read(index: NonNull<u8>) -> Self {
        let word = |at: usize| {
            // SAFETY: the first region, far longer than these places, stays mapped until `xShmUnmap`, where the
            // pointer is forgotten; the places are aligned for words.
            let place = unsafe { index.add(at).cast::<AtomicU32>().as_ref() };
            place.load(Ordering::Acquire)
        };
        Self {
            header: std::array::from_fn(|at| word(4 * at)),
            copied: word(COPIED),
            attempted: word(ATTEMPTED),
            first_page: word(FIRST_PAGE),
        }
    }

    fn word(&self, at: usize) -> u32 {
        self.header.get(at / 4).copied().unwrap_or(0)
    }

    /// Returns the salts of the log and the counts of what was copied of it.
    fn progress(&self) -> (u32, u32, u32, u32) {
        (
            self.word(SALTS),
            self.word(SALTS + 4),
            self.copied,
            self.attempted,
        )
    }

    /// Returns whether the index was set up and lists the frames it counts: a cut file reads as zeros.
    fn is_whole(&self) -> bool {
        let set_up = self
            .word(FLAGS)
            .to_ne_bytes()
            .first()
            .is_some_and(|init| *init != 0);
        set_up && (self.word(LAST_FRAME) == 0 || self.first_page != 0)
    }
}

/// Returns whether the mark names the log that is open, or there is nothing to judge. Fails if either cannot be read
/// now.
pub(crate) fn names_log(base: BaseFile, pages: &mut DatabasePages) -> Result<bool, c_int> {
    let (PageProtection::Checked { page_size }, Some(log)) = (pages.protection(base), pages.watch.log) else {
        return Ok(true);
    };
    let mark = match LogMark::read(base, page_size) {
        Ok(Some(mark)) => mark,
        // A file that ends within page 1, or whose mark is damaged, is found and reported elsewhere.
        Ok(None) | Err(ffi::SQLITE_IOERR_SHORT_READ) => return Ok(true),
        Err(code) => return Err(code),
    };
    Ok(wal::read_log_id(log)?.is_none_or(|id| mark.names(id)))
}

/// Takes one look; another process between two of its writes may look like a breach. Fails if something cannot be read
/// now: that speaks neither for the files nor against them.
pub(super) fn find_breach(base: BaseFile, pages: &mut DatabasePages) -> Result<Option<FamilyBreach>, c_int> {
    let (Some(index), Some(log)) = (pages.watch.index, pages.watch.log) else {
        return Ok(None);
    };
    let PageProtection::Checked { page_size } = pages.protection(base) else {
        return Ok(None);
    };
    let before = IndexState::read(index);
    let mut seal = [0; 8];
    if !base.read_whole(&mut seal, page::seal_offset(page_size))? {
        return Ok(Some(FamilyBreach::Overwritten));
    }
    let index = IndexState::read(index);
    if !index.is_whole() {
        return Ok(Some(FamilyBreach::MemoryCut));
    }
    if !lists_log(&index, log, page_size)? || !has_fitting_records(base, &index, log, page_size)? {
        return Ok(Some(FamilyBreach::Overwritten));
    }
    // A checkpoint that ran between the two readings may have written page 1 before or after it was read here: the
    // next look decides.
    if before != index {
        return Ok(None);
    }
    let stamp = LineageStamp { seal, index };
    if let Some(last) = &pages.watch.stamp
        && !stamp.may_follow(last)
    {
        return Ok(Some(FamilyBreach::Overwritten));
    }
    pages.watch.stamp = Some(stamp);
    Ok(None)
}

/// Returns whether the mark and the progress of checkpoints on page 1 fit the log and its index.
fn has_fitting_records(
    base: BaseFile,
    index: &IndexState,
    log: BaseFile,
    page_size: usize,
) -> Result<bool, c_int> {
    // A record that is damaged is damage of page 1, which is found and reported elsewhere.
    let mark = match LogMark::read(base, page_size) {
        Ok(mark) => mark,
        Err(ffi::SQLITE_IOERR_SHORT_READ) => return Ok(false),
        Err(code) => return Err(code),
    };
    if let Some(mark) = mark
        && !fits_log(mark, log, page_size)?
    {
        return Ok(false);
    }
    match LogBackfill::read(base, page_size) {
        Ok(Some(copied)) => holds_copy(index, copied, log),
        Ok(None) => Ok(true),
        Err(ffi::SQLITE_IOERR_SHORT_READ) => Ok(false),
        Err(code) => Err(code),
    }
}

/// Takes the first look, as soon as a connection holds a lock for reading: the index is set up by then, and nothing was
/// read yet. Without a moment in which the index stands still, the first check becomes the first look.
pub(crate) fn begin_lineage(base: BaseFile, pages: &mut DatabasePages) {
    if pages.watch.stamp.is_some() {
        return;
    }
    let (Some(index), PageProtection::Checked { page_size }) = (pages.watch.index, pages.protection(base))
    else {
        return;
    };
    let before = IndexState::read(index);
    let mut seal = [0; 8];
    let code = base.read(&mut seal, page::seal_offset(page_size));
    let index = IndexState::read(index);
    if code == ffi::SQLITE_OK && index.is_whole() && index == before {
        pages.watch.stamp = Some(LineageStamp { seal, index });
    }
}

/// Returns whether the last frame that the index counts is the one in the log.
fn lists_log(index: &IndexState, log: BaseFile, page_size: usize) -> Result<bool, c_int> {
    let frames = index.word(LAST_FRAME);
    if frames == 0 {
        return Ok(true);
    }
    let mut head = [0; FRAME_HEADER];
    let offset = HEADER as i64 + i64::from(frames - 1) * (FRAME_HEADER + page_size) as i64;
    Ok(log.read_whole(&mut head, offset)?
        && index.word(FRAME_SUM) == wal::read_word(&head, 16)
        && index.word(FRAME_SUM + 4) == wal::read_word(&head, 20))
}

/// Returns whether the file records what the index says was copied into it; a copy of the file that was taken before
/// does not.
fn holds_copy(index: &IndexState, copied: LogBackfill, log: BaseFile) -> Result<bool, c_int> {
    if index.copied == 0 {
        return Ok(true);
    }
    let open = wal::read_log_id(log)?;
    Ok(open.is_none_or(|id| copied.log == id && copied.frames >= index.copied))
}

/// Returns whether the log is one that the mark names, with all the frames it promises.
fn fits_log(mark: LogMark, log: BaseFile, page_size: usize) -> Result<bool, c_int> {
    Ok(match wal::read_log_id(log)? {
        None => !(mark.needed && mark.frames > 0),
        Some(id) if !mark.names(id) => false,
        Some(id) if mark.needed && id == mark.log => {
            let promised = HEADER as i64 + i64::from(mark.frames) * (FRAME_HEADER + page_size) as i64;
            log.size()? >= promised
        }
        Some(_) => true,
    })
}
