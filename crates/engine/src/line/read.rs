//! Reads a line as a drawer to be filed; a field that would be dropped is refused by name.

use std::fmt;

use loci_core::{
    CollectionName, DrawerContext, DrawerId, DrawerPlace, Error, Metadata, NewDrawer, Provenance, Result,
    SourceSpan, Timestamp,
};
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value as Json};

use crate::derive_id;
use crate::seal::SealedSpan;

/// The drawer of a line, and the collection the line names.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenLine {
    /// The collection, if the line names one.
    pub collection: Option<CollectionName>,
    /// The drawer; its id is derived from its content if the line has none.
    pub drawer: NewDrawer,
    /// The labels in it that stand for secrets.
    pub seals: Vec<SealedSpan>,
}

/// Reads one line; an error names the field that is invalid, unknown or duplicated.
pub fn read_line(text: &str) -> Result<GivenLine> {
    let fields: LineFields = parse_json("the line", text)?;
    let metadata = match fields.metadata {
        Some(MetadataEntries(map)) => Metadata::from_json(&Json::Object(map))?,
        None => Metadata::new(),
    };
    let place = DrawerPlace {
        wing: fields.wing,
        room: fields.room,
        source: fields.source,
        span: fields.span.map(Into::into),
        speaker: fields.speaker,
        kind: fields.kind,
        said_at: fields.said_at,
    };
    // The id is derived from the place as it will be filed, so a wing in the metadata and one in a field give the same
    // id. The line's own place is stored, because filing completes it again.
    let completed = place.complete_from(&metadata)?;
    let id = fields
        .id
        .unwrap_or_else(|| derive_id(&completed, fields.text.as_deref().unwrap_or_default()));
    Ok(GivenLine {
        collection: fields.collection,
        seals: fields.seals.unwrap_or_default(),
        drawer: NewDrawer {
            id,
            wordless: fields.text.is_none(),
            document: fields.text.unwrap_or_default(),
            context: fields.context.map(Into::into),
            metadata,
            place,
            filed_at: fields.filed_at,
            provenance: fields.provenance,
            uses: fields.uses.unwrap_or(0),
            embedding: fields.embedding,
        },
    })
}

/// Parses a vector from a JSON array of numbers, each rounded to the nearest 32-bit float.
pub fn parse_vector(text: &str) -> Result<Vec<f32>> {
    parse_json("the vector", text)
        .map_err(|error| error.with_hint("write a vector as a JSON array of numbers, like [0.1, -2, 3e-4]"))
}

/// Parses metadata from a JSON object, refusing duplicate keys.
pub fn parse_metadata(text: &str) -> Result<Metadata> {
    let MetadataEntries(map) = parse_json("the metadata", text)?;
    Metadata::from_json(&Json::Object(map))
}

fn parse_json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|cause| {
        // serde_json calls every text line 1, which would contradict the line number that callers report.
        let words = cause.to_string();
        let place = format!(" at line {} column {}", cause.line(), cause.column());
        let words = words.strip_suffix(&place).unwrap_or(&words);
        let wrong = match cause.classify() {
            serde_json::error::Category::Data => "is not as expected",
            _ => "is not JSON",
        };
        Error::invalid(format!("{what} {wrong}: {words} (column {})", cause.column()))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineFields {
    collection: Option<CollectionName>,
    id: Option<DrawerId>,
    /// Required; null means that the drawer has no text at all.
    // serde takes an absent `Option` for null; naming the function makes the field required.
    #[serde(alias = "document", deserialize_with = "Option::deserialize")]
    text: Option<String>,
    metadata: Option<MetadataEntries>,
    embedding: Option<Vec<f32>>,
    wing: Option<String>,
    room: Option<String>,
    source: Option<String>,
    span: Option<SpanFields>,
    speaker: Option<String>,
    kind: Option<String>,
    said_at: Option<Timestamp>,
    filed_at: Option<Timestamp>,
    provenance: Option<Provenance>,
    context: Option<ContextFields>,
    uses: Option<u64>,
    seals: Option<Vec<SealedSpan>>,
    /// Accepted and ignored, because it follows from the other fields: lines of any `--json` output can be read back.
    #[serde(rename = "trust")]
    _trust: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpanFields {
    start: u64,
    end: u64,
    line_start: u64,
    line_end: u64,
}

impl From<SpanFields> for SourceSpan {
    fn from(fields: SpanFields) -> Self {
        Self {
            start: fields.start,
            end: fields.end,
            line_start: fields.line_start,
            line_end: fields.line_end,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextFields {
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
}

impl From<ContextFields> for DrawerContext {
    fn from(fields: ContextFields) -> Self {
        Self {
            before: fields.before,
            after: fields.after,
        }
    }
}

/// A JSON object without duplicate keys.
struct MetadataEntries(Map<String, Json>);

impl<'de> Deserialize<'de> for MetadataEntries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(MetadataEntriesVisitor)
    }
}

struct MetadataEntriesVisitor;

impl<'de> Visitor<'de> for MetadataEntriesVisitor {
    type Value = MetadataEntries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> std::result::Result<MetadataEntries, A::Error> {
        let mut map = Map::new();
        // serde_json's own map would silently keep the last of two values.
        while let Some(key) = access.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!(
                    "the metadata key {key:?} appears twice"
                )));
            }
            let value = access.next_value()?;
            map.insert(key, value);
        }
        Ok(MetadataEntries(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str, named: &str) {
        let error = read_line(text).unwrap_err();
        assert!(error.to_string().contains(named), "{text}: {error}");
    }

    #[test]
    fn a_line_may_say_that_there_is_no_text() {
        let line = read_line(r#"{"id":"a","text":null}"#).unwrap();
        assert!(line.drawer.wordless && line.drawer.document.is_empty());
        assert!(!read_line(r#"{"id":"a","text":""}"#).unwrap().drawer.wordless);
    }

    #[test]
    fn a_line_may_give_a_text_alone_under_either_name() {
        let line = read_line(r#"{"text":"hello"}"#).unwrap();
        assert_eq!(line.drawer.id, derive_id(&DrawerPlace::default(), "hello"));
        assert_eq!(line.collection, None);
        assert_eq!(line.drawer.embedding, None);
        assert_eq!(read_line(r#"{"document":"hello"}"#).unwrap(), line);
    }

    #[test]
    fn fields_that_are_null_are_not_given() {
        let line = read_line(
            r#"{"id":null,"text":"","metadata":null,"embedding":null,"wing":null,"room":null,"source":null,
            "span":null,"speaker":null,"kind":null,"said_at":null,"filed_at":null,"context":null,"uses":null}"#,
        )
        .unwrap();
        assert_eq!(line.drawer.place, DrawerPlace::default());
    }

    #[test]
    fn a_derived_id_sees_the_place_in_the_metadata() {
        let field = read_line(r#"{"text":"x","wing":"w"}"#).unwrap();
        let metadata = read_line(r#"{"text":"x","metadata":{"wing":"w"}}"#).unwrap();
        assert_eq!(field.drawer.id, metadata.drawer.id);
        assert_ne!(field.drawer.id, derive_id(&DrawerPlace::default(), "x"));
    }

    #[test]
    fn what_would_be_dropped_is_refused_by_name() {
        refused(r#"{"text":"x","wings":"w"}"#, "wings");
        refused(r#"{"text":"x","text":"y"}"#, "text");
        refused(r#"{"text":"x","document":"y"}"#, "text");
        refused(r#"{"text":"x","metadata":{"a":1,"a":2}}"#, "\"a\" appears twice");
        refused(r#"{"text":"x","metadata":{"a":{"b":1}}}"#, "metadata.a");
        refused(r#"{"text":"x","metadata":[1]}"#, "metadata");
        refused(r#"{"text":"x","context":{"befor":"y"}}"#, "befor");
        refused(r#"{"text":"x","span":{"start":1}}"#, "end");
        refused(
            r#"{"text":"x","wing":"a","metadata":{"wing":"b"}}"#,
            "wing is given twice",
        );
        refused(r#"{"id":"x"}"#, "text");
        refused(r#"{"text":"x","id":""}"#, "id is empty");
        refused(r#"{"text":"x","collection":"a b"}"#, "collection name");
        refused(r#"{"text":"x","said_at":"yesterday"}"#, "yesterday");
        refused(r#"{"text":"x","uses":-1}"#, "-1");
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_column() {
        refused(r#"{"text":"x","embedding":[NaN]}"#, "not JSON");
        refused(r#"{"text":"x" "#, "column 12");
        refused(r#"{"text":"\ud800"}"#, "not JSON");
        refused(r#"{"text":"x","embedding":[1,null]}"#, "null");
        refused(r#""text""#, "not as expected");
        refused("", "not JSON");
    }

    #[test]
    fn numbers_beyond_a_float_are_refused_or_not_finite() {
        for text in ["[1e39]", "[1e400]", "[-1e39]"] {
            let refused = match parse_vector(text) {
                Err(_) => true,
                Ok(vector) => loci_core::vector::check_values(&vector).is_err(),
            };
            assert!(refused, "{text}");
        }
        assert_eq!(
            parse_vector("[1, -2.5, 3e-4]").unwrap(),
            [1.0_f32, -2.5, 3e-4_f32]
        );
    }
}
