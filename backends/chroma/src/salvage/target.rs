//! The clean file that the rows which can still be read are put into.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::PathBuf;

use loci_core::{Error, ErrorKind, Result};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, params_from_iter};
use tempfile::TempDir;

use super::layout::Layout;
use super::record::Value;
use super::table::{Content, Table};

/// How the file works while it is filled: nobody else reads it, and after a crash it is made anew.
const SETTINGS: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA foreign_keys = OFF; PRAGMA cache_size = -16000; BEGIN";

/// Puts a document that was lost back from the copy that the full text keeps.
const RESTORE: &str = "INSERT OR IGNORE INTO embedding_metadata (id, key, string_value)
    SELECT id, 'chroma:document', c0 FROM embedding_fulltext_search_content AS copy
    WHERE c0 IS NOT NULL AND EXISTS (SELECT 1 FROM embeddings WHERE embeddings.id = copy.id)
      AND NOT EXISTS (SELECT 1 FROM embedding_metadata AS there
                      WHERE there.id = copy.id AND there.key = 'chroma:document')";

/// Metadata of segments has the shape of metadata of collections, and only its ids tell it apart.
const NOT_OF_COLLECTIONS: &str = "DELETE FROM collection_metadata
    WHERE collection_id IN (SELECT id FROM segments) AND collection_id NOT IN (SELECT id FROM collections)";

/// Where both the collections and the segments of that id are lost, nothing tells it apart.
const OF_NOBODY: &str = "SELECT count(*) FROM collection_metadata
    WHERE collection_id NOT IN (SELECT id FROM segments) AND collection_id NOT IN (SELECT id FROM collections)";

/// The file and the private folder it lies in.
pub(super) struct Target {
    folder: TempDir,
    file: PathBuf,
    connection: Connection,
    tables: BTreeMap<Table, BTreeSet<String>>,
}

impl Target {
    pub(super) fn create() -> Result<Self> {
        let folder = crate::database::private_folder("loci-salvage-")?;
        let file = folder.path().join("chroma.sqlite3");
        let connection = Connection::open(&file).map_err(no_room)?;
        connection.execute_batch(SETTINGS).map_err(no_room)?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(Self {
            folder,
            file,
            connection,
            tables: BTreeMap::new(),
        })
    }

    /// Makes the table, or gives it the columns it lacks.
    pub(super) fn make_room(&mut self, layout: &Layout) -> Result<()> {
        let names = layout.columns.iter().map(|column| column.name.clone());
        let Some(there) = self.tables.get_mut(&layout.table) else {
            self.tables.insert(layout.table, names.collect());
            return self.connection.execute_batch(&layout.create()).map_err(no_room);
        };
        for column in &layout.columns {
            if there.insert(column.name.clone()) {
                let table = layout.table.name();
                let change = format!("ALTER TABLE {table} ADD COLUMN {}", column.definition());
                self.connection.execute_batch(&change).map_err(no_room)?;
            }
        }
        Ok(())
    }

    /// Files a row; `false` where one with its rowid or its key is there already.
    pub(super) fn file(&self, layout: &Layout, rowid: i64, values: &[Value<'_>]) -> Result<bool> {
        let mut statement = self.connection.prepare_cached(&layout.insert).map_err(no_room)?;
        let lacking = std::iter::repeat(Value::Null);
        let pairs = layout.columns.iter().zip(values.iter().copied().chain(lacking));
        let kept = pairs.filter(|(column, _)| column.content != Content::Rowid);
        let bound = std::iter::once(Bound::Int(rowid)).chain(kept.map(|(_, value)| bound(value)));
        let filed = statement.execute(params_from_iter(bound)).map_err(no_room)?;
        Ok(filed == 1)
    }

    /// Makes the tables nothing was found for, and says how many documents were put back from their second copy.
    pub(super) fn complete(&mut self) -> Result<usize> {
        for layout in Layout::known() {
            if !self.tables.contains_key(&layout.table) {
                self.make_room(&layout)?;
            }
        }
        let index = "CREATE INDEX embedding_metadata_array_id_key ON embedding_metadata_array (id, key)";
        self.connection.execute_batch(index).map_err(no_room)?;
        self.connection
            .execute_batch(NOT_OF_COLLECTIONS)
            .map_err(no_room)?;
        self.connection.execute(RESTORE, []).map_err(no_room)
    }

    /// How many rows of metadata are of a collection that was not saved, or perhaps of a segment.
    pub(super) fn ownerless(&self) -> Result<i64> {
        self.connection
            .query_row(OF_NOBODY, [], |row| row.get(0))
            .map_err(no_room)
    }

    /// How many rows each table has.
    pub(super) fn counts(&self) -> Result<BTreeMap<String, u64>> {
        let count = |table: &Table| {
            let question = format!("SELECT count(*) FROM {}", table.name());
            let rows: i64 = self
                .connection
                .query_row(&question, [], |row| row.get(0))
                .map_err(no_room)?;
            Ok((table.name().to_owned(), rows.unsigned_abs()))
        };
        self.tables.keys().map(count).collect()
    }

    /// Closes the file and hands over its folder.
    pub(super) fn finish(self) -> Result<(TempDir, PathBuf)> {
        self.connection.execute_batch("COMMIT").map_err(no_room)?;
        self.connection.close().map_err(|(_, cause)| no_room(cause))?;
        Ok((self.folder, self.file))
    }
}

/// A value on its way into the file.
enum Bound<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(Cow<'a, str>),
    Blob(&'a [u8]),
}

fn bound(value: Value<'_>) -> Bound<'_> {
    match value {
        Value::Null => Bound::Null,
        Value::Int(number) => Bound::Int(number),
        Value::Real(number) => Bound::Real(number),
        Value::Text(bytes) => Bound::Text(String::from_utf8_lossy(bytes)),
        Value::Blob(bytes) => Bound::Blob(bytes),
    }
}

impl rusqlite::ToSql for Bound<'_> {
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

fn no_room(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Io, "what is left of chroma.sqlite3 cannot be written to a temporary folder")
        .caused_by(cause)
        .hint("The damaged file was not changed. Make room in the temporary folder, or set TMPDIR to a larger disk.")
}
