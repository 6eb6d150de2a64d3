//! The pages of SQLite's trees: their kind, their children and their cells.

use super::image::{PAGE, USABLE};
use super::record::read_varint;

/// The kind of a page of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    TableLeaf,
    TableInterior,
    IndexLeaf,
    IndexInterior,
}

/// The bytes of the database header before the tree's own header on page 1.
const FILE_HEADER: usize = 100;

/// A page of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct TreeNode<'a> {
    pub(super) kind: NodeKind,
    page: &'a [u8],
    /// The place of the tree's header on the page.
    start: usize,
    cells: usize,
}

/// The payload of a cell: the part that is on its own page, and the rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellPayload<'a> {
    /// The row, in a table.
    pub(super) row: i64,
    /// The number of bytes of the whole payload.
    pub(super) total: usize,
    pub(super) local: &'a [u8],
    /// The first of the pages that hold the rest; 0 if there is no rest.
    pub(super) overflow: u32,
}

impl<'a> TreeNode<'a> {
    /// Parses a page; `None` if it is not a page of a tree.
    pub(super) fn parse(number: u32, page: &'a [u8]) -> Option<Self> {
        let start = if number == 1 { FILE_HEADER } else { 0 };
        let kind = match page.get(start)? {
            0x0d => NodeKind::TableLeaf,
            0x05 => NodeKind::TableInterior,
            0x0a => NodeKind::IndexLeaf,
            0x02 => NodeKind::IndexInterior,
            _ => return None,
        };
        let cells = usize::from(read_short(page, start + 3)?);
        let node = Self {
            kind,
            page,
            start,
            cells,
        };
        let end = node.pointers().checked_add(cells.checked_mul(2)?)?;
        (page.len() == PAGE && end <= USABLE).then_some(node)
    }

    fn is_interior(&self) -> bool {
        matches!(self.kind, NodeKind::TableInterior | NodeKind::IndexInterior)
    }

    fn pointers(&self) -> usize {
        self.start + if self.is_interior() { 12 } else { 8 }
    }

    pub(super) fn cell_count(&self) -> usize {
        self.cells
    }

    fn cell_place(&self, cell: usize) -> Option<usize> {
        let place = usize::from(read_short(
            self.page,
            self.pointers().checked_add(cell.checked_mul(2)?)?,
        )?);
        (cell < self.cells && place < USABLE).then_some(place)
    }

    /// Returns the pages below this one, each with the highest row it may hold; the last one's is not known here.
    pub(super) fn children(&self) -> Vec<(u32, i64)> {
        if !self.is_interior() {
            return Vec::new();
        }
        let child = |cell| {
            let place = self.cell_place(cell)?;
            let key = match self.kind {
                NodeKind::TableInterior => read_varint(self.page, place + 4)?.0 as i64,
                _ => i64::MAX,
            };
            Some((read_long(self.page, place)?, key))
        };
        let last = read_long(self.page, self.start + 8).map(|page| (page, i64::MAX));
        (0..self.cells).filter_map(child).chain(last).collect()
    }

    /// Returns the payload of a cell; `None` if the page of this kind has none, or the cell is not one.
    pub(super) fn payload(&self, cell: usize) -> Option<CellPayload<'a>> {
        let mut at = self.cell_place(cell)?;
        match self.kind {
            NodeKind::TableInterior => return None,
            // The child comes before the payload.
            NodeKind::IndexInterior => at += 4,
            NodeKind::TableLeaf | NodeKind::IndexLeaf => {}
        }
        let (total, mut at) = read_varint(self.page, at)?;
        let total = usize::try_from(total).ok()?;
        let mut row = 0;
        if self.kind == NodeKind::TableLeaf {
            let (key, after) = read_varint(self.page, at)?;
            (row, at) = (key as i64, after);
        }
        let length = local_length(total, self.kind == NodeKind::TableLeaf);
        let end = at.checked_add(length)?;
        let local = self.page.get(at..end).filter(|_| end <= USABLE)?;
        let overflow = if length < total {
            read_long(self.page, end)?
        } else {
            0
        };
        Some(CellPayload {
            row,
            total,
            local,
            overflow,
        })
    }
}

/// Returns how many bytes of a payload are on the page of its cell, as SQLite's file format computes it.
fn local_length(total: usize, table: bool) -> usize {
    let most = if table {
        USABLE - 35
    } else {
        (USABLE - 12) * 64 / 255 - 23
    };
    let least = (USABLE - 12) * 32 / 255 - 23;
    if total <= most {
        return total;
    }
    let fitting = least + (total - least) % (USABLE - 4);
    if fitting <= most { fitting } else { least }
}

fn read_short(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|word| u16::from_be_bytes(*word))
}

/// Reads a big-endian word, as every number of a page is stored.
pub(super) fn read_long(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|word| u32::from_be_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An interior page of a table with two cells, whose children are 7 (up to row 5), 8 (up to 300) and 9.
    fn interior() -> Vec<u8> {
        let mut page = vec![0; PAGE];
        page[0] = 0x05;
        page[3..5].copy_from_slice(&2_u16.to_be_bytes());
        page[8..12].copy_from_slice(&9_u32.to_be_bytes());
        for (n, (place, child, key)) in [(200_u16, 7_u32, &[5_u8][..]), (300, 8, &[0x82, 0x2c])]
            .into_iter()
            .enumerate()
        {
            page[12 + 2 * n..14 + 2 * n].copy_from_slice(&place.to_be_bytes());
            let at = usize::from(place);
            page[at..at + 4].copy_from_slice(&child.to_be_bytes());
            page[at + 4..at + 4 + key.len()].copy_from_slice(key);
        }
        page
    }

    #[test]
    fn the_children_of_a_page_come_with_the_rows_they_may_hold() {
        let page = interior();
        let node = TreeNode::parse(3, &page).unwrap();
        assert_eq!(node.children(), [(7, 5), (8, 300), (9, i64::MAX)]);
    }

    #[test]
    fn a_page_that_is_cut_or_promises_too_many_cells_is_none() {
        let mut page = interior();
        assert!(TreeNode::parse(3, &page[..PAGE - 1]).is_none());
        page[3..5].copy_from_slice(&u16::MAX.to_be_bytes());
        assert!(TreeNode::parse(3, &page).is_none());
        page[0] = 0x04;
        assert!(TreeNode::parse(3, &page).is_none());
    }
}
