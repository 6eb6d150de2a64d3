//! Writes `sqlite_exact` palaces as MemPalace 3.11 lays them out, in log mode as it does.

use std::fs;
use std::path::Path;

use loci_core::{CollectionInfo, Drawer};
use rusqlite::{Connection, params};

/// The tables of MemPalace 3.11.
const TABLES: &str = "
    PRAGMA journal_mode = WAL;
    BEGIN;
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE collections (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, dimension INTEGER,
        created_at TEXT NOT NULL);
    CREATE TABLE documents (collection_id INTEGER NOT NULL, id TEXT NOT NULL, document TEXT NOT NULL,
        metadata_json TEXT NOT NULL, embedding BLOB NOT NULL, dim INTEGER NOT NULL, created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL, wing TEXT GENERATED ALWAYS AS (json_extract(metadata_json, '$.wing')) VIRTUAL,
        PRIMARY KEY (collection_id, id),
        FOREIGN KEY(collection_id) REFERENCES collections(id) ON DELETE CASCADE);
    CREATE INDEX idx_documents_collection ON documents(collection_id);
    CREATE VIRTUAL TABLE docs_fts USING fts5(collection_id UNINDEXED, doc_id UNINDEXED, document);
    INSERT INTO meta VALUES ('fts5_available', '1');
";

/// Puts a file with these collections in the place of the one before.
pub(crate) fn write_exact(folder: &Path, number: u64, all: &[(CollectionInfo, Vec<Drawer>)]) {
    fs::create_dir_all(folder).unwrap();
    let beside = folder.join(format!("{number}.new"));
    let connection = Connection::open(&beside).unwrap();
    connection.execute_batch(TABLES).unwrap();
    for (at, (info, drawers)) in all.iter().enumerate() {
        let collection = at as i64 + 1;
        let dimension = info.dimension.map(|n| n as i64);
        let sql = "INSERT INTO collections VALUES (?1, ?2, ?3, '2026-01-01T00:00:00+00:00')";
        connection
            .execute(sql, params![collection, info.name.as_str(), dimension])
            .unwrap();
        for drawer in drawers {
            write_drawer(&connection, collection, drawer);
        }
    }
    connection.execute_batch("COMMIT").unwrap();
    connection.close().unwrap();
    fs::rename(&beside, folder.join("sqlite_exact.sqlite3")).unwrap();
}

fn write_drawer(connection: &Connection, collection: i64, drawer: &Drawer) {
    let mut metadata = drawer.metadata.clone().unwrap_or_default();
    for key in ["wing", "room", "source", "speaker", "kind"] {
        if let (None, Some(text)) = (metadata.get(key), drawer.place.text_field(key)) {
            metadata.insert(key, text);
        }
    }
    if let (None, Some(time)) = (metadata.get("said_at"), drawer.place.said_at) {
        metadata.insert("said_at", time.to_string());
    }
    let vector = drawer.embedding.as_deref().unwrap_or_default();
    let bytes: Vec<u8> = vector.iter().flat_map(|value| value.to_le_bytes()).collect();
    let written = drawer.filed_at.map(|time| time.to_string()).unwrap_or_default();
    let sql = "INSERT INTO documents(collection_id, id, document, metadata_json, embedding, dim, created_at, updated_at) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)";
    let document = drawer.document.as_deref().unwrap_or_default();
    let values = params![
        collection,
        drawer.id.as_str(),
        document,
        serde_json::to_string(&metadata).unwrap(),
        bytes,
        vector.len() as i64,
        written
    ];
    connection.execute(sql, values).unwrap();
    let sql = "INSERT INTO docs_fts(collection_id, doc_id, document) VALUES (?1, ?2, ?3)";
    connection
        .execute(sql, params![collection, drawer.id.as_str(), document])
        .unwrap();
}
