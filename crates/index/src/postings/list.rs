//! The drawers of a segment that hold one term, and how often.

use loci_core::Result;

use super::damaged;
use super::numbers::{Reader, put};

/// The largest count that stands beside the distance.
const SHORT: u32 = 3;

/// A list that is being written.
#[derive(Debug, Default, Clone)]
pub struct ListWriter {
    bytes: Vec<u8>,
    drawers: u32,
    /// The number that the next drawer may have at the least.
    next: u32,
}

impl ListWriter {
    /// Adds a drawer with a higher number than all before, which holds the term `count` times, at least once.
    pub fn push(&mut self, drawer: u32, count: u32) {
        debug_assert!(drawer >= self.next && count > 0);
        let distance = u64::from(drawer.saturating_sub(self.next));
        let often = count.saturating_sub(1);
        put(&mut self.bytes, (distance << 2) | u64::from(often.min(SHORT)));
        if often >= SHORT {
            put(&mut self.bytes, u64::from(often - SHORT));
        }
        self.drawers += 1;
        self.next = drawer + 1;
    }

    /// The list that was written.
    pub fn list(&self) -> List<'_> {
        List {
            drawers: self.drawers,
            bytes: &self.bytes,
        }
    }
}

/// A list as it is stored.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct List<'a> {
    /// How many drawers it names.
    pub drawers: u32,
    /// Their numbers and counts.
    pub bytes: &'a [u8],
}

impl List<'_> {
    /// Calls `each` with every drawer and its count, in order.
    #[inline]
    pub fn each(&self, mut each: impl FnMut(u32, u32)) -> Result<()> {
        let mut reader = Reader::new(self.bytes, "a list of drawers");
        let mut next = 0_u64;
        for _ in 0..self.drawers {
            let code = reader.number()?;
            let drawer = next + (code >> 2);
            let mut count = (code & 3) as u32 + 1;
            if count > SHORT {
                count = reader.small()?.saturating_add(count);
            }
            let number = u32::try_from(drawer).map_err(|_| damaged("a list of drawers"))?;
            each(number, count);
            next = drawer + 1;
        }
        reader.end()
    }
}
