//! Surveys a database: the chunks to file, and the problems with the rest.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use loci_core::Result;
use rusqlite::{OptionalExtension as _, Row};
use serde::Serialize;

use crate::cell;
use crate::database::MemtomemDatabase;
use crate::duplicates::{self, ChunkClaim, DuplicateChunk};
use crate::ghosts::{self, GhostReport};
use crate::rows::{self, is_damage, listing_error};

/// A chunk to be filed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemtomemChunk {
    /// Its id, or empty if it has none.
    pub id: String,
    /// The file it was cut from.
    pub source: Arc<str>,
    /// Its namespace.
    pub namespace: Arc<str>,
    pub(crate) row: i64,
}

/// A row that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnreadableRow {
    /// Its row number.
    pub row: i64,
    /// Its id, if an index still holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The file it was cut from, if an index still holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The reason why it cannot be read.
    pub error: String,
}

/// The contents of a database.
#[derive(Debug, Clone, Default)]
pub struct MemtomemSurvey {
    /// The chunks to file, in row order.
    pub chunks: Vec<MemtomemChunk>,
    /// The copies of other chunks, which are not filed.
    pub duplicates: Vec<DuplicateChunk>,
    /// The rows that cannot be read.
    pub unreadable: Vec<UnreadableRow>,
    /// SQLite's message about damaged pages, if there are any; they may have held rows that nothing else mentions.
    pub damage: Option<String>,
    /// The drift of memtomem's indexes.
    pub ghosts: GhostReport,
    /// The sources whose chunks memtomem keeps but hides, with the reason.
    pub held: BTreeMap<String, String>,
}

/// The columns that a survey reads; the others are read when a chunk is filed.
const SURVEY_COLUMNS: [&str; 8] = [
    "id",
    "source_file",
    "namespace",
    "content_hash",
    "start_line",
    "created_at",
    "access_count",
    "use_count",
];

impl MemtomemDatabase {
    /// Reads every row without its text.
    pub fn survey(&self) -> Result<MemtomemSurvey> {
        let rows = rows::list_rows(self)?;
        let select = self.survey_query();
        let mut names = HashSet::new();
        let mut claimed = Vec::with_capacity(rows.numbers.len());
        let mut unreadable = Vec::new();
        // One query for each row: within a scan, a damaged page
        // would end the statement and lose the rows behind it.
        for number in &rows.numbers {
            let looked = self
                .connection()
                .prepare_cached(&select)
                .and_then(|mut statement| {
                    let look = |row: &Row<'_>| read_claim(*number, row, &mut names);
                    statement.query_row([number], look).optional()
                });
            match looked {
                Ok(found) => claimed.extend(found),
                Err(cause) if is_damage(&cause) => unreadable.push((*number, cause.to_string())),
                Err(cause) => return Err(listing_error(cause)),
            }
        }
        // Unreadable rows still exist, so their entries in the indexes are not ghosts.
        let unreadable = self.name_unreadable(unreadable);
        let mut present: BTreeMap<i64, &str> = claimed
            .iter()
            .map(|(chunk, _)| (chunk.row, chunk.id.as_str()))
            .collect();
        present.extend(
            unreadable
                .iter()
                .map(|one| (one.row, one.id.as_deref().unwrap_or_default())),
        );
        let ghosts = ghosts::find_ghosts(self, &present);
        // Ghosts are counted first: a duplicate is a real row, and its entries in the indexes are not ghosts.
        let (chunks, duplicates) = duplicates::collapse_duplicates(self, claimed)?;
        Ok(MemtomemSurvey {
            chunks,
            duplicates,
            unreadable,
            damage: rows.damage,
            ghosts,
            held: self.held.clone(),
        })
    }

    /// Returns the query of a survey; columns that this release lacks are NULL.
    fn survey_query(&self) -> String {
        let columns = SURVEY_COLUMNS.map(|column| if self.has_column(column) { column } else { "NULL" });
        format!(
            "SELECT {} FROM chunks NOT INDEXED WHERE rowid = ?1",
            columns.join(", ")
        )
    }

    /// Describes rows that cannot be read by the values that indexes hold of them.
    fn name_unreadable(&self, rows: Vec<(i64, String)>) -> Vec<UnreadableRow> {
        if rows.is_empty() {
            return Vec::new();
        }
        let mut ids = rows::column_by_row(self, "sqlite_autoindex_chunks_1", "id");
        let mut sources = rows::column_by_row(self, "idx_chunks_source", "source_file");
        let unreadable = rows.into_iter().map(|(row, error)| UnreadableRow {
            row,
            id: ids.remove(&row),
            source: sources.remove(&row),
            error,
        });
        unreadable.collect()
    }
}

fn read_claim(
    number: i64,
    row: &Row<'_>,
    names: &mut HashSet<Arc<str>>,
) -> rusqlite::Result<(MemtomemChunk, ChunkClaim)> {
    let label = |at: usize| row.get_ref(at).map(cell::as_label);
    let count = |at: usize| row.get_ref(at).map(|value| cell::as_whole(value).unwrap_or(0));
    // Many rows share one file and one namespace, so each name is stored once.
    let mut shared = |name: String| match names.get(name.as_str()) {
        Some(known) => known.clone(),
        None => {
            let name: Arc<str> = name.into();
            names.insert(name.clone());
            name
        }
    };
    let chunk = MemtomemChunk {
        id: label(0)?,
        source: shared(label(1)?),
        namespace: shared(label(2)?),
        row: number,
    };
    // Damaged counters may be anything, and an overflow must not end the survey.
    let uses = count(6)?.saturating_add(count(7)?);
    Ok((chunk, ChunkClaim::new(label(3)?, label(4)?, uses, label(5)?)))
}
