//! The damaged file as numbered pages: how large they are, reading one, and following a row that spills over.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use loci_core::{Error, ErrorKind, Result};

use super::node::{Cell, Kind, Node};
use super::record::{big_endian, page_number};

/// How every SQLite file begins.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Sizes a page can have, the usual ones first.
const SIZES: [usize; 8] = [4096, 8192, 1024, 16_384, 32_768, 65_536, 2048, 512];

/// Bytes at the end of each page that some builds of SQLite leave unused.
const RESERVED: [usize; 2] = [0, 12];

/// How much is read at once when page sizes are compared: the largest page.
const SAMPLE: usize = 65_536;

/// How many samples are read from a file, spread evenly.
const SAMPLES: u64 = 256;

/// The damaged file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pages<'a> {
    file: &'a File,
    /// Bytes of a page.
    pub(super) size: usize,
    /// Bytes of a page that hold something.
    pub(super) usable: usize,
    /// How many whole pages there are; the header's own count is not believed.
    pub(super) count: u32,
    /// Bytes after the last whole page.
    pub(super) rest: u64,
}

impl<'a> Pages<'a> {
    /// Finds out how the file is divided.
    pub(super) fn open(file: &'a File) -> Result<Self> {
        let length = file.metadata().map_err(unreadable)?.len();
        let (size, usable) = divide(file, length).ok_or_else(nothing_found)?;
        let wide = size as u64;
        let count = u32::try_from(length / wide).map_err(|_| nothing_found())?;
        Ok(Self {
            file,
            size,
            usable,
            count,
            rest: length % wide,
        })
    }

    /// Whether `number` is a page other than the first.
    pub(super) fn holds(&self, number: u32) -> bool {
        number >= 2 && number <= self.count
    }

    /// Reads one page into `page`; a page the disk refuses to read is damage like any other.
    pub(super) fn read(&self, number: u32, page: &mut Vec<u8>) -> io::Result<()> {
        if number == 0 || number > self.count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        page.resize(self.size, 0);
        self.file
            .read_exact_at(page, u64::from(number - 1) * self.size as u64)
    }

    /// Reads one page of a b-tree; `None` where it is none.
    pub(super) fn node(&self, number: u32, page: &mut Vec<u8>) -> Option<Node> {
        self.read(number, page).ok()?;
        Node::read(number, page, self.usable)
    }

    /// The first page that lists unused pages and how many there are, if the file's first bytes are whole.
    pub(super) fn free_list(&self) -> Option<(u32, u32)> {
        header(self.file)?;
        let mut page = Vec::new();
        self.read(1, &mut page).ok()?;
        Some((page_number(&page, 32)?, page_number(&page, 36)?))
    }

    /// Puts a row together from its page and the pages it spills over to, each of which `take` must allow.
    pub(super) fn payload(
        &self,
        page: &[u8],
        cell: &Cell,
        take: &mut dyn FnMut(u32) -> bool,
    ) -> std::result::Result<Vec<u8>, String> {
        let mut payload = page.get(cell.local.clone()).unwrap_or_default().to_vec();
        self.spill(cell, take, &mut |bytes| payload.extend_from_slice(bytes))?;
        Ok(payload)
    }

    /// Follows a row over the pages it spills over to. The last of them must be the one that says so, and one that
    /// holds nothing but zeros was wiped.
    pub(super) fn spill(
        &self,
        cell: &Cell,
        take: &mut dyn FnMut(u32) -> bool,
        use_bytes: &mut dyn FnMut(&[u8]),
    ) -> std::result::Result<(), String> {
        let Some(first) = cell.overflow else { return Ok(()) };
        let (mut next, mut anchor) = (first, 0);
        let mut left = cell.length.saturating_sub(cell.local.len() as u64);
        let mut page = Vec::new();
        let mut steps: u64 = 0;
        while left > 0 {
            if !self.holds(next) || next == anchor || !take(next) {
                return Err(format!(
                    "its text goes on in page {next}, which is not a part of it"
                ));
            }
            self.read(next, &mut page)
                .map_err(|cause| format!("page {next}, where its text goes on, cannot be read: {cause}"))?;
            steps += 1;
            // Remembering every page whose turn is a power of two finds each circle.
            if steps.is_power_of_two() {
                anchor = next;
            }
            let size = left.min(self.usable as u64 - 4);
            let end = 4 + usize::try_from(size).unwrap_or(0);
            let bytes = page.get(4..end).unwrap_or_default();
            if bytes.iter().all(|byte| *byte == 0) {
                return Err(format!("page {next}, where its text goes on, was wiped"));
            }
            use_bytes(bytes);
            left -= size;
            next = page_number(&page, 0).unwrap_or(0);
        }
        if next == 0 {
            Ok(())
        } else {
            Err(format!("its text should end before page {next}"))
        }
    }
}

/// The size of a page and how much of it is used.
fn divide(file: &File, length: u64) -> Option<(usize, usize)> {
    let said = header(file);
    let found = best(file, length);
    match (said, found) {
        (Some(said), Some((size, usable, score))) => {
            let explained = score_of(file, length, said.0, said.1);
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

/// What the first page says, if its beginning is whole.
fn header(file: &File) -> Option<(usize, usize)> {
    let mut head = [0; 100];
    file.read_exact_at(&mut head, 0).ok()?;
    let size = match big_endian(&head, 16, 2)? {
        1 => 65_536,
        size => usize::try_from(size).ok()?,
    };
    let reserved = usize::from(*head.get(20)?);
    let usable = size.checked_sub(reserved).filter(|usable| *usable >= 480)?;
    (head.starts_with(MAGIC) && SIZES.contains(&size)).then_some((size, usable))
}

/// The division that explains the most bytes of the file as sound leaves of tables.
fn best(file: &File, length: u64) -> Option<(usize, usize, u64)> {
    let mut best: Option<(usize, usize, u64)> = None;
    for size in SIZES {
        for usable in RESERVED.map(|reserved| size - reserved) {
            let score = score_of(file, length, size, usable);
            if score > best.map_or(0, |(_, _, score)| score) {
                best = Some((size, usable, score));
            }
        }
    }
    best
}

/// How many bytes of the samples are sound leaves that are not empty.
fn score_of(file: &File, length: u64, size: usize, usable: usize) -> u64 {
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
    Node::read(number, page, usable)
        .is_some_and(|node| node.kind == Kind::TableLeaf && node.sound && !node.cells.is_empty())
}

fn unreadable(cause: io::Error) -> Error {
    Error::new(ErrorKind::Io, "chroma.sqlite3 cannot be read")
        .caused_by(cause)
        .hint("The file was not changed. Copy it to a disk that can be read and try again.")
}

fn nothing_found() -> Error {
    Error::new(
        ErrorKind::Corrupt,
        "chroma.sqlite3 holds no page of a database that can still be read",
    )
    .hint("The file was not changed. Take it from a backup, if there is one.")
}
