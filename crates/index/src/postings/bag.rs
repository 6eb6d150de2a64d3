//! The words of one drawer, in byte order with their counts.

use loci_core::Result;

use super::damaged;
use super::numbers::{Reader, put};
use crate::tokenise::LONGEST;

/// The words of one drawer as they are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bag<'a>(&'a [u8]);

impl<'a> Bag<'a> {
    /// What is stored of these tokens, which single blanks separate; longer ones than any token are cut.
    pub fn pack(tokens: &str) -> Vec<u8> {
        let mut sorted: Vec<(u64, &[u8])> = tokens
            .split(' ')
            .filter(|token| !token.is_empty())
            .map(|token| token.as_bytes().get(..LONGEST).unwrap_or(token.as_bytes()))
            .map(|token| (beginning(token), token))
            .collect();
        sorted.sort_unstable();
        let mut bytes = Vec::with_capacity(tokens.len() / 2 + 8);
        put(&mut bytes, sorted.len() as u64);
        for same in sorted.chunk_by(|a, b| a == b) {
            let term = same.first().map(|(_, term)| *term).unwrap_or_default();
            bytes.push(term.len() as u8);
            bytes.extend_from_slice(term);
            put(&mut bytes, same.len() as u64);
        }
        bytes
    }

    /// Reads stored words.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// How many words the drawer has, each as often as it occurs.
    pub fn length(&self) -> Result<u32> {
        self.reader().small()
    }

    fn reader(&self) -> Reader<'a> {
        Reader::new(self.0, "the words of a drawer")
    }

    /// Calls `each` with every term and its count, in byte order; the counts must add up to the length.
    pub fn each(&self, mut each: impl FnMut(&'a [u8], u32)) -> Result<()> {
        let mut reader = self.reader();
        let length = reader.small()?;
        let mut counted = 0_u64;
        let mut before: &[u8] = &[];
        while !reader.is_at_end() {
            let n = usize::from(reader.byte()?);
            let term = reader.take(n)?;
            let count = reader.small()?;
            if term <= before || n > LONGEST || count == 0 {
                return Err(damaged("the words of a drawer"));
            }
            counted += u64::from(count);
            before = term;
            each(term, count);
        }
        match counted == u64::from(length) {
            true => Ok(()),
            false => Err(damaged("the words of a drawer")),
        }
    }

    /// Calls `each` with the place of every one of `terms`, which are in byte order, that the drawer holds, and
    /// with its count.
    pub fn find(&self, terms: &[&[u8]], mut each: impl FnMut(usize, u32)) -> Result<()> {
        let mut reader = self.reader();
        reader.small()?;
        let mut wanted = terms.iter().enumerate().peekable();
        while wanted.peek().is_some() && !reader.is_at_end() {
            let n = usize::from(reader.byte()?);
            let found = reader.take(n)?;
            let count = reader.small()?;
            while wanted.next_if(|(_, term)| **term < found).is_some() {}
            if let Some((at, _)) = wanted.next_if(|(_, term)| **term == found) {
                each(at, count);
            }
        }
        Ok(())
    }
}

/// The first eight bytes as a number: in order like the tokens themselves, and quicker to compare.
fn beginning(token: &[u8]) -> u64 {
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(token) {
        *to = *from;
    }
    u64::from_be_bytes(first)
}
