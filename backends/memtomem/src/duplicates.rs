//! Duplicates: the same piece of the same file under several ids, as two processes of memtomem could file it before
//! its index forbade that.
//!
//! Of rows with one namespace, file, hash and first line the most used stays, then the oldest, then the one with the
//! smallest id. A row is passed over only where its text is that row's text, so that a wrong hash loses nothing.

use std::cmp::Reverse;

use loci_core::{Result, Timestamp};
use rusqlite::types::ValueRef;
use serde::Serialize;

use crate::database::Database;
use crate::rows::{is_damage, refused};
use crate::survey::Chunk;

/// A chunk that stands there twice and is not filed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Duplicate {
    /// The id that stays.
    pub kept: String,
    /// The id that is passed over.
    pub dropped: String,
    /// The file both were cut from.
    pub source: String,
}

/// What decides which of several rows stays.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    hash: String,
    start_line: String,
    uses: i64,
    created: i64,
    created_at: String,
}

impl Claim {
    /// A claim of a row with this hash and first line, used so often, made at this time.
    pub(crate) fn new(hash: String, start_line: String, uses: i64, created_at: String) -> Self {
        Self {
            hash,
            start_line,
            uses,
            created: moment(&created_at),
            created_at,
        }
    }
}

/// Takes duplicates out of the chunks.
pub(crate) fn collapse(
    database: &Database,
    mut claimed: Vec<(Chunk, Claim)>,
) -> Result<(Vec<Chunk>, Vec<Duplicate>)> {
    claimed.sort_by(|one, other| (group(one), rank(one)).cmp(&(group(other), rank(other))));
    let mut kept: Vec<Chunk> = Vec::with_capacity(claimed.len());
    let mut duplicates = Vec::new();
    for some in claimed.chunk_by(|one, other| group(one) == group(other)) {
        let Some((first, claim)) = some.split_first().map(|((chunk, claim), _)| (chunk, claim)) else {
            continue;
        };
        for (chunk, _) in some {
            let is_other = chunk.row != first.row && !claim.hash.is_empty();
            if is_other && is_same_text(database, first.row, chunk.row)? {
                duplicates.push(Duplicate {
                    kept: first.id.clone(),
                    dropped: chunk.id.clone(),
                    source: chunk.source.to_string(),
                });
            } else {
                kept.push(chunk.clone());
            }
        }
    }
    kept.sort_by_key(|chunk| chunk.row);
    Ok((kept, duplicates))
}

/// What rows that are one have in common.
fn group((chunk, claim): &(Chunk, Claim)) -> [&str; 4] {
    [&chunk.namespace, &chunk.source, &claim.hash, &claim.start_line]
}

/// The least stays.
fn rank((chunk, claim): &(Chunk, Claim)) -> (Reverse<i64>, i64, &str, &str) {
    (Reverse(claim.uses), claim.created, &claim.created_at, &chunk.id)
}

/// A time for comparing; one that cannot be read counts as the newest.
fn moment(written: &str) -> i64 {
    let time: Option<Timestamp> = written.parse().ok();
    time.map_or(i64::MAX, Timestamp::as_micros)
}

fn is_same_text(database: &Database, one: i64, other: i64) -> Result<bool> {
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
        Err(cause) if is_damage(&cause) => Ok(false),
        Err(cause) => Err(refused(cause)),
    }
}
