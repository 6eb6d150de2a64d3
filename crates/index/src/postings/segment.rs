//! Building a segment, and reading the rows and lengths of a stored one.

use std::collections::HashMap;

use loci_core::Result;

use super::block::TermBlockWriter;
use super::numbers::{VarintReader, put_varint};
use super::{MOST_DRAWERS, PostingListWriter, TermBlock, WordBag, damaged_error};

/// A segment ready to be stored.
#[derive(Debug)]
pub struct SealedPostings {
    /// The first row.
    pub first: i64,
    /// The last row.
    pub last: i64,
    /// The number of drawers.
    pub drawers: usize,
    /// Its packed rows.
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
pub struct PostingsWriter {
    rows: Vec<i64>,
    lengths: Vec<u32>,
    lists: HashMap<Vec<u8>, PostingListWriter>,
}

impl PostingsWriter {
    /// Returns the number of drawers.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Reports whether it has no drawer yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a drawer whose row is higher than all before.
    pub fn add_drawer(&mut self, row: i64, words: WordBag<'_>) -> Result<()> {
        let drawer = self.admit_drawer(row, words.length()?)?;
        words.for_each_term(|term, count| self.push_posting(term, drawer, count))
    }

    fn admit_drawer(&mut self, row: i64, length: u32) -> Result<u32> {
        let in_order = self.rows.last().is_none_or(|last| *last < row);
        // Lists store distances between ascending drawer numbers, so rows must come in order.
        if !in_order || self.rows.len() >= MOST_DRAWERS {
            return Err(damaged_error("the order of a segment's rows"));
        }
        self.rows.push(row);
        self.lengths.push(length);
        Ok(self.rows.len() as u32 - 1)
    }

    fn push_posting(&mut self, term: &[u8], drawer: u32, count: u32) {
        if let Some(list) = self.lists.get_mut(term) {
            return list.push(drawer, count);
        }
        // Not `entry`: it would copy the term for every posting, and nearly all are repeats.
        let mut list = PostingListWriter::default();
        list.push(drawer, count);
        self.lists.insert(term.to_vec(), list);
    }

    /// Adds the drawers of a stored segment that `live` marks and returns their new numbers; its blocks follow by
    /// [`PostingsWriter::add_block`].
    pub fn add_drawers(&mut self, rows: &[i64], lengths: &[u32], live: &[bool]) -> Result<Vec<Option<u32>>> {
        let drawers = rows.iter().zip(lengths).zip(live);
        drawers
            .map(|((row, length), live)| {
                if *live {
                    self.admit_drawer(*row, *length).map(Some)
                } else {
                    Ok(None)
                }
            })
            .collect()
    }

    /// Adds the lists of a block of the stored segment whose drawers were added last, under their new numbers.
    pub fn add_block(&mut self, block: TermBlock<'_>, numbers: &[Option<u32>]) -> Result<()> {
        block.for_each_entry(|entry| {
            let mut stray = false;
            entry
                .list
                .for_each_drawer(|drawer, count| match numbers.get(drawer as usize) {
                    Some(Some(number)) => self.push_posting(entry.term, *number, count),
                    // A drawer that is gone: merging is the moment at which its postings disappear.
                    Some(None) => {}
                    None => stray = true,
                })?;
            if stray {
                Err(damaged_error("a list of drawers"))
            } else {
                Ok(true)
            }
        })
    }

    /// Seals the segment; `None` if no drawer was added.
    pub fn seal_segment(self) -> Option<SealedPostings> {
        let (first, last) = (*self.rows.first()?, *self.rows.last()?);
        let mut terms: Vec<_> = self.lists.into_iter().collect();
        // Hash maps have no order; sorting also makes the bytes the same for the same drawers.
        terms.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut writer = TermBlockWriter::default();
        for (term, list) in &terms {
            writer.push_term(term, list.as_list());
        }
        let mut lengths = Vec::with_capacity(self.lengths.len() * 2);
        for length in &self.lengths {
            put_varint(&mut lengths, u64::from(*length));
        }
        Some(SealedPostings {
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
        // Rows mostly follow each other, so runs take a few bytes where single numbers would take one for
        // each.
        let skipped = begin.unwrap_or(next).wrapping_sub(next) as u64;
        put_varint(&mut bytes, skipped);
        put_varint(&mut bytes, run.len() as u64);
        next = end.unwrap_or(next).wrapping_add(1);
    }
    bytes
}

/// Reads the `drawers` rows of a segment that begins with the row `first`.
pub fn read_rows(bytes: &[u8], first: i64, drawers: usize) -> Result<Vec<i64>> {
    let bad = || damaged_error("the rows of a segment");
    if drawers > MOST_DRAWERS {
        return Err(bad());
    }
    let mut reader = VarintReader::new(bytes, "the rows of a segment");
    let mut rows: Vec<i64> = Vec::with_capacity(drawers);
    let mut next = Some(first);
    while !reader.is_at_end() {
        let begin = next
            .and_then(|next| next.checked_add_unsigned(reader.read_number().ok()?))
            .ok_or_else(bad)?;
        let length = usize::try_from(reader.read_number()?).map_err(|_| bad())?;
        // Before extending: a damaged length must not allocate rows beyond the number the segment claims.
        if length == 0 || length > drawers - rows.len() {
            return Err(bad());
        }
        let last = begin.checked_add(length as i64 - 1).ok_or_else(bad)?;
        rows.extend(begin..=last);
        next = last.checked_add(1);
    }
    if rows.len() == drawers && rows.first() == Some(&first) {
        Ok(rows)
    } else {
        Err(bad())
    }
}

/// Reads the lengths of the `drawers` drawers of a segment.
pub fn read_lengths(bytes: &[u8], drawers: usize) -> Result<Vec<u32>> {
    if drawers > MOST_DRAWERS {
        return Err(damaged_error("the lengths of a segment"));
    }
    let mut reader = VarintReader::new(bytes, "the lengths of a segment");
    let lengths = (0..drawers).map(|_| reader.read_u32()).collect::<Result<_>>()?;
    reader.expect_end()?;
    Ok(lengths)
}
