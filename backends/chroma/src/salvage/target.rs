//! The clean file that receives the readable rows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::PathBuf;

use loci_core::{Error, ErrorKind, Result};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, params_from_iter};
use tempfile::TempDir;

use super::layout::RowLayout;
use super::record::ColumnValue;
use super::table::{ChromaTable, ColumnContent};

/// The settings while the file is filled: no other process reads it, and after a crash it is created again.
const SETTINGS: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA foreign_keys = OFF; PRAGMA cache_size = -16000; BEGIN";

/// Restores a lost document from the copy in the full text.
const RESTORE: &str = "INSERT OR IGNORE INTO embedding_metadata (id, key, string_value)
    SELECT id, 'chroma:document', c0 FROM embedding_fulltext_search_content AS copy
    WHERE c0 IS NOT NULL AND EXISTS (SELECT 1 FROM embeddings WHERE embeddings.id = copy.id)
      AND NOT EXISTS (SELECT 1 FROM embedding_metadata AS there
                      WHERE there.id = copy.id AND there.key = 'chroma:document')";

/// Deletes metadata of segments, which has the same shape as that of collections and differs only in its ids.
const DELETE_SEGMENT_METADATA: &str = "DELETE FROM collection_metadata
    WHERE collection_id IN (SELECT id FROM segments) AND collection_id NOT IN (SELECT id FROM collections)";

/// Counts rows whose collection and segment are both lost, so that they cannot be distinguished.
const COUNT_OWNERLESS: &str = "SELECT count(*) FROM collection_metadata
    WHERE collection_id NOT IN (SELECT id FROM segments) AND collection_id NOT IN (SELECT id FROM collections)";

/// The file and the private folder it lies in.
pub(super) struct CleanFile {
    folder: TempDir,
    file: PathBuf,
    connection: Connection,
    tables: BTreeMap<ChromaTable, BTreeSet<String>>,
}

impl CleanFile {
    pub(super) fn create() -> Result<Self> {
        let folder = crate::database::private_folder("loci-salvage-")?;
        let file = folder.path().join("chroma.sqlite3");
        let connection = Connection::open(&file).map_err(write_error)?;
        connection.execute_batch(SETTINGS).map_err(write_error)?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(Self {
            folder,
            file,
            connection,
            tables: BTreeMap::new(),
        })
    }

    /// Creates the table, or adds the columns it lacks.
    pub(super) fn ensure_table(&mut self, layout: &RowLayout) -> Result<()> {
        let names = layout.columns.iter().map(|column| column.name.clone());
        let Some(there) = self.tables.get_mut(&layout.table) else {
            self.tables.insert(layout.table, names.collect());
            return self
                .connection
                .execute_batch(&layout.create_statement())
                .map_err(write_error);
        };
        for column in &layout.columns {
            // Loose leaves of one table may come from two releases with different columns.
            if there.insert(column.name.clone()) {
                let table = layout.table.name();
                let change = format!("ALTER TABLE {table} ADD COLUMN {}", column.definition());
                self.connection.execute_batch(&change).map_err(write_error)?;
            }
        }
        Ok(())
    }

    /// Inserts a row. Returns `false` if one with its rowid or key exists already.
    pub(super) fn insert_row(
        &self,
        layout: &RowLayout,
        rowid: i64,
        values: &[ColumnValue<'_>],
    ) -> Result<bool> {
        let mut statement = self
            .connection
            .prepare_cached(&layout.insert)
            .map_err(write_error)?;
        // A row may be shorter than its table, if a later release appended columns.
        let lacking = std::iter::repeat(ColumnValue::Null);
        let pairs = layout.columns.iter().zip(values.iter().copied().chain(lacking));
        let kept = pairs.filter(|(column, _)| column.content != ColumnContent::Rowid);
        let bound = std::iter::once(BoundValue::Int(rowid)).chain(kept.map(|(_, value)| bind_value(value)));
        let filed = statement.execute(params_from_iter(bound)).map_err(write_error)?;
        Ok(filed == 1)
    }

    /// Creates the tables without rows, and returns the number of documents restored from their second copy.
    pub(super) fn complete_tables(&mut self) -> Result<usize> {
        // Everything behind this file expects a complete database,
        // so an empty table is better than a missing one.
        for layout in RowLayout::known_layouts() {
            if !self.tables.contains_key(&layout.table) {
                self.ensure_table(&layout)?;
            }
        }
        let index = "CREATE INDEX embedding_metadata_array_id_key ON embedding_metadata_array (id, key)";
        self.connection.execute_batch(index).map_err(write_error)?;
        self.connection
            .execute_batch(DELETE_SEGMENT_METADATA)
            .map_err(write_error)?;
        self.connection.execute(RESTORE, []).map_err(write_error)
    }

    /// Counts the rows of metadata whose collection was not salvaged, or which may belong to a segment.
    pub(super) fn count_ownerless(&self) -> Result<i64> {
        self.connection
            .query_row(COUNT_OWNERLESS, [], |row| row.get(0))
            .map_err(write_error)
    }

    /// Counts the rows of each table.
    pub(super) fn count_rows(&self) -> Result<BTreeMap<String, u64>> {
        let count = |table: &ChromaTable| {
            let question = format!("SELECT count(*) FROM {}", table.name());
            let rows: i64 = self
                .connection
                .query_row(&question, [], |row| row.get(0))
                .map_err(write_error)?;
            Ok((table.name().to_owned(), rows.unsigned_abs()))
        };
        self.tables.keys().map(count).collect()
    }

    /// Closes the file, and returns its folder and path.
    pub(super) fn close_file(self) -> Result<(TempDir, PathBuf)> {
        self.connection.execute_batch("COMMIT").map_err(write_error)?;
        self.connection.close().map_err(|(_, cause)| write_error(cause))?;
        Ok((self.folder, self.file))
    }
}

/// A value to insert.
enum BoundValue<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(Cow<'a, str>),
    Blob(&'a [u8]),
}

fn bind_value(value: ColumnValue<'_>) -> BoundValue<'_> {
    match value {
        ColumnValue::Null => BoundValue::Null,
        ColumnValue::Int(number) => BoundValue::Int(number),
        ColumnValue::Real(number) => BoundValue::Real(number),
        // Readers of the file expect UTF-8; replaced bytes are listed as losses.
        ColumnValue::Text(bytes) => BoundValue::Text(String::from_utf8_lossy(bytes)),
        ColumnValue::Blob(bytes) => BoundValue::Blob(bytes),
    }
}

impl rusqlite::ToSql for BoundValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn write_error(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Io, "cannot write the salvaged rows of chroma.sqlite3 to a temporary folder")
        .caused_by(cause)
        .with_hint("The damaged file was not changed. Free some space in the temporary folder, or set TMPDIR to a larger disk.")
}
