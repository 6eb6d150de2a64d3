//! A drawer: one verbatim piece of text, where it is filed, and what is known of it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{DrawerId, Error, Metadata, Provenance, Result, Scalar, Timestamp, Value};

/// A drawer as a backend returns it. What a request did not include is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawer {
    /// Its name within the collection.
    pub id: DrawerId,
    /// The text, verbatim; `None` also where it was asked for and the drawer has none at all.
    pub document: Option<String>,
    /// What is known beside the text, exactly as it was given.
    pub metadata: Option<Metadata>,
    /// Where it is filed and where it came from.
    pub place: Place,
    /// When it was filed; set by the backend where the writer gave none.
    pub filed_at: Option<Timestamp>,
    /// Who filed it, through which door and from where, if that was recorded.
    pub provenance: Option<Provenance>,
    /// How often it has been used, as far as the writer knew.
    pub uses: u64,
    /// The text indexed around the document, if asked for.
    pub context: Option<Context>,
    /// The exact vector as it was given, if asked for and if there is one.
    pub embedding: Option<Vec<f32>>,
    /// Where the vector was found, if that was asked for and the backend keeps vectors in more than one place.
    pub vector_from: Whereabouts,
    /// What is wrong with the stored bytes of this drawer; empty for a sound one.
    pub damage: Vec<String>,
}

impl Drawer {
    /// A drawer that has only its id, to be filled in.
    pub fn bare(id: DrawerId) -> Self {
        Self {
            id,
            document: None,
            metadata: None,
            place: Place::default(),
            filed_at: None,
            provenance: None,
            uses: 0,
            context: None,
            embedding: None,
            vector_from: Whereabouts::default(),
            damage: Vec::new(),
        }
    }

    /// What filters compare under `key`: the field of [`Place`] of that name where it is set, else the
    /// metadata value if it is a single scalar. Times are microseconds since 1970.
    pub fn attribute(&self, key: &str) -> Option<Cow<'_, Scalar>> {
        let filed_at = || {
            self.filed_at
                .map(|time| Cow::Owned(Scalar::Int(time.as_micros())))
        };
        let placed = match key {
            "filed_at" => filed_at(),
            _ => self.place.attribute(key).map(Cow::Owned),
        };
        placed.or_else(|| match self.metadata.as_ref()?.get(key)? {
            Value::One(scalar) => Some(Cow::Borrowed(scalar)),
            Value::Many(_) => None,
        })
    }

    /// The members that filters look for under `key`: the metadata value if it is a list and no field of [`Place`] of that
    /// name is set.
    pub fn members(&self, key: &str) -> &[Scalar] {
        let value = self.metadata.as_ref().and_then(|metadata| metadata.get(key));
        match value {
            Some(Value::Many(members)) if self.place.attribute(key).is_none() => members,
            _ => &[],
        }
    }
}

/// Where a backend found something, in its own word for the place, or that it is nowhere.
///
/// It says nothing about the thing itself: two drawers are equal wherever they were found.
#[derive(Debug, Clone, Copy, Default)]
pub struct Whereabouts(pub Option<&'static str>);

impl PartialEq for Whereabouts {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// Where a drawer is filed and what it was cut from.
///
/// Each text field, and `said_at`, may also be given as a metadata key of the same name; the two are one
/// thing and are refused where they disagree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// The project, person or agent.
    pub wing: Option<String>,
    /// The topic within the wing.
    pub room: Option<String>,
    /// What it was cut from: a file, a conversation, a note.
    pub source: Option<String>,
    /// Which part of the source it is.
    pub span: Option<Span>,
    /// Who said it.
    pub speaker: Option<String>,
    /// What kind of text it is.
    pub kind: Option<String>,
    /// When it was said.
    pub said_at: Option<Timestamp>,
}

impl Place {
    /// The text fields that are one with a metadata key of the same name.
    pub const TEXT_KEYS: [&'static str; 5] = ["wing", "room", "source", "speaker", "kind"];

    /// The text field called `key`.
    pub fn text(&self, key: &str) -> Option<&str> {
        match key {
            "wing" => self.wing.as_deref(),
            "room" => self.room.as_deref(),
            "source" => self.source.as_deref(),
            "speaker" => self.speaker.as_deref(),
            "kind" => self.kind.as_deref(),
            _ => None,
        }
    }

    /// The text field called `key`, to be set; `None` for any other key.
    pub fn text_mut(&mut self, key: &str) -> Option<&mut Option<String>> {
        match key {
            "wing" => Some(&mut self.wing),
            "room" => Some(&mut self.room),
            "source" => Some(&mut self.source),
            "speaker" => Some(&mut self.speaker),
            "kind" => Some(&mut self.kind),
            _ => None,
        }
    }

    fn attribute(&self, key: &str) -> Option<Scalar> {
        match key {
            "said_at" => self.said_at.map(|time| Scalar::Int(time.as_micros())),
            _ => self.text(key).map(|text| Scalar::Text(text.to_owned())),
        }
    }

    /// This place with its empty fields filled from metadata keys of the same name; an error where both are
    /// given and differ.
    pub fn completed_from(&self, metadata: &Metadata) -> Result<Self> {
        let mut place = self.clone();
        for key in Self::TEXT_KEYS {
            let Some(given) = metadata.get(key).and_then(Value::as_text) else {
                continue;
            };
            let Some(field) = place.text_mut(key) else {
                continue;
            };
            match field {
                Some(own) if own != given => return Err(given_twice(key, own, given)),
                Some(_) => {}
                None => *field = Some(given.to_owned()),
            }
        }
        let said = metadata.get("said_at").and_then(Value::as_text);
        if let Some(given) = said.and_then(|text| text.parse::<Timestamp>().ok()) {
            match place.said_at {
                Some(own) if own != given => {
                    return Err(given_twice("said_at", &own.to_string(), &given.to_string()));
                }
                _ => place.said_at = Some(given),
            }
        }
        Ok(place)
    }
}

fn given_twice(key: &str, own: &str, given: &str) -> Error {
    Error::invalid(format!(
        "{key} is given twice and differs: {own:?} as a field, {given:?} in the metadata"
    ))
    .hint(format!("give {key} once"))
}

/// Which part of its source a drawer is: bytes from `start` up to `end`, and the lines they lie on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// First line, counted from 1.
    pub line_start: u64,
    /// Last line, counted from 1.
    pub line_end: u64,
}

impl Span {
    /// Refuses spans that end before they start, or that no file can have.
    pub fn check(&self) -> Result<()> {
        let fits = [self.start, self.end, self.line_start, self.line_end]
            .iter()
            .all(|n| i64::try_from(*n).is_ok());
        if !fits || self.start > self.end || self.line_start > self.line_end {
            return Err(Error::invalid(format!(
                "the span {}..{} (lines {} to {}) is not a part of a source",
                self.start, self.end, self.line_start, self.line_end
            )));
        }
        Ok(())
    }
}

/// Short text indexed and embedded together with a document, kept with the row and never returned as the document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// Headings, speaker, date and the end of what stands before.
    pub before: String,
    /// The beginning of what stands after.
    pub after: String,
}

impl Context {
    /// What an index sees of `document` within `context`: what stands before, the text, what stands after.
    pub fn indexed<'a>(context: Option<&Self>, document: &'a str) -> Cow<'a, str> {
        match context {
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
            .with("wing", "w")
            .with("said_at", "2026-01-02")
            .with("room", 3_i64);
        let place = Place::default().completed_from(&metadata).unwrap();
        assert_eq!(place.wing.as_deref(), Some("w"));
        assert_eq!(place.said_at, Some("2026-01-02".parse().unwrap()));
        assert_eq!(place.room, None, "a number is not a room");
    }

    #[test]
    fn a_place_given_twice_must_agree() {
        let metadata = Metadata::new().with("wing", "w");
        let same = Place {
            wing: Some("w".into()),
            ..Place::default()
        };
        let other = Place {
            wing: Some("x".into()),
            ..Place::default()
        };
        assert!(same.completed_from(&metadata).is_ok());
        let error = other.completed_from(&metadata).unwrap_err();
        assert!(error.message().contains("wing is given twice"), "{error}");
    }

    #[test]
    fn indexed_text_holds_the_context_around_the_document() {
        let context = Context {
            before: "b".into(),
            after: "a".into(),
        };
        assert_eq!(Context::indexed(Some(&context), "doc"), "b\ndoc\na");
        assert_eq!(Context::indexed(Some(&Context::default()), "doc"), "doc");
        assert_eq!(Context::indexed(None, "doc"), "doc");
    }
}
