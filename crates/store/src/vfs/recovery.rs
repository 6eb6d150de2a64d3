//! Judging the log against the mark at the one moment when SQLite recovers from it.
//!
//! SQLite accepts a log as it finds it only when it rebuilds the shared index: the first connection after all
//! others closed or died does, and any that finds the index torn. It then holds the log's write, checkpoint and
//! recovery locks, and the file's shared lock. So neither log nor mark can change while they are compared, and
//! what other processes do at the same time can never look like damage.

use super::backfill::LogBackfill;
use super::base::BaseFile;
use super::damage;
use super::family::{EXCHANGED_FILE, LineageStamp};
use super::mark::{AdjacentLog, LogMark, LogVerdict};
use super::pages::{DatabasePages, PageProtection};
use super::wal::{self, FRAME_HEADER, HEADER, LogFrames};
use rusqlite::ffi;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// The code for a log that is not the file's own: an I/O error with a number that SQLite does not use.
pub(crate) const FOREIGN_LOG: c_int = ffi::SQLITE_IOERR | (0xf0 << 8);

/// The code for a rollback journal beside a palace, which has none of its own.
pub(crate) const FOREIGN_JOURNAL: c_int = ffi::SQLITE_IOERR | (0xf5 << 8);

/// The code for a log that was truncated, damaged or removed while it was being copied into the file.
pub(crate) const TORN_LOG: c_int = ffi::SQLITE_IOERR | (0xf1 << 8);

/// The state that an open database keeps about the log beside it.
#[derive(Debug, Default)]
pub(super) struct LogWatch {
    /// The log below the shim, while it is open.
    pub(super) log: Option<BaseFile>,
    /// The first part of the log's shared index, while it is mapped.
    pub(super) index: Option<NonNull<u8>>,
    /// Whether a checkpoint of this connection has begun to copy the log and has not synced the file since.
    pub(super) copying: bool,
    /// Counts how often this connection took the log's write lock. What was seen in an earlier turn is void:
    /// a commit that failed half-way is overwritten by the next.
    pub(super) turn: u64,
    /// Whether this connection holds the log's write lock.
    pub(super) writing: bool,
    /// Whether this connection holds the file exclusively, as the last one does when it closes.
    pub(super) exclusive: bool,
    /// Whether the log beside the file was refused, by its own fault or the mark's.
    pub(super) refused: bool,
    /// Whether this connection has joined the openers of its three files.
    pub(super) joined: bool,
    /// Whether the running checkpoint must not write into the file: it is not the log's own any more.
    pub(super) exchanged: bool,
    /// Whether the running checkpoint must not write into the file: its progress could not be recorded there, or
    /// it could not be read whether the file is still the log's own.
    pub(super) unrecorded: bool,
    /// Page 1 and the shared index at the last look.
    pub(super) stamp: Option<LineageStamp>,
    /// The loss that this connection found.
    pub(super) loss: Option<LostLog>,
    /// The turn whose commit carries the palace's note of the loss.
    pub(super) noted: Option<u64>,
}

impl LogWatch {
    /// Returns the number of pages of the database after the last commit in the log, if the log holds one.
    pub(super) fn logged_pages(&self) -> Option<u32> {
        /// The places of both counts in the header of the log's shared index.
        const LAST_FRAME: usize = 16;
        const PAGES: usize = 20;
        let index = self.index?;
        let word = |at: usize| {
            // SAFETY: SQLite keeps the first region, far longer than this, mapped until `xShmUnmap`, where `index` is
            // forgotten; the place is aligned for a word.
            let place = unsafe { index.add(at).cast::<AtomicU32>().as_ref() };
            place.load(Ordering::Acquire)
        };
        (word(LAST_FRAME) > 0).then(|| word(PAGES))
    }

    /// Returns whether a page lies beyond the end of the database in the only state that a writer reads, the newest.
    ///
    /// SQLite reads such a page if its own transaction has taken it and moved it on, when several tables are made at
    /// once, and uses nothing of it. The file may hold anything there: a vacuum gave the page up, readers kept the file
    /// from being cut, and what a power cut left of an earlier copy of the page stays, since no checkpoint writes it.
    /// A reader of an older moment may need the page, and so it is never beyond the end for a connection that does not
    /// write.
    pub(super) fn is_beyond_end(&self, number: u32) -> bool {
        self.writing && self.logged_pages().is_some_and(|counted| number > counted)
    }
}

/// Acknowledged commits that the log should have held.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LostLog {
    /// The number of pages the log held, and of those that were found; `None` if a process that has died since
    /// found the loss.
    pub(crate) pages: Option<(u32, u32)>,
    /// The path of the copy of the log as it was found.
    pub(crate) kept: Option<PathBuf>,
}

/// Judges the log before SQLite recovers from it; returns a code other than OK if it must not.
pub(super) fn begin_recovery(base: BaseFile, pages: &mut DatabasePages) -> c_int {
    let code = judge_log(base, pages);
    pages.watch.refused = code != ffi::SQLITE_OK;
    code
}

fn judge_log(base: BaseFile, pages: &mut DatabasePages) -> c_int {
    let (PageProtection::Checked { page_size }, Some(log)) = (pages.protection(base), pages.watch.log) else {
        return ffi::SQLITE_OK;
    };
    let (mark, copied) = match (LogMark::read(base, page_size), LogBackfill::read(base, page_size)) {
        (Ok(Some(mark)), Ok(Some(copied))) => (mark, copied),
        (Err(code), _) | (_, Err(code)) => return code,
        _ => {
            // Outside the checksum of page 1, both records carry their own; one that fails
            // it is a damaged page.
            damage::note_page(pages.path(), 1);
            return ffi::SQLITE_IOERR_DATA;
        }
    };
    let beside = match find_log(log) {
        Ok(beside) => beside,
        // A disk that fails for a moment has lost nothing.
        Err(code) => return code,
    };
    let (promised, found) = match mark.judge_log(beside) {
        LogVerdict::Whole if beside == AdjacentLog::Nothing => return ffi::SQLITE_OK,
        // A process may have been killed between writing a commit and syncing it. Readers are about to see that
        // commit, and a repetition under its key is answered with its receipt, so it must be on disk by then.
        LogVerdict::Whole => {
            let Some(reached) = mark.reach_log(beside) else {
                return log.sync();
            };
            let known = if reached.log == mark.log { mark.frames } else { 0 };
            return match rewrite_frames(log, known, reached.frames, page_size) {
                ffi::SQLITE_OK => reached.write_lasting(base, page_size),
                code => code,
            };
        }
        // All of it is in the file, so nothing is lost with it; read over the file it would undo commits.
        LogVerdict::Outdated if copied.log == mark.log && copied.whole && copied.frames >= mark.frames => {
            return log.truncate(0);
        }
        LogVerdict::Outdated | LogVerdict::Foreign => return FOREIGN_LOG,
        LogVerdict::Lost { promised, found } => (promised, found),
    };
    // Two sources may hold the promised frames: what is left of the log, and what a checkpoint copied of it.
    let in_file = if copied.log == mark.log { copied.frames } else { 0 };
    if in_file > found && !copied.whole {
        // The file has some pages beyond the log and lacks others: neither alone nor
        // together are they one state.
        return TORN_LOG;
    }
    let left = found.max(in_file);
    if left < promised {
        pages.watch.loss = Some(LostLog {
            pages: Some((promised, left)),
            kept: keep_copy(log, pages.path(), mark.log),
        });
    }
    // The file is ahead of what is left of the log, which must not be read over it.
    if in_file > found {
        match log.truncate(0) {
            ffi::SQLITE_OK => {}
            code => return code,
        }
    }
    let remaining = LogMark {
        next: mark.log,
        frames: left,
        needed: found > 0 && found >= in_file,
        lost: mark.lost || left < promised,
        ..mark
    };
    remaining.write_lasting(base, page_size)
}

/// Writes the frames after the first `known` once more, and waits until they are on disk.
///
/// They may be those of a commit whose sync failed. The system then shows what was written, but takes it for written to
/// the disk although it is not, so that the next sync would report success and save nothing.
fn rewrite_frames(log: BaseFile, known: u32, frames: u32, page_size: usize) -> c_int {
    let length = FRAME_HEADER + page_size;
    let mut header = [0; HEADER];
    let mut frame = vec![0; length];
    let rewrite = |bytes: &mut [u8], offset: i64| match log.read(bytes, offset) {
        ffi::SQLITE_OK => log.write(bytes, offset),
        code => code,
    };
    let mut code = if known == 0 {
        rewrite(&mut header, 0)
    } else {
        ffi::SQLITE_OK
    };
    for number in known..frames {
        if code != ffi::SQLITE_OK {
            return code;
        }
        code = rewrite(&mut frame, HEADER as i64 + i64::from(number) * length as i64);
    }
    if code == ffi::SQLITE_OK { log.sync() } else { code }
}

/// Reads the log beside the file to its last commit, as SQLite is about to.
fn find_log(log: BaseFile) -> Result<AdjacentLog, c_int> {
    let Some(frames) = LogFrames::try_from_log(log)? else {
        return Ok(AdjacentLog::Nothing);
    };
    Ok(AdjacentLog::Log {
        id: frames.id(),
        frames: wal::count_committed(frames, u32::MAX)?,
    })
}

/// Records that all of the log is in the file, which is synced, before the log is emptied or deleted.
pub(super) fn release_log(base: BaseFile, pages: &mut DatabasePages) -> c_int {
    let PageProtection::Checked { page_size } = pages.protection(base) else {
        return ffi::SQLITE_OK;
    };
    match LogMark::read(base, page_size) {
        Ok(Some(mark)) if mark.needed => match names_open_log(mark, pages) {
            // A file that asks for another log was put in the place of the palace, and must go on asking.
            Ok(false) if mark.frames > 0 => EXCHANGED_FILE,
            Err(code) => code,
            Ok(_) => LogMark {
                needed: false,
                ..mark
            }
            .write_lasting(base, page_size),
        },
        Ok(Some(_)) => ffi::SQLITE_OK,
        Ok(None) => ffi::SQLITE_IOERR_DATA,
        Err(code) => code,
    }
}

fn names_open_log(mark: LogMark, pages: &DatabasePages) -> Result<bool, c_int> {
    let open = pages.watch.log.map(wal::read_log_id).transpose()?.flatten();
    Ok(open.is_some_and(|id| mark.names(id)))
}

/// Keeps a copy of the log as it was found, since SQLite overwrites what it could not read. SQLite holds no lock on
/// the log itself, so a second descriptor does no harm.
fn keep_copy(log: BaseFile, database: &str, id: u32) -> Option<PathBuf> {
    if log.size().is_ok_and(|size| size == 0) {
        return None;
    }
    let copy = PathBuf::from(format!("{database}-wal.lost-{id:08x}"));
    // An earlier opening kept it already; the log may hold less by now.
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
