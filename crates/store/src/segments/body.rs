//! The pages of the file that hold the codes of a segment, so that a scan can read them in runs past SQLite.

use crate::vfs::{OverflowPage, PagePart, RawPages};

/// The most pages read at once: together they stay in a processor's own cache until they are scanned.
const LONGEST_RUN: usize = 8;

/// The pages that hold the codes of one segment.
///
/// Each page is known by the checksum it carries. Codes never change, so a page with that checksum holds them even if
/// SQLite has moved the segment elsewhere since.
#[derive(Debug)]
pub(crate) struct BodyPages {
    /// The codes before the first page, on a page that holds other bytes of the segment too.
    front: Box<[u8]>,
    runs: Box<[PageRun]>,
}

/// Consecutive pages.
#[derive(Debug)]
struct PageRun {
    first: u32,
    pages: Vec<KnownPage>,
}

/// The checksum of a page, and how many bytes of the codes are on it.
#[derive(Debug)]
struct KnownPage {
    checksum: [u8; 8],
    bytes: usize,
}

impl BodyPages {
    /// Learns the pages from those that SQLite has just read in parts for `body`; `None` if the file, read again, does
    /// not give the same bytes, for example because some are in the log.
    pub(crate) fn learn(raw: &mut RawPages<'_>, parts: &[PagePart], body: &[u8]) -> Option<Self> {
        let paged: usize = parts.iter().map(|part| part.bytes).sum();
        let (front, mut rest) = body.split_at_checked(body.len().checked_sub(paged)?)?;
        let mut runs: Vec<PageRun> = Vec::new();
        for part in parts {
            let (expected, after) = rest.split_at_checked(part.bytes)?;
            rest = after;
            if !raw.is_sealed(part.number) {
                return None;
            }
            let page = raw.read_run(part.number, 1)?.next()?;
            if page.content.get(..part.bytes) != Some(expected) {
                return None;
            }
            let known = KnownPage {
                checksum: page.checksum,
                bytes: part.bytes,
            };
            match runs.last_mut().filter(|run| run.continues_with(part.number)) {
                Some(run) => run.pages.push(known),
                None => runs.push(PageRun {
                    first: part.number,
                    pages: vec![known],
                }),
            }
        }
        Some(Self {
            front: front.into(),
            runs: runs.into(),
        })
    }

    /// Passes the codes to `take` in pieces, in order; `false` if a page is not there any more, after the pieces
    /// before it.
    pub(crate) fn read_pieces(&self, raw: &mut RawPages<'_>, take: &mut dyn FnMut(&[u8])) -> bool {
        take(&self.front);
        self.runs.iter().all(|run| run.read_pieces(raw, take))
    }
}

impl PageRun {
    fn continues_with(&self, number: u32) -> bool {
        let length = self.pages.len();
        length < LONGEST_RUN && u32::try_from(length).is_ok_and(|n| self.first.checked_add(n) == Some(number))
    }

    fn read_pieces(&self, raw: &mut RawPages<'_>, take: &mut dyn FnMut(&[u8])) -> bool {
        let Some(pages) = raw.read_run(self.first, self.pages.len()) else {
            return false;
        };
        self.pages.iter().zip(pages).all(|(known, page)| {
            let OverflowPage { content, checksum } = page;
            match content.get(..known.bytes) {
                Some(piece) if checksum == known.checksum => {
                    take(piece);
                    true
                }
                _ => false,
            }
        })
    }
}
