//! Postings as bytes: the words of one drawer, and sealed segments of many drawers.
//!
//! A segment numbers its drawers from zero in the order of their rows and is never changed. It contains
//!
//! * its rows, as pairs of numbers: the row numbers skipped, then the length of the consecutive run;
//! * the length of each drawer in words;
//! * blocks of terms in byte order, each term with the list of drawers that hold it;
//! * a directory of the first term of each block.
//!
//! Numbers are varints: seven bits a byte, low bits first, the highest bit set on all but the last.
//! An entry of a list is one number, `(distance to the drawer before - 1) * 4 + min(count - 1, 3)`,
//! where the first counts its distance from -1; a count over 3 follows as `count - 4`.
//! A term in a block is: the bytes it shares with the one before it (one byte), its further bytes
//! (their number as one byte, then they), how many drawers hold it, the bytes of their list, the list.
//! The words of one drawer are: its length in words, then in byte order each term (its length as one
//! byte, then its bytes) with its count.
//!
//! Every reader returns an error for bytes that no writer produces, and never panics.

mod bag;
mod block;
mod list;
mod numbers;
mod segment;

pub use bag::WordBag;
pub use block::{TermBlock, TermBlockEntry, TermDirectory};
pub use list::{PostingList, PostingListWriter};
pub use segment::{PostingsWriter, SealedPostings, read_lengths, read_rows};

use loci_core::{Error, ErrorKind};

/// The most drawers in a segment.
pub const MOST_DRAWERS: usize = 1 << 16;

/// The size of a block of terms and lists in bytes, unless a single list is longer.
pub const BLOCK: usize = 4000;

fn damaged_error(what: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("{what} cannot be read: the bytes are damaged"),
    )
}

#[cfg(test)]
mod tests;
