//! The progress of checkpoints in copying the log into the file, kept on page 1 before the log mark.
//!
//! Once pages of a log are in the file, an earlier part of that log would hide them behind older ones. So if
//! a log turns out truncated or damaged, this decides whether the rest of it may still be read, whether the file
//! alone is complete, or neither.
//!
//! Only checkpoints write it, one at a time: each holds the checkpoint lock, or the file exclusively.

use super::base::BaseFile;
use super::mark;
use super::page;
use super::pages::{DatabasePages, PageProtection};
use super::second;
use super::wal::LogFrames;
use rusqlite::ffi;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

const WHOLE: u32 = 1 << 31;

/// The places in the shared index of the number of frames that were copied, and that a checkpoint is about to copy.
const COPIED: usize = 96;
const ATTEMPTED: usize = 128;

/// The part of a log that has been copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LogBackfill {
    /// The log, by the name that the mark uses.
    pub(crate) log: u32,
    /// Pages of frames up to this one may be in the file.
    pub(crate) frames: u32,
    /// Whether all of them are, and on disk.
    pub(crate) whole: bool,
}

impl LogBackfill {
    pub(crate) const LENGTH: usize = 12;

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let [log, count] = mark::unpack_checked(bytes)?;
        Some(Self {
            log,
            frames: count & !WHOLE,
            whole: count & WHOLE != 0,
        })
    }

    pub(super) fn to_bytes(self) -> [u8; Self::LENGTH] {
        let count = self.frames.min(WHOLE - 1) | if self.whole { WHOLE } else { 0 };
        let mut bytes = [0; Self::LENGTH];
        mark::pack_checked([self.log, count], &mut bytes);
        bytes
    }

    /// Reads it from a file with pages of `page_size`, or else its copy; `None` if both are damaged.
    pub(super) fn read(base: BaseFile, page_size: usize) -> Result<Option<Self>, c_int> {
        let mut bytes = [0; Self::LENGTH];
        match base.read(&mut bytes, page::page_offset(2, page_size) - page::ROOM as i64) {
            ffi::SQLITE_OK => {}
            code => return Err(code),
        }
        let first = Self::parse(&bytes);
        let copied = || {
            let code = second::read_copy(base, page_size, page::ROOM, &mut bytes);
            (code == ffi::SQLITE_OK).then(|| Self::parse(&bytes)).flatten()
        };
        Ok(first.or_else(copied))
    }

    fn write(self, base: BaseFile, page_size: usize) -> c_int {
        second::write_both(base, page_size, page::ROOM, &self.to_bytes())
    }
}

/// Records that pages of the log are about to be written into the file. If that fails, none may be.
pub(super) fn begin_copy(base: BaseFile, pages: &mut DatabasePages) -> c_int {
    pages.watch.copying = true;
    let PageProtection::Checked { page_size } = pages.protection(base) else {
        return ffi::SQLITE_OK;
    };
    let (Some(frames), Some(log)) = (attempted_frames(pages), pages.watch.log) else {
        return ffi::SQLITE_OK;
    };
    let log = match LogFrames::try_from_log(log) {
        Ok(Some(log)) => log,
        Ok(None) => return ffi::SQLITE_OK,
        Err(code) => return code,
    };
    let copying = LogBackfill {
        log: log.id(),
        frames,
        whole: false,
    };
    copying.write(base, page_size)
}

/// Records, after a sync of the file, that all of the log is in it: a checkpoint syncs the file if and only if it
/// has copied everything.
pub(super) fn finish_copy(base: BaseFile, pages: &mut DatabasePages) {
    if !std::mem::take(&mut pages.watch.copying) {
        return;
    }
    if let PageProtection::Checked { page_size } = pages.protection(base)
        && let Ok(Some(copied)) = LogBackfill::read(base, page_size)
    {
        LogBackfill {
            whole: true,
            ..copied
        }
        .write(base, page_size);
    }
}

/// Makes the next checkpoint copy the whole log again, after a sync of the file that failed.
///
/// Pages of earlier checkpoints, which stopped before the end of the log, may have waited for that sync as well. The
/// system shows them, but forgets that they are not on disk, so that only a new copy of them is safe. The checkpoint
/// keeps every reader out that ignores the log, so its counter may go back.
pub(super) fn repeat_copy(pages: &mut DatabasePages) {
    if !std::mem::take(&mut pages.watch.copying) {
        return;
    }
    if let Some(copied) = index_word(pages, COPIED) {
        copied.store(0, Ordering::Release);
    }
}

/// Returns the last frame that the running checkpoint may copy.
fn attempted_frames(pages: &DatabasePages) -> Option<u32> {
    index_word(pages, ATTEMPTED).map(|place| place.load(Ordering::Acquire))
}

/// Returns a word of the shared index of the log, where SQLite's format has it at a fixed place.
fn index_word(pages: &DatabasePages, at: usize) -> Option<&AtomicU32> {
    let index = pages.watch.index?;
    // SAFETY: SQLite keeps the first region, far longer than this, mapped until `xShmUnmap`, where `index` is
    // forgotten; the place is aligned for a word.
    Some(unsafe { index.add(at).cast::<AtomicU32>().as_ref() })
}
