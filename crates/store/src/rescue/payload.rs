//! Whole payloads: the part on the page of a cell, and the chain of pages that continues it.

use super::image::{PageImage, USABLE};
use super::node::{CellPayload, read_long};

/// The page of a chain that is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BrokenChain(pub(super) u32);

/// Reads a whole payload; fails with the page at which its chain breaks.
pub(super) fn read_payload(
    image: &PageImage,
    cell: CellPayload<'_>,
    into: &mut Vec<u8>,
) -> Result<(), BrokenChain> {
    into.clear();
    into.extend_from_slice(cell.local);
    let mut next = cell.overflow;
    let mut page = Vec::new();
    // A chain that runs in a circle would give any length that a cell claims.
    if cell.total > image.capacity() {
        return Err(BrokenChain(next));
    }
    while into.len() < cell.total {
        if next == 0 || next > image.count || !image.load_newest(next, &mut page) {
            return Err(BrokenChain(next));
        }
        let part = page.get(4..USABLE).unwrap_or_default();
        let missing = cell.total - into.len();
        into.extend_from_slice(part.get(..missing).unwrap_or(part));
        next = read_long(&page, 0).unwrap_or(0);
    }
    Ok(())
}
