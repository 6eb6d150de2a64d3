//! Ghosts: entries of memtomem's own indexes whose chunk is gone, and chunks without an entry.
//!
//! Its full-text index and its vectors are virtual tables keyed by the row number of a chunk, and only its own code
//! keeps them in step. The shadow tables behind them are read, since the module for vectors is not available here.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use crate::cell;
use crate::database::MemtomemDatabase;

/// The shadow tables that hold row numbers: two of the full-text index, the second read only if the first is missing,
/// and one of the vectors.
pub(crate) const TABLES: [(&str, &str); 3] = [
    ("chunks_fts_docsize", "id"),
    ("chunks_fts_content", "id"),
    ("chunks_vec_rowids", "rowid"),
];

/// The drift of memtomem's indexes from its chunks. `None` if an index does not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GhostReport {
    /// The drift of the full-text index.
    pub full_text: Option<IndexDrift>,
    /// The drift of the vectors.
    pub vectors: Option<IndexDrift>,
}

/// The drift of one index from the chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IndexDrift {
    /// The number of entries in the index.
    pub entries: u64,
    /// The row numbers of entries whose chunk is gone.
    pub without_chunk: Vec<i64>,
    /// The ids of chunks without an entry.
    pub chunks_without: Vec<String>,
    /// The reason why the index could not be read to its end; chunks may then appear to have no entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
}

/// Compares the indexes with the chunks, given as ids by row number.
pub(crate) fn find_ghosts(database: &MemtomemDatabase, chunks: &BTreeMap<i64, &str>) -> GhostReport {
    let [sizes, contents, vectors] = TABLES;
    let compare = |table| compare_index(database, table, chunks);
    GhostReport {
        full_text: compare(sizes).or_else(|| compare(contents)),
        vectors: compare(vectors),
    }
}

fn compare_index(
    database: &MemtomemDatabase,
    (table, number): (&str, &str),
    chunks: &BTreeMap<i64, &str>,
) -> Option<IndexDrift> {
    // An index that was never built has not drifted.
    if !database.has_table(table) {
        return None;
    }
    let mut entries = BTreeSet::new();
    let mut read = || -> rusqlite::Result<()> {
        let mut statement = database
            .connection()
            .prepare(&format!("SELECT {number} FROM {table}"))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            entries.extend(cell::as_whole(row.get_ref(0)?));
        }
        Ok(())
    };
    // Entries read before the damage count: a ghost among them is real either way.
    let damage = read().err().map(|cause| cause.to_string());
    let lacking = chunks.iter().filter(|(row, _)| !entries.contains(*row));
    Some(IndexDrift {
        entries: entries.len() as u64,
        chunks_without: lacking.map(|(_, id)| (*id).to_owned()).collect(),
        without_chunk: entries
            .into_iter()
            .filter(|row| !chunks.contains_key(row))
            .collect(),
        damage,
    })
}
