//! Turns a record into a drawer: its text, its typed metadata, its place and its vector.

use loci_core::{Drawer, DrawerFields, Metadata, MetadataScalar, MetadataValue, Result, VectorOrigin};
use loci_foreign::mempalace::{parse_time, place_from_metadata};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::Value as Json;

use crate::catalogue::{for_each_row, read_text};
use crate::failure;
use crate::graph::SegmentGraph;
use crate::shelf::{LiveRecord, VectorLocation};

/// The metadata key for an id that is not a valid drawer id.
const OWN_ID: &str = "chroma:id";
/// The metadata key under which Chroma keeps the text of a record.
pub(crate) const DOCUMENT: &str = "chroma:document";

/// Selects the metadata of a record; the first releases have no column for booleans.
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

/// Reads the records of one collection.
pub(crate) struct RecordReader<'a> {
    /// The open database.
    pub(crate) connection: &'a Connection,
    /// Whether the release has lists in metadata.
    pub(crate) has_lists: bool,
    /// Whether the release stores booleans apart from numbers.
    pub(crate) has_truths: bool,
    /// Whether the full text's copy replaces lost texts.
    pub(crate) has_spare_texts: bool,
    /// The collection's graph.
    pub(crate) graph: Option<&'a SegmentGraph>,
    /// The graphs of the collection that were set aside.
    pub(crate) set_aside: &'a [SegmentGraph],
    /// The number of values in a vector.
    pub(crate) dimension: Option<usize>,
}

/// The content of a record apart from its vector.
#[derive(Debug, Default)]
pub(crate) struct RecordContent {
    document: Option<String>,
    metadata: Metadata,
    /// The time of the first write that is not in the row yet.
    queued: Option<String>,
    oddities: Vec<String>,
}

impl RecordReader<'_> {
    /// Reads a record with the requested fields; its place and times are always read.
    pub(crate) fn read_drawer(&self, record: &LiveRecord, include: DrawerFields) -> Result<Drawer> {
        let content = self.read_content(record, include.document)?;
        self.finish_drawer(record, content, include)
    }

    /// Makes a drawer of a record and its content.
    pub(crate) fn finish_drawer(
        &self,
        record: &LiveRecord,
        mut content: RecordContent,
        include: DrawerFields,
    ) -> Result<Drawer> {
        if let Some(own) = &record.odd_id {
            content.metadata.insert(OWN_ID, &**own);
        }
        let mut drawer = Drawer::with_id_only(record.id.clone());
        // MemPalace's own time comes first: Chroma's `created_at` only records when the row was made.
        let filed = content.metadata.get("filed_at").and_then(MetadataValue::as_text);
        drawer.filed_at = match filed.and_then(parse_time) {
            Some(filed) => Some(filed),
            None => self
                .read_creation(record, &content)?
                .as_deref()
                .and_then(parse_time),
        };
        drawer.place = place_from_metadata(&content.metadata);
        drawer.damage = content.oddities;
        if let Some(own) = &record.odd_id {
            drawer.damage.push(format!(
                "its own id has {} bytes, which is not a valid length for a drawer id",
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
            drawer.embedding = self.read_vector(record)?;
            if drawer.embedding.is_none() && record.vector != VectorLocation::Missing {
                drawer
                    .damage
                    .push("its vector is damaged and was left out".to_owned());
            }
            drawer.vector_from = VectorOrigin(Some(match (&drawer.embedding, record.vector) {
                (Some(_), VectorLocation::Queue(_)) => "queue",
                (Some(_), VectorLocation::Graph(_)) => "graph",
                (Some(_), VectorLocation::SetAside(..)) => "set aside",
                _ => "none",
            }));
        }
        Ok(drawer)
    }

    /// Reads the text of a record, and nothing else where that is possible.
    pub(crate) fn read_document(&self, record: &LiveRecord) -> Result<Option<String>> {
        let Some(row) = record
            .row
            .filter(|_| record.pending.is_empty() && !self.has_spare_texts)
        else {
            // The queue or a second copy may have the newer text.
            return Ok(self.read_content(record, true)?.document);
        };
        let mut document = None;
        let sql = "SELECT string_value FROM embedding_metadata WHERE id = ?1 AND key = 'chroma:document'";
        for_each_row(self.connection, "the texts", sql, &[&row], |found| {
            document = read_text(found, 0)?;
            Ok(())
        })?;
        Ok(document)
    }

    /// Reads the newest vector of a record, if there is one that fits the collection.
    pub(crate) fn read_vector(&self, record: &LiveRecord) -> Result<Option<Vec<f32>>> {
        let of = |graph: Option<&SegmentGraph>, element| match graph {
            Some(graph) => graph
                .read_vector(element)
                .map_err(|cause| failure::io_error("read", &graph.folder, cause)),
            None => Ok(None),
        };
        let vector = match record.vector {
            VectorLocation::Queue(sequence) => read_queued_vector(self.connection, sequence)?,
            VectorLocation::Graph(element) => {
                self.prefer_written(of(self.graph, element)?, record.written)?
            }
            VectorLocation::SetAside(graph, element) => of(self.set_aside.get(usize::from(graph)), element)?,
            VectorLocation::Missing => None,
        };
        // A damaged queue or graph can yield a vector of another
        // length or of NaNs; the contract allows neither.
        let fits = |vector: &Vec<f32>| {
            self.dimension.is_none_or(|dimension| dimension == vector.len())
                && vector.iter().all(|value| value.is_finite())
        };
        Ok(vector.filter(fits))
    }

    /// Returns the vector as it was written, if the queue still has it: a cosine graph keeps it normalised.
    fn prefer_written(&self, stored: Option<Vec<f32>>, written: Option<i64>) -> Result<Option<Vec<f32>>> {
        let is_exact = self.graph.is_some_and(|graph| !graph.normalised);
        let Some(sequence) = written.filter(|_| stored.is_none() || !is_exact) else {
            return Ok(stored);
        };
        let written = read_queued_vector(self.connection, sequence)?;
        Ok(match (stored, written) {
            // Not by their lengths: those of the graph are in a file of their own, which may be damaged.
            (Some(stored), Some(written)) if !have_same_direction(&stored, &written) => Some(stored),
            (stored, written) => written.or(stored),
        })
    }

    fn read_content(&self, record: &LiveRecord, with_document: bool) -> Result<RecordContent> {
        let mut content = RecordContent::default();
        if let Some(row) = record.row {
            self.read_rows(row, with_document, &mut content)?;
        }
        // Oldest first: each write replaces the keys it names.
        for sequence in &record.pending {
            self.apply_queued_write(*sequence, &mut content)?;
        }
        Ok(content)
    }

    fn read_rows(&self, row: i64, with_document: bool, content: &mut RecordContent) -> Result<()> {
        let sql = match (self.has_truths, with_document) {
            (true, true) => metadata!("bool_value", ""),
            (true, false) => metadata!("bool_value", " AND key <> 'chroma:document'"),
            (false, true) => metadata!("NULL", ""),
            (false, false) => metadata!("NULL", " AND key <> 'chroma:document'"),
        };
        for_each_row(self.connection, "the metadata", sql, &[&row], |found| {
            let key = read_text(found, 0)?.unwrap_or_default();
            content.set_value(key, read_scalar(found, 1)?);
            Ok(())
        })?;
        if self.has_lists {
            self.read_lists(row, content)?;
        }
        // In a salvaged database the document row may be lost while the full text's second copy survived.
        if with_document && self.has_spare_texts && content.document.is_none() {
            let sql = "SELECT c0 FROM embedding_fulltext_search_content WHERE id = ?1";
            for_each_row(self.connection, "the spare texts", sql, &[&row], |found| {
                content.document = read_text(found, 0)?;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Returns the time at which the row was made, or else the first write to it that is still queued.
    fn read_creation(&self, record: &LiveRecord, content: &RecordContent) -> Result<Option<String>> {
        let mut created = None;
        if let Some(row) = record.row {
            let sql = "SELECT created_at FROM embeddings WHERE id = ?1";
            for_each_row(self.connection, "the rows", sql, &[&row], |found| {
                created = read_text(found, 0)?;
                Ok(())
            })?;
        }
        Ok(created.or_else(|| content.queued.clone()))
    }

    pub(crate) fn read_lists(&self, row: i64, content: &mut RecordContent) -> Result<()> {
        let mut lists: std::collections::BTreeMap<String, Vec<MetadataScalar>> = Default::default();
        let sql = "SELECT key, string_value, int_value, float_value, bool_value FROM embedding_metadata_array \
                   WHERE id = ?1 ORDER BY rowid";
        for_each_row(self.connection, "the metadata", sql, &[&row], |found| {
            let key = read_text(found, 0)?.unwrap_or_default();
            lists.entry(key).or_default().extend(read_scalar(found, 1)?);
            Ok(())
        })?;
        for (key, list) in lists.into_iter().filter(|(key, _)| !key.is_empty()) {
            content.metadata.insert(key, MetadataValue::Many(list));
        }
        Ok(())
    }

    /// Applies a write that is not in the row yet, as Chroma would: a key replaces, null removes.
    fn apply_queued_write(&self, sequence: i64, content: &mut RecordContent) -> Result<()> {
        let mut written = None;
        let sql = "SELECT metadata, created_at FROM embeddings_queue WHERE seq_id = ?1";
        for_each_row(self.connection, "the write queue", sql, &[&sequence], |row| {
            written = read_text(row, 0)?;
            content.queued = content.queued.take().or(read_text(row, 1)?);
            Ok(())
        })?;
        match written.as_deref().map(serde_json::from_str::<Json>) {
            Some(Ok(Json::Object(keys))) => {
                for (key, value) in keys {
                    content.overwrite_value(key, &value);
                }
            }
            Some(Ok(Json::Null)) | None => {}
            Some(_) => content.oddities.push(format!(
                "the metadata of the queued write {sequence} cannot be read"
            )),
        }
        Ok(())
    }
}

/// Reads the vector of a write in the queue.
pub(crate) fn read_queued_vector(connection: &Connection, sequence: i64) -> Result<Option<Vec<f32>>> {
    let mut vector = None;
    let sql = "SELECT vector, encoding FROM embeddings_queue WHERE seq_id = ?1";
    for_each_row(connection, "the write queue", sql, &[&sequence], |row| {
        // Chroma's queue knows two encodings; FLOAT32 is the default where none is named.
        let whole = read_text(row, 1)?.is_some_and(|encoding| encoding == "INT32");
        if let ValueRef::Blob(bytes) = row.get_ref(0)? {
            vector = Some(decode_numbers(bytes, whole));
        }
        Ok(())
    })?;
    Ok(vector)
}

/// Returns whether two vectors are the same but for the rounding of a normalisation.
pub(crate) fn are_nearly_equal(one: &[f32], other: &[f32]) -> bool {
    differ_by_factor(one, other, 1.0)
}

/// Returns whether two vectors are the same but for their lengths and the rounding of a normalisation.
pub(crate) fn have_same_direction(one: &[f32], other: &[f32]) -> bool {
    let (length, factor) = (length_of(one), length_of(other));
    // Without a direction there is none to compare.
    if length == 0.0 || factor == 0.0 {
        return are_nearly_equal(one, other);
    }
    differ_by_factor(one, other, length / factor)
}

/// Returns whether `one` is `other` times `factor`, but for rounding.
fn differ_by_factor(one: &[f32], other: &[f32], factor: f64) -> bool {
    // A few units in the last place of a value as large as the whole vector.
    let slack = length_of(one) * f64::from(f32::EPSILON) * 8.0;
    let near = |(one, other): (&f32, &f32)| (f64::from(*one) - f64::from(*other) * factor).abs() <= slack;
    one.len() == other.len() && one.iter().zip(other).all(near)
}

fn length_of(vector: &[f32]) -> f64 {
    let square: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
    square.sqrt()
}

impl RecordContent {
    pub(crate) fn set_value(&mut self, key: String, value: Option<MetadataScalar>) {
        match (key.as_str(), value) {
            (DOCUMENT, Some(MetadataScalar::Text(document))) => self.document = Some(document),
            // A key without any value: Chroma's own API omits it as well.
            (_, None) => {}
            ("", Some(_)) => self.oddities.push("a metadata key is empty".to_owned()),
            (_, Some(MetadataScalar::Float(float))) if !float.is_finite() => {
                self.oddities
                    .push(format!("metadata.{key} is not a finite number"));
                // Metadata has no infinite or undefined numbers; as text the value is at least not lost.
                self.metadata.insert(key, float.to_string());
            }
            (_, Some(scalar)) => self.metadata.insert(key, MetadataValue::One(scalar)),
        }
    }

    fn overwrite_value(&mut self, key: String, value: &Json) {
        match (key.as_str(), value) {
            (DOCUMENT, Json::String(document)) => self.document = Some(document.clone()),
            // A null document removes the text, unlike a write that does not name the key at all.
            (DOCUMENT, _) => self.document = None,
            (_, Json::Null) => drop(self.metadata.remove(&key)),
            ("", _) => self.oddities.push("a metadata key is empty".to_owned()),
            (_, value) => match MetadataValue::from_json(value, "metadata") {
                Ok(value) => self.metadata.insert(key, value),
                Err(_) => {
                    self.oddities
                        .push(format!("metadata.{key} is not a single value"));
                    self.metadata.insert(key, value.to_string());
                }
            },
        }
    }
}

/// Returns the value of a metadata row: the first of the four columns from `first` on that is set.
pub(crate) fn read_scalar(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<MetadataScalar>> {
    if let Some(string) = read_text(row, first)? {
        return Ok(Some(MetadataScalar::Text(string)));
    }
    Ok(
        match (
            row.get_ref(first + 1)?,
            row.get_ref(first + 2)?,
            row.get_ref(first + 3)?,
        ) {
            (ValueRef::Integer(int), ..) => Some(MetadataScalar::Int(int)),
            (_, ValueRef::Real(float), _) => Some(MetadataScalar::Float(float)),
            // On disk SQLite writes 3.0 as an integer and converts it back only if the column is declared REAL,
            // which a salvaged table may have lost.
            (_, ValueRef::Integer(int), _) => Some(MetadataScalar::Float(int as f64)),
            (.., ValueRef::Integer(truth)) => Some(MetadataScalar::Bool(truth != 0)),
            _ => None,
        },
    )
}

fn decode_numbers(bytes: &[u8], whole: bool) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    let read = |number: &[u8; 4]| {
        if whole {
            i32::from_le_bytes(*number) as f32
        } else {
            f32::from_le_bytes(*number)
        }
    };
    numbers.iter().map(read).collect()
}
