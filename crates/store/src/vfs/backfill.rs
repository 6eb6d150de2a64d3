//! How far checkpoints have copied the log into the file, kept on page 1 before the log mark.
//!
//! Once pages of a log are in the file, an earlier part of that log would put older ones before them. So where
//! a log turns out cut or damaged, this says whether what is left of it may still be read, whether the file
//! alone is whole, or neither.
//!
//! Only checkpoints write it, one at a time: they hold the checkpoint lock, or the file exclusively.

use super::base::Base;
use super::mark::{self, Mark};
use super::page;
use super::pages::{Kind, Pages};
use super::wal::Frames;
use rusqlite::ffi;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

const WHOLE: u32 = 1 << 31;

/// What has been copied of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Backfill {
    /// The log, by the name that the mark uses.
    pub(super) log: u32,
    /// Pages of frames up to this one may be in the file.
    pub(super) frames: u32,
    /// All of them are, and on disk.
    pub(super) whole: bool,
}

impl Backfill {
    pub(super) const LENGTH: usize = 12;

    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let [log, count] = mark::unpack(bytes)?;
        Some(Self {
            log,
            frames: count & !WHOLE,
            whole: count & WHOLE != 0,
        })
    }

    pub(super) fn bytes(self) -> [u8; Self::LENGTH] {
        let count = self.frames.min(WHOLE - 1) | if self.whole { WHOLE } else { 0 };
        let mut bytes = [0; Self::LENGTH];
        mark::pack([self.log, count], &mut bytes);
        bytes
    }

    /// Reads it from a file with pages of `page_size`; none where it is damaged.
    pub(super) fn read(base: Base, page_size: usize) -> Result<Option<Self>, c_int> {
        let mut bytes = [0; Self::LENGTH];
        match base.read(&mut bytes, place(page_size)) {
            ffi::SQLITE_OK => Ok(Self::of(&bytes)),
            code => Err(code),
        }
    }

    fn write(self, base: Base, page_size: usize) -> c_int {
        base.write(&self.bytes(), place(page_size))
    }
}

fn place(page_size: usize) -> i64 {
    page::offset(2, page_size) - (Mark::LENGTH + Backfill::LENGTH) as i64
}

/// Says that pages of the log are about to be written into the file.
pub(super) fn begin(base: Base, pages: &mut Pages) {
    pages.watch.copying = true;
    let Kind::Checked { page_size } = pages.kind(base) else {
        return;
    };
    let (Some(frames), Some(log)) = (attempted(pages), pages.watch.log.and_then(Frames::of)) else {
        return;
    };
    let copying = Backfill {
        log: log.id(),
        frames,
        whole: false,
    };
    copying.write(base, page_size);
}

/// Says, after a sync of the file, that all of the log is in it: a checkpoint syncs the file if and only if it
/// has copied everything.
pub(super) fn finish(base: Base, pages: &mut Pages) {
    if !std::mem::take(&mut pages.watch.copying) {
        return;
    }
    if let Kind::Checked { page_size } = pages.kind(base)
        && let Ok(Some(copied)) = Backfill::read(base, page_size)
    {
        Backfill {
            whole: true,
            ..copied
        }
        .write(base, page_size);
    }
}

/// The last frame that the checkpoint under way may copy, from the shared index of the log, where SQLite's
/// format has it at a fixed place.
fn attempted(pages: &Pages) -> Option<u32> {
    const ATTEMPTED: usize = 128;
    let index = pages.watch.index?;
    // SAFETY: SQLite keeps the first region, far longer than this, mapped until `xShmUnmap`, where `index` is
    // forgotten; the place is aligned for a word.
    let place = unsafe { index.add(ATTEMPTED).cast::<AtomicU32>().as_ref() };
    Some(place.load(Ordering::Acquire))
}
