//! The damaged file as numbered pages: finds their size, reads them, and follows rows over overflow pages.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use loci_core::{Error, ErrorKind, Result};

use super::log::LogPages;
use super::node::{BtreeNode, PageCell, PageKind};
use super::record::{read_big_endian, read_page_number};

/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The possible sizes of a page, the usual ones first.
const SIZES: [usize; 8] = [4096, 8192, 1024, 16_384, 32_768, 65_536, 2048, 512];

/// The numbers of bytes at the end of each page that builds of SQLite leave unused.
const RESERVED: [usize; 2] = [0, 12];

/// The size of a sample when page sizes are compared: the largest page.
const SAMPLE: usize = 65_536;

/// The number of samples read from a file, spread evenly.
const SAMPLES: u64 = 256;

/// The damaged file.
#[derive(Debug, Clone, Copy)]
pub(super) struct DamagedPages<'a> {
    file: &'a File,
    /// The log beside it, whose pages replace those of the file.
    log: Option<&'a LogPages<'a>>,
    /// The size of a page in bytes.
    pub(super) size: usize,
    /// The number of bytes of a page that are in use.
    pub(super) usable: usize,
    /// The number of whole pages by the length of file and log; the header's count is ignored.
    pub(super) count: u32,
    /// The number of bytes after the last whole page.
    pub(super) rest: u64,
}

impl<'a> DamagedPages<'a> {
    /// Determines the page size of the file.
    pub(super) fn open(file: &'a File, log: Option<&'a LogPages<'a>>) -> Result<Self> {
        let length = file.metadata().map_err(unreadable_error)?.len();
        let logged = log.map(|log| (log.size, usable_in_log(log)));
        let found = find_page_size(file, length).or(logged);
        let (size, usable) = found.ok_or_else(nothing_found_error)?;
        // A log with pages of another size belongs to another file.
        let log = log.filter(|log| log.size == size);
        let wide = size as u64;
        let count = u32::try_from(length / wide).map_err(|_| nothing_found_error())?;
        Ok(Self {
            file,
            log,
            size,
            usable,
            count: count.max(log.map_or(0, LogPages::last_page)),
            rest: length % wide,
        })
    }

    /// Returns the log, if its pages are used.
    pub(super) fn used_log(&self) -> Option<&'a LogPages<'a>> {
        self.log
    }

    /// Returns whether `number` is a page other than the first.
    pub(super) fn contains_page(&self, number: u32) -> bool {
        number >= 2 && number <= self.count
    }

    /// Reads one page into `page`; a page that the disk cannot read is damage like any other.
    pub(super) fn read(&self, number: u32, page: &mut Vec<u8>) -> io::Result<()> {
        if number == 0 || number > self.count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        page.resize(self.size, 0);
        match self.log.and_then(|log| Some((log, log.place_of(number)?))) {
            Some((log, place)) => log.read_at(page, place),
            None => self
                .file
                .read_exact_at(page, u64::from(number - 1) * self.size as u64),
        }
    }

    /// Reads one page of a b-tree. Returns `None` if it is not one.
    pub(super) fn read_node(&self, number: u32, page: &mut Vec<u8>) -> Option<BtreeNode> {
        self.read(number, page).ok()?;
        BtreeNode::read(number, page, self.usable)
    }

    /// Returns the first trunk of the list of unused pages and their number, if the header of the file is intact.
    pub(super) fn read_free_list(&self) -> Option<(u32, u32)> {
        let mut page = Vec::new();
        self.read(1, &mut page).ok()?;
        parse_page_size(&page)?;
        Some((read_page_number(&page, 32)?, read_page_number(&page, 36)?))
    }

    /// Assembles a row from its page and its overflow pages, each of which `take` must allow.
    pub(super) fn read_payload(
        &self,
        page: &[u8],
        cell: &PageCell,
        take: &mut dyn FnMut(u32) -> bool,
    ) -> std::result::Result<Vec<u8>, String> {
        let mut payload = page.get(cell.local.clone()).unwrap_or_default().to_vec();
        self.follow_spill(cell, take, &mut |bytes| payload.extend_from_slice(bytes))?;
        Ok(payload)
    }

    /// Follows a row over its overflow pages. The last page must be marked as such, and a page of zeros counts as
    /// wiped.
    pub(super) fn follow_spill(
        &self,
        cell: &PageCell,
        take: &mut dyn FnMut(u32) -> bool,
        use_bytes: &mut dyn FnMut(&[u8]),
    ) -> std::result::Result<(), String> {
        let Some(first) = cell.overflow else { return Ok(()) };
        let (mut next, mut anchor) = (first, 0);
        let mut left = cell.length.saturating_sub(cell.local.len() as u64);
        let mut page = Vec::new();
        let mut steps: u64 = 0;
        while left > 0 {
            if !self.contains_page(next) || next == anchor || !take(next) {
                return Err(format!(
                    "its text continues in page {next}, which does not belong to it"
                ));
            }
            self.read(next, &mut page)
                .map_err(|cause| format!("page {next}, where its text continues, cannot be read: {cause}"))?;
            steps += 1;
            // Brent's algorithm: comparing with the page of the
            // last power of two finds every cycle without a list.
            if steps.is_power_of_two() {
                anchor = next;
            }
            let size = left.min(self.usable as u64 - 4);
            let end = 4 + usize::try_from(size).unwrap_or(0);
            let bytes = page.get(4..end).unwrap_or_default();
            // A page that was never written reads as zeros, and those must not pass for text.
            if bytes.iter().all(|byte| *byte == 0) {
                return Err(format!("page {next}, where its text continues, was wiped"));
            }
            use_bytes(bytes);
            left -= size;
            next = read_page_number(&page, 0).unwrap_or(0);
        }
        // A chain that continues belongs to another row: its pages were reused.
        if next == 0 {
            Ok(())
        } else {
            Err(format!("its text should have ended before page {next}"))
        }
    }
}

/// Returns the size of a page and the number of its bytes in use.
fn find_page_size(file: &File, length: u64) -> Option<(usize, usize)> {
    let said = read_page_size(file);
    let found = best_page_size(file, length);
    match (said, found) {
        (Some(said), Some((size, usable, score))) => {
            let explained = score_page_size(file, length, said.0, said.1);
            // The header may be damaged or of another file: it loses
            // if another size explains more than twice as much.
            Some(if explained * 2 >= score {
                said
            } else {
                (size, usable)
            })
        }
        (Some(said), None) => Some(said),
        (None, found) => found.map(|(size, usable, _)| (size, usable)),
    }
    .filter(|(size, _)| length >= *size as u64)
}

/// Reads the page size from the header of the file, if it is intact.
fn read_page_size(file: &File) -> Option<(usize, usize)> {
    let mut head = [0; 100];
    file.read_exact_at(&mut head, 0).ok()?;
    parse_page_size(&head)
}

/// Returns the number of bytes of a page in use, by the version of the first page in the log.
fn usable_in_log(log: &LogPages<'_>) -> usize {
    let mut head = [0; 100];
    let read = log
        .place_of(1)
        .and_then(|place| log.read_at(&mut head, place).ok());
    let said = read.and_then(|()| parse_page_size(&head));
    said.map_or(log.size, |(_, usable)| usable)
}

/// Parses the page size in the header of a file, if it is intact.
fn parse_page_size(head: &[u8]) -> Option<(usize, usize)> {
    let size = match read_big_endian(head, 16, 2)? {
        // The format writes 65,536 as 1, since it has only two bytes.
        1 => 65_536,
        size => usize::try_from(size).ok()?,
    };
    let reserved = usize::from(*head.get(20)?);
    // The least that the format allows.
    let usable = size.checked_sub(reserved).filter(|usable| *usable >= 480)?;
    (head.starts_with(MAGIC) && SIZES.contains(&size)).then_some((size, usable))
}

/// Returns the page size that explains the most bytes of the file as sound leaves of tables.
fn best_page_size(file: &File, length: u64) -> Option<(usize, usize, u64)> {
    let mut best: Option<(usize, usize, u64)> = None;
    for size in SIZES {
        for usable in RESERVED.map(|reserved| size - reserved) {
            let score = score_page_size(file, length, size, usable);
            if score > best.map_or(0, |(_, _, score)| score) {
                best = Some((size, usable, score));
            }
        }
    }
    best
}

/// Returns the number of bytes in the samples that are sound leaves with rows.
fn score_page_size(file: &File, length: u64, size: usize, usable: usize) -> u64 {
    let blocks = length.div_ceil(SAMPLE as u64);
    let step = blocks.div_ceil(SAMPLES).max(1);
    let mut score = 0;
    let mut sample = vec![0; SAMPLE];
    for block in (0..blocks).step_by(usize::try_from(step).unwrap_or(1)) {
        let start = block * SAMPLE as u64;
        let wanted = usize::try_from(length - start).unwrap_or(SAMPLE).min(SAMPLE);
        let Some(sample) = sample.get_mut(..wanted) else {
            continue;
        };
        if file.read_exact_at(sample, start).is_err() {
            continue;
        }
        let pages = sample.chunks_exact(size).zip(0_u32..);
        let sound = pages.filter(|(page, index)| is_leaf(page, usable, start == 0 && *index == 0));
        score += sound.count() as u64 * size as u64;
    }
    score
}

fn is_leaf(page: &[u8], usable: usize, first: bool) -> bool {
    let number = if first { 1 } else { 2 };
    BtreeNode::read(number, page, usable)
        .is_some_and(|node| node.kind == PageKind::TableLeaf && node.sound && !node.cells.is_empty())
}

fn unreadable_error(cause: io::Error) -> Error {
    Error::new(ErrorKind::Io, "chroma.sqlite3 cannot be read")
        .caused_by(cause)
        .with_hint("The file was not changed. Copy it to a readable disk and try again.")
}

fn nothing_found_error() -> Error {
    Error::new(ErrorKind::Corrupt, "chroma.sqlite3 has no readable database page")
        .with_hint("The file was not changed. Restore it from a backup, if there is one.")
}
