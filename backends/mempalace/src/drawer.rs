//! Turns a row into a drawer: its text, its metadata, its place and its vector.

use std::cell::RefCell;

use loci_core::{
    Drawer, DrawerFields, DrawerId, Error, ErrorKind, Metadata, MetadataValue, Metric, Result, VectorOrigin,
};
use loci_foreign::mempalace::{parse_time, place_from_metadata};
use loci_foreign::scan::{ScanMemory, ScannedRecords};
use rusqlite::types::ValueRef;
use serde_json::Value as Json;

use crate::database::ExactDatabase;
use crate::shelf::{ExactRecord, ExactShelf};

/// The metadata key for an id that is not a valid drawer id.
const OWN_ID: &str = "sqlite_exact:id";
/// The metadata key for metadata that is not JSON.
const RAW_METADATA: &str = "sqlite_exact:metadata_json";

/// The records of a collection that are being read.
pub(crate) struct ExactView<'a> {
    /// The database.
    pub(crate) database: &'a ExactDatabase,
    /// The records.
    pub(crate) shelf: &'a ExactShelf,
}

/// The metadata of a record, and what is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct ReadMetadata {
    /// The metadata.
    pub(crate) metadata: Metadata,
    /// The parts that are not as MemPalace writes them.
    pub(crate) oddities: Vec<String>,
}

impl ReadMetadata {
    /// Parses the metadata of a row. Nothing of it is dropped, whatever it is.
    pub(crate) fn parse(text: &str) -> Self {
        let mut read = Self::default();
        match serde_json::from_str(text) {
            Ok(Json::Object(entries)) => {
                for (key, value) in entries {
                    read.add_value(key, &value);
                }
            }
            Ok(Json::Null) => {}
            _ => {
                read.oddities
                    .push("its metadata is not a JSON object; it is kept as text".to_owned());
                read.metadata.insert(RAW_METADATA, text);
            }
        }
        read
    }

    fn add_value(&mut self, key: String, value: &Json) {
        if key.is_empty() {
            self.oddities.push("a metadata key is empty".to_owned());
            self.metadata.insert(RAW_METADATA, value.to_string());
            return;
        }
        match (value, MetadataValue::from_json(value, "metadata")) {
            // MemPalace treats a key without a value as absent.
            (Json::Null, _) => {}
            (_, Ok(value)) => self.metadata.insert(key, value),
            (_, Err(_)) => {
                self.oddities.push(format!(
                    "metadata.{key} is not a single value; it is kept as text"
                ));
                self.metadata.insert(key, value.to_string());
            }
        }
    }
}

/// Decodes a vector of little-endian floats, if it is one that the contract allows.
pub(crate) fn decode_vector(bytes: &[u8], dimension: Option<usize>) -> Option<Vec<f32>> {
    let (values, rest) = bytes.as_chunks::<4>();
    let vector: Vec<f32> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
    let fits = rest.is_empty()
        && !vector.is_empty()
        && dimension.is_none_or(|dimension| dimension == vector.len())
        && vector.iter().all(|value| value.is_finite());
    fits.then_some(vector)
}

impl ExactView<'_> {
    fn record(&self, at: usize) -> Result<&ExactRecord> {
        let record = self.shelf.records.get(at);
        record.ok_or_else(|| Error::invalid("the record does not exist"))
    }

    /// Reads a column of a row. A value on a damaged page is missing, and listed in `damage`.
    fn read_column<T>(
        &self,
        row: i64,
        column: &str,
        damage: &mut Vec<String>,
        convert: impl Fn(ValueRef<'_>) -> (T, Option<String>),
    ) -> Result<Option<T>> {
        let sql = format!("SELECT {column} FROM documents NOT INDEXED WHERE rowid = ?1");
        let mut found = None;
        let read = self.database.for_each_row("a row", &sql, &[&row], &mut |row| {
            found = Some(convert(row.get_ref(0)?));
            Ok(())
        });
        match read {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                damage.push(format!("its {column} is on a damaged page"));
                return Ok(None);
            }
            read => read?,
        }
        Ok(found.map(|(value, odd)| {
            damage.extend(odd);
            value
        }))
    }

    fn read_text_column(&self, row: i64, column: &str, damage: &mut Vec<String>) -> Result<Option<String>> {
        let convert = |value: ValueRef<'_>| match value {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                let odd = matches!(text, std::borrow::Cow::Owned(_));
                let odd = odd.then(|| format!("its {column} is not UTF-8; invalid bytes were replaced"));
                (Some(text.into_owned()), odd)
            }
            _ => (None, Some(format!("its {column} is not text"))),
        };
        Ok(self.read_column(row, column, damage, convert)?.flatten())
    }

    fn read_vector_column(&self, row: i64, damage: &mut Vec<String>) -> Result<Option<Vec<f32>>> {
        let dimension = self.shelf.listed.dimension;
        let convert = |value: ValueRef<'_>| match value {
            ValueRef::Blob([]) | ValueRef::Null => (None, None),
            ValueRef::Blob(bytes) => {
                let vector = decode_vector(bytes, dimension);
                let odd = format!(
                    "its vector of {} bytes cannot be one of this collection",
                    bytes.len()
                );
                let odd = vector.is_none().then_some(odd);
                (vector, odd)
            }
            _ => (None, Some("its vector is not made of bytes".to_owned())),
        };
        Ok(self.read_column(row, "embedding", damage, convert)?.flatten())
    }
}

impl ScannedRecords for ExactView<'_> {
    fn count(&self) -> usize {
        self.shelf.records.len()
    }

    fn in_row_order(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        Box::new(self.shelf.row_order.iter().map(|at| *at as usize))
    }

    fn search_id(&self, id: &DrawerId) -> std::result::Result<usize, usize> {
        self.shelf.records.binary_search_by(|record| record.id.cmp(id))
    }

    fn read_drawer(&self, at: usize, include: DrawerFields) -> Result<Drawer> {
        let record = self.record(at)?;
        let mut drawer = Drawer::with_id_only(record.id.clone());
        let damage = &mut drawer.damage;
        let text = self.read_text_column(record.row, "metadata_json", damage)?;
        let mut read = ReadMetadata::parse(text.as_deref().unwrap_or("null"));
        damage.append(&mut read.oddities);
        if let Some(own) = &record.odd_id {
            read.metadata.insert(OWN_ID, &**own);
            damage.push(format!(
                "its own id has {} bytes, which is not a valid length for a drawer id",
                own.len()
            ));
        }
        // MemPalace's own time comes first: `created_at` only records when the row was made.
        let filed = read.metadata.get("filed_at").and_then(MetadataValue::as_text);
        drawer.filed_at = match filed.and_then(parse_time) {
            Some(filed) => Some(filed),
            None => self
                .read_text_column(record.row, "created_at", damage)?
                .as_deref()
                .and_then(parse_time),
        };
        drawer.place = place_from_metadata(&read.metadata);
        if include.document {
            drawer.document = self.read_text_column(record.row, "document", damage)?;
        }
        if include.embedding {
            drawer.embedding = self.read_vector_column(record.row, damage)?;
            let from = drawer.embedding.as_ref().map_or("none", |_| "row");
            drawer.vector_from = VectorOrigin(Some(from));
        }
        if include.metadata {
            drawer.metadata = Some(read.metadata);
        }
        Ok(drawer)
    }

    fn read_text(&self, at: usize) -> Result<Option<String>> {
        let record = self.record(at)?;
        self.read_text_column(record.row, "document", &mut Vec::new())
    }

    fn memory(&self) -> Option<&RefCell<ScanMemory>> {
        Some(&self.shelf.memory)
    }

    fn read_vector(&self, at: usize) -> Result<Option<Vec<f32>>> {
        self.read_vector_column(self.record(at)?.row, &mut Vec::new())
    }

    fn dimension(&self) -> Option<usize> {
        self.shelf.listed.dimension
    }

    fn metric(&self) -> Metric {
        Metric::Cosine
    }
}
