//! The pages of one open database file: whether they are checked, and which were seen sound.

use super::backfill::LogBackfill;
use super::base::BaseFile;
use super::damage;
use super::mark::LogMark;
use super::mend::MendedPage;
use super::overflow::PagePart;
use super::page::{self, DatabaseHeader};
use super::recovery::LogWatch;
use super::second;
use super::wal::LogFrames;
use rusqlite::ffi;
use std::ffi::c_int;
use std::time::Duration;

/// The waits between rereadings of a page that fails. A connection that opens while another process makes
/// the log and checkpoints it reads page 1 outside the log's protocol once, and may see it half written.
const PATIENCE: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(15),
];

/// The treatment of a file's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageProtection {
    /// Every page carries a checksum.
    Checked { page_size: usize },
    /// A database that reserves no room for checksums.
    Plain,
    /// The file has no header yet that decides it.
    Unborn,
}

/// The state of one open main database file.
#[derive(Debug, Default)]
pub(super) struct DatabasePages {
    path: String,
    /// The page size once the file is known to be checked, else zero. "Plain" is never remembered:
    /// another process may turn checks on.
    page_size: usize,
    /// Whether the header names a write-ahead log.
    wal: bool,
    /// Whether the owner asked for checks before the file had a header.
    asked: bool,
    /// Whether pages were written before the header and carry no checksum yet.
    early: bool,
    /// Whether SQLite is copying the log into the file.
    pub(super) checkpointing: bool,
    /// The state of the log.
    pub(super) watch: LogWatch,
    /// One bit per page that was found sound, and is read in parts from then on.
    seen: Vec<u64>,
    /// The pages that were read in parts, while a caller wants to know.
    pub(super) parts: Option<Vec<PagePart>>,
    /// Room for the copy of a page.
    pub(super) scratch: Vec<u8>,
    /// Page 1 as it was written, if a bit of it is flipped in the file.
    mended: MendedPage,
}

impl DatabasePages {
    pub(super) fn new(path: String) -> Self {
        Self {
            path,
            ..Self::default()
        }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the page size if the file is known to be checked.
    pub(super) fn known_page_size(&self) -> Option<usize> {
        (self.page_size > 0).then_some(self.page_size)
    }

    /// Promises that the file, still without a header, will be checked.
    pub(super) fn request_checks(&mut self) {
        self.asked = true;
    }

    /// Returns the treatment of the file's pages, from memory or from its header.
    pub(super) fn protection(&mut self, base: BaseFile) -> PageProtection {
        if self.page_size == 0 {
            let mut first = [0; DatabaseHeader::LENGTH];
            // A file too short for a header gives zeros, and so does a hole where page 1 will be.
            let code = base.read(&mut first, 0);
            self.learn_header(&first);
            if self.page_size == 0 {
                self.learn_mended(base);
            }
            if self.page_size == 0 {
                let known = code == ffi::SQLITE_OK && first.iter().any(|byte| *byte != 0);
                return if known {
                    PageProtection::Plain
                } else {
                    PageProtection::Unborn
                };
            }
        }
        PageProtection::Checked {
            page_size: self.page_size,
        }
    }

    /// Returns whether the file has outgrown the journal that it was made with. From then on it has a log, and a
    /// journal beside it belongs to another file, which once had its name: rolled back, it would cut this one down to
    /// what that one was, often nothing.
    pub(super) fn keeps_log(&mut self, base: BaseFile) -> bool {
        match self.protection(base) {
            // A palace is made with a journal as a file of one page.
            PageProtection::Checked { page_size } => {
                self.wal && base.size().is_ok_and(|size| size > page_size as i64)
            }
            PageProtection::Plain | PageProtection::Unborn => false,
        }
    }

    /// Learns from page 1 as it was written that the file is checked, although its header in the file denies it.
    fn learn_mended(&mut self, base: BaseFile) {
        let header = self.mended.look(base).and_then(DatabaseHeader::parse);
        if let Some(header) = header {
            (self.page_size, self.wal) = (header.page_size, header.wal);
        }
    }

    /// Puts the bytes of page 1, or of its beginning, right if a single bit of that page is flipped in the file.
    fn mend_read(&mut self, base: BaseFile, bytes: &mut [u8]) {
        let whole = bytes.len() == self.page_size;
        if whole && page::is_content_sound(1, bytes) {
            return;
        }
        let Some(page) = self.mended.look(base) else {
            return;
        };
        // The records after the checksum are not part of what was sealed, and stay as they are in the file.
        let sealed = page.len().saturating_sub(page::ROOM).min(bytes.len());
        if let (Some(target), Some(content)) = (bytes.get_mut(..sealed), page.get(..sealed)) {
            target.copy_from_slice(content);
        }
    }

    /// Learns from the start of the file whether it is checked. Once on, reading never switches it off.
    fn learn_header(&mut self, first: &[u8]) {
        if let Some(header) = DatabaseHeader::parse(first)
            && header.reserved == page::RESERVED
        {
            self.page_size = header.page_size;
            self.wal = header.wal;
        }
    }

    /// Returns the length that the sealed first page promises, if the file, now of `size` bytes, is shorter.
    pub(super) fn promised_size(&mut self, base: BaseFile, size: i64) -> i64 {
        let PageProtection::Checked { page_size } = self.protection(base) else {
            return size;
        };
        let mut counted = [0; 4];
        if !self.wal || size < page_size as i64 || base.read(&mut counted, 28) != ffi::SQLITE_OK {
            return size;
        }
        // Bytes 28 to 32 of the header count the pages. They are trusted only if the whole first page is sound.
        let promised = i64::from(u32::from_be_bytes(counted)).saturating_mul(page_size as i64);
        let mut first = vec![0; page_size];
        if promised <= size
            || base.read(&mut first, 0) != ffi::SQLITE_OK
            || !page::is_content_sound(1, &first)
        {
            return size;
        }
        promised
    }

    /// Judges the bytes of a read from the file that ended with `code`.
    pub(super) fn judge_read(&mut self, base: BaseFile, bytes: &mut [u8], offset: i64, code: c_int) -> c_int {
        if offset == 0 && code == ffi::SQLITE_OK {
            self.mend_read(base, bytes);
            self.learn_header(bytes);
        }
        if let Some(judged) = self.judge_part(base, bytes, offset, code) {
            return judged;
        }
        // SQLite also reads the header alone, which is too short to be checked.
        if bytes.len() < page::SMALLEST {
            return code;
        }
        match self.protection(base) {
            PageProtection::Checked { page_size } if code == ffi::SQLITE_IOERR_SHORT_READ => {
                self.judge_end(base, offset, page_size)
            }
            // A connection that is older than the file may ask for less than a page, in which nothing can be verified.
            PageProtection::Checked { page_size } => self.verify_pages(base, bytes, offset, page_size),
            PageProtection::Plain if offset == 0 && page::is_disguised(bytes) => self.refuse_page(1),
            _ => code,
        }
    }

    /// Judges a page that lies beyond the end of the file. With a log, every page of a snapshot is in the
    /// log or in the file; one that the first page counts and that is not there was cut off. SQLite may also read
    /// a page that its own transaction has taken and not written yet, when it makes or removes several tables
    /// at once, and takes zeros for it; neither the first page of the file nor the log counts that one.
    fn judge_end(&self, base: BaseFile, offset: i64, page_size: usize) -> c_int {
        match page::page_number(offset, page_size) {
            // A checkpoint that readers held up may leave a first page that counts what a later commit has given up.
            Some(number) if self.wal && offset > 0 && !self.watch.is_beyond_end(number) => {
                match counts_page(base, number, page_size) {
                    Ok(true) => self.refuse_page(number),
                    Ok(false) => ffi::SQLITE_IOERR_SHORT_READ,
                    Err(code) => code,
                }
            }
            _ => ffi::SQLITE_IOERR_SHORT_READ,
        }
    }

    fn verify_pages(&self, base: BaseFile, bytes: &mut [u8], offset: i64, page_size: usize) -> c_int {
        let Some(mut damaged) = page::first_damaged(bytes, offset, page_size) else {
            return ffi::SQLITE_OK;
        };
        // As for a page beyond the end of the file.
        if bytes.len() == page_size && self.watch.is_beyond_end(damaged) {
            bytes.fill(0);
            return ffi::SQLITE_OK;
        }
        // The content is sound, and the records after it have copies.
        if damaged == 1
            && bytes.len() == page_size
            && page::is_content_sound(1, bytes)
            && second::has_records(base, page_size)
        {
            return ffi::SQLITE_OK;
        }
        for pause in PATIENCE {
            // Damage on record is read again without waiting.
            if !damage::is_noted(&self.path, damaged) {
                crate::clock::sleep(pause);
            }
            match base.read(bytes, offset) {
                ffi::SQLITE_OK => {}
                code => return code,
            }
            match page::first_damaged(bytes, offset, page_size) {
                Some(number) => damaged = number,
                None => return ffi::SQLITE_OK,
            }
        }
        self.refuse_page(damaged)
    }

    fn refuse_page(&self, number: u32) -> c_int {
        damage::note_page(&self.path, number);
        ffi::SQLITE_IOERR_DATA
    }

    /// Returns whether this handle has found the page sound.
    pub(super) fn was_seen(&self, number: u32) -> bool {
        let bits = self.seen.get(number as usize / 64).copied().unwrap_or(0);
        bits & (1 << (number % 64)) != 0
    }

    /// Remembers that the page is sound.
    pub(super) fn note_seen(&mut self, number: u32) {
        let slot = number as usize / 64;
        if self.seen.len() <= slot {
            self.seen.resize(slot + 1, 0);
        }
        if let Some(bits) = self.seen.get_mut(slot) {
            *bits |= 1 << (number % 64);
        }
    }

    /// Forgets that the pages from `offset` for `length` bytes were seen sound.
    pub(super) fn forget_seen(&mut self, offset: i64, length: i64) {
        let from = page::page_number(offset, self.page_size).unwrap_or(1);
        let to = page::page_number(offset.saturating_add(length), self.page_size).unwrap_or(u32::MAX);
        let slots = self.seen.len().saturating_mul(64);
        for number in from as usize..(to as usize).min(slots) {
            if let Some(bits) = self.seen.get_mut(number / 64) {
                *bits &= !(1 << (number % 64));
            }
        }
    }

    /// Writes pages, sealed where the file is checked.
    pub(super) fn write(&mut self, base: BaseFile, bytes: &[u8], offset: i64) -> c_int {
        if offset == 0
            && let Some(code) = self.write_first(base, bytes)
        {
            return code;
        }
        let page_size = match self.protection(base) {
            PageProtection::Checked { page_size } => page_size,
            PageProtection::Unborn if self.asked && page::is_page_size(bytes.len()) => bytes.len(),
            kind => {
                self.early |= kind == PageProtection::Unborn;
                return base.write(bytes, offset);
            }
        };
        // A part of a page cannot be sealed, and writing it as it is would damage the page.
        if !page::are_whole_pages(bytes.len(), offset, page_size) {
            return ffi::SQLITE_IOERR_WRITE;
        }
        match self.fill_gap(base, offset, page_size) {
            ffi::SQLITE_OK => self.write_sealed(base, bytes, offset, page_size),
            code => code,
        }
    }

    /// Learns from a new header before it is written; returns a code if that already ends the write.
    fn write_first(&mut self, base: BaseFile, bytes: &[u8]) -> Option<c_int> {
        let header = DatabaseHeader::parse(bytes)?;
        if header.reserved != page::RESERVED {
            // SQLite itself writes a header without room for checksums: the file becomes an unchecked one.
            self.page_size = 0;
            self.early = false;
            return Some(base.write(bytes, 0));
        }
        if bytes.len() < header.page_size {
            return Some(ffi::SQLITE_IOERR_WRITE);
        }
        self.learn_header(bytes);
        if !std::mem::take(&mut self.early) {
            return None;
        }
        match self.seal_early(base, header.page_size) {
            ffi::SQLITE_OK => None,
            code => Some(code),
        }
    }

    /// Seals the pages that SQLite spilled from its cache before the header was written.
    fn seal_early(&mut self, base: BaseFile, page_size: usize) -> c_int {
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
    fn fill_gap(&mut self, base: BaseFile, offset: i64, page_size: usize) -> c_int {
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
        let Some(first) = page::page_number(end, page_size) else {
            return ffi::SQLITE_OK;
        };
        let zeros = vec![0; page_size];
        for gap in (page::page_offset(first, page_size)..offset).step_by(page_size) {
            let lock_page =
                page::page_number(gap, page_size).is_some_and(|n| page::is_lock_page(n, page_size));
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

    fn write_sealed(&mut self, base: BaseFile, bytes: &[u8], offset: i64, page_size: usize) -> c_int {
        let Some(first) = page::page_number(offset, page_size) else {
            return ffi::SQLITE_IOERR_WRITE;
        };
        // Sealed in a copy: the bytes passed in belong to SQLite's cache.
        let mut sealed = std::mem::take(&mut self.scratch);
        sealed.clear();
        sealed.extend_from_slice(bytes);
        for (number, page) in (first..).zip(sealed.chunks_exact_mut(page_size)) {
            page::seal_page(number, page);
            damage::forget_page(&self.path, number);
        }
        let code = match first {
            1 => self.write_marked(base, &mut sealed, page_size),
            2 => write_second(base, &sealed, page_size),
            _ => base.write(&sealed, offset),
        };
        if first < 3 && code == ffi::SQLITE_OK {
            second::begin_copies(base, page_size);
        }
        self.scratch = sealed;
        self.forget_seen(offset, bytes.len() as i64);
        code
    }

    /// Writes page 1, and the pages that may follow it, without touching the record of the log, which another process
    /// may be writing at this moment. A file without one gets a mark that knows the log in use, if any.
    fn write_marked(&mut self, base: BaseFile, sealed: &mut [u8], page_size: usize) -> c_int {
        let mut first = [0; DatabaseHeader::LENGTH];
        let found = match base.read(&mut first, 0) {
            ffi::SQLITE_OK => DatabaseHeader::parse(&first),
            ffi::SQLITE_IOERR_SHORT_READ => None,
            code => return code,
        };
        let is_marked =
            |found: DatabaseHeader| found.reserved == page::RESERVED && found.page_size == page_size;
        // A header with a flipped bit must not pass for a file without records.
        let mended = |pages: &mut Self| pages.mended.look(base).and_then(DatabaseHeader::parse);
        let marked = found.is_some_and(is_marked) || mended(self).is_some_and(is_marked);
        let room = page_size.saturating_sub(page::ROOM)..page_size;
        if !marked {
            let next = match self.watch.log.map(LogFrames::try_from_log).transpose() {
                Ok(frames) => frames.flatten().map_or(0, |frames| frames.id()),
                // A mark that does not know the log would make it another palace's.
                Err(code) => return code,
            };
            let born = LogMark {
                next,
                ..LogMark::default()
            };
            if let Some(place) = sealed.get_mut(room) {
                place.copy_from_slice(&page::log_room(LogBackfill::default(), born));
            }
            return base.write(sealed, 0);
        }
        let code = base.write(sealed.get(..room.start).unwrap_or_default(), 0);
        match sealed.get(page_size..) {
            Some(rest) if !rest.is_empty() && code == ffi::SQLITE_OK => write_second(base, rest, page_size),
            _ => code,
        }
    }
}

/// Writes page 2, and the pages that may follow it, without touching the copies in its room, which another process may
/// be writing at this moment.
fn write_second(base: BaseFile, sealed: &[u8], page_size: usize) -> c_int {
    let offset = page::page_offset(2, page_size);
    let kept = if second::holds_copy(base, page_size) {
        page::ROOM
    } else {
        0
    };
    let own = sealed.get(..page_size.saturating_sub(kept)).unwrap_or_default();
    let code = base.write(own, offset);
    match sealed.get(page_size..) {
        Some(rest) if !rest.is_empty() && code == ffi::SQLITE_OK => {
            base.write(rest, page::page_offset(3, page_size))
        }
        _ => code,
    }
}

/// Returns whether the first page counts page `number`, which it is taken to do if it is damaged; fails if it cannot be
/// read now.
fn counts_page(base: BaseFile, number: u32, page_size: usize) -> Result<bool, c_int> {
    let mut first = vec![0; page_size];
    for pause in PATIENCE {
        crate::clock::sleep(pause);
        match base.read(&mut first, 0) {
            ffi::SQLITE_OK | ffi::SQLITE_IOERR_SHORT_READ => {}
            code => return Err(code),
        }
        if page::is_content_sound(1, &first) {
            let counted = first.get(28..).and_then(|rest| rest.first_chunk());
            return Ok(counted.is_none_or(|bytes| number <= u32::from_be_bytes(*bytes)));
        }
    }
    Ok(true)
}
