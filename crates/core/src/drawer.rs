//! A drawer: one verbatim piece of text, its place, and its metadata.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DrawerId, Error, Metadata, MetadataScalar, MetadataValue, Provenance, Result, Timestamp};

/// A drawer as a backend returns it. Fields that a request did not include are `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawer {
    /// Its name within the collection.
    pub id: DrawerId,
    /// The text, verbatim; also `None` if it was requested and the drawer has no text at all.
    pub document: Option<String>,
    /// The metadata, exactly as it was given.
    pub metadata: Option<Metadata>,
    /// The place it is filed in and the source it came from.
    pub place: DrawerPlace,
    /// The filing time; set by the backend if the writer gave none.
    pub filed_at: Option<Timestamp>,
    /// The agent, door and origin it was filed by, if recorded.
    pub provenance: Option<Provenance>,
    /// The number of uses, as reported by the writer.
    pub uses: u64,
    /// The text indexed around the document, if requested.
    pub context: Option<DrawerContext>,
    /// The exact vector as it was given, if requested and present.
    pub embedding: Option<Vec<f32>>,
    /// The place the vector was read from, if it was requested and the backend keeps vectors in more than one
    /// place.
    pub vector_from: VectorOrigin,
    /// Descriptions of damage in the stored bytes of this drawer; empty for a sound one.
    pub damage: Vec<String>,
}

impl Drawer {
    /// Creates a drawer that has only its id, to be filled in.
    pub fn with_id_only(id: DrawerId) -> Self {
        Self {
            id,
            document: None,
            metadata: None,
            place: DrawerPlace::default(),
            filed_at: None,
            provenance: None,
            uses: 0,
            context: None,
            embedding: None,
            vector_from: VectorOrigin::default(),
            damage: Vec::new(),
        }
    }

    /// Returns whether two drawers hold the same, wherever and whether their vectors were read.
    pub fn is_same_apart_from_vector(&self, other: &Self) -> bool {
        // Destructured, so that a new field cannot be forgotten here: writers rely on it to overwrite nothing.
        let Self {
            id,
            document,
            metadata,
            place,
            filed_at,
            provenance,
            uses,
            context,
            embedding: _,
            vector_from: _,
            damage: _,
        } = self;
        (id, document, place, filed_at, provenance, uses, context)
            == (
                &other.id,
                &other.document,
                &other.place,
                &other.filed_at,
                &other.provenance,
                &other.uses,
                &other.context,
            )
            && metadata == &other.metadata
    }

    /// Returns the value that filters compare under `key`: the field of [`DrawerPlace`] of that name if it is set, else
    /// the metadata value if it is a single scalar. Times are microseconds since 1970.
    pub fn attribute(&self, key: &str) -> Option<Cow<'_, MetadataScalar>> {
        // `filed_at` is not a field of the place, but filters address it in the same way.
        let filed_at = || {
            self.filed_at
                .map(|time| Cow::Owned(MetadataScalar::Int(time.as_micros())))
        };
        let placed = match key {
            "filed_at" => filed_at(),
            _ => self.place.attribute(key).map(Cow::Owned),
        };
        // The place wins over the metadata, since it was completed from it; a key that is no place field
        // is found only there.
        placed.or_else(|| match self.metadata.as_ref()?.get(key)? {
            MetadataValue::One(scalar) => Some(Cow::Borrowed(scalar)),
            MetadataValue::Many(_) => None,
        })
    }

    /// Returns the list members that filters look for under `key`: those of the metadata value, if it is a list and
    /// no field of [`DrawerPlace`] of that name is set.
    pub fn list_members(&self, key: &str) -> &[MetadataScalar] {
        let value = self.metadata.as_ref().and_then(|metadata| metadata.get(key));
        match value {
            // A set place field hides a list under the same key, as it hides a scalar in `attribute`.
            Some(MetadataValue::Many(members)) if self.place.attribute(key).is_none() => members,
            _ => &[],
        }
    }
}

/// The place a backend read a vector from, in the backend's own terms; `None` if it has none.
///
/// It is no part of the drawer's value: two drawers are equal wherever their vectors were found.
#[derive(Debug, Clone, Copy, Default)]
pub struct VectorOrigin(pub Option<&'static str>);

// Always equal, so that the derived equality of drawers compares contents: a migration check must not
// fail because one side read its vectors from a different file.
impl PartialEq for VectorOrigin {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// The place a drawer is filed in and the source it was cut from.
///
/// Each text field, and `said_at`, may also be given as a metadata key of the same name. The two are the same value
/// and are refused if they disagree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DrawerPlace {
    /// The project, person or agent.
    pub wing: Option<String>,
    /// The topic within the wing.
    pub room: Option<String>,
    /// The file, conversation or note it was cut from.
    pub source: Option<String>,
    /// The part of the source it covers.
    pub span: Option<SourceSpan>,
    /// The speaker.
    pub speaker: Option<String>,
    /// The kind of text.
    pub kind: Option<String>,
    /// The time it was said.
    pub said_at: Option<Timestamp>,
}

impl DrawerPlace {
    /// The text fields that share their value with a metadata key of the same name.
    pub const TEXT_KEYS: [&'static str; 5] = ["wing", "room", "source", "speaker", "kind"];

    /// Returns the text field called `key`.
    pub fn text_field(&self, key: &str) -> Option<&str> {
        match key {
            "wing" => self.wing.as_deref(),
            "room" => self.room.as_deref(),
            "source" => self.source.as_deref(),
            "speaker" => self.speaker.as_deref(),
            "kind" => self.kind.as_deref(),
            _ => None,
        }
    }

    /// Returns the text field called `key` for writing; `None` for any other key.
    pub fn text_field_mut(&mut self, key: &str) -> Option<&mut Option<String>> {
        match key {
            "wing" => Some(&mut self.wing),
            "room" => Some(&mut self.room),
            "source" => Some(&mut self.source),
            "speaker" => Some(&mut self.speaker),
            "kind" => Some(&mut self.kind),
            _ => None,
        }
    }

    fn attribute(&self, key: &str) -> Option<MetadataScalar> {
        match key {
            "said_at" => self.said_at.map(|time| MetadataScalar::Int(time.as_micros())),
            _ => self
                .text_field(key)
                .map(|text| MetadataScalar::Text(text.to_owned())),
        }
    }

    /// Returns this place with its empty fields filled from metadata keys of the same name; fails if both are given
    /// and differ.
    pub fn complete_from(&self, metadata: &Metadata) -> Result<Self> {
        let mut place = self.clone();
        for key in Self::TEXT_KEYS {
            // A number or list under a place key stays plain metadata: palaces of other tools hold such values, and
            // refusing them would refuse the whole drawer.
            let Some(given) = metadata.get(key).and_then(MetadataValue::as_text) else {
                continue;
            };
            let Some(field) = place.text_field_mut(key) else {
                continue;
            };
            match field {
                Some(own) if own != given => return Err(conflicting_field_error(key, own, given)),
                Some(_) => {}
                None => *field = Some(given.to_owned()),
            }
        }
        // Text that does not parse as a time stays metadata too, for the same reason.
        let said = metadata.get("said_at").and_then(MetadataValue::as_text);
        if let Some(given) = said.and_then(|text| text.parse::<Timestamp>().ok()) {
            match place.said_at {
                Some(own) if own != given => {
                    return Err(conflicting_field_error(
                        "said_at",
                        &own.to_string(),
                        &given.to_string(),
                    ));
                }
                _ => place.said_at = Some(given),
            }
        }
        Ok(place)
    }
}

fn conflicting_field_error(key: &str, own: &str, given: &str) -> Error {
    Error::invalid(format!(
        "{key} is given twice and differs: {own:?} as a field, {given:?} in the metadata"
    ))
    .with_hint(format!("give {key} once"))
}

/// The part of a source that a drawer covers: bytes from `start` up to `end`, and their lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceSpan {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// First line, counted from 1.
    pub line_start: u64,
    /// Last line, counted from 1.
    pub line_end: u64,
}

impl SourceSpan {
    /// Refuses spans that end before they start, or that exceed any possible file.
    pub fn check_range(&self) -> Result<()> {
        // Backends store these as signed 64-bit integers.
        let fits = [self.start, self.end, self.line_start, self.line_end]
            .iter()
            .all(|n| i64::try_from(*n).is_ok());
        if !fits || self.start > self.end || self.line_start > self.line_end {
            return Err(Error::invalid(format!(
                "the span {}..{} (lines {} to {}) is not a valid part of a source",
                self.start, self.end, self.line_start, self.line_end
            )));
        }
        Ok(())
    }
}

/// Short text indexed and embedded together with a document, kept with the row and never returned as the document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DrawerContext {
    /// Headings, speaker, date and the end of the preceding text.
    pub before: String,
    /// The beginning of the following text.
    pub after: String,
}

impl DrawerContext {
    /// Returns the text an index sees: `document` between the parts of `context`.
    pub fn indexed_text<'a>(context: Option<&Self>, document: &'a str) -> Cow<'a, str> {
        match context {
            // Newlines keep the parts apart: words at a seam must not run together into one.
            Some(around) if !(around.before.is_empty() && around.after.is_empty()) => {
                Cow::Owned(format!("{}\n{}\n{}", around.before, document, around.after))
            }
            _ => Cow::Borrowed(document),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_completed_from_metadata_of_the_same_name() {
        let metadata = Metadata::new()
            .with_entry("wing", "w")
            .with_entry("said_at", "2026-01-02")
            .with_entry("room", 3_i64);
        let place = DrawerPlace::default().complete_from(&metadata).unwrap();
        assert_eq!(place.wing.as_deref(), Some("w"));
        assert_eq!(place.said_at, Some("2026-01-02".parse().unwrap()));
        assert_eq!(place.room, None, "a number is not a room");
    }

    #[test]
    fn a_place_given_twice_must_agree() {
        let metadata = Metadata::new().with_entry("wing", "w");
        let same = DrawerPlace {
            wing: Some("w".into()),
            ..DrawerPlace::default()
        };
        let other = DrawerPlace {
            wing: Some("x".into()),
            ..DrawerPlace::default()
        };
        assert!(same.complete_from(&metadata).is_ok());
        let error = other.complete_from(&metadata).unwrap_err();
        assert!(error.message().contains("wing is given twice"), "{error}");
    }

    #[test]
    fn indexed_text_holds_the_context_around_the_document() {
        let context = DrawerContext {
            before: "b".into(),
            after: "a".into(),
        };
        assert_eq!(DrawerContext::indexed_text(Some(&context), "doc"), "b\ndoc\na");
        assert_eq!(
            DrawerContext::indexed_text(Some(&DrawerContext::default()), "doc"),
            "doc"
        );
        assert_eq!(DrawerContext::indexed_text(None, "doc"), "doc");
    }
}
