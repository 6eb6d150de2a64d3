//! Blocks of terms with their lists, and the directory that says which block has a term.

use loci_core::Result;

use super::numbers::{Reader, put};
use super::{BLOCK, List, damaged};
use crate::tokenise::LONGEST;

/// Writes the blocks and the directory of a segment.
#[derive(Debug, Default)]
pub(super) struct BlockWriter {
    pub(super) blocks: Vec<Vec<u8>>,
    pub(super) directory: Vec<u8>,
    last: Vec<u8>,
}

impl BlockWriter {
    /// Adds a term that stands after all before in byte order.
    pub(super) fn push(&mut self, term: &[u8], list: List<'_>) {
        debug_assert!(term.len() <= LONGEST);
        let most = term.len() + 12 + list.bytes.len();
        let fits = self
            .blocks
            .last()
            .is_some_and(|block| block.len() + most <= BLOCK);
        if !fits {
            self.directory.push(term.len() as u8);
            self.directory.extend_from_slice(term);
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
        put(block, u64::from(list.drawers));
        put(block, list.bytes.len() as u64);
        block.extend_from_slice(list.bytes);
        self.last.clear();
        self.last.extend_from_slice(term);
    }
}

/// A term of a block and the drawers that hold it.
#[derive(Debug, Clone, Copy)]
pub struct BlockEntry<'t, 'a> {
    /// The term.
    pub term: &'t [u8],
    /// The drawers.
    pub list: List<'a>,
}

/// A block as it is stored.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a>(&'a [u8]);

impl<'a> Block<'a> {
    /// Reads a stored block.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Calls `each` with every term in byte order, until it says stop.
    pub fn each(&self, mut each: impl FnMut(BlockEntry<'_, 'a>) -> Result<bool>) -> Result<()> {
        let mut reader = Reader::new(self.0, "a block of terms");
        let mut term = [0_u8; LONGEST];
        while !reader.is_at_end() {
            let (shared, n) = (usize::from(reader.byte()?), usize::from(reader.byte()?));
            let end = shared + n;
            let further = reader.take(n)?;
            let place = term
                .get_mut(shared..end)
                .ok_or_else(|| damaged("a block of terms"))?;
            place.copy_from_slice(further);
            let drawers = reader.small()?;
            let length = reader.small()? as usize;
            let bytes = reader.take(length)?;
            let entry = BlockEntry {
                term: term.get(..end).unwrap_or_default(),
                list: List { drawers, bytes },
            };
            if !each(entry)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The list of `term`, if the block has it.
    pub fn find(&self, term: &[u8]) -> Result<Option<List<'a>>> {
        let mut found = None;
        self.each(|entry| {
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
pub struct Directory<'a>(&'a [u8]);

impl<'a> Directory<'a> {
    /// Reads a stored directory.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Calls `each` with the first term of every block, in order, until it says stop.
    pub fn each(&self, mut each: impl FnMut(&'a [u8]) -> bool) -> Result<()> {
        let mut reader = Reader::new(self.0, "the directory of a segment's terms");
        while !reader.is_at_end() {
            let n = usize::from(reader.byte()?);
            if !each(reader.take(n)?) {
                break;
            }
        }
        Ok(())
    }

    /// For each of `terms`, which are in byte order, the number of the only block that may have it.
    pub fn blocks_of(&self, terms: &[&[u8]]) -> Result<Vec<Option<usize>>> {
        let mut found = Vec::with_capacity(terms.len());
        let mut begun = 0_usize;
        self.each(|first| {
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
