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

/// Records that pages of the log are about to be written into the file.
pub(super) fn begin_copy(base: BaseFile, pages: &mut DatabasePages) {
    pages.watch.copying = true;
    let PageProtection::Checked { page_size } = pages.protection(base) else {
        return;
    };
    let (Some(frames), Some(log)) = (
        attempted_frames(pages),
        pages.watch.log.and_then(LogFrames::from_log),
    ) else {
        return;
    };
    let copying = LogBackfill {
        log: log.id(),
        frames,
        whole: false,
    };
    copying.write(base, page_size);
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

/// Returns the last frame that the running checkpoint may copy, from the shared index of the log, where SQLite's
/// format has it at a fixed place.
fn attempted_frames(pages: &DatabasePages) -> Option<u32> {
    const ATTEMPTED: usize = 128;
    let index = pages.watch.index?;
    // SAFETY: SQLite keeps the first region, far longer than this, mapped until `xShmUnmap`, where `index` is
    // forgotten; the place is aligned for a word.
    let place = unsafe { index.add(ATTEMPTED).cast::<AtomicU32>().as_ref() };
    Some(place.load(Ordering::Acquire))
}
