//! The words of one drawer, in byte order with their counts.

use loci_core::Result;

use super::damaged_error;
use super::numbers::{VarintReader, put_varint};
use crate::tokenise::LONGEST;

/// The stored words of one drawer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordBag<'a>(&'a [u8]);

impl<'a> WordBag<'a> {
    /// Packs tokens separated by single spaces; tokens longer than the limit are cut.
    pub fn pack_tokens(tokens: &str) -> Vec<u8> {
        let mut sorted: Vec<(u64, &[u8])> = tokens
            .split(' ')
            .filter(|token| !token.is_empty())
            .map(|token| token.as_bytes().get(..LONGEST).unwrap_or(token.as_bytes()))
            .map(|token| (prefix_key(token), token))
            .collect();
        sorted.sort_unstable();
        let mut bytes = Vec::with_capacity(tokens.len() / 2 + 8);
        put_varint(&mut bytes, sorted.len() as u64);
        for same in sorted.chunk_by(|a, b| a == b) {
            let term = same.first().map(|(_, term)| *term).unwrap_or_default();
            // Fits a byte: tokens were cut to `LONGEST` above.
            bytes.push(term.len() as u8);
            bytes.extend_from_slice(term);
            put_varint(&mut bytes, same.len() as u64);
        }
        bytes
    }

    /// Wraps stored words.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns the number of words of the drawer, repetitions included.
    pub fn length(&self) -> Result<u32> {
        self.reader().read_u32()
    }

    fn reader(&self) -> VarintReader<'a> {
        VarintReader::new(self.0, "the words of a drawer")
    }

    /// Calls `each` with every term and its count, in byte order; the counts must add up to the length.
    pub fn for_each_term(&self, mut each: impl FnMut(&'a [u8], u32)) -> Result<()> {
        let mut reader = self.reader();
        let length = reader.read_u32()?;
        let mut counted = 0_u64;
        let mut before: &[u8] = &[];
        while !reader.is_at_end() {
            let n = usize::from(reader.read_byte()?);
            let term = reader.take_bytes(n)?;
            let count = reader.read_u32()?;
            if term <= before || n > LONGEST || count == 0 {
                return Err(damaged_error("the words of a drawer"));
            }
            counted += u64::from(count);
            before = term;
            each(term, count);
        }
        // The length feeds every BM25 score: one that disagrees with its words would skew them unnoticed.
        if counted == u64::from(length) {
            Ok(())
        } else {
            Err(damaged_error("the words of a drawer"))
        }
    }

    /// Calls `each` with the index and count of every one of `terms` that the drawer contains; `terms` is in byte
    /// order.
    pub fn find_terms(&self, terms: &[&[u8]], mut each: impl FnMut(usize, u32)) -> Result<()> {
        let mut reader = self.reader();
        reader.read_u32()?;
        let mut wanted = terms.iter().enumerate().peekable();
        while wanted.peek().is_some() && !reader.is_at_end() {
            let n = usize::from(reader.read_byte()?);
            let found = reader.take_bytes(n)?;
            let count = reader.read_u32()?;
            // Both sides ascend, so one pass over the drawer's words finds all of them.
            while wanted.next_if(|(_, term)| **term < found).is_some() {}
            if let Some((at, _)) = wanted.next_if(|(_, term)| **term == found) {
                each(at, count);
            }
        }
        Ok(())
    }
}

/// Returns the first eight bytes as a number, which sorts like the token and compares faster.
fn prefix_key(token: &[u8]) -> u64 {
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(token) {
        *to = *from;
    }
    u64::from_be_bytes(first)
}
