//! The drawers of a segment that contain one term, with counts.

use loci_core::Result;

use super::damaged_error;
use super::numbers::{VarintReader, put_varint};

/// The largest value of the two count bits; it marks a count that follows separately.
const SHORT: u32 = 3;

/// A list under construction.
#[derive(Debug, Default, Clone)]
pub struct PostingListWriter {
    bytes: Vec<u8>,
    drawers: u32,
    /// The smallest number the next drawer may have.
    next: u32,
}

impl PostingListWriter {
    /// Adds a drawer with a higher number than all before, which contains the term `count` times, at least once.
    pub fn push(&mut self, drawer: u32, count: u32) {
        debug_assert!(drawer >= self.next && count > 0);
        // Gaps and counts are small for common words, so most entries take a single byte.
        let distance = u64::from(drawer.saturating_sub(self.next));
        let often = count.saturating_sub(1);
        put_varint(&mut self.bytes, (distance << 2) | u64::from(often.min(SHORT)));
        if often >= SHORT {
            put_varint(&mut self.bytes, u64::from(often - SHORT));
        }
        self.drawers += 1;
        self.next = drawer + 1;
    }

    /// Returns the list written so far.
    pub fn as_list(&self) -> PostingList<'_> {
        PostingList {
            drawers: self.drawers,
            bytes: &self.bytes,
        }
    }
}

/// A stored list.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct PostingList<'a> {
    /// The number of drawers in it.
    pub drawers: u32,
    /// Their numbers and counts.
    pub bytes: &'a [u8],
}

impl PostingList<'_> {
    /// Calls `each` with every drawer and its count, in order.
    #[inline]
    pub fn for_each_drawer(&self, mut each: impl FnMut(u32, u32)) -> Result<()> {
        let mut reader = VarintReader::new(self.bytes, "a list of drawers");
        let mut next = 0_u64;
        for _ in 0..self.drawers {
            let code = reader.read_number()?;
            let drawer = next + (code >> 2);
            let mut count = (code & 3) as u32 + 1;
            if count > SHORT {
                count = reader.read_u32()?.saturating_add(count);
            }
            let number = u32::try_from(drawer).map_err(|_| damaged_error("a list of drawers"))?;
            each(number, count);
            next = drawer + 1;
        }
        reader.expect_end()
    }
}
