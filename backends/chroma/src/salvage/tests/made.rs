//! Files as Chroma leaves them, with what was ever written to them: rows added, changed and deleted, texts that spill
//! over to other pages, unused pages.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ToSql, params};

/// Tables of a late release; `collections`, `segments` and the queue as they have been since 0.6.
pub(super) const LATE: &str = "
CREATE TABLE migrations (dir TEXT NOT NULL, version INTEGER NOT NULL, sql TEXT NOT NULL, PRIMARY KEY (dir, version));
CREATE TABLE acquire_write (id INTEGER PRIMARY KEY, lock_status INTEGER NOT NULL);
CREATE TABLE collection_metadata (collection_id TEXT REFERENCES collections(id) ON DELETE CASCADE, key TEXT NOT NULL,
    str_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (collection_id, key));
CREATE TABLE segment_metadata (segment_id TEXT REFERENCES segments(id) ON DELETE CASCADE, key TEXT NOT NULL,
    str_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (segment_id, key));
CREATE TABLE tenants (id TEXT PRIMARY KEY, UNIQUE (id));
CREATE TABLE databases (id TEXT PRIMARY KEY, -- unique globally
    name TEXT NOT NULL, tenant_id TEXT NOT NULL REFERENCES tenants(id) ON DELETE CASCADE, UNIQUE (tenant_id, name));
CREATE TABLE \"collections\" (id TEXT PRIMARY KEY, name TEXT NOT NULL, -- unique per database, not globally
    dimension INTEGER, database_id TEXT NOT NULL, config_json_str TEXT, schema_str TEXT, UNIQUE (name, database_id));
CREATE TABLE \"segments\" (id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, collection TEXT NOT NULL);
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL,
    seq_id BLOB NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE (segment_id, embedding_id));
CREATE TABLE embedding_metadata (id INTEGER REFERENCES embeddings(id), key TEXT NOT NULL, string_value TEXT,
    int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));
CREATE TABLE embedding_metadata_array (id INTEGER NOT NULL REFERENCES embeddings(id), key TEXT NOT NULL,
    string_value TEXT, int_value INTEGER, float_value REAL, bool_value INTEGER);
CREATE TABLE max_seq_id (segment_id TEXT PRIMARY KEY, seq_id INTEGER);
CREATE VIRTUAL TABLE embedding_fulltext_search USING fts5(string_value, tokenize='trigram');
CREATE INDEX embedding_metadata_string_value ON embedding_metadata (key, string_value) WHERE string_value IS NOT NULL;
CREATE TABLE embeddings_queue (seq_id INTEGER PRIMARY KEY, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    operation INTEGER NOT NULL, topic TEXT NOT NULL, id TEXT NOT NULL, vector BLOB, encoding TEXT, metadata TEXT);
CREATE TABLE embeddings_queue_config (id INTEGER PRIMARY KEY, config_json_str TEXT);
INSERT INTO embeddings_queue_config VALUES (1, '{\"_type\":\"EmbeddingsQueueConfigurationInternal\"}');
INSERT INTO tenants VALUES ('default_tenant');
INSERT INTO databases VALUES ('00000000-0000-0000-0000-000000000000', 'default_database', 'default_tenant');
INSERT INTO collections VALUES ('11111111-aaaa-4bbb-8ccc-000000000001', 'drawers', 16,
    '00000000-0000-0000-0000-000000000000', '{}', NULL);
INSERT INTO collection_metadata VALUES ('11111111-aaaa-4bbb-8ccc-000000000001', 'hnsw:space', 'cosine', NULL, NULL, NULL);
INSERT INTO segments VALUES ('22222222-aaaa-4bbb-8ccc-000000000002', 'urn:chroma:segment/vector/hnsw', 'VECTOR',
    '11111111-aaaa-4bbb-8ccc-000000000001'),
    ('33333333-aaaa-4bbb-8ccc-000000000003', 'urn:chroma:segment/metadata/sqlite', 'METADATA',
    '11111111-aaaa-4bbb-8ccc-000000000001');
INSERT INTO segment_metadata VALUES ('22222222-aaaa-4bbb-8ccc-000000000002', 'hnsw:space', 'ip', NULL, NULL, NULL);
INSERT INTO max_seq_id VALUES ('33333333-aaaa-4bbb-8ccc-000000000003', 7);
";

/// The segment all rows are of.
pub(super) const SEGMENT: &str = "33333333-aaaa-4bbb-8ccc-000000000003";

/// Tables that are compared, with their columns.
pub(super) type Columns = BTreeMap<&'static str, Vec<String>>;

const COMPARED: [&str; 11] = [
    "collection_metadata",
    "collections",
    "databases",
    "embedding_fulltext_search_content",
    "embedding_metadata",
    "embedding_metadata_array",
    "embeddings",
    "embeddings_queue",
    "max_seq_id",
    "segments",
    "tenants",
];

/// A file, and what is known of it.
pub(super) struct Made {
    pub(super) bytes: Vec<u8>,
    pub(super) page_size: usize,
    pub(super) columns: Columns,
    /// Rows that are there.
    pub(super) live: BTreeSet<String>,
    /// Rows that were there at some time.
    pub(super) ever: BTreeSet<String>,
    /// Number, owner and kind of each page that a tree has.
    pub(super) pages: Vec<(u32, String, String)>,
}

/// The recipe for a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    pub(super) page_size: usize,
    pub(super) records: u32,
    pub(super) vacuum: bool,
}

impl Made {
    pub(super) fn new(recipe: Recipe) -> Self {
        Self::with(recipe, LATE, |_| {})
    }

    /// A file with these tables, which `also` may change further.
    pub(super) fn with(recipe: Recipe, tables: &str, also: impl FnOnce(&Connection)) -> Self {
        Self::from_empty(&[], recipe, tables, also)
    }

    /// A file that begins as these bytes.
    pub(super) fn from_empty(
        empty: &[u8],
        recipe: Recipe,
        tables: &str,
        also: impl FnOnce(&Connection),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chroma.sqlite3");
        std::fs::write(&path, empty).unwrap();
        let connection = Connection::open(&path).unwrap();
        let settings = format!(
            "PRAGMA page_size = {}; PRAGMA foreign_keys = OFF",
            recipe.page_size
        );
        connection.execute_batch(&settings).unwrap();
        connection.execute_batch(tables).unwrap();
        let columns = columns(&connection);
        let mut ever = BTreeSet::new();
        fill(&connection, recipe, &mut |connection| {
            ever.extend(dump(connection, &columns))
        });
        also(&connection);
        if recipe.vacuum {
            connection.execute_batch("VACUUM").unwrap();
        }
        let live = dump(&connection, &columns);
        ever.extend(live.iter().cloned());
        let pages = pages(&connection);
        drop(connection);
        let bytes = std::fs::read(&path).unwrap();
        Self {
            bytes,
            page_size: recipe.page_size,
            columns,
            live,
            ever,
            pages,
        }
    }

    /// The pages of a table or index of this kind: `leaf`, `internal` or `overflow`.
    pub(super) fn pages_of(&self, owner: &str, kind: &str) -> Vec<u32> {
        let wanted = self
            .pages
            .iter()
            .filter(|(_, name, is)| name == owner && is == kind);
        wanted.map(|(number, ..)| *number).collect()
    }

    /// The bytes of one page as they were before any damage.
    pub(super) fn page(&self, number: u32) -> &[u8] {
        let start = (number as usize - 1) * self.page_size;
        &self.bytes[start..start + self.page_size]
    }

    /// The marks of the rows on pages that were changed.
    pub(super) fn markers_lost_in(&self, damaged: &[u8]) -> BTreeSet<String> {
        let mut lost = BTreeSet::new();
        for (index, page) in self.bytes.chunks(self.page_size).enumerate() {
            let start = index * self.page_size;
            if damaged.get(start..start + page.len()) != Some(page) {
                lost.extend(markers(page));
            }
        }
        lost
    }
}

/// Whether a row is marked by one of these.
pub(super) fn is_at_risk(row: &str, markers_lost: &BTreeSet<String>) -> bool {
    markers(row.as_bytes()).any(|marker| markers_lost.contains(&marker))
}

/// `#000123#` marks everything of a record; what is of no record is marked by the word before its first comma.
fn markers(bytes: &[u8]) -> impl Iterator<Item = String> {
    let record = bytes
        .windows(8)
        .filter(|word| word[0] == b'#' && word[7] == b'#' && word[1..7].iter().all(u8::is_ascii_digit));
    let names = [
        "11111111-aaaa",
        "22222222-aaaa",
        "33333333-aaaa",
        "default_tenant",
        "hnsw:space",
    ];
    let other = names
        .into_iter()
        .filter(|name| bytes.windows(name.len()).any(|word| word == name.as_bytes()));
    let mut found: BTreeSet<String> = record
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    if found.is_empty() {
        found.extend(other.map(str::to_owned));
    }
    found.into_iter()
}

/// All rows, each as one text that begins with its table.
pub(super) fn dump(connection: &Connection, columns: &Columns) -> BTreeSet<String> {
    let mut rows = BTreeSet::new();
    for (table, columns) in columns {
        let question = format!("SELECT {} FROM {table}", columns.join(", "));
        let mut statement = connection.prepare(&question).unwrap();
        let found = statement.query_map([], |row| {
            let values = (0..columns.len()).map(|index| text(row.get_ref(index).unwrap()));
            Ok(format!("{table}: {}", values.collect::<Vec<_>>().join(", ")))
        });
        rows.extend(found.unwrap().map(Result::unwrap));
    }
    rows
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    }
}

fn columns(connection: &Connection) -> Columns {
    let of = |table: &'static str| {
        let question = format!("SELECT name FROM pragma_table_info('{table}')");
        let mut statement = connection.prepare(&question).unwrap();
        let names: Vec<String> = statement
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        (table, names)
    };
    COMPARED
        .into_iter()
        .map(of)
        .filter(|(_, names)| !names.is_empty())
        .collect()
}

fn pages(connection: &Connection) -> Vec<(u32, String, String)> {
    let mut statement = connection
        .prepare("SELECT pageno, name, pagetype FROM dbstat")
        .unwrap();
    let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    found.unwrap().map(Result::unwrap).collect()
}

/// Adds records, changes some and deletes some, so that pages are split, merged and left unused.
fn fill(connection: &Connection, recipe: Recipe, look: &mut dyn FnMut(&Connection)) {
    connection.execute_batch("BEGIN").unwrap();
    let count = recipe.records;
    (1..=count).for_each(|record| add(connection, record, 0));
    look(connection);
    (1..=count)
        .filter(|record| record % 3 == 0)
        .for_each(|record| delete(connection, record));
    (1..=count)
        .filter(|record| (count / 2..count * 2 / 3).contains(record))
        .for_each(|record| delete(connection, record));
    look(connection);
    for record in (1..=count).filter(|record| record % 7 == 1) {
        delete(connection, record);
        add(connection, record, 1);
    }
    look(connection);
    connection
        .execute("DELETE FROM embeddings_queue WHERE seq_id % 5 = 0", [])
        .unwrap();
    connection.execute_batch("COMMIT").unwrap();
}

/// The text of a record: some a line, some a page or two, some a hundred thousand letters.
fn document(record: u32, version: u32) -> String {
    let repeats = match record % 50 {
        49 => 5000,
        0..5 => 250,
        _ => 5,
    };
    format!("text {version} of #{record:06}# ").repeat(repeats)
}

fn run(connection: &Connection, statement: &str, values: &[&dyn ToSql]) {
    connection
        .prepare_cached(statement)
        .unwrap()
        .execute(values)
        .unwrap();
}

fn add(connection: &Connection, record: u32, version: u32) {
    let id = format!("drawer#{record:06}#");
    let document = document(record, version);
    let sequence: &dyn ToSql = if record.is_multiple_of(2) {
        &record
    } else {
        &record.to_be_bytes().repeat(2)
    };
    let embed = "INSERT INTO embeddings (id, segment_id, embedding_id, seq_id) VALUES (?, ?, ?, ?)";
    run(connection, embed, params![record, SEGMENT, id, sequence]);
    let index = "INSERT INTO embedding_fulltext_search (rowid, string_value) VALUES (?, ?)";
    run(connection, index, params![record, document]);
    add_metadata(connection, record, &document);
    let vector: Vec<u8> = (0..16_u32)
        .flat_map(|at| f32::to_le_bytes((at * record) as f32 + 0.5))
        .collect();
    let metadata = format!("{{\"chroma:document\":\"{document}\"}}");
    let queue = "INSERT INTO embeddings_queue (operation, topic, id, vector, encoding, metadata)
        VALUES (0, 'persistent://default/default/11111111-aaaa-4bbb-8ccc-000000000001', ?, ?, 'FLOAT32', ?)";
    run(connection, queue, params![id, vector, metadata]);
}

fn add_metadata(connection: &Connection, record: u32, document: &str) {
    let keep = |key: &str, column: &str, value: &dyn ToSql| {
        let statement = format!("INSERT INTO embedding_metadata (id, key, {column}) VALUES (?, ?, ?)");
        run(connection, &statement, params![record, key, value]);
    };
    keep("chroma:document", "string_value", &document);
    keep("wing", "string_value", &format!("wing #{record:06}#"));
    keep(
        &format!("number #{record:06}#"),
        "int_value",
        &(i64::from(record) << 20),
    );
    keep(
        &format!("score #{record:06}#"),
        "float_value",
        &(f64::from(record) / 2.0),
    );
    if connection
        .prepare("SELECT 1 FROM embedding_metadata_array")
        .is_ok()
    {
        let array = "INSERT INTO embedding_metadata_array (id, key, string_value) VALUES (?, 'tags', ?)";
        for tag in 0..3 {
            run(
                connection,
                array,
                params![record, format!("tag {tag} #{record:06}#")],
            );
        }
    }
}

fn delete(connection: &Connection, record: u32) {
    let tables = ["embedding_metadata", "embedding_metadata_array", "embeddings"];
    for table in tables {
        let statement = format!("DELETE FROM {table} WHERE id = ?");
        if let Ok(mut statement) = connection.prepare_cached(&statement) {
            statement.execute([record]).unwrap();
        }
    }
    connection
        .execute("DELETE FROM embedding_fulltext_search WHERE rowid = ?", [record])
        .unwrap();
}

/// Whether a row is metadata of the segment, taken for that of a collection because neither the segment nor a
/// collection of its id was saved. Nothing tells the two apart then, and under an id that no collection has nothing
/// reads it.
pub(super) fn is_metadata_of_a_lost_segment(row: &str, saved: &BTreeSet<String>) -> bool {
    const SEGMENT: &str = "22222222-aaaa-4bbb-8ccc-000000000002";
    let names = |table: &str| {
        let begins = format!("{table}: {SEGMENT}");
        saved.iter().any(|row| row.starts_with(&begins))
    };
    row.starts_with(&format!("collection_metadata: {SEGMENT}, "))
        && !names("segments")
        && !names("collections")
}
