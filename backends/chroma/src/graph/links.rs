//! The lists of links of an element: a count and its targets, on level 0 and in `link_lists.bin` above.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::files::{LINKS, open_file};
use super::header::LinkHeader;

/// The highest level that is believed. hnswlib draws levels at random, each with a fraction of the elements of the
/// one below, so no graph comes near.
const HIGHEST: u64 = 128;

/// One wrong link or count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkFault {
    /// The element.
    pub(crate) element: u32,
    /// The level of the list.
    pub(crate) level: u8,
    /// The count or the target.
    pub(crate) value: u32,
}

/// The wrong lists of a graph: how many elements have one, and the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LinkFaults {
    /// The number of elements with more links than fit, on any level.
    pub(crate) counts: u64,
    /// The first of those.
    pub(crate) first_count: Option<LinkFault>,
    /// The number of elements with a link to an element that does not exist, or not on that level.
    pub(crate) dangling: u64,
    /// The first of those.
    pub(crate) first_dangling: Option<LinkFault>,
}

impl LinkFaults {
    /// Checks one list and passes its targets to `reach` as far as they exist.
    pub(super) fn check_list(
        &mut self,
        list: LinkList<'_>,
        exists: impl Fn(u32) -> bool,
        mut reach: impl FnMut(u32),
    ) {
        let fault = |value| LinkFault {
            element: list.element,
            level: list.level,
            value,
        };
        if list.is_overfull() {
            self.counts += 1;
            self.first_count.get_or_insert(fault(list.count()));
        }
        let mut dangling = None;
        for target in list.targets() {
            if exists(target) {
                reach(target);
            } else {
                dangling.get_or_insert(fault(target));
            }
        }
        if let Some(fault) = dangling {
            self.dangling += 1;
            self.first_dangling.get_or_insert(fault);
        }
    }
}

/// The links of one element on one level: four bytes with the count, then four bytes for each target.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkList<'a> {
    /// The element.
    pub(super) element: u32,
    /// The level.
    pub(super) level: u8,
    /// The whole list, used and unused targets alike.
    pub(super) bytes: &'a [u8],
}

impl LinkList<'_> {
    /// Returns the recorded number of links.
    pub(super) fn count(&self) -> u32 {
        // Two bytes are the count; the third holds the deletion mark on level 0.
        let count = self.bytes.first_chunk::<2>();
        count.map_or(0, |count| u32::from(u16::from_le_bytes(*count)))
    }

    fn is_overfull(&self) -> bool {
        self.count() as usize > self.bytes.len().saturating_sub(4) / 4
    }

    /// Returns the targets, as many as the list has room for.
    pub(super) fn targets(&self) -> impl Iterator<Item = u32> {
        let (targets, _) = self.bytes.get(4..).unwrap_or_default().as_chunks::<4>();
        targets
            .iter()
            .take(self.count() as usize)
            .map(|target| u32::from_le_bytes(*target))
    }
}

/// The links above level 0, in the order of elements: for each the length of its lists, then one list a level.
#[derive(Debug)]
pub(super) struct UpperLinks {
    file: BufReader<File>,
    /// The length of one list.
    width: u64,
    lists: Vec<u8>,
}

/// The end of a walk over `link_lists.bin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BrokenUpperLinks {
    /// The number of elements before the problem.
    pub(crate) element: u32,
    /// The problem.
    pub(crate) problem: String,
}

impl UpperLinks {
    /// Opens the links of a segment; `None` if the file does not exist.
    pub(super) fn open(folder: &Path, header: &LinkHeader) -> io::Result<Option<Self>> {
        Ok(open_file(&folder.join(LINKS))?.map(|file| Self {
            file: BufReader::with_capacity(1 << 16, file),
            width: 4 + 4 * header.most_upper,
            lists: Vec::new(),
        }))
    }

    /// Passes the lists of each element to `take`, from level 1 up. Returns the problem that ends the walk early.
    pub(super) fn for_each(
        mut self,
        elements: u32,
        mut take: impl FnMut(u32, std::slice::ChunksExact<'_, u8>),
    ) -> io::Result<Option<BrokenUpperLinks>> {
        for element in 0..elements {
            if let Some(problem) = self.read_lists()? {
                return Ok(Some(BrokenUpperLinks { element, problem }));
            }
            take(element, self.lists.chunks_exact(self.width as usize));
        }
        Ok(None)
    }

    fn read_lists(&mut self) -> io::Result<Option<String>> {
        let mut length = [0; 4];
        if !fill(&mut self.file, &mut length)? {
            return Ok(Some("the file ends there".to_owned()));
        }
        let length = u64::from(u32::from_le_bytes(length));
        // Also bounds what is reserved for a length that is a lie.
        if length % self.width != 0 || length / self.width > HIGHEST {
            return Ok(Some(format!(
                "lists of {length} bytes are impossible where one has {}",
                self.width
            )));
        }
        self.lists.resize(length as usize, 0);
        let is_whole = fill(&mut self.file, &mut self.lists)?;
        Ok((!is_whole).then(|| "the file ends there".to_owned()))
    }
}

/// Fills `buffer`. Returns `false` if the file ends before.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
