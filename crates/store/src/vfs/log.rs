//! One open write-ahead log: every page read from it is verified.
//!
//! SQLite checks the frames of a log only when it rebuilds the shared index. Afterwards it trusts them, and
//! a checkpoint would copy a damaged one into the file and seal it there.
//!
//! It also maintains the file's log mark: announced before a header is written, raised after a commit is synced.

use super::File;
use super::base::BaseFile;
use super::family::EXCHANGED_FILE;
use super::file::{self, FileContent};
use super::mark::LogMark;
use super::pages::{DatabasePages, PageProtection};
use super::wal::{self, FRAME_HEADER, HEADER, LogFrames, RunningChecksum, read_word};
use super::{damage, page, recovery};
use rusqlite::ffi;
use std::ffi::c_int;

/// The state of one open log.
#[derive(Debug, Default)]
pub(super) struct OpenLog {
    /// The path of the database it belongs to.
    path: String,
    /// The database it belongs to, opened by the same connection.
    database: Option<File>,
    /// The byte order of its checksums and the size of its pages, once known.
    format: Option<(bool, usize)>,
    /// The frame header that was just written through this handle, and where, until its page is.
    last_header: Option<(i64, [u8; FRAME_HEADER])>,
    /// From here on frames have no final checksums yet. A transaction larger than the cache overwrites pages
    /// that it had already spilled, and SQLite rewrites the headers of all frames from the first such one
    /// when it commits. No other connection reads them before that.
    unsettled: Option<i64>,
    /// The last frame written, if that was a commit.
    commit: Option<PendingCommit>,
    /// The turn of the write lock in which frames were last written.
    turn: Option<u64>,
}

/// A commit that waits for its sync.
#[derive(Debug, Clone, Copy)]
struct PendingCommit {
    log: u32,
    /// Its number, counted from one.
    frame: u32,
    turn: u64,
}

/// A checked database as a log sees it.
struct LogOwner<'a> {
    base: BaseFile,
    pages: &'a mut DatabasePages,
    page_size: usize,
}

impl LogOwner<'_> {
    /// Reads the mark; one that was damaged meanwhile promises nothing.
    fn read_mark(&self) -> Result<LogMark, c_int> {
        LogMark::read(self.base, self.page_size).map(Option::unwrap_or_default)
    }

    /// Returns whether the file knows `log` as its own. A mark that names another log came with another file, which was
    /// written over this one; the default stands for a damaged mark, which the next commit writes anew.
    fn accepts_log(&self, mark: LogMark, log: u32) -> bool {
        !self.pages.watch.joined || mark == LogMark::default() || mark.names(log)
    }

    /// Returns the number of the frame whose header is at `offset`.
    fn frame_number(&self, offset: i64) -> u32 {
        let frame = (FRAME_HEADER + self.page_size) as i64;
        u32::try_from((offset - HEADER as i64) / frame + 1).unwrap_or(u32::MAX)
    }
}

impl OpenLog {
    /// # Safety
    /// `database` must be one of our files, open for as long as the log is, and used by the same thread.
    pub(super) unsafe fn new(path: &str, database: Option<File>) -> Self {
        Self {
            path: path.strip_suffix("-wal").unwrap_or(path).to_owned(),
            database,
            ..Self::default()
        }
    }

    /// Returns the database, if its pages are checked and it thus carries a mark.
    fn checked_owner(&mut self) -> Option<LogOwner<'_>> {
        // SAFETY: see `new`; the state of a database is not part of the state of its log.
        let (base, FileContent::Database(pages)) = (unsafe { file::parts(self.database?) }) else {
            return None;
        };
        match pages.protection(base) {
            PageProtection::Checked { page_size } => Some(LogOwner {
                base,
                pages,
                page_size,
            }),
            PageProtection::Plain | PageProtection::Unborn => None,
        }
    }

    /// Tells the database that its log is open below the shim as `log`, or no longer open.
    pub(super) fn link_database(&mut self, log: Option<BaseFile>) {
        // SAFETY: see `new`.
        if let Some(database) = self.database
            && let (_, FileContent::Database(pages)) = unsafe { file::parts(database) }
        {
            pages.watch.log = log;
        }
    }

    pub(super) fn write(&mut self, base: BaseFile, bytes: &[u8], offset: i64) -> c_int {
        let allowed = if offset == 0 {
            (self.format, self.unsettled, self.commit) = (None, None, None);
            // Offset 0 is the log's header: a new log begins, and nothing known of the old one counts any more.
            self.announce_log(base, bytes)
        } else if let Ok(head) = <[u8; FRAME_HEADER]>::try_from(bytes) {
            // SQLite writes a frame in two steps: the header of 24 bytes, then the page.
            self.last_header = Some((offset, head));
            self.unsettled = self.unsettled.filter(|from| *from < offset);
            self.commit = None;
            self.begin_turn(&head, offset)
        } else {
            if let Some(header) = frame_offset(bytes.len(), offset) {
                match self.last_header.take() {
                    Some((written, head)) if written == header => self.finish_frame(&head, header),
                    // A page without its header before it replaces a spilled one; its
                    // checksum follows at commit.
                    _ => self.unsettled = Some(self.unsettled.map_or(header, |from| from.min(header))),
                }
            }
            ffi::SQLITE_OK
        };
        let code = match allowed {
            ffi::SQLITE_OK => base.write(bytes, offset),
            code => code,
        };
        if code != ffi::SQLITE_OK {
            // A commit whose last page did not reach the log must not count, no matter what is synced later.
            self.commit = None;
        }
        code
    }

    /// Makes the file expect the log whose header is about to be written. The present content of the log is synced
    /// first, and so is its name: a power cut can then bring back this content or the new one, and no third.
    fn announce_log(&mut self, base: BaseFile, header: &[u8]) -> c_int {
        let Some(owner) = self.checked_owner() else {
            return ffi::SQLITE_OK;
        };
        let next = wal::log_id(header.get(16..24).unwrap_or_default());
        let mark = match owner.read_mark() {
            // Announced before, by an attempt that failed: perhaps in the very sync that should have made the mark last.
            Ok(mark) if mark.next == next => return mark.write_lasting(owner.base, owner.page_size),
            Ok(mark) => mark,
            Err(code) => return code,
        };
        let mut shown = [0; HEADER];
        let beside = match base.read_whole(&mut shown, 0) {
            Ok(true) => LogFrames::after_header(base, &shown).map_or(0, |frames| frames.id()),
            Ok(false) => 0,
            Err(code) => return code,
        };
        if beside != 0 && !owner.accepts_log(mark, beside) {
            return EXCHANGED_FILE;
        }
        // A commit behind this header was synced, and the header with it.
        let lasts = mark.frames > 0 && beside == mark.log;
        // The mark below names this content as one that may come back, so it must be complete on disk.
        match settle_header(base, &shown, lasts) {
            ffi::SQLITE_OK => mark
                .with_announced(next, beside)
                .write_lasting(owner.base, owner.page_size),
            code => code,
        }
    }

    /// Lowers the mark if frames that it counts are about to be overwritten. That happens only after a
    /// commit that was synced and then failed, since SQLite adds to what was committed.
    fn begin_turn(&mut self, head: &[u8], offset: i64) -> c_int {
        let last = self.turn;
        let Some(owner) = self.checked_owner() else {
            return ffi::SQLITE_OK;
        };
        let turn = owner.pages.watch.turn;
        if last == Some(turn) {
            return ffi::SQLITE_OK;
        }
        let before = owner.frame_number(offset).saturating_sub(1);
        let log = wal::log_id(head.get(8..16).unwrap_or_default());
        let code = match owner.read_mark() {
            Ok(mark) if !owner.accepts_log(mark, log) => EXCHANGED_FILE,
            Ok(mark) if mark.log == log && mark.frames > before => {
                let lowered = LogMark {
                    frames: before,
                    ..mark
                };
                lowered.write_lasting(owner.base, owner.page_size)
            }
            Ok(_) => ffi::SQLITE_OK,
            Err(code) => code,
        };
        self.turn = Some(turn);
        code
    }

    /// Notes a commit whose last page is about to be written.
    fn finish_frame(&mut self, head: &[u8], offset: i64) {
        self.commit = self
            .checked_owner()
            .filter(|_| read_word(head, 4) != 0)
            .map(|owner| PendingCommit {
                log: wal::log_id(head.get(8..16).unwrap_or_default()),
                frame: owner.frame_number(offset),
                turn: owner.pages.watch.turn,
            });
    }

    /// Raises the mark if the sync that ended with `code` made a commit durable; a checkpoint syncs as well.
    ///
    /// The mark itself is not synced: after a kill the system still writes it, and after a power cut it may
    /// be an older one, which promises less but nothing wrong. For the same reason a failure to write it is
    /// not a failure of the commit, which is on disk.
    pub(super) fn raise_mark(&mut self, code: c_int) {
        let Some(commit) = self.commit.take().filter(|_| code == ffi::SQLITE_OK) else {
            return;
        };
        let Some(owner) = self.checked_owner() else { return };
        // Another turn of the write lock may have overwritten the frames that this commit was noted for.
        if commit.turn != owner.pages.watch.turn {
            return;
        }
        let noted = owner.pages.watch.noted == Some(commit.turn);
        if let Ok(mark) = owner.read_mark()
            && owner.accepts_log(mark, commit.log)
        {
            let mut raised = mark.with_frames(commit.log, commit.frame);
            raised.lost &= !noted;
            if raised.write(owner.base, owner.page_size) == ffi::SQLITE_OK && noted {
                owner.pages.watch.loss = None;
            }
        }
    }

    /// Prepares for the log being cut to nothing, all of it being in the file.
    pub(super) fn prepare_emptying(&mut self) -> c_int {
        self.commit = None;
        self.checked_owner().map_or(ffi::SQLITE_OK, |owner| {
            recovery::release_log(owner.base, owner.pages)
        })
    }

    /// Judges the bytes of a read from the log that ended with `code`.
    pub(super) fn judge_read(&mut self, base: BaseFile, bytes: &[u8], offset: i64, code: c_int) -> c_int {
        if code != ffi::SQLITE_OK || !page::is_page_size(bytes.len()) {
            return code;
        }
        let format = match self.read_format(base) {
            Ok(format) => format,
            Err(code) => return code,
        };
        let page_size = format.map_or(bytes.len(), |(_, page_size)| page_size);
        let Some(header) = frame_offset(page_size, offset) else {
            return code;
        };
        if self.unsettled.is_some_and(|from| header >= from) {
            return code;
        }
        let mut head = [0; FRAME_HEADER];
        let mut page = Vec::new();
        let mut code = base.read(&mut head, header);
        if code == ffi::SQLITE_OK && bytes.len() != page_size {
            // A connection opened before the file was made asks once for a page of the size it then assumed.
            page.resize(page_size, 0);
            code = base.read(&mut page, offset);
        }
        let content = if page.is_empty() { bytes } else { &page };
        if code != ffi::SQLITE_OK {
            return code;
        }
        let sound = format.map_or(Ok(false), |(big_endian, _)| {
            continues_checksum(base, big_endian, &head, content, header)
        });
        match sound {
            Ok(true) => ffi::SQLITE_OK,
            Ok(false) => {
                damage::note_page(&self.path, read_word(&head, 0));
                ffi::SQLITE_IOERR_DATA
            }
            Err(code) => code,
        }
    }

    fn read_format(&mut self, base: BaseFile) -> Result<Option<(bool, usize)>, c_int> {
        if self.format.is_none() {
            let mut first = [0; HEADER];
            match base.read(&mut first, 0) {
                ffi::SQLITE_OK | ffi::SQLITE_IOERR_SHORT_READ => {}
                code => return Err(code),
            }
            let page_size = read_word(&first, 8) as usize;
            self.format = wal::is_big_endian(&first)
                .filter(|_| page::is_page_size(page_size))
                .map(|big_endian| (big_endian, page_size));
        }
        Ok(self.format)
    }
}

/// Waits until the log on disk begins with the header that the system shows; one of zeros stands for an empty log.
///
/// If the sync of a header failed, the system shows that header, but takes it for written to the disk, where the log
/// before it may still be. The next sync would report success and save nothing, so the header is written once more,
/// unless it is known to last.
fn settle_header(log: BaseFile, shown: &[u8; HEADER], lasts: bool) -> c_int {
    // The length of an empty log is no content: file systems keep it in their journals.
    if !lasts && *shown != [0; HEADER] {
        match log.write(shown, 0) {
            ffi::SQLITE_OK => {}
            code => return code,
        }
    }
    log.sync()
}

/// Returns whether the checksum of this frame continues that of the frame, or the log's header, before it; fails if
/// that cannot be read now.
fn continues_checksum(
    base: BaseFile,
    big_endian: bool,
    head: &[u8],
    content: &[u8],
    header: i64,
) -> Result<bool, c_int> {
    let before = if header == HEADER as i64 {
        24
    } else {
        header - content.len() as i64 - 8
    };
    let mut sums = [0; 8];
    match base.read(&mut sums, before) {
        ffi::SQLITE_OK => {}
        ffi::SQLITE_IOERR_SHORT_READ => return Ok(false),
        code => return Err(code),
    }
    let mut running = RunningChecksum {
        big_endian,
        sums: (read_word(&sums, 0), read_word(&sums, 4)),
    };
    running.add(head.get(..8).unwrap_or_default());
    running.add(content);
    Ok(running.sums == (read_word(head, 16), read_word(head, 20)))
}

/// Returns the offset of the header of the frame whose page these bytes are; `None` if they are not a page.
fn frame_offset(length: usize, offset: i64) -> Option<i64> {
    let header = offset - FRAME_HEADER as i64;
    let from_first = header - HEADER as i64;
    (page::is_page_size(length) && from_first >= 0 && from_first % (FRAME_HEADER + length) as i64 == 0)
        .then_some(header)
}
