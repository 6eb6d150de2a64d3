//! Which drawers hold which words, as bytes: the words of one drawer, and sealed segments of many.
//!
//! A segment numbers its drawers from zero in the order of their rows and is never changed. It has
//!
//! * its rows, as pairs of numbers: how many row numbers are passed over, then how many follow each other;
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
//! Whatever reads any of this gives an error for bytes that nobody wrote, and never panics.

mod bag;
mod block;
mod list;
mod numbers;
mod segment;

pub use bag::Bag;
pub use block::{Block, BlockEntry, Directory};
pub use list::{List, ListWriter};
pub use segment::{Sealed, SegmentWriter, read_lengths, read_rows};

use loci_core::{Error, ErrorKind};

/// The most drawers a segment holds.
pub const MOST_DRAWERS: usize = 1 << 16;

/// How many bytes of terms and lists a block holds, unless a single list is longer.
pub const BLOCK: usize = 4000;

fn damaged(what: &str) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!("{what} cannot be read: it is damaged"),
    )
}

#[cfg(test)]
mod tests;
