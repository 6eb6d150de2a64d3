//! The log beside a damaged file: the newest committed version of each page in it.
//!
//! A frame is used if its checksum continues that of the frame before it. Behind a damaged frame the reading goes on
//! with the next one that carries the salts of this log, because each frame stores the sum that its successor starts
//! from. SQLite would drop everything behind the damage.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The length of the log's header.
const HEADER: usize = 32;
/// The length of a frame's header.
const FRAME_HEADER: usize = 24;
/// The first four bytes of a log, without the bit that tells the byte order of its checksums.
const MAGIC: u32 = 0x377f_0682;

/// The pages in a log.
#[derive(Debug)]
pub(super) struct LogPages<'a> {
    log: &'a File,
    /// The size of a page in bytes.
    pub(super) size: usize,
    /// The place of the newest committed version of each page.
    places: BTreeMap<u32, u64>,
    /// The first damaged frame.
    pub(super) damaged: Option<u64>,
}

/// A checksum over words, two at a time, as the format defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogChecksum {
    big_endian: bool,
    sums: (u32, u32),
}

impl LogChecksum {
    fn add(mut self, bytes: &[u8]) -> Self {
        let word = |bytes: [u8; 4]| {
            if self.big_endian {
                u32::from_be_bytes(bytes)
            } else {
                u32::from_le_bytes(bytes)
            }
        };
        for [a, b, c, d, e, f, g, h] in bytes.as_chunks::<8>().0 {
            let (one, other) = self.sums;
            let one = one.wrapping_add(word([*a, *b, *c, *d])).wrapping_add(other);
            let other = other.wrapping_add(word([*e, *f, *g, *h])).wrapping_add(one);
            self.sums = (one, other);
        }
        self
    }
}

fn read_word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    word.try_into().ok().map(u32::from_be_bytes)
}

impl<'a> LogPages<'a> {
    /// Reads a log. Returns `None` if it has no header of its own or no committed page.
    pub(super) fn read(log: &'a File) -> Option<Self> {
        let mut header = [0; HEADER];
        log.read_exact_at(&mut header, 0).ok()?;
        let magic = read_word(&header, 0)?;
        let size = usize::try_from(read_word(&header, 8)?).ok()?;
        let start = LogChecksum {
            big_endian: magic & 1 == 1,
            sums: (0, 0),
        };
        let sums = (read_word(&header, 24)?, read_word(&header, 28)?);
        let sound = magic & !1 == MAGIC
            && size.is_power_of_two()
            && (512..=65_536).contains(&size)
            && start.add(header.get(..24)?).sums == sums;
        let mut pages = Self {
            log,
            size,
            places: BTreeMap::new(),
            damaged: None,
        };
        if sound {
            pages.read_frames(LogChecksum { sums, ..start }, header.get(16..24)?);
        }
        (!pages.places.is_empty()).then_some(pages)
    }

    fn read_frames(&mut self, mut before: LogChecksum, salts: &[u8]) {
        let mut frame = vec![0; FRAME_HEADER + self.size];
        let mut open = BTreeMap::new();
        for number in 0_u64.. {
            let place = HEADER as u64 + number * frame.len() as u64;
            if self.log.read_exact_at(&mut frame, place).is_err() {
                break;
            }
            let Some((head, content)) = frame.split_at_checked(FRAME_HEADER) else {
                break;
            };
            // Frames of an earlier round of the log follow the last one of this round.
            if head.get(8..16) != Some(salts) {
                break;
            }
            let word = |at| read_word(head, at).unwrap_or_default();
            let (page, commits) = (word(0), word(4));
            let expected = before.add(head.get(..8).unwrap_or_default()).add(content);
            before.sums = (word(16), word(20));
            if expected != before || page == 0 {
                self.damaged = self.damaged.or(Some(number + 1));
                continue;
            }
            open.insert(page, place + FRAME_HEADER as u64);
            if commits != 0 {
                self.places.append(&mut open);
            }
        }
    }

    /// Returns the highest page in the log.
    pub(super) fn last_page(&self) -> u32 {
        self.places.last_key_value().map_or(0, |(page, _)| *page)
    }

    /// Returns the number of pages in the log.
    pub(super) fn page_count(&self) -> u64 {
        self.places.len() as u64
    }

    /// Returns the place in the log of the newest version of a page.
    pub(super) fn place_of(&self, page: u32) -> Option<u64> {
        self.places.get(&page).copied()
    }

    /// Reads bytes of the log.
    pub(super) fn read_at(&self, bytes: &mut [u8], place: u64) -> std::io::Result<()> {
        self.log.read_exact_at(bytes, place)
    }
}
