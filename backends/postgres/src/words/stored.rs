//! Segments and their blocks as rows, each with a hash of its bytes.
//!
//! A block holds the terms from its first one up to the first one of the next, which it names. The first term of the
//! first block is empty. So every term has exactly one block in every segment, and a block that is missing is noticed.

use loci_core::Result;
use loci_index::postings::{PostingList, SealedPostings, TermBlock, TermDirectory, read_lengths, read_rows};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::failure::corrupt_error;
use crate::statement::SqlStatement;

/// The bytes of a hash that are stored.
const HASH_BYTES: usize = 16;

/// The rows and lengths of the drawers of a segment.
#[derive(Debug)]
pub(crate) struct StoredWordSegment {
    /// Its number, which is its last row.
    pub(crate) number: i64,
    pub(crate) rows: Vec<i64>,
    pub(crate) lengths: Vec<u32>,
}

impl StoredWordSegment {
    /// Returns the question for the segments of a collection, in the order of their rows.
    pub(crate) fn select_all(collection: i64) -> SqlStatement {
        SqlStatement::new(
            "SELECT segment, first, drawers, rows, lengths, hash FROM loci.word_segments
             WHERE collection = $1 ORDER BY segment",
        )
        .with_int(collection)
    }

    /// Reads a segment; `Corrupt` if it is not as it was stored.
    pub(crate) fn read(row: &Row) -> Result<Self> {
        let (number, first, drawers): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        let (rows, lengths, hash): (&[u8], &[u8], &[u8]) = (row.get(3), row.get(4), row.get(5));
        if segment_hash(number, first, drawers, [rows, lengths]) != hash {
            return Err(damaged_segment(number));
        }
        let count = usize::try_from(drawers).map_err(|_| damaged_segment(number))?;
        let segment = Self {
            number,
            rows: read_rows(rows, first, count)?,
            lengths: read_lengths(lengths, count)?,
        };
        if segment.rows.last() == Some(&number) {
            Ok(segment)
        } else {
            Err(damaged_segment(number))
        }
    }
}

/// Returns the statements that store a sealed segment.
pub(super) fn store_segment(collection: i64, sealed: SealedPostings) -> Result<[SqlStatement; 2]> {
    let drawers = sealed.drawers as i64;
    let hash = segment_hash(
        sealed.last,
        sealed.first,
        drawers,
        [&sealed.rows, &sealed.lengths],
    );
    let mut firsts: Vec<Vec<u8>> = Vec::new();
    TermDirectory::new(&sealed.directory).for_each_first_term(|first| {
        firsts.push(first.to_vec());
        true
    })?;
    // Without words there are no blocks, yet one must say so.
    let blocks = if sealed.blocks.is_empty() {
        firsts.push(Vec::new());
        vec![Vec::new()]
    } else {
        sealed.blocks
    };
    if let Some(first) = firsts.first_mut() {
        first.clear();
    }
    let beyond: Vec<Option<Vec<u8>>> = firsts.iter().skip(1).cloned().map(Some).chain([None]).collect();
    let hashes: Vec<Vec<u8>> = firsts
        .iter()
        .zip(&beyond)
        .zip(&blocks)
        .map(|((first, beyond), block)| block_hash(sealed.last, first, beyond.as_deref(), block))
        .collect();
    let head = SqlStatement::new(
        "INSERT INTO loci.word_segments(collection, segment, first, drawers, rows, lengths, hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
    )
    .with_int(collection)
    .with_int(sealed.last)
    .with_int(sealed.first)
    .with_int(drawers)
    .with_bytes(sealed.rows)
    .with_bytes(sealed.lengths)
    .with_bytes(hash);
    let blocks = SqlStatement::new(
        "INSERT INTO loci.word_blocks(collection, segment, first, beyond, block, hash)
         SELECT $1, $2, n.first, n.beyond, n.block, n.hash
         FROM unnest($3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[]) AS n(first, beyond, block, hash)",
    )
    .with_int(collection)
    .with_int(sealed.last)
    .with_many_bytes(firsts)
    .with(beyond, Type::BYTEA_ARRAY)
    .with_many_bytes(blocks)
    .with_many_bytes(hashes);
    Ok([head, blocks])
}

/// A block of a segment that was read for one of the terms of a search.
#[derive(Debug)]
pub(crate) struct StoredWordBlock<'r> {
    pub(crate) segment: i64,
    /// The place of the term among those of the search.
    pub(crate) term: usize,
    first: &'r [u8],
    beyond: Option<&'r [u8]>,
    block: &'r [u8],
    hash: &'r [u8],
}

impl<'r> StoredWordBlock<'r> {
    /// Returns the question for the block of each term in each segment of a collection.
    pub(crate) fn select_for(collection: i64, terms: &[&[u8]]) -> SqlStatement {
        SqlStatement::new(
            "SELECT s.segment, t.place, b.first, b.beyond, b.block, b.hash FROM loci.word_segments s
             CROSS JOIN unnest($2::bytea[]) WITH ORDINALITY AS t(term, place)
             CROSS JOIN LATERAL (SELECT w.first, w.beyond, w.block, w.hash FROM loci.word_blocks w
                WHERE w.collection = s.collection AND w.segment = s.segment AND w.first <= t.term
                ORDER BY w.first DESC LIMIT 1) b
             WHERE s.collection = $1",
        )
        .with_int(collection)
        .with_many_bytes(terms.iter().map(|term| term.to_vec()).collect())
    }

    /// Reads an answer.
    pub(crate) fn read(row: &'r Row) -> Self {
        let place: i64 = row.get(1);
        Self {
            segment: row.get(0),
            term: usize::try_from(place - 1).unwrap_or(usize::MAX),
            first: row.get(2),
            beyond: row.get(3),
            block: row.get(4),
            hash: row.get(5),
        }
    }

    /// Returns the list of a term; `Corrupt` if the block is not as it was stored, or another one should hold the term.
    pub(crate) fn find_list(&self, term: &[u8]) -> Result<PostingList<'r>> {
        let belongs = self.first <= term && self.beyond.is_none_or(|beyond| term < beyond);
        if !belongs || block_hash(self.segment, self.first, self.beyond, self.block) != self.hash {
            return Err(damaged_segment(self.segment));
        }
        Ok(TermBlock::new(self.block).find_term(term)?.unwrap_or_default())
    }
}

/// Returns the error for a segment that cannot be used.
pub(crate) fn damaged_segment(number: i64) -> loci_core::Error {
    corrupt_error(format!("the segment of words up to row {number} is damaged"))
}

fn segment_hash(number: i64, first: i64, drawers: i64, parts: [&[u8]; 2]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new_derive_key("loci segment of words");
    for figure in [number, first, drawers] {
        hasher.update(&figure.to_le_bytes());
    }
    parts.into_iter().for_each(|part| push_part(&mut hasher, part));
    short_hash(&hasher)
}

fn block_hash(segment: i64, first: &[u8], beyond: Option<&[u8]>, block: &[u8]) -> Vec<u8> {
    let mut hasher = blake3::Hasher::new_derive_key("loci block of words");
    hasher.update(&segment.to_le_bytes());
    hasher.update(&[u8::from(beyond.is_some())]);
    for part in [first, beyond.unwrap_or_default(), block] {
        push_part(&mut hasher, part);
    }
    short_hash(&hasher)
}

/// Adds a part with its length in front, which keeps it apart from the next.
fn push_part(hasher: &mut blake3::Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

fn short_hash(hasher: &blake3::Hasher) -> Vec<u8> {
    let hash = hasher.finalize();
    hash.as_bytes().iter().take(HASH_BYTES).copied().collect()
}
