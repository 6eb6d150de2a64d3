//! Ghosts: entries of memtomem's own indexes whose chunk is gone, and chunks that have no entry there.
//!
//! Its full text and its vectors are virtual tables keyed by the row number of a chunk, and nothing but its own code
//! keeps them in step. The plain tables behind them are read, since the module for vectors is not at hand.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::cell;
use crate::database::Database;

/// The plain tables that hold the row numbers: of the full text, an older way to ask it, and of the vectors.
pub(crate) const TABLES: [(&str, &str); 3] = [
    ("chunks_fts_docsize", "id"),
    ("chunks_fts_content", "id"),
    ("chunks_vec_rowids", "rowid"),
];

/// How far memtomem's indexes have drifted from its chunks. `None` where there is no such index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Ghosts {
    /// Of the full text.
    pub full_text: Option<Sidecar>,
    /// Of the vectors.
    pub vectors: Option<Sidecar>,
}

/// One index beside the chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sidecar {
    /// How many entries it has.
    pub entries: u64,
    /// The row numbers of entries whose chunk is gone.
    pub without_chunk: Vec<i64>,
    /// The ids of chunks that have no entry.
    pub chunks_without: Vec<String>,
    /// Why it could not be read to its end, where it could not; then chunks may seem to have no entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
}

/// Compares the indexes with the chunks, given by row number with their ids.
pub(crate) fn find(database: &Database, chunks: &BTreeMap<i64, &str>) -> Ghosts {
    let [sizes, contents, vectors] = TABLES;
    let compare = |table| sidecar(database, table, chunks);
    Ghosts {
        full_text: compare(sizes).or_else(|| compare(contents)),
        vectors: compare(vectors),
    }
}

fn sidecar(
    database: &Database,
    (table, number): (&str, &str),
    chunks: &BTreeMap<i64, &str>,
) -> Option<Sidecar> {
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
            entries.extend(cell::whole(row.get_ref(0)?));
        }
        Ok(())
    };
    let damage = read().err().map(|cause| cause.to_string());
    let lacking = chunks.iter().filter(|(row, _)| !entries.contains(*row));
    Some(Sidecar {
        entries: entries.len() as u64,
        chunks_without: lacking.map(|(_, id)| (*id).to_owned()).collect(),
        without_chunk: entries
            .into_iter()
            .filter(|row| !chunks.contains_key(row))
            .collect(),
        damage,
    })
}
