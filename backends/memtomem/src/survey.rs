//! A survey: which chunks there are to be filed, and what is wrong with the rest.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use loci_core::Result;
use rusqlite::{OptionalExtension as _, Row};
use serde::Serialize;

use crate::cell;
use crate::database::Database;
use crate::duplicates::{self, Claim, Duplicate};
use crate::ghosts::{self, Ghosts};
use crate::rows::{self, is_damage, refused};

/// A chunk to be filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its id; empty where it has none.
    pub id: String,
    /// The file it was cut from.
    pub source: Arc<str>,
    /// Its namespace.
    pub namespace: Arc<str>,
    pub(crate) row: i64,
}

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// Its number.
    pub row: i64,
    /// Its id, where an index still tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The file it was cut from, where an index still tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why.
    pub error: String,
}

/// What a database holds.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// What is to be filed, in the order of the rows.
    pub chunks: Vec<Chunk>,
    /// What stands there twice and is not filed again.
    pub duplicates: Vec<Duplicate>,
    /// Rows that cannot be read.
    pub unreadable: Vec<Unreadable>,
    /// What SQLite says of damaged pages, if it met any; there may have been rows in them that nothing tells of.
    pub damage: Option<String>,
    /// How far memtomem's indexes have drifted.
    pub ghosts: Ghosts,
    /// Sources whose chunks memtomem keeps and hides, and why.
    pub held: BTreeMap<String, String>,
}

/// What a survey looks at; other columns are read when a chunk is filed.
const LOOKED_AT: [&str; 8] = [
    "id",
    "source_file",
    "namespace",
    "content_hash",
    "start_line",
    "created_at",
    "access_count",
    "use_count",
];

impl Database {
    /// Looks at every row, without its text.
    pub fn survey(&self) -> Result<Survey> {
        let rows = rows::all(self)?;
        let select = self.look();
        let mut names = HashSet::new();
        let mut claimed = Vec::with_capacity(rows.numbers.len());
        let mut unreadable = Vec::new();
        for number in &rows.numbers {
            let looked = self
                .connection()
                .prepare_cached(&select)
                .and_then(|mut statement| {
                    let look = |row: &Row<'_>| looked_at(*number, row, &mut names);
                    statement.query_row([number], look).optional()
                });
            match looked {
                Ok(found) => claimed.extend(found),
                Err(cause) if is_damage(&cause) => unreadable.push((*number, cause.to_string())),
                Err(cause) => return Err(refused(cause)),
            }
        }
        let unreadable = self.named(unreadable);
        let mut present: BTreeMap<i64, &str> = claimed
            .iter()
            .map(|(chunk, _)| (chunk.row, chunk.id.as_str()))
            .collect();
        present.extend(
            unreadable
                .iter()
                .map(|one| (one.row, one.id.as_deref().unwrap_or_default())),
        );
        let ghosts = ghosts::find(self, &present);
        let (chunks, duplicates) = duplicates::collapse(self, claimed)?;
        Ok(Survey {
            chunks,
            duplicates,
            unreadable,
            damage: rows.damage,
            ghosts,
            held: self.held.clone(),
        })
    }

    /// The query for what a survey looks at; columns that this release did not have are NULL.
    fn look(&self) -> String {
        let columns = LOOKED_AT.map(|column| if self.has(column) { column } else { "NULL" });
        format!(
            "SELECT {} FROM chunks NOT INDEXED WHERE rowid = ?1",
            columns.join(", ")
        )
    }

    /// Rows that cannot be read, with what indexes tell of them.
    fn named(&self, rows: Vec<(i64, String)>) -> Vec<Unreadable> {
        if rows.is_empty() {
            return Vec::new();
        }
        let mut ids = rows::told_by(self, "sqlite_autoindex_chunks_1", "id");
        let mut sources = rows::told_by(self, "idx_chunks_source", "source_file");
        let unreadable = rows.into_iter().map(|(row, error)| Unreadable {
            row,
            id: ids.remove(&row),
            source: sources.remove(&row),
            error,
        });
        unreadable.collect()
    }
}

fn looked_at(number: i64, row: &Row<'_>, names: &mut HashSet<Arc<str>>) -> rusqlite::Result<(Chunk, Claim)> {
    let label = |at: usize| row.get_ref(at).map(cell::label);
    let count = |at: usize| row.get_ref(at).map(|value| cell::whole(value).unwrap_or(0));
    // Files and namespaces stand in many rows.
    let mut shared = |name: String| match names.get(name.as_str()) {
        Some(known) => known.clone(),
        None => {
            let name: Arc<str> = name.into();
            names.insert(name.clone());
            name
        }
    };
    let chunk = Chunk {
        id: label(0)?,
        source: shared(label(1)?),
        namespace: shared(label(2)?),
        row: number,
    };
    let uses = count(6)?.saturating_add(count(7)?);
    Ok((chunk, Claim::new(label(3)?, label(4)?, uses, label(5)?)))
}
