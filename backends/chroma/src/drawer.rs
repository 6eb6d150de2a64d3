//! Makes a drawer of a record: its text, its metadata with their types, where it is filed, and its vector.

use loci_core::{Drawer, Include, Metadata, Place, Result, Scalar, Timestamp, Value, Whereabouts};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::Value as Json;

use crate::catalogue::{rows, text};
use crate::failure;
use crate::graph::Graph;
use crate::shelf::{Record, VectorAt};

/// The key under which a record keeps an id that no drawer can have.
const OWN_ID: &str = "chroma:id";
/// The key under which Chroma keeps a record's text.
pub(crate) const DOCUMENT: &str = "chroma:document";

/// The rows of metadata of a record; the first releases have no column for truths.
macro_rules! metadata {
    ($truth:literal, $but:literal) => {
        concat!(
            "SELECT key, string_value, int_value, float_value, ",
            $truth,
            " FROM embedding_metadata WHERE id = ?1",
            $but
        )
    };
}

/// Reads records of one collection.
pub(crate) struct Reader<'a> {
    /// The open database.
    pub(crate) connection: &'a Connection,
    /// Whether the release keeps lists as metadata.
    pub(crate) has_lists: bool,
    /// Whether the release keeps truths apart from numbers.
    pub(crate) has_truths: bool,
    /// Whether a second copy of texts may stand in for lost ones.
    pub(crate) spare_texts: bool,
    /// The collection's graph.
    pub(crate) graph: Option<&'a Graph>,
    /// Graphs of it that were set aside.
    pub(crate) aside: &'a [Graph],
    /// How many values vectors have.
    pub(crate) dimension: Option<usize>,
}

/// What a record holds beside its vector, before it becomes a drawer.
#[derive(Debug, Default)]
struct Content {
    document: Option<String>,
    metadata: Metadata,
    created: Option<String>,
    odd: Vec<String>,
}

impl Reader<'_> {
    /// The record with what is asked for; its place and times always.
    pub(crate) fn drawer(&self, record: &Record, include: Include) -> Result<Drawer> {
        let mut content = self.content(record, include.document)?;
        if let Some(own) = &record.odd_id {
            content.metadata.insert(OWN_ID, &**own);
        }
        let mut drawer = Drawer::bare(record.id.clone());
        let filed = content.metadata.get("filed_at").and_then(Value::as_text);
        drawer.filed_at = filed
            .and_then(time)
            .or_else(|| content.created.as_deref().and_then(time));
        drawer.place = place(&content.metadata);
        drawer.damage = content.odd;
        if let Some(own) = &record.odd_id {
            drawer.damage.push(format!(
                "its own id has {} bytes, which no drawer's can have",
                own.len()
            ));
        }
        if include.document {
            drawer.document = content.document;
        }
        if include.metadata {
            drawer.metadata = Some(content.metadata);
        }
        if include.embedding {
            drawer.embedding = self.vector(record)?;
            drawer.vector_from = Whereabouts(Some(match (&drawer.embedding, record.vector) {
                (Some(_), VectorAt::Queue(_)) => "queue",
                (Some(_), VectorAt::Graph(_)) => "graph",
                (Some(_), VectorAt::Aside(..)) => "set aside",
                _ => "none",
            }));
        }
        Ok(drawer)
    }

    /// The record's newest vector, if there is one that fits the collection.
    pub(crate) fn vector(&self, record: &Record) -> Result<Option<Vec<f32>>> {
        let of = |graph: Option<&Graph>, element| match graph {
            Some(graph) => graph
                .vector(element)
                .map_err(|cause| failure::io("read", &graph.folder, cause)),
            None => Ok(None),
        };
        let vector = match record.vector {
            VectorAt::Queue(sequence) => self.queued(sequence)?,
            VectorAt::Graph(element) => of(self.graph, element)?,
            VectorAt::Aside(graph, element) => of(self.aside.get(usize::from(graph)), element)?,
            VectorAt::Nowhere => None,
        };
        let fits = |vector: &Vec<f32>| {
            self.dimension.is_none_or(|dimension| dimension == vector.len())
                && vector.iter().all(|value| value.is_finite())
        };
        Ok(vector.filter(fits))
    }

    fn queued(&self, sequence: i64) -> Result<Option<Vec<f32>>> {
        let mut vector = None;
        let sql = "SELECT vector, encoding FROM embeddings_queue WHERE seq_id = ?1";
        rows(self.connection, "the write queue", sql, &[&sequence], |row| {
            let whole = text(row, 1)?.is_some_and(|encoding| encoding == "INT32");
            if let ValueRef::Blob(bytes) = row.get_ref(0)? {
                vector = Some(numbers(bytes, whole));
            }
            Ok(())
        })?;
        Ok(vector)
    }

    fn content(&self, record: &Record, with_document: bool) -> Result<Content> {
        let mut content = Content::default();
        if let Some(row) = record.row {
            self.read_rows(row, with_document, &mut content)?;
        }
        for sequence in &record.pending {
            self.read_queued(*sequence, &mut content)?;
        }
        Ok(content)
    }

    fn read_rows(&self, row: i64, with_document: bool, content: &mut Content) -> Result<()> {
        let sql = match (self.has_truths, with_document) {
            (true, true) => metadata!("bool_value", ""),
            (true, false) => metadata!("bool_value", " AND key <> 'chroma:document'"),
            (false, true) => metadata!("NULL", ""),
            (false, false) => metadata!("NULL", " AND key <> 'chroma:document'"),
        };
        rows(self.connection, "the metadata", sql, &[&row], |found| {
            let key = text(found, 0)?.unwrap_or_default();
            content.take(key, scalar(found)?);
            Ok(())
        })?;
        if self.has_lists {
            self.lists(row, content)?;
        }
        if with_document && self.spare_texts && content.document.is_none() {
            let sql = "SELECT c0 FROM embedding_fulltext_search_content WHERE id = ?1";
            rows(self.connection, "the spare texts", sql, &[&row], |found| {
                content.document = text(found, 0)?;
                Ok(())
            })?;
        }
        let sql = "SELECT created_at FROM embeddings WHERE id = ?1";
        rows(self.connection, "the rows", sql, &[&row], |found| {
            content.created = text(found, 0)?;
            Ok(())
        })
    }

    fn lists(&self, row: i64, content: &mut Content) -> Result<()> {
        let mut lists: std::collections::BTreeMap<String, Vec<Scalar>> = Default::default();
        let sql = "SELECT key, string_value, int_value, float_value, bool_value FROM embedding_metadata_array \
                   WHERE id = ?1 ORDER BY rowid";
        rows(self.connection, "the metadata", sql, &[&row], |found| {
            let key = text(found, 0)?.unwrap_or_default();
            lists.entry(key).or_default().extend(scalar(found)?);
            Ok(())
        })?;
        for (key, list) in lists.into_iter().filter(|(key, _)| !key.is_empty()) {
            content.metadata.insert(key, Value::Many(list));
        }
        Ok(())
    }

    /// Applies a write that the row has not seen, as Chroma would: given keys replace, null takes away.
    fn read_queued(&self, sequence: i64, content: &mut Content) -> Result<()> {
        let mut written = None;
        let sql = "SELECT metadata, created_at FROM embeddings_queue WHERE seq_id = ?1";
        rows(self.connection, "the write queue", sql, &[&sequence], |row| {
            written = text(row, 0)?;
            content.created = content.created.take().or(text(row, 1)?);
            Ok(())
        })?;
        match written.as_deref().map(serde_json::from_str::<Json>) {
            Some(Ok(Json::Object(keys))) => {
                for (key, value) in keys {
                    content.overwrite(key, &value);
                }
            }
            Some(Ok(Json::Null)) | None => {}
            Some(_) => content.odd.push(format!(
                "the metadata of the queued write {sequence} cannot be read"
            )),
        }
        Ok(())
    }
}

impl Content {
    fn take(&mut self, key: String, value: Option<Scalar>) {
        match (key.as_str(), value) {
            (DOCUMENT, Some(Scalar::Text(document))) => self.document = Some(document),
            // A key without any value: Chroma's own interface leaves it out as well.
            (_, None) => {}
            ("", Some(_)) => self.odd.push("a metadata key is empty".to_owned()),
            (_, Some(Scalar::Float(float))) if !float.is_finite() => {
                self.odd.push(format!("metadata.{key} is not a finite number"));
                self.metadata.insert(key, float.to_string());
            }
            (_, Some(scalar)) => self.metadata.insert(key, Value::One(scalar)),
        }
    }

    fn overwrite(&mut self, key: String, value: &Json) {
        match (key.as_str(), value) {
            (DOCUMENT, Json::String(document)) => self.document = Some(document.clone()),
            (DOCUMENT, _) => self.document = None,
            (_, Json::Null) => drop(self.metadata.remove(&key)),
            ("", _) => self.odd.push("a metadata key is empty".to_owned()),
            (_, value) => match Value::from_json(value, "metadata") {
                Ok(value) => self.metadata.insert(key, value),
                Err(_) => {
                    self.odd.push(format!("metadata.{key} is no single value"));
                    self.metadata.insert(key, value.to_string());
                }
            },
        }
    }
}

/// The value of a row of metadata, by the first of its columns that is set.
fn scalar(row: &Row<'_>) -> rusqlite::Result<Option<Scalar>> {
    if let Some(string) = text(row, 1)? {
        return Ok(Some(Scalar::Text(string)));
    }
    Ok(match (row.get_ref(2)?, row.get_ref(3)?, row.get_ref(4)?) {
        (ValueRef::Integer(int), ..) => Some(Scalar::Int(int)),
        (_, ValueRef::Real(float), _) => Some(Scalar::Float(float)),
        (_, ValueRef::Integer(int), _) => Some(Scalar::Float(int as f64)),
        (.., ValueRef::Integer(truth)) => Some(Scalar::Bool(truth != 0)),
        _ => None,
    })
}

fn numbers(bytes: &[u8], whole: bool) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    let read = |number: &[u8; 4]| match whole {
        true => i32::from_le_bytes(*number) as f32,
        false => f32::from_le_bytes(*number),
    };
    numbers.iter().map(read).collect()
}

/// A time as MemPalace and SQLite write them; without an offset it is taken for UTC.
fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// Where a drawer is filed: by the house's own keys, else by those MemPalace writes.
fn place(metadata: &Metadata) -> Place {
    let mut place = Place::default().completed_from(metadata).unwrap_or_default();
    let named = |keys: &[&str]| {
        let mut found = keys
            .iter()
            .filter_map(|key| metadata.get(key).and_then(Value::as_text));
        found.find(|text| !text.is_empty()).map(str::to_owned)
    };
    place.source = place.source.or_else(|| named(&["source_file"]));
    place.speaker = place.speaker.or_else(|| named(&["role"]));
    let said = || named(&["authored_at", "timestamp", "content_date", "date"]);
    place.said_at = place.said_at.or_else(|| said().as_deref().and_then(time));
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_understood_from_mempalaces_keys() {
        let metadata = Metadata::new()
            .with("wing", "kansas")
            .with("room", "farm")
            .with("source_file", "/oz/ch1.txt")
            .with("authored_at", "2025-01-04T10:00:00");
        let place = place(&metadata);
        assert_eq!(place.wing.as_deref(), Some("kansas"));
        assert_eq!(place.source.as_deref(), Some("/oz/ch1.txt"));
        assert_eq!(place.said_at, time("2025-01-04T10:00:00Z"));
    }

    #[test]
    fn the_houses_own_keys_come_first() {
        let metadata = Metadata::new()
            .with("source", "a")
            .with("source_file", "b")
            .with("said_at", "2020-01-01");
        let place = place(&metadata.with("timestamp", "2021-01-01"));
        assert_eq!(place.source.as_deref(), Some("a"));
        assert_eq!(place.said_at, time("2020-01-01"));
    }

    #[test]
    fn times_are_read_as_sqlite_and_python_write_them() {
        assert!(time("2026-11-16 09:36:43").is_some());
        assert!(time("2026-11-16T09:36:43.123456").is_some());
        assert!(time("yesterday").is_none());
    }
}
