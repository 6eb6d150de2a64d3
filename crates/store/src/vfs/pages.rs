//! What one open database file knows of its pages: whether they are checked, and which were seen sound.

use super::backfill::Backfill;
use super::base::Base;
use super::damage;
use super::mark::Mark;
use super::page::{self, Header};
use super::recovery::Watch;
use super::wal::Frames;
use rusqlite::ffi;
use std::ffi::c_int;
use std::time::Duration;

/// Waits between the readings of a page that fails. A connection that opens while another process makes
/// the log and checkpoints it reads page 1 outside the log's protocol once, and may see it half written.
const PATIENCE: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(15),
];

/// How a file is to be treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Every page carries a checksum.
    Checked { page_size: usize },
    /// A database that reserves no room for checksums.
    Plain,
    /// Nothing is in the file yet that says what it will be.
    Unborn,
}

/// The state of one open main database file.
#[derive(Debug, Default)]
pub(super) struct Pages {
    path: String,
    /// The page size once the file is known to be checked, else zero. "Plain" is never remembered:
    /// another process may turn checks on.
    page_size: usize,
    /// The header names the write-ahead log as the way to write.
    wal: bool,
    /// The owner asked for checks before the file had a header.
    asked: bool,
    /// Pages went into the file before its header and carry no checksum yet.
    early: bool,
    /// SQLite is copying the log into the file.
    pub(super) checkpointing: bool,
    /// What is known of the log.
    pub(super) watch: Watch,
    /// One bit per page that was mapped and found sound.
    seen: Vec<u64>,
    scratch: Vec<u8>,
}

impl Pages {
    pub(super) fn new(path: String) -> Self {
        Self {
            path,
            ..Self::default()
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Promises that the file, still without a header, will be checked.
    pub(super) fn ask(&mut self) {
        self.asked = true;
    }

    /// How the file is to be treated, from memory or from its header.
    pub(super) fn kind(&mut self, base: Base) -> Kind {
        if self.page_size == 0 {
            let mut first = [0; Header::LENGTH];
            // A file too short for a header gives zeros, and so does a hole where page 1 will be.
            let code = base.read(&mut first, 0);
            self.learn(&first);
            if self.page_size == 0 {
                let known = code == ffi::SQLITE_OK && first.iter().any(|byte| *byte != 0);
                return if known { Kind::Plain } else { Kind::Unborn };
            }
        }
        Kind::Checked {
            page_size: self.page_size,
        }
    }

    /// Takes from the start of the file whether it is checked. Once on, reading never switches it off.
    fn learn(&mut self, first: &[u8]) {
        if let Some(header) = Header::of(first)
            && header.reserved == page::RESERVED
        {
            self.page_size = header.page_size;
            self.wal = header.wal;
        }
    }

    /// The length that the sealed first page promises, where the file, now of `size` bytes, is shorter.
    pub(super) fn promised(&mut self, base: Base, size: i64) -> i64 {
        let Kind::Checked { page_size } = self.kind(base) else {
            return size;
        };
        let mut counted = [0; 4];
        if !self.wal || size < page_size as i64 || base.read(&mut counted, 28) != ffi::SQLITE_OK {
            return size;
        }
        let promised = i64::from(u32::from_be_bytes(counted)).saturating_mul(page_size as i64);
        let mut first = vec![0; page_size];
        if promised <= size || base.read(&mut first, 0) != ffi::SQLITE_OK || !page::is_sealed(1, &first) {
            return size;
        }
        promised
    }

    /// Judges what the file gave for a read that ended with `code`.
    pub(super) fn judge(&mut self, base: Base, bytes: &mut [u8], offset: i64, code: c_int) -> c_int {
        if offset == 0 && code == ffi::SQLITE_OK {
            self.learn(bytes);
        }
        if bytes.len() < page::SMALLEST {
            return code;
        }
        match self.kind(base) {
            Kind::Checked { page_size } if whole(bytes.len(), offset, page_size) => {
                if code == ffi::SQLITE_IOERR_SHORT_READ {
                    return self.judge_end(base, offset, page_size);
                }
                self.verify(base, bytes, offset, page_size)
            }
            Kind::Plain if offset == 0 && page::is_disguised(bytes) => self.refuse(1),
            _ => code,
        }
    }

    /// Judges a page that lies beyond the end of the file. With a log, every page of a snapshot is in the
    /// log or in the file; one that the first page counts and that is not there was cut off. SQLite may also read
    /// a page that its own transaction has taken and not written yet, when it makes or removes several tables
    /// at once, and takes zeros for it; the first page of the file does not count that one.
    fn judge_end(&self, base: Base, offset: i64, page_size: usize) -> c_int {
        match page::number(offset, page_size) {
            Some(number) if self.wal && offset > 0 && !is_new(base, number, page_size) => self.refuse(number),
            _ => ffi::SQLITE_IOERR_SHORT_READ,
        }
    }

    fn verify(&self, base: Base, bytes: &mut [u8], offset: i64, page_size: usize) -> c_int {
        let Some(mut damaged) = first_damaged(bytes, offset, page_size) else {
            return ffi::SQLITE_OK;
        };
        for pause in PATIENCE {
            // Damage on record is read again without waiting.
            if !damage::is_noted(&self.path, damaged) {
                std::thread::sleep(pause);
            }
            match base.read(bytes, offset) {
                ffi::SQLITE_OK => {}
                code => return code,
            }
            match first_damaged(bytes, offset, page_size) {
                Some(number) => damaged = number,
                None => return ffi::SQLITE_OK,
            }
        }
        self.refuse(damaged)
    }

    fn refuse(&self, number: u32) -> c_int {
        damage::note(&self.path, number);
        ffi::SQLITE_IOERR_DATA
    }

    /// Whether a page that SQLite wants to use in place, through the memory map, is sound.
    ///
    /// Nobody can be writing it: a checkpoint copies only frames that every reader's snapshot holds, and
    /// a reader takes such a page from the log; a reader that ignores the log holds read lock 0, which a
    /// checkpoint needs for itself; without a log a shared lock keeps writers out. A page changed by
    /// another process since we saw it sound was sealed by it. So one look per page and handle is enough
    /// to catch what the disk gives back, and `write` and `truncate` here clear what they replace.
    pub(super) fn is_sound(&mut self, base: Base, bytes: &[u8], offset: i64) -> bool {
        let Kind::Checked { page_size } = self.kind(base) else {
            return true;
        };
        let Some(number) = page::number(offset, page_size) else {
            return true;
        };
        if bytes.len() != page_size || !whole(bytes.len(), offset, page_size) {
            return false;
        }
        let (slot, bit) = (number as usize / 64, 1_u64 << (number % 64));
        if self.seen.get(slot).is_some_and(|bits| bits & bit != 0) {
            return true;
        }
        let sound = page::is_sealed(number, bytes);
        if sound {
            if self.seen.len() <= slot {
                self.seen.resize(slot + 1, 0);
            }
            if let Some(bits) = self.seen.get_mut(slot) {
                *bits |= bit;
            }
        }
        sound
    }

    /// Forgets that pages were seen sound, from `offset` for `length` bytes.
    pub(super) fn unsee(&mut self, offset: i64, length: i64) {
        let from = page::number(offset, self.page_size).unwrap_or(1);
        let to = page::number(offset.saturating_add(length), self.page_size).unwrap_or(u32::MAX);
        let slots = self.seen.len().saturating_mul(64);
        for number in from as usize..(to as usize).min(slots) {
            if let Some(bits) = self.seen.get_mut(number / 64) {
                *bits &= !(1 << (number % 64));
            }
        }
    }

    /// Writes pages, sealed where the file is checked.
    pub(super) fn write(&mut self, base: Base, bytes: &[u8], offset: i64) -> c_int {
        if offset == 0
            && let Some(code) = self.write_first(base, bytes)
        {
            return code;
        }
        let page_size = match self.kind(base) {
            Kind::Checked { page_size } => page_size,
            Kind::Unborn if self.asked && page::is_page_size(bytes.len()) => bytes.len(),
            kind => {
                self.early |= kind == Kind::Unborn;
                return base.write(bytes, offset);
            }
        };
        if !whole(bytes.len(), offset, page_size) {
            return ffi::SQLITE_IOERR_WRITE;
        }
        match self.fill_gap(base, offset, page_size) {
            ffi::SQLITE_OK => self.write_sealed(base, bytes, offset, page_size),
            code => code,
        }
    }

    /// Takes note of a new header before it is written; gives a code where that already ends the write.
    fn write_first(&mut self, base: Base, bytes: &[u8]) -> Option<c_int> {
        let header = Header::of(bytes)?;
        if header.reserved != page::RESERVED {
            self.page_size = 0;
            self.early = false;
            return Some(base.write(bytes, 0));
        }
        if bytes.len() < header.page_size {
            return Some(ffi::SQLITE_IOERR_WRITE);
        }
        self.learn(bytes);
        if !std::mem::take(&mut self.early) {
            return None;
        }
        match self.seal_early(base, header.page_size) {
            ffi::SQLITE_OK => None,
            code => Some(code),
        }
    }

    /// Seals the pages that SQLite spilled from its cache before the header told what the file is.
    fn seal_early(&mut self, base: Base, page_size: usize) -> c_int {
        let end = match base.size() {
            Ok(end) => end,
            Err(code) => return code,
        };
        let mut page = vec![0; page_size];
        for offset in (0..end).step_by(page_size).skip(1) {
            let code = match base.read(&mut page, offset) {
                ffi::SQLITE_OK => self.write_sealed(base, &page, offset, page_size),
                ffi::SQLITE_IOERR_SHORT_READ => ffi::SQLITE_OK,
                code => code,
            };
            if code != ffi::SQLITE_OK {
                return code;
            }
        }
        ffi::SQLITE_OK
    }

    /// Fills the pages that a write beyond the end would leave as a hole. With a rollback journal SQLite
    /// skips free pages that it never filled, and the backup API reads them later. A checkpoint leaves
    /// holes too, but only where the log holds the page; those stay zeros, which no check accepts, so that
    /// losing the log cannot pass for content.
    fn fill_gap(&mut self, base: Base, offset: i64, page_size: usize) -> c_int {
        if self.checkpointing {
            return ffi::SQLITE_OK;
        }
        let end = match base.size() {
            Ok(end) => end,
            Err(code) => return code,
        };
        if end >= offset {
            return ffi::SQLITE_OK;
        }
        let Some(first) = page::number(end, page_size) else {
            return ffi::SQLITE_OK;
        };
        let zeros = vec![0; page_size];
        for gap in (page::offset(first, page_size)..offset).step_by(page_size) {
            let lock_page = page::number(gap, page_size).is_some_and(|n| page::is_lock_page(n, page_size));
            // Page 1 comes last into a new file; it is never a free page.
            if gap == 0 || lock_page {
                continue;
            }
            let code = self.write_sealed(base, &zeros, gap, page_size);
            if code != ffi::SQLITE_OK {
                return code;
            }
        }
        ffi::SQLITE_OK
    }

    fn write_sealed(&mut self, base: Base, bytes: &[u8], offset: i64, page_size: usize) -> c_int {
        let Some(first) = page::number(offset, page_size) else {
            return ffi::SQLITE_IOERR_WRITE;
        };
        let mut sealed = std::mem::take(&mut self.scratch);
        sealed.clear();
        sealed.extend_from_slice(bytes);
        for (number, page) in (first..).zip(sealed.chunks_exact_mut(page_size)) {
            page::seal(number, page);
            damage::forget(&self.path, number);
        }
        let code = match first {
            1 => self.write_marked(base, &mut sealed, page_size),
            _ => base.write(&sealed, offset),
        };
        self.scratch = sealed;
        self.unsee(offset, bytes.len() as i64);
        code
    }

    /// Writes page 1, and what may follow it, without touching the bytes about the log, which another process
    /// may be writing at this moment. A file without them gets a mark that knows the log in use, if any.
    fn write_marked(&self, base: Base, sealed: &mut [u8], page_size: usize) -> c_int {
        let mut first = [0; Header::LENGTH];
        let found = match base.read(&mut first, 0) {
            ffi::SQLITE_OK => Header::of(&first),
            ffi::SQLITE_IOERR_SHORT_READ => None,
            code => return code,
        };
        let marked =
            found.is_some_and(|found| found.reserved == page::RESERVED && found.page_size == page_size);
        let room = page_size.saturating_sub(page::ROOM)..page_size;
        if !marked {
            let born = Mark {
                next: self
                    .watch
                    .log
                    .and_then(Frames::of)
                    .map_or(0, |frames| frames.id()),
                ..Mark::default()
            };
            if let Some(place) = sealed.get_mut(room) {
                place.copy_from_slice(&page::room(Backfill::default(), born));
            }
            return base.write(sealed, 0);
        }
        let code = base.write(sealed.get(..room.start).unwrap_or_default(), 0);
        match sealed.get(page_size..) {
            Some(rest) if !rest.is_empty() && code == ffi::SQLITE_OK => base.write(rest, page_size as i64),
            _ => code,
        }
    }
}

/// Whether these bytes are one or more whole pages.
fn whole(length: usize, offset: i64, page_size: usize) -> bool {
    length >= page_size && length.is_multiple_of(page_size) && offset % page_size as i64 == 0
}

/// The first of these pages that does not carry its checksum.
fn first_damaged(bytes: &[u8], offset: i64, page_size: usize) -> Option<u32> {
    let first = page::number(offset, page_size)?;
    (first..)
        .zip(bytes.chunks_exact(page_size))
        .find(|(number, page)| !page::is_sealed(*number, page))
        .map(|(number, _)| number)
}

/// Whether a page is none of those that the first page, if it is sound, counts.
fn is_new(base: Base, number: u32, page_size: usize) -> bool {
    let mut first = vec![0; page_size];
    let sound = base.read(&mut first, 0) == ffi::SQLITE_OK && page::is_sealed(1, &first);
    let counted = first.get(28..32).and_then(|bytes| bytes.try_into().ok());
    sound && counted.is_some_and(|bytes| number > u32::from_be_bytes(bytes))
}
