//! Spans: where in a drawer a label stands for a secret.

use std::collections::BTreeMap;

use loci_core::{Metadata, MetadataScalar, MetadataValue, format_count};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The length that no secret has, in bytes.
const LONGEST_SECRET: usize = 1 << 30;

/// A place in a drawer at which a label stands for a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SealedSpan {
    /// The metadata key whose value holds the label; absent if the text does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The member of that value, if it is a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<usize>,
    /// The first byte of the label.
    pub start: usize,
    /// The first byte after it.
    pub end: usize,
    /// The kind of the secret.
    pub kind: String,
    /// The tag by which secrets are told apart; equal secrets of a palace have equal tags.
    pub tag: String,
    /// The length of the secret in bytes.
    pub length: usize,
    /// The encrypted secret; only on the lines of an export.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<String>,
}

/// Returns the label of a secret.
pub(super) fn format_label(kind: &str, tag: &str) -> String {
    format!("⟦sealed {kind} {tag}⟧")
}

impl SealedSpan {
    /// Returns whether the label is where this span says.
    pub(crate) fn is_met_by(&self, text: &str, metadata: Option<&Metadata>) -> bool {
        let held = match &self.field {
            None => Some(text),
            Some(key) => metadata.and_then(|metadata| field_text(metadata, key, self.nth)),
        };
        held.and_then(|held| held.get(self.start..self.end)) == Some(&format_label(&self.kind, &self.tag))
    }

    /// Returns whether a span that came from elsewhere can be one of Loci's.
    pub(super) fn is_plausible(&self) -> bool {
        let plain = |name: &str| {
            let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            !name.is_empty() && name.bytes().all(plain)
        };
        plain(&self.kind) && plain(&self.tag) && self.start < self.end && self.length < LONGEST_SECRET
    }

    /// Returns whether both are labels at the same place.
    pub(crate) fn is_at_place_of(&self, other: &Self) -> bool {
        (&self.field, self.nth, self.start) == (&other.field, other.nth, other.start)
    }

    /// Returns the span as one in a metadata value.
    pub(crate) fn in_field(self, key: &str) -> Self {
        Self {
            field: Some(key.to_owned()),
            ..self
        }
    }

    /// Returns whether it is in the text and not in the metadata.
    pub(crate) fn is_in_text(&self) -> bool {
        self.field.is_none()
    }
}

/// Finds the labels of known spans in a new text, wherever they are in it now.
pub(crate) fn find_labels(text: &str, known: &[SealedSpan]) -> Vec<SealedSpan> {
    let mut found: Vec<SealedSpan> = Vec::new();
    for span in known.iter().filter(|span| span.is_in_text()) {
        let label = format_label(&span.kind, &span.tag);
        for (start, label) in text.match_indices(&label) {
            let moved = SealedSpan {
                start,
                end: start + label.len(),
                ..span.clone()
            };
            if !found.iter().any(|other| other.is_at_place_of(&moved)) {
                found.push(moved);
            }
        }
    }
    found
}

/// Returns a text in the metadata: a value, or a member of a list.
pub(super) fn field_text<'m>(metadata: &'m Metadata, key: &str, nth: Option<usize>) -> Option<&'m str> {
    let scalar = match (metadata.get(key)?, nth) {
        (MetadataValue::One(scalar), None) => scalar,
        (MetadataValue::Many(members), Some(nth)) => members.get(nth)?,
        _ => return None,
    };
    match scalar {
        MetadataScalar::Text(text) => Some(text),
        _ => None,
    }
}

/// Replaces a text in the metadata.
pub(super) fn set_field_text(metadata: &mut Metadata, key: &str, nth: Option<usize>, text: String) {
    let Some(mut value) = metadata.get(key).cloned() else {
        return;
    };
    match (&mut value, nth) {
        (MetadataValue::One(scalar), None) => *scalar = MetadataScalar::Text(text),
        (MetadataValue::Many(members), Some(nth)) => {
            if let Some(member) = members.get_mut(nth) {
                *member = MetadataScalar::Text(text);
            }
        }
        _ => return,
    }
    metadata.insert(key, value);
}

/// Describes numbers of secrets by kind: "2 secrets (aws-access-key, jwt)".
pub(super) fn describe_kinds(kinds: &BTreeMap<String, u64>) -> String {
    let names: Vec<&str> = kinds.keys().map(String::as_str).collect();
    format!(
        "{} ({})",
        format_count(kinds.values().sum(), "secret"),
        names.join(", ")
    )
}
