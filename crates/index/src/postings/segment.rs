//! A segment being made, and the rows and lengths of one that is stored.

use std::collections::HashMap;

use loci_core::Result;

use super::block::BlockWriter;
use super::numbers::{Reader, put};
use super::{Bag, Block, ListWriter, MOST_DRAWERS, damaged};

/// A segment ready to be stored.
#[derive(Debug)]
pub struct Sealed {
    /// The first row.
    pub first: i64,
    /// The last row.
    pub last: i64,
    /// How many drawers it has.
    pub drawers: usize,
    /// Its rows.
    pub rows: Vec<u8>,
    /// The lengths of its drawers.
    pub lengths: Vec<u8>,
    /// The first terms of its blocks.
    pub directory: Vec<u8>,
    /// Its blocks.
    pub blocks: Vec<Vec<u8>>,
}

/// Collects drawers in the order of their rows.
#[derive(Debug, Default)]
pub struct SegmentWriter {
    rows: Vec<i64>,
    lengths: Vec<u32>,
    lists: HashMap<Vec<u8>, ListWriter>,
}

impl SegmentWriter {
    /// How many drawers it has.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Tells whether it has no drawer yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a drawer whose row is higher than all before.
    pub fn add(&mut self, row: i64, words: Bag<'_>) -> Result<()> {
        let drawer = self.admit(row, words.length()?)?;
        words.each(|term, count| self.push(term, drawer, count))
    }

    fn admit(&mut self, row: i64, length: u32) -> Result<u32> {
        let in_order = self.rows.last().is_none_or(|last| *last < row);
        if !in_order || self.rows.len() >= MOST_DRAWERS {
            return Err(damaged("the order of a segment's rows"));
        }
        self.rows.push(row);
        self.lengths.push(length);
        Ok(self.rows.len() as u32 - 1)
    }

    fn push(&mut self, term: &[u8], drawer: u32, count: u32) {
        if let Some(list) = self.lists.get_mut(term) {
            return list.push(drawer, count);
        }
        let mut list = ListWriter::default();
        list.push(drawer, count);
        self.lists.insert(term.to_vec(), list);
    }

    /// Adds those drawers of a stored segment that `live` marks; its blocks follow by [`SegmentWriter::add_block`].
    /// Returns their new numbers.
    pub fn add_drawers(&mut self, rows: &[i64], lengths: &[u32], live: &[bool]) -> Result<Vec<Option<u32>>> {
        let drawers = rows.iter().zip(lengths).zip(live);
        drawers
            .map(|((row, length), live)| match live {
                true => self.admit(*row, *length).map(Some),
                false => Ok(None),
            })
            .collect()
    }

    /// Adds the lists of a block of a stored segment whose drawers were added last, under their new numbers.
    pub fn add_block(&mut self, block: Block<'_>, numbers: &[Option<u32>]) -> Result<()> {
        block.each(|entry| {
            let mut stray = false;
            entry
                .list
                .each(|drawer, count| match numbers.get(drawer as usize) {
                    Some(Some(number)) => self.push(entry.term, *number, count),
                    Some(None) => {}
                    None => stray = true,
                })?;
            match stray {
                true => Err(damaged("a list of drawers")),
                false => Ok(true),
            }
        })
    }

    /// The segment; `None` if no drawer was added.
    pub fn seal(self) -> Option<Sealed> {
        let (first, last) = (*self.rows.first()?, *self.rows.last()?);
        let mut terms: Vec<_> = self.lists.into_iter().collect();
        terms.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut writer = BlockWriter::default();
        for (term, list) in &terms {
            writer.push(term, list.list());
        }
        let mut lengths = Vec::with_capacity(self.lengths.len() * 2);
        for length in &self.lengths {
            put(&mut lengths, u64::from(*length));
        }
        Some(Sealed {
            first,
            last,
            drawers: self.rows.len(),
            rows: pack_rows(first, &self.rows),
            lengths,
            directory: writer.directory,
            blocks: writer.blocks,
        })
    }
}

fn pack_rows(first: i64, rows: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut next = first;
    for run in rows.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
        let (begin, end) = (run.first().copied(), run.last().copied());
        let skipped = begin.unwrap_or(next).wrapping_sub(next) as u64;
        put(&mut bytes, skipped);
        put(&mut bytes, run.len() as u64);
        next = end.unwrap_or(next).wrapping_add(1);
    }
    bytes
}

/// The `drawers` rows of a segment that begins with the row `first`.
pub fn read_rows(bytes: &[u8], first: i64, drawers: usize) -> Result<Vec<i64>> {
    let bad = || damaged("the rows of a segment");
    if drawers > MOST_DRAWERS {
        return Err(bad());
    }
    let mut reader = Reader::new(bytes, "the rows of a segment");
    let mut rows: Vec<i64> = Vec::with_capacity(drawers);
    let mut next = Some(first);
    while !reader.is_at_end() {
        let begin = next
            .and_then(|next| next.checked_add_unsigned(reader.number().ok()?))
            .ok_or_else(bad)?;
        let length = usize::try_from(reader.number()?).map_err(|_| bad())?;
        if length == 0 || length > drawers - rows.len() {
            return Err(bad());
        }
        let last = begin.checked_add(length as i64 - 1).ok_or_else(bad)?;
        rows.extend(begin..=last);
        next = last.checked_add(1);
    }
    match rows.len() == drawers && rows.first() == Some(&first) {
        true => Ok(rows),
        false => Err(bad()),
    }
}

/// The lengths of the `drawers` drawers of a segment.
pub fn read_lengths(bytes: &[u8], drawers: usize) -> Result<Vec<u32>> {
    if drawers > MOST_DRAWERS {
        return Err(damaged("the lengths of a segment"));
    }
    let mut reader = Reader::new(bytes, "the lengths of a segment");
    let lengths = (0..drawers).map(|_| reader.small()).collect::<Result<_>>()?;
    reader.end()?;
    Ok(lengths)
}
