//! A drawer as a record of Chroma, and back.
//!
//! Metadata that Chroma keeps exactly are keys of the record, so that other programs see them, and the texts of the place
//! are, too. Everything else stands as JSON under [`NOTE`]. A record without that key was written by another program and
//! is read as the folder backend reads it.

use std::collections::BTreeMap;

use loci_core::{
    Drawer, DrawerContext, DrawerId, DrawerPlace, Metadata, MetadataScalar, MetadataValue, Metric,
    Provenance, Result, SourceSpan, Timestamp,
};
use loci_foreign::mempalace::{parse_time, place_from_metadata};
use loci_foreign::scan::substitute_id;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::base64::{decode_vector, encode_vector};
use crate::wire::RecordAnswer;

/// The key of everything that Chroma has no place for.
pub(crate) const NOTE: &str = "loci:record";
/// The key of the exact vector: a cosine collection of Chroma normalises vectors, and returns rounded ones.
const VECTOR: &str = "loci:vector";
/// The key of the hash by which the same piece of the same source is found.
pub(crate) const PIECE: &str = "loci:piece";
/// The metadata key for an id that is not a valid drawer id, as in the folder backend.
const OWN_ID: &str = "chroma:id";

/// The parts of a drawer that are not keys of its record.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct RecordNote {
    /// The version of this note.
    version: u32,
    /// The keys of the record that are fields of the place and not metadata.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    placed: Vec<String>,
    /// Metadata that Chroma refuses or changes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    exact: BTreeMap<String, Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<SourceSpan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    said_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filed_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<Provenance>,
    #[serde(skip_serializing_if = "is_zero")]
    uses: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<DrawerContext>,
    #[serde(skip_serializing_if = "is_false")]
    wordless: bool,
    /// The number of the write, so that of two records with one id the newer one counts.
    written: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(truth: &bool) -> bool {
    !truth
}

/// A record read as a drawer, with what a later write of it needs to know.
#[derive(Debug, Clone)]
pub(crate) struct RecordedDrawer {
    pub(crate) drawer: Drawer,
    /// The keys of the record; a write removes those that it does not set.
    pub(crate) keys: Vec<String>,
    /// The number of the write that left it so; 0 for records of other programs.
    pub(crate) written: u64,
    /// Whether it lies in the collection for drawers without a vector.
    pub(crate) is_bare: bool,
    /// Whether an older state of it lies in the other collection, too, because a write was interrupted.
    pub(crate) is_double: bool,
    /// The id of its record; another than the drawer's if that one is too long.
    pub(crate) own_id: String,
}

/// Returns the metadata of the record of `drawer`, which must hold all its fields.
pub(crate) fn encode_metadata(drawer: &Drawer, metric: Metric, written: u64) -> Map<String, Json> {
    let mut record = Map::new();
    let mut note = RecordNote {
        version: 1,
        span: drawer.place.span,
        said_at: drawer.place.said_at.map(Timestamp::as_micros),
        filed_at: drawer.filed_at.map(Timestamp::as_micros),
        provenance: drawer.provenance.clone(),
        uses: drawer.uses,
        context: drawer.context.clone(),
        wordless: drawer.document.is_none(),
        written,
        ..RecordNote::default()
    };
    for (key, value) in drawer.metadata.iter().flat_map(Metadata::iter) {
        let placed = drawer.place.text_field(key);
        let json = serde_json::to_value(value).expect("metadata is always JSON");
        // A number under the name of a place field would hide the place from Chroma's own filters.
        if is_kept(key, value) && placed.is_none_or(|text| value.as_text() == Some(text)) {
            record.insert(key.to_owned(), json);
        } else {
            note.exact.insert(key.to_owned(), json);
        }
    }
    for key in DrawerPlace::TEXT_KEYS {
        if let Some(text) = drawer.place.text_field(key)
            && !record.contains_key(key)
        {
            record.insert(key.to_owned(), Json::from(text));
            note.placed.push(key.to_owned());
        }
    }
    if let Some(vector) = drawer.embedding.as_deref().filter(|_| metric == Metric::Cosine) {
        record.insert(VECTOR.to_owned(), Json::from(encode_vector(vector)));
    }
    if let Some(piece) = hash_piece(drawer) {
        record.insert(PIECE.to_owned(), Json::from(piece));
    }
    let note = serde_json::to_string(&note).expect("a note is always JSON");
    record.insert(NOTE.to_owned(), Json::from(note));
    record
}

/// Whether every release of Chroma keeps this metadata exactly.
fn is_kept(key: &str, value: &MetadataValue) -> bool {
    let plain = key
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let exact = match value {
        MetadataValue::One(MetadataScalar::Float(float)) => {
            // Integral floats could come back as integers.
            float.fract() != 0.0 && float.is_normal()
        }
        MetadataValue::One(_) => true,
        MetadataValue::Many(_) => false,
    };
    plain && !key.is_empty() && exact
}

/// Whether a filter for `text` under `key` may be left to the server: Loci keeps every such value as a key of its own.
pub(crate) fn is_native_key(key: &str) -> bool {
    is_kept(key, &MetadataValue::from("text"))
}

/// Returns the name of the piece of a source that a drawer is, if it is one.
pub(crate) fn hash_piece(drawer: &Drawer) -> Option<String> {
    let source = drawer.place.source.as_deref()?;
    let (document, span) = (drawer.document.as_deref()?, drawer.place.span?);
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(source.len() as u64).to_le_bytes());
    hasher.update(source.as_bytes());
    hasher.update(&span.start.to_le_bytes());
    hasher.update(document.as_bytes());
    Some(hasher.finalize().to_hex().to_string())
}

/// Reads a record as a drawer with everything that was asked for.
pub(crate) fn decode_record(record: RecordAnswer, is_bare: bool) -> Result<RecordedDrawer> {
    let keys = record.metadata.keys().cloned().collect();
    let mut metadata = record.metadata;
    let note = metadata.remove(NOTE);
    let exact_vector = metadata.remove(VECTOR);
    metadata.remove(PIECE);
    let mut damage = Vec::new();
    let note = note.and_then(|note| {
        let read = note.as_str().map(serde_json::from_str::<RecordNote>);
        match read {
            Some(Ok(note)) => Some(note),
            _ => {
                damage.push(format!("metadata.{NOTE} cannot be read"));
                None
            }
        }
    });
    let id = match DrawerId::new(record.id.as_str()) {
        Ok(id) => id,
        Err(_) => {
            damage.push(format!(
                "its own id has {} bytes, which is not a valid length for a drawer id",
                record.id.len()
            ));
            metadata.insert(OWN_ID.to_owned(), Json::from(record.id.as_str()));
            substitute_id(&record.id)?
        }
    };
    let mut drawer = Drawer::with_id_only(id);
    let written = note.as_ref().map_or(0, |note| note.written);
    let wordless = note.as_ref().is_some_and(|note| note.wordless);
    match note {
        Some(note) => fill_from_note(&mut drawer, note, metadata, &mut damage)?,
        None => fill_from_metadata(&mut drawer, metadata, &mut damage),
    }
    drawer.document = record.document.filter(|text| !(wordless && text.is_empty()));
    if !is_bare {
        let exact = exact_vector
            .as_ref()
            .and_then(Json::as_str)
            .and_then(decode_vector);
        drawer.embedding = choose_vector(record.embedding, exact);
    }
    drawer.damage = damage;
    Ok(RecordedDrawer {
        drawer,
        keys,
        written,
        is_bare,
        is_double: false,
        own_id: record.id,
    })
}

fn fill_from_note(
    drawer: &mut Drawer,
    note: RecordNote,
    mut keys: Map<String, Json>,
    damage: &mut Vec<String>,
) -> Result<()> {
    let mut place = DrawerPlace::default();
    for key in &note.placed {
        if let (Some(field), Some(Json::String(text))) = (place.text_field_mut(key), keys.remove(key)) {
            *field = Some(text);
        }
    }
    let mut metadata = read_metadata(keys, damage);
    for (key, value) in note.exact {
        match MetadataValue::from_json(&value, &key) {
            Ok(value) => metadata.insert(key, value),
            Err(error) => damage.push(error.to_string()),
        }
    }
    let time = |micros: Option<i64>| micros.map(Timestamp::from_micros).transpose();
    // Another program may have changed a key since: then the metadata are what it says.
    drawer.place = place.complete_from(&metadata).unwrap_or(place);
    drawer.place.span = note.span;
    drawer.place.said_at = time(note.said_at)?;
    drawer.filed_at = time(note.filed_at)?;
    drawer.provenance = note.provenance;
    drawer.uses = note.uses;
    drawer.context = note.context;
    drawer.metadata = Some(metadata);
    Ok(())
}

fn fill_from_metadata(drawer: &mut Drawer, keys: Map<String, Json>, damage: &mut Vec<String>) {
    let metadata = read_metadata(keys, damage);
    let filed = metadata.get("filed_at").and_then(MetadataValue::as_text);
    drawer.filed_at = filed.and_then(parse_time);
    drawer.place = place_from_metadata(&metadata);
    drawer.metadata = Some(metadata);
}

fn read_metadata(keys: Map<String, Json>, damage: &mut Vec<String>) -> Metadata {
    let mut metadata = Metadata::new();
    for (key, value) in keys {
        match MetadataValue::from_json(&value, &key) {
            _ if value.is_null() => {}
            _ if key.is_empty() => damage.push("a metadata key is empty".to_owned()),
            Ok(value) => metadata.insert(key, value),
            Err(_) => {
                damage.push(format!("metadata.{key} is not a single value"));
                metadata.insert(key, value.to_string());
            }
        }
    }
    metadata
}

/// Lengths in this range survive normalising and scaling back in single precision.
const COMFORTABLE: std::ops::Range<f64> = 1e-15..1e15;

/// Returns the vector as it was given, unless another program has replaced it since.
fn choose_vector(stored: Option<Vec<f32>>, exact: Option<Vec<f32>>) -> Option<Vec<f32>> {
    let (Some(stored), Some(exact)) = (&stored, &exact) else {
        return stored;
    };
    let length = |vector: &[f32]| {
        let square: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
        square.sqrt()
    };
    // Normalising and scaling back costs a few units in the last place of a value as large as the whole vector.
    let slack = length(exact) * f64::from(f32::EPSILON) * 16.0;
    let near = |(one, other): (&f32, &f32)| (f64::from(*one) - f64::from(*other)).abs() <= slack;
    // Of a very long or very short vector Chroma returns something that no longer resembles it.
    let same = stored.len() == exact.len()
        && (!COMFORTABLE.contains(&length(exact)) || stored.iter().zip(exact).all(near));
    Some(if same { exact.clone() } else { stored.clone() })
}

#[cfg(test)]
mod tests;
