//! Blocks of terms with their lists, and the directory that locates the block of a term.

use loci_core::Result;

use super::numbers::{VarintReader, put_varint};
use super::{BLOCK, PostingList, damaged_error};
use crate::tokenise::LONGEST;

/// Writes the blocks and the directory of a segment.
#[derive(Debug, Default)]
pub(super) struct TermBlockWriter {
    pub(super) blocks: Vec<Vec<u8>>,
    pub(super) directory: Vec<u8>,
    last: Vec<u8>,
}

impl TermBlockWriter {
    /// Adds a term, which must follow all earlier ones in byte order.
    pub(super) fn push_term(&mut self, term: &[u8], list: PostingList<'_>) {
        debug_assert!(term.len() <= LONGEST);
        // 12 covers the two length bytes and two varints of at most five bytes each.
        let most = term.len() + 12 + list.bytes.len();
        let fits = self
            .blocks
            .last()
            .is_some_and(|block| block.len() + most <= BLOCK);
        if !fits {
            self.directory.push(term.len() as u8);
            self.directory.extend_from_slice(term);
            // A block starts with a whole term, so that it can be read without the one before it.
            self.blocks.push(Vec::new());
            self.last.clear();
        }
        let Some(block) = self.blocks.last_mut() else {
            return;
        };
        let shared = self.last.iter().zip(term).take_while(|(a, b)| a == b).count();
        let further = term.get(shared..).unwrap_or_default();
        block.push(shared as u8);
        block.push(further.len() as u8);
        block.extend_from_slice(further);
        put_varint(block, u64::from(list.drawers));
        put_varint(block, list.bytes.len() as u64);
        block.extend_from_slice(list.bytes);
        self.last.clear();
        self.last.extend_from_slice(term);
    }
}

/// A term of a block and the drawers that hold it.
#[derive(Debug, Clone, Copy)]
pub struct TermBlockEntry<'t, 'a> {
    /// The term.
    pub term: &'t [u8],
    /// The drawers.
    pub list: PostingList<'a>,
}

/// A stored block.
#[derive(Debug, Clone, Copy)]
pub struct TermBlock<'a>(&'a [u8]);

impl<'a> TermBlock<'a> {
    /// Wraps a stored block.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Calls `each` with every term in byte order, until it returns false.
    pub fn for_each_entry(&self, mut each: impl FnMut(TermBlockEntry<'_, 'a>) -> Result<bool>) -> Result<()> {
        let mut reader = VarintReader::new(self.0, "a block of terms");
        // Terms are rebuilt in place: each keeps the shared prefix of the one before.
        let mut term = [0_u8; LONGEST];
        while !reader.is_at_end() {
            let (shared, n) = (usize::from(reader.read_byte()?), usize::from(reader.read_byte()?));
            let end = shared + n;
            let further = reader.take_bytes(n)?;
            let place = term
                .get_mut(shared..end)
                .ok_or_else(|| damaged_error("a block of terms"))?;
            place.copy_from_slice(further);
            let drawers = reader.read_u32()?;
            let length = reader.read_u32()? as usize;
            let bytes = reader.take_bytes(length)?;
            let entry = TermBlockEntry {
                term: term.get(..end).unwrap_or_default(),
                list: PostingList { drawers, bytes },
            };
            if !each(entry)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the list of `term`, if the block contains it.
    pub fn find_term(&self, term: &[u8]) -> Result<Option<PostingList<'a>>> {
        let mut found = None;
        self.for_each_entry(|entry| {
            if entry.term == term {
                found = Some(entry.list);
            }
            Ok(entry.term < term)
        })?;
        Ok(found)
    }
}

/// The first term of each block of a segment, as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct TermDirectory<'a>(&'a [u8]);

impl<'a> TermDirectory<'a> {
    /// Wraps a stored directory.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Calls `each` with the first term of every block, in order, until it returns false.
    pub fn for_each_first_term(&self, mut each: impl FnMut(&'a [u8]) -> bool) -> Result<()> {
        let mut reader = VarintReader::new(self.0, "the directory of a segment's terms");
        while !reader.is_at_end() {
            let n = usize::from(reader.read_byte()?);
            if !each(reader.take_bytes(n)?) {
                break;
            }
        }
        Ok(())
    }

    /// Returns for each of `terms`, which are in byte order, the number of the only block that may contain it.
    pub fn find_blocks(&self, terms: &[&[u8]]) -> Result<Vec<Option<usize>>> {
        let mut found = Vec::with_capacity(terms.len());
        let mut begun = 0_usize;
        self.for_each_first_term(|first| {
            // A term belongs to the last block that begins at or before it; before the first block there
            // is none.
            while terms.get(found.len()).is_some_and(|term| *term < first) {
                found.push(begun.checked_sub(1));
            }
            begun += 1;
            found.len() < terms.len()
        })?;
        found.resize(terms.len(), begun.checked_sub(1));
        Ok(found)
    }
}
