//! Duplicates: the same piece of the same file under several ids. Two processes of memtomem could file it twice
//! before its index forbade that.
//!
//! Of rows with the same namespace, file, hash and first line, the most used stays, then the oldest, then the one
//! with the smallest id. A row is dropped only if its text equals the kept one, so that a wrong hash loses nothing.

use std::cmp::Reverse;

use loci_core::{Result, Timestamp};
use rusqlite::types::ValueRef;
use schemars::JsonSchema;
use serde::Serialize;

use crate::database::MemtomemDatabase;
use crate::rows::{is_damage, listing_error};
use crate::survey::MemtomemChunk;

/// A chunk that is a copy of another and is not filed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DuplicateChunk {
    /// The id that is kept.
    pub kept: String,
    /// The id that is dropped.
    pub dropped: String,
    /// The file both were cut from.
    pub source: String,
}

/// The values that decide which of several copies is kept.
#[derive(Debug, Clone)]
pub(crate) struct ChunkClaim {
    hash: String,
    start_line: String,
    uses: i64,
    created: i64,
    created_at: String,
}

impl ChunkClaim {
    /// Creates the claim of a row with this hash, first line, number of uses and time of creation.
    pub(crate) fn new(hash: String, start_line: String, uses: i64, created_at: String) -> Self {
        Self {
            hash,
            start_line,
            uses,
            created: created_micros(&created_at),
            created_at,
        }
    }
}

/// Separates duplicates from the chunks.
pub(crate) fn collapse_duplicates(
    database: &MemtomemDatabase,
    mut claimed: Vec<(MemtomemChunk, ChunkClaim)>,
) -> Result<(Vec<MemtomemChunk>, Vec<DuplicateChunk>)> {
    // Sorting by group and then by rank makes each group a run whose first row is the one to keep.
    claimed
        .sort_by(|one, other| (group_key(one), claim_rank(one)).cmp(&(group_key(other), claim_rank(other))));
    let mut kept: Vec<MemtomemChunk> = Vec::with_capacity(claimed.len());
    let mut duplicates = Vec::new();
    for some in claimed.chunk_by(|one, other| group_key(one) == group_key(other)) {
        let Some((first, claim)) = some.split_first().map(|((chunk, claim), _)| (chunk, claim)) else {
            continue;
        };
        for (chunk, _) in some {
            // Rows of a release without hashes all share the empty one, so it proves nothing.
            let is_other = chunk.row != first.row && !claim.hash.is_empty();
            if is_other && is_same_text(database, first.row, chunk.row)? {
                duplicates.push(DuplicateChunk {
                    kept: first.id.clone(),
                    dropped: chunk.id.clone(),
                    source: chunk.source.to_string(),
                });
            } else {
                kept.push(chunk.clone());
            }
        }
    }
    // Chunks are filed in the order memtomem wrote them.
    kept.sort_by_key(|chunk| chunk.row);
    Ok((kept, duplicates))
}

/// Returns the values that copies of one chunk share.
fn group_key((chunk, claim): &(MemtomemChunk, ChunkClaim)) -> [&str; 4] {
    [&chunk.namespace, &chunk.source, &claim.hash, &claim.start_line]
}

/// Returns the sort key among copies; the smallest is kept.
fn claim_rank((chunk, claim): &(MemtomemChunk, ChunkClaim)) -> (Reverse<i64>, i64, &str, &str) {
    (Reverse(claim.uses), claim.created, &claim.created_at, &chunk.id)
}

/// Returns a time in microseconds; one that cannot be parsed counts as the newest.
fn created_micros(written: &str) -> i64 {
    let time: Option<Timestamp> = written.parse().ok();
    time.map_or(i64::MAX, Timestamp::as_micros)
}

fn is_same_text(database: &MemtomemDatabase, one: i64, other: i64) -> Result<bool> {
    let text = |row: i64| -> rusqlite::Result<Option<Vec<u8>>> {
        let mut statement = database
            .connection()
            .prepare_cached("SELECT content FROM chunks NOT INDEXED WHERE rowid = ?1")?;
        statement.query_row([row], |row| {
            Ok(match row.get_ref(0)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_owned()),
                _ => None,
            })
        })
    };
    match text(one).and_then(|one| Ok((one, text(other)?))) {
        Ok((Some(one), Some(other))) => Ok(one == other),
        Ok(_) => Ok(false),
        // A text that cannot be read is not known to be a copy, so the row stays.
        Err(cause) if is_damage(&cause) => Ok(false),
        Err(cause) => Err(listing_error(cause)),
    }
}
