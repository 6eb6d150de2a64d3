//! Runs of pages read past SQLite, by callers that know the checksums these pages must carry.

use super::base::BaseFile;
use super::connection::{log_file, with_file};
use super::page::{self, CHECKSUM};
use super::wal::{self, FRAME_HEADER, HEADER};
use loci_core::Result;
use rusqlite::{Connection, ffi};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most frames of a log that are looked through; with a longer log no page is read past SQLite.
const MOST_FRAMES: i64 = 16_384;

/// The number of runs read so far, for tests.
static RUNS_READ: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of runs read so far.
#[cfg(feature = "crash-points")]
pub(crate) fn runs_read() -> usize {
    RUNS_READ.load(Ordering::Relaxed)
}

/// The file of a connection within one read transaction, page by page.
///
/// A page that the log holds is not given: readers take it from the log, and a checkpoint may be writing it to the
/// file at this moment. No process writes any other page before the transaction ends, so a page that is given and
/// carries a checksum that was verified once is that page, whole, wherever SQLite would look for it now.
#[derive(Debug)]
pub(crate) struct RawPages<'a> {
    connection: &'a Connection,
    page_size: usize,
    /// The pages in the log, and perhaps some that were there in an earlier use of its file.
    logged: HashSet<u32>,
    run: Vec<u8>,
}

/// The record's bytes on an overflow page, and the checksum that the page carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OverflowPage<'p> {
    pub(crate) content: &'p [u8],
    pub(crate) checksum: [u8; CHECKSUM],
}

impl<'a> RawPages<'a> {
    /// Looks through the log of a connection that is in a read transaction; `None` if the file is not a checked one
    /// or its log is very long.
    pub(crate) fn open(connection: &'a Connection) -> Result<Option<Self>> {
        let page_size = with_file(connection, |_, pages| pages.known_page_size())?;
        let logged = match log_file(connection)? {
            Some(log) => list_logged(log),
            None => Some(HashSet::new()),
        };
        let (Some(page_size), Some(logged)) = (page_size, logged) else {
            return Ok(None);
        };
        Ok(Some(Self {
            connection,
            page_size,
            logged,
            run: Vec::new(),
        }))
    }

    /// Reads consecutive overflow pages; `None` if one of them is in the log, or the file ends before.
    pub(crate) fn read_run(
        &mut self,
        first: u32,
        count: usize,
    ) -> Option<impl Iterator<Item = OverflowPage<'_>>> {
        let mut numbers = (first..).take(count);
        // Most palaces have no log, or a short one, while they are only read.
        if !self.logged.is_empty() && numbers.any(|number| self.logged.contains(&number)) {
            return None;
        }
        let length = count * self.page_size;
        if self.run.len() < length {
            self.run.resize(length, 0);
        }
        let run = self.run.get_mut(..length)?;
        let offset = page::page_offset(first, self.page_size);
        let code = with_file(self.connection, |base, _| base.read(run, offset)).ok()?;
        RUNS_READ.fetch_add(1, Ordering::Relaxed);
        let overflow =
            |page| page::split_overflow(page).map(|(content, checksum)| OverflowPage { content, checksum });
        (code == ffi::SQLITE_OK).then(|| run.chunks_exact(self.page_size).filter_map(overflow))
    }

    /// Returns whether a page that [`RawPages::read_run`] would give is sealed.
    pub(crate) fn is_sealed(&mut self, number: u32) -> bool {
        let page_size = self.page_size;
        self.read_run(number, 1)
            .is_some_and(|mut pages| pages.next().is_some())
            && self
                .run
                .get(..page_size)
                .is_some_and(|page| page::is_sealed(number, page))
    }
}

/// Returns the pages named by the frames of a log, valid or left over from an earlier use of the file; `None` if
/// these are too many.
///
/// Frames appended meanwhile do not matter: no checkpoint copies them before this transaction ends.
fn list_logged(log: BaseFile) -> Option<HashSet<u32>> {
    let mut header = [0; HEADER];
    match log.read(&mut header, 0) {
        ffi::SQLITE_OK => {}
        // A log without a header has no frames.
        ffi::SQLITE_IOERR_SHORT_READ => return Some(HashSet::new()),
        _ => return None,
    }
    let frame = FRAME_HEADER as i64 + i64::from(wal::read_word(&header, 8));
    let frames = log.size().ok()?.saturating_sub(HEADER as i64) / frame;
    if frames > MOST_FRAMES {
        return None;
    }
    let page_of_frame = |at: i64| {
        let mut number = [0; 4];
        let code = log.read(&mut number, HEADER as i64 + at * frame);
        (code == ffi::SQLITE_OK).then(|| u32::from_be_bytes(number))
    };
    (0..frames).map(page_of_frame).collect()
}
