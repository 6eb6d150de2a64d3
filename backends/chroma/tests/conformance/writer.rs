//! Writes Chroma folders for the suite: a reference takes the writes, and after each the folder is made anew from it.
//!
//! Rows, queue and graph are laid out as release 1.5 does: every second vector lies in the queue, the others in graph
//! files, and of every third record the queue holds an older vector that the newer one must win over.

use std::fs;
use std::path::Path;

use loci_core::{CollectionInfo, Drawer, MetadataScalar, MetadataValue, Metric};
use rusqlite::{Connection, params};

/// The tables of release 1.5 that hold a palace.
const TABLES: &str = "
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    BEGIN;
    CREATE TABLE acquire_write (id INTEGER PRIMARY KEY, lock_status INTEGER NOT NULL);
    CREATE TABLE tenants (id TEXT PRIMARY KEY, UNIQUE (id));
    CREATE TABLE databases (id TEXT PRIMARY KEY, name TEXT NOT NULL, tenant_id TEXT NOT NULL, UNIQUE (tenant_id, name));
    CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER, database_id TEXT NOT NULL,
        config_json_str TEXT, schema_str TEXT, UNIQUE (name, database_id));
    CREATE TABLE collection_metadata (collection_id TEXT, key TEXT NOT NULL, str_value TEXT, int_value INTEGER,
        float_value REAL, bool_value INTEGER, PRIMARY KEY (collection_id, key));
    CREATE TABLE segment_metadata (segment_id TEXT, key TEXT NOT NULL, str_value TEXT, int_value INTEGER,
        float_value REAL, bool_value INTEGER, PRIMARY KEY (segment_id, key));
    CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, collection TEXT NOT NULL);
    CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL,
        seq_id BLOB NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE (segment_id, embedding_id));
    CREATE TABLE embedding_metadata (id INTEGER, key TEXT NOT NULL, string_value TEXT, int_value INTEGER,
        float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));
    CREATE TABLE embedding_metadata_array (id INTEGER NOT NULL, key TEXT NOT NULL, string_value TEXT,
        int_value INTEGER, float_value REAL, bool_value INTEGER);
    CREATE TABLE max_seq_id (segment_id TEXT PRIMARY KEY, seq_id INTEGER);
    CREATE TABLE embeddings_queue (seq_id INTEGER PRIMARY KEY, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
        operation INTEGER NOT NULL, topic TEXT NOT NULL, id TEXT NOT NULL, vector BLOB, encoding TEXT, metadata TEXT);
    CREATE VIRTUAL TABLE embedding_fulltext_search USING fts5(string_value, tokenize='trigram');
    INSERT INTO databases VALUES ('00000000-0000-0000-0000-000000000000', 'default_database', 'default_tenant');
";

/// Puts a folder with these collections in the place of the one before.
pub(crate) fn write_chroma(folder: &Path, number: u64, all: &[(CollectionInfo, Vec<Drawer>)]) {
    fs::create_dir_all(folder).unwrap();
    let beside = folder.join(format!("{number}.new"));
    let connection = Connection::open(&beside).unwrap();
    connection.execute_batch(TABLES).unwrap();
    let mut sequence = 0;
    for (at, (info, drawers)) in all.iter().enumerate() {
        let id = format!("{at:08x}-0000-4000-8000-{number:012x}");
        Shelf {
            connection: &connection,
            id,
            info,
        }
        .write(folder, drawers, &mut sequence);
    }
    connection.execute_batch("COMMIT").unwrap();
    drop(connection);
    fs::rename(&beside, folder.join("chroma.sqlite3")).unwrap();
}

struct Shelf<'a> {
    connection: &'a Connection,
    id: String,
    info: &'a CollectionInfo,
}

impl Shelf<'_> {
    fn write(&self, folder: &Path, drawers: &[Drawer], sequence: &mut i64) {
        let (vector, rows) = (
            self.id.replacen("-0000-", "-0001-", 1),
            self.id.replacen("-0000-", "-0002-", 1),
        );
        self.run(
            "INSERT INTO collections VALUES (?1, ?2, ?3, '00000000-0000-0000-0000-000000000000', '{}', NULL)",
            params![
                self.id,
                self.info.name.as_str(),
                self.info.dimension.map(|n| n as i64)
            ],
        );
        self.run(
            "INSERT INTO collection_metadata VALUES (?1, 'hnsw:space', ?2, NULL, NULL, NULL)",
            params![self.id, self.info.metric.name()],
        );
        self.run("INSERT INTO segments VALUES (?1, 'urn:chroma:segment/vector/hnsw-local-persisted', 'VECTOR', ?2)", params![vector, self.id]);
        self.run(
            "INSERT INTO segments VALUES (?1, 'urn:chroma:segment/metadata/sqlite', 'METADATA', ?2)",
            params![rows, self.id],
        );
        let mut elements = Vec::new();
        for (at, drawer) in drawers.iter().enumerate() {
            if let Some(vector) = drawer.embedding.as_ref().filter(|_| at % 3 == 0) {
                *sequence += 1;
                let older = vec![9.0; vector.len()];
                self.queue(*sequence, drawer, Some(&older));
            }
            *sequence += 1;
            match &drawer.embedding {
                Some(vector) if at % 2 == 0 || at % 3 == 0 || !self.is_kept_by_graph(vector) => {
                    self.queue(*sequence, drawer, Some(vector));
                }
                Some(vector) => elements.push((drawer.id.as_str().to_owned(), vector.clone())),
                None => self.queue(*sequence, drawer, None),
            }
            self.row(&rows, *sequence, drawer);
        }
        self.run("INSERT INTO max_seq_id VALUES (?1, ?2)", params![rows, *sequence]);
        if !elements.is_empty() {
            graph(&folder.join(vector), &elements);
        }
    }

    /// Whether a graph keeps a vector as it is: a cosine graph normalises it.
    fn is_kept_by_graph(&self, vector: &[f32]) -> bool {
        let square: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
        self.info.metric != Metric::Cosine || (square - 1.0).abs() < 1e-6
    }

    fn run(&self, sql: &str, values: impl rusqlite::Params) {
        self.connection.execute(sql, values).unwrap();
    }

    fn queue(&self, sequence: i64, drawer: &Drawer, vector: Option<&Vec<f32>>) {
        let bytes = vector.map(|vector| {
            vector
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect::<Vec<u8>>()
        });
        let topic = format!("persistent://default/default/{}", self.id);
        self.run(
            "INSERT INTO embeddings_queue(seq_id, operation, topic, id, vector, encoding, metadata) \
            VALUES (?1, 2, ?2, ?3, ?4, 'FLOAT32', '{}')",
            params![sequence, topic, drawer.id.as_str(), bytes],
        );
    }

    fn row(&self, segment: &str, sequence: i64, drawer: &Drawer) {
        self.run(
            "INSERT INTO embeddings(segment_id, embedding_id, seq_id, created_at) VALUES (?1, ?2, ?3, ?4)",
            params![
                segment,
                drawer.id.as_str(),
                sequence,
                drawer.filed_at.map(|time| time.to_string())
            ],
        );
        let row = self.connection.last_insert_rowid();
        let mut metadata = drawer.metadata.clone().unwrap_or_default();
        for key in ["wing", "room", "source", "speaker", "kind"] {
            if let (None, Some(text)) = (metadata.get(key), drawer.place.text_field(key)) {
                metadata.insert(key, text);
            }
        }
        if let (None, Some(time)) = (metadata.get("said_at"), drawer.place.said_at) {
            metadata.insert("said_at", time.to_string());
        }
        let document = drawer
            .document
            .clone()
            .map(|text| MetadataValue::One(MetadataScalar::Text(text)));
        let document = document.as_ref().map(|document| ("chroma:document", document));
        for (key, value) in metadata.iter().chain(document) {
            match value {
                MetadataValue::One(scalar) => self.value("embedding_metadata", row, key, scalar),
                MetadataValue::Many(scalars) => {
                    scalars
                        .iter()
                        .for_each(|scalar| self.value("embedding_metadata_array", row, key, scalar));
                }
            }
        }
    }

    fn value(&self, table: &str, row: i64, key: &str, scalar: &MetadataScalar) {
        let column = match scalar {
            MetadataScalar::Text(_) => "string_value",
            MetadataScalar::Int(_) => "int_value",
            MetadataScalar::Float(_) => "float_value",
            MetadataScalar::Bool(_) => "bool_value",
        };
        let sql = format!("INSERT INTO {table}(id, key, {column}) VALUES (?1, ?2, ?3)");
        match scalar {
            MetadataScalar::Text(text) => self.run(&sql, params![row, key, text]),
            MetadataScalar::Int(int) => self.run(&sql, params![row, key, int]),
            MetadataScalar::Float(float) => self.run(&sql, params![row, key, float]),
            MetadataScalar::Bool(truth) => self.run(&sql, params![row, key, truth]),
        }
    }
}

/// Writes a graph without links that holds these vectors.
fn graph(folder: &Path, elements: &[(String, Vec<f32>)]) {
    fs::create_dir_all(folder).unwrap();
    let dimension = elements[0].1.len() as u64;
    let (vector, count) = (132, elements.len() as u64);
    let label = vector + 4 * dimension;
    let mut header = 1_i32.to_le_bytes().to_vec();
    for field in [0, count, count, label + 8, label, vector] {
        header.extend(field.to_le_bytes());
    }
    header.resize(100, 0);
    let mut level0 = Vec::new();
    let mut pickle = b"\x80\x03}(X\x0b\x00\x00\x00id_to_label}(".to_vec();
    // Labels in an order other than that of the elements.
    for (at, (id, values)) in elements.iter().enumerate() {
        let number = count - at as u64;
        level0.extend([0; 132]);
        level0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        level0.extend(number.to_le_bytes());
        pickle.push(b'X');
        pickle.extend((id.len() as u32).to_le_bytes());
        pickle.extend(id.as_bytes());
        pickle.push(b'J');
        pickle.extend((number as i32).to_le_bytes());
    }
    pickle.extend(b"uu.");
    for (name, bytes) in [
        ("header.bin", header),
        ("data_level0.bin", level0),
        ("index_metadata.pickle", pickle),
        ("length.bin", Vec::new()),
        ("link_lists.bin", Vec::new()),
    ] {
        fs::write(folder.join(name), bytes).unwrap();
    }
}
