//! Judging the log against the mark at the one moment when SQLite reads it anew.
//!
//! SQLite takes a log as it finds it only when it rebuilds the shared index: the first connection after all
//! others closed or died does, and whoever finds the index torn. It then holds the log's write, checkpoint and
//! recovery locks, and the file's shared lock. So neither log nor mark can change while they are compared, and
//! what other processes do at the same time can never look like damage.

use super::backfill::Backfill;
use super::base::Base;
use super::damage;
use super::mark::{Beside, Mark, Verdict};
use super::pages::{Kind, Pages};
use super::wal::{self, Frames};
use rusqlite::ffi;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// The code for a log that is not the file's own: an I/O error with a number that SQLite does not use.
pub(crate) const FOREIGN_LOG: c_int = ffi::SQLITE_IOERR | (0xf0 << 8);

/// The code for a log that was cut or damaged, or is gone, while it was being copied into the file.
pub(crate) const TORN_LOG: c_int = ffi::SQLITE_IOERR | (0xf1 << 8);

/// What an open database knows of the log beside it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The log below the shim, while it is open.
    pub(super) log: Option<Base>,
    /// The first part of the log's shared index, while it is mapped.
    pub(super) index: Option<NonNull<u8>>,
    /// A checkpoint of this connection has begun to copy the log and not synced the file since.
    pub(super) copying: bool,
    /// Counts how often this connection took the log's write lock. What was seen in an earlier turn is void:
    /// a commit that failed half-way is overwritten by the next.
    pub(super) turn: u64,
    /// The file is locked for this connection alone, as when the last one closes.
    pub(super) exclusive: bool,
    /// The log beside the file was not let in, by its own fault or the mark's.
    pub(super) refused: bool,
    /// What this connection found missing.
    pub(super) loss: Option<LostLog>,
    /// The turn whose commit carries the palace's note of the loss.
    pub(super) noted: Option<u64>,
}

/// Acknowledged commits that the log should have held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LostLog {
    /// How many pages the log held and how many of them were found; none where a process that died since
    /// found the loss.
    pub(crate) pages: Option<(u32, u32)>,
    /// Where a copy of the log was kept as it was found.
    pub(crate) kept: Option<PathBuf>,
}

/// Judges the log before SQLite recovers from it; gives a code other than OK where it must not.
pub(super) fn begin(base: Base, pages: &mut Pages) -> c_int {
    let code = judge(base, pages);
    pages.watch.refused = code != ffi::SQLITE_OK;
    code
}

fn judge(base: Base, pages: &mut Pages) -> c_int {
    let (Kind::Checked { page_size }, Some(log)) = (pages.kind(base), pages.watch.log) else {
        return ffi::SQLITE_OK;
    };
    let (mark, copied) = match (Mark::read(base, page_size), Backfill::read(base, page_size)) {
        (Ok(Some(mark)), Ok(Some(copied))) => (mark, copied),
        (Err(code), _) | (_, Err(code)) => return code,
        _ => {
            damage::note(pages.path(), 1);
            return ffi::SQLITE_IOERR_DATA;
        }
    };
    let beside = Frames::of(log).map_or(Beside::Nothing, |frames| Beside::Log {
        id: frames.id(),
        frames: wal::committed(frames, mark.frames),
    });
    let (promised, found) = match mark.judge(beside) {
        Verdict::Whole => return ffi::SQLITE_OK,
        Verdict::Foreign => return FOREIGN_LOG,
        Verdict::Lost { promised, found } => (promised, found),
    };
    let in_file = if copied.log == mark.log { copied.frames } else { 0 };
    if in_file > found && !copied.whole {
        return TORN_LOG;
    }
    let left = found.max(in_file);
    if left < promised {
        pages.watch.loss = Some(LostLog {
            pages: Some((promised, left)),
            kept: keep_copy(log, pages.path(), mark.log),
        });
    }
    // The file is further than what is left of the log, which must not be read over it.
    if in_file > found {
        match log.truncate(0) {
            ffi::SQLITE_OK => {}
            code => return code,
        }
    }
    let remaining = Mark {
        next: mark.log,
        frames: left,
        needed: found > 0 && found >= in_file,
        lost: mark.lost || left < promised,
        ..mark
    };
    remaining.write_lasting(base, page_size)
}

/// Says that all of the log is in the file, which is synced, before the log is emptied or deleted.
pub(super) fn done_with(base: Base, pages: &mut Pages) -> c_int {
    let Kind::Checked { page_size } = pages.kind(base) else {
        return ffi::SQLITE_OK;
    };
    match Mark::read(base, page_size) {
        Ok(Some(mark)) if mark.needed => Mark {
            needed: false,
            ..mark
        }
        .write_lasting(base, page_size),
        Ok(Some(_)) => ffi::SQLITE_OK,
        Ok(None) => ffi::SQLITE_IOERR_DATA,
        Err(code) => code,
    }
}

/// Keeps the log as it was found, since SQLite writes over what it could not read. SQLite holds no lock on
/// the log itself, so a second descriptor does no harm.
fn keep_copy(log: Base, database: &str, id: u32) -> Option<PathBuf> {
    if log.size().is_ok_and(|size| size == 0) {
        return None;
    }
    let copy = PathBuf::from(format!("{database}-wal.lost-{id:08x}"));
    if copy.exists() {
        return Some(copy);
    }
    let kept = std::fs::copy(Path::new(&format!("{database}-wal")), &copy)
        .and_then(|_| std::fs::File::open(&copy)?.sync_all());
    match kept {
        Ok(()) => Some(copy),
        Err(_) => {
            let _ = std::fs::remove_file(&copy);
            None
        }
    }
}
