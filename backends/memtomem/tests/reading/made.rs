//! Databases as memtomem makes them: the tables of three releases, filled row by row.

use std::path::{Path, PathBuf};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use tempfile::TempDir;

/// The columns of the first releases.
const FIRST: &str = "id TEXT PRIMARY KEY, content TEXT NOT NULL, content_hash TEXT NOT NULL, source_file TEXT NOT NULL,
    heading_hierarchy TEXT NOT NULL DEFAULT '[]', chunk_type TEXT NOT NULL DEFAULT 'raw_text',
    start_line INTEGER NOT NULL DEFAULT 0, end_line INTEGER NOT NULL DEFAULT 0, language TEXT NOT NULL DEFAULT 'en',
    tags TEXT NOT NULL DEFAULT '[]', namespace TEXT NOT NULL DEFAULT 'default', created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL";

/// The columns that schema 1 added.
const SECOND: &str = "access_count INTEGER NOT NULL DEFAULT 0, use_count INTEGER NOT NULL DEFAULT 0,
    last_accessed_at TEXT, overlap_before INTEGER NOT NULL DEFAULT 0, overlap_after INTEGER NOT NULL DEFAULT 0,
    importance_score REAL NOT NULL DEFAULT 0.0, valid_from_unix INTEGER, valid_to_unix INTEGER,
    scope TEXT NOT NULL DEFAULT 'user', project_root TEXT";

/// The columns that schema 3 added.
const THIRD: &str = "origin TEXT, source_span_hash TEXT, retrieval_context TEXT NOT NULL DEFAULT '',
    redaction_count INTEGER NOT NULL DEFAULT 0, source_read_only INTEGER NOT NULL DEFAULT 0";

/// Which release made a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Release {
    First,
    Second,
    Third,
    /// The columns of the third without any rule about what they hold.
    Lawless,
}

/// A database that is being made, in a folder of its own.
pub(crate) struct Made {
    pub(crate) folder: TempDir,
    pub(crate) connection: Connection,
}

impl Made {
    pub(crate) fn new(release: Release) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let connection = Connection::open(folder.path().join("memtomem.db")).unwrap();
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        let columns = match release {
            Release::First => FIRST.to_owned(),
            Release::Second => format!("{FIRST}, {SECOND}"),
            Release::Third => format!("{FIRST}, {SECOND}, {THIRD}"),
            Release::Lawless => {
                let all = format!("{FIRST}, {SECOND}, {THIRD}");
                let names: Vec<&str> = all
                    .split(',')
                    .flat_map(|one| one.split_whitespace().next())
                    .collect();
                format!("{}, extra, kind", names.join(", "))
            }
        };
        let made = Self { folder, connection };
        made.run(&format!(
            "CREATE TABLE _memtomem_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
             CREATE TABLE chunks ({columns});
             CREATE INDEX idx_chunks_source ON chunks(source_file);
             CREATE VIRTUAL TABLE chunks_fts USING fts5(content, source_file, tokenize='unicode61');"
        ));
        made
    }

    pub(crate) fn run(&self, sql: &str) {
        self.connection.execute_batch(sql).unwrap();
    }

    /// The tables behind vectors; the virtual table itself is only named, since its module is not at hand.
    pub(crate) fn with_vectors(self) -> Self {
        self.run(
            "CREATE TABLE chunks_vec_rowids(rowid INTEGER PRIMARY KEY AUTOINCREMENT, id, chunk_id INTEGER, chunk_offset INTEGER);
             PRAGMA writable_schema = ON;
             INSERT INTO sqlite_master(type, name, tbl_name, rootpage, sql) VALUES
               ('table', 'chunks_vec', 'chunks_vec', 0, 'CREATE VIRTUAL TABLE chunks_vec USING vec0(embedding float[4])');
             PRAGMA writable_schema = OFF;",
        );
        self
    }

    /// Files a chunk with these values; what is not given is made up from the id.
    pub(crate) fn chunk(&self, id: &str, given: &[(&str, Value)]) {
        let text = |text: String| Value::Text(text);
        let mut row = vec![
            ("id", text(id.to_owned())),
            ("content", text(format!("text of {id}"))),
            ("content_hash", text(format!("hash of {id}"))),
            ("source_file", text("/notes/a.md".into())),
            ("start_line", Value::Integer(1)),
            ("end_line", Value::Integer(2)),
            ("created_at", text("2026-05-01T09:30:00.000001+00:00".into())),
            ("updated_at", text("2026-05-02T09:30:00+00:00".into())),
        ];
        for (name, value) in given {
            row.retain(|(known, _)| known != name);
            row.push((*name, value.clone()));
        }
        let names: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
        let marks = vec!["?"; row.len()].join(", ");
        let sql = format!("INSERT INTO chunks({}) VALUES ({marks})", names.join(", "));
        let values = row.into_iter().map(|(_, value)| value);
        self.connection.execute(&sql, params_from_iter(values)).unwrap();
        let number = self.connection.last_insert_rowid();
        let indexed = "INSERT INTO chunks_fts(rowid, content, source_file) SELECT rowid, content, source_file FROM chunks WHERE rowid = ?1";
        self.connection.execute(indexed, [number]).unwrap();
    }

    /// Closes it, so that the log is gone, and gives its folder and its path.
    pub(crate) fn closed(self) -> (TempDir, PathBuf) {
        self.run("PRAGMA wal_checkpoint(TRUNCATE)");
        drop(self.connection);
        let path = self.folder.path().join("memtomem.db");
        assert_eq!(names(self.folder.path()), ["memtomem.db"]);
        (self.folder, path)
    }
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// The names in a folder, in order.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
