//! One page of a b-tree: its kind, its cells, and whether its bytes add up.

use std::ops::Range;

use super::record::{read_big_endian, read_page_number, read_varint};

/// The longest row that SQLite writes by default.
const LONGEST_ROW: u64 = 1_000_000_000;

/// The kind of a b-tree page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    IndexBranch,
    TableBranch,
    IndexLeaf,
    TableLeaf,
}

impl PageKind {
    fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            // The codes of SQLite's file format, in the first byte of a page.
            2 => Some(Self::IndexBranch),
            5 => Some(Self::TableBranch),
            10 => Some(Self::IndexLeaf),
            13 => Some(Self::TableLeaf),
            _ => None,
        }
    }

    pub(super) fn is_branch(self) -> bool {
        matches!(self, Self::IndexBranch | Self::TableBranch)
    }

    pub(super) fn is_table(self) -> bool {
        matches!(self, Self::TableBranch | Self::TableLeaf)
    }
}

/// A cell of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageCell {
    /// The bytes it occupies in its page.
    pub(super) place: Range<usize>,
    /// The child page, in a branch.
    pub(super) child: Option<u32>,
    /// The rowid, or in a branch the highest rowid below `child`; 0 in an index.
    pub(super) rowid: i64,
    /// The total length of its row.
    pub(super) length: u64,
    /// The part of the row within the page.
    pub(super) local: Range<usize>,
    /// The first overflow page of the row.
    pub(super) overflow: Option<u32>,
}

/// A page of a b-tree, as far as it is readable.
#[derive(Debug)]
pub(super) struct BtreeNode {
    pub(super) kind: PageKind,
    /// The cells that lie at possible offsets and overlap nothing else.
    pub(super) cells: Vec<PageCell>,
    /// The rightmost child page, in a branch.
    pub(super) right: Option<u32>,
    /// The number of cells by the page's header.
    pub(super) promised_cells: usize,
    /// Whether every byte of the page is accounted for.
    pub(super) sound: bool,
}

impl BtreeNode {
    /// Reads page `number`. Returns `None` if it is not a page of a b-tree.
    pub(super) fn read(number: u32, page: &[u8], usable: usize) -> Option<Self> {
        let page = page.get(..usable)?;
        // The first page begins with the header of the file.
        let at = if number == 1 { 100 } else { 0 };
        let kind = PageKind::from_byte(*page.get(at)?)?;
        let head = NodeHeader::read(page, at, kind)?;
        let (mut cells, mut sound) = head.read_cells(page, kind);
        let free = head.read_free_blocks(page);
        sound &= free.is_some();
        let free = free.unwrap_or_default();
        sound &= drop_overlaps(&mut cells, &free);
        let used = cells.iter().map(|cell| &cell.place).chain(&free);
        let used: usize = used.map(ExactSizeIterator::len).sum();
        // Cells, deleted blocks and fragments fill the content area exactly; any other sum shows damage.
        sound &= used + head.fragments == usable - head.content;
        sound &= !kind.is_table() || cells.is_sorted_by(|one, other| one.rowid < other.rowid);
        let right = if kind.is_branch() {
            read_page_number(page, at + 8)
        } else {
            None
        };
        Some(Self {
            kind,
            cells,
            right,
            promised_cells: head.promised_cells,
            sound,
        })
    }
}

/// The header of a page.
struct NodeHeader {
    pointers: usize,
    promised_cells: usize,
    first_free: usize,
    content: usize,
    fragments: usize,
}

impl NodeHeader {
    fn read(page: &[u8], at: usize, kind: PageKind) -> Option<Self> {
        let number = |offset, width| usize::try_from(read_big_endian(page, at + offset, width)?).ok();
        // Two bytes cannot express 65,536, the offset on an empty page of that size; the format writes 0.
        let content = match number(5, 2)? {
            0 => 65_536,
            content => content,
        };
        let head = Self {
            pointers: at + if kind.is_branch() { 12 } else { 8 },
            promised_cells: number(3, 2)?,
            first_free: number(1, 2)?,
            content,
            fragments: number(7, 1)?,
        };
        let end = head.pointers + 2 * head.promised_cells;
        // SQLite defragments a page before it has more than 60 fragmented bytes.
        (end <= content && content <= page.len() && head.fragments <= 60).then_some(head)
    }

    /// Reads the cells, and returns whether all are readable.
    fn read_cells(&self, page: &[u8], kind: PageKind) -> (Vec<PageCell>, bool) {
        let pointers =
            (0..self.promised_cells).map(|index| read_big_endian(page, self.pointers + 2 * index, 2));
        let starts = pointers.filter_map(|pointer| usize::try_from(pointer?).ok());
        let inside = starts.filter(|start| *start >= self.content);
        let cells: Vec<_> = inside.filter_map(|start| read_cell(page, start, kind)).collect();
        let all = cells.len() == self.promised_cells;
        (cells, all)
    }

    /// Returns the places of deleted cells, or `None` if their chain is broken.
    fn read_free_blocks(&self, page: &[u8]) -> Option<Vec<Range<usize>>> {
        let mut blocks = Vec::new();
        let mut at = self.first_free;
        while at != 0 {
            let last: Option<&Range<usize>> = blocks.last();
            let after = last.map_or(self.content, |block| block.end);
            let size = usize::try_from(read_big_endian(page, at + 2, 2)?).ok()?;
            // The chain is sorted by offset, which also rules out a cycle.
            if at < after || size < 4 || at + size > page.len() {
                return None;
            }
            blocks.push(at..at + size);
            at = usize::try_from(read_big_endian(page, at, 2)?).ok()?;
        }
        Some(blocks)
    }
}

/// Reads the cell that begins at `start`.
fn read_cell(page: &[u8], start: usize, kind: PageKind) -> Option<PageCell> {
    let mut at = start;
    let mut child = None;
    if kind.is_branch() {
        child = Some(read_page_number(page, at)?);
        at += 4;
    }
    let mut length = 0;
    if kind != PageKind::TableBranch {
        let (value, width) = read_varint(page.get(at..)?)?;
        length = u64::try_from(value)
            .ok()
            .filter(|length| *length <= LONGEST_ROW)?;
        at += width;
    }
    let mut rowid = 0;
    if kind.is_table() {
        let (value, width) = read_varint(page.get(at..)?)?;
        rowid = value;
        at += width;
    }
    let size = local_size(length, page.len(), kind)?;
    let local = at..at.checked_add(size)?;
    let spills = u64::try_from(size).ok()? < length;
    let overflow = if spills {
        Some(read_page_number(page, local.end)?)
    } else {
        None
    };
    let end = local.end + if spills { 4 } else { 0 };
    // A cell takes four bytes at least, so that a free block fits in its place.
    let place = start..end.max(start + 4);
    (place.end <= page.len()).then_some(PageCell {
        place,
        child,
        rowid,
        length,
        local,
        overflow,
    })
}

/// Returns the number of bytes of a row that stay in its page.
fn local_size(length: u64, usable: usize, kind: PageKind) -> Option<usize> {
    let usable = u64::try_from(usable).ok()?;
    // The formulas of SQLite's file format, chosen there so that overflow pages are filled completely.
    let most = if kind.is_table() {
        usable - 35
    } else {
        (usable - 12) * 64 / 255 - 23
    };
    let least = (usable - 12) * 32 / 255 - 23;
    let size = if length <= most {
        length
    } else {
        let ideal = least + (length - least) % (usable - 4);
        if ideal <= most { ideal } else { least }
    };
    usize::try_from(size).ok()
}

/// Drops cells that overlap another cell or a deleted one, and returns whether there were none.
fn drop_overlaps(cells: &mut Vec<PageCell>, free: &[Range<usize>]) -> bool {
    let mut places: Vec<_> = cells.iter().map(|cell| &cell.place).chain(free).collect();
    places.sort_by_key(|place| (place.start, place.end));
    let mut shared: Vec<usize> = Vec::new();
    let mut widest: Option<&Range<usize>> = None;
    for place in places {
        if let Some(before) = widest.filter(|before| before.end > place.start) {
            // Which of the two is right cannot be known, so neither is used.
            shared.extend([before.start, place.start]);
        }
        if widest.is_none_or(|before| before.end < place.end) {
            widest = Some(place);
        }
    }
    shared.sort_unstable();
    cells.retain(|cell| shared.binary_search(&cell.place.start).is_err());
    shared.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A leaf with the rows 1 and 2, five bytes each.
    fn leaf() -> Vec<u8> {
        let mut page = vec![0; 512];
        page[..12].copy_from_slice(&[13, 0, 0, 0, 2, 1, 246, 0, 1, 251, 1, 246]);
        page[502..].copy_from_slice(&[3, 2, 2, 1, 7, 3, 1, 2, 1, 5]);
        page
    }

    fn read(page: &[u8]) -> (Vec<i64>, bool) {
        let node = BtreeNode::read(2, page, 512).unwrap();
        (node.cells.iter().map(|cell| cell.rowid).collect(), node.sound)
    }

    #[test]
    fn a_page_whose_bytes_add_up_is_sound() {
        assert_eq!(read(&leaf()), (vec![1, 2], true));
        let mut gap = leaf();
        gap[5..7].copy_from_slice(&[1, 240]);
        assert_eq!(read(&gap), (vec![1, 2], false), "six bytes belong to nobody");
    }

    #[test]
    fn a_deleted_cell_is_never_a_row() {
        let mut deleted = leaf();
        deleted[507..511].copy_from_slice(&[0, 0, 0, 5]);
        deleted[1..3].copy_from_slice(&[1, 251]);
        assert_eq!(read(&deleted), (vec![2], false), "a pointer still leads to it");
        deleted[4] = 1;
        deleted[8..10].copy_from_slice(&[1, 246]);
        assert_eq!(read(&deleted), (vec![2], true));
    }

    #[test]
    fn cells_that_share_bytes_are_not_believed() {
        let mut shared = leaf();
        shared[10..12].copy_from_slice(&[1, 249]);
        assert_eq!(read(&shared), (vec![], false));
    }

    #[test]
    fn a_pointer_out_of_the_page_costs_one_row() {
        let mut outside = leaf();
        outside[10..12].copy_from_slice(&[255, 255]);
        assert_eq!(read(&outside), (vec![1], false));
        outside[3..5].copy_from_slice(&[255, 255]);
        assert!(BtreeNode::read(2, &outside, 512).is_none(), "more cells than fit");
    }
}
