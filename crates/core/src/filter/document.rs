//! Filters on a drawer's text.

use serde_json::{Map, Value as Json};

use super::Filter;
use super::parse::{FilterPath, parse_list, unknown_operator_error};
use crate::metadata::json_kind;
use crate::{Error, Result};

/// A filter on the verbatim text of drawers; matches exact, case-sensitive substrings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DocumentFilter {
    /// Every drawer.
    #[default]
    All,
    /// The document contains this text.
    Contains(String),
    /// The document does not contain this text.
    NotContains(String),
    /// All of these accept the document.
    And(Vec<DocumentFilter>),
    /// At least one of these accepts the document.
    Or(Vec<DocumentFilter>),
}

impl DocumentFilter {
    /// Reports whether the filter accepts a drawer with this `document`.
    pub fn accepts(&self, document: &str) -> bool {
        match self {
            Self::All => true,
            Self::Contains(text) => document.contains(text.as_str()),
            Self::NotContains(text) => !document.contains(text.as_str()),
            Self::And(parts) => parts.iter().all(|part| part.accepts(document)),
            Self::Or(parts) => parts.iter().any(|part| part.accepts(document)),
        }
    }

    /// Reports whether the filter restricts nothing, in whatever form.
    pub fn is_unrestricted(&self) -> bool {
        match self {
            Self::All => true,
            Self::Contains(_) | Self::NotContains(_) => false,
            Self::And(parts) => parts.iter().all(Self::is_unrestricted),
            Self::Or(parts) => parts.iter().any(Self::is_unrestricted),
        }
    }

    /// Reports whether this is the literal `All`.
    pub fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Parses the JSON dialect; an error names the path to the faulty part.
    pub fn parse(json: &Json) -> Result<Self> {
        parse_node(json, &FilterPath::root("where_document"), 0)
    }

    /// Parses the JSON dialect from text.
    pub fn parse_str(text: &str) -> Result<Self> {
        let json = serde_json::from_str(text)
            .map_err(|cause| Error::invalid("the document filter is not JSON").caused_by(cause))?;
        Self::parse(&json)
    }
}

fn parse_node(json: &Json, path: &FilterPath, depth: usize) -> Result<DocumentFilter> {
    let Json::Object(map) = json else {
        return Err(path.invalid_error(format!("expected an object, found {}", json_kind(json))));
    };
    if depth > Filter::MAX_DEPTH {
        return Err(path.invalid_error(format!("nested deeper than {}", Filter::MAX_DEPTH)));
    }
    let mut parts = parse_entries(map, path, depth)?;
    Ok(match parts.len() {
        0 => DocumentFilter::All,
        1 => parts.swap_remove(0),
        _ => DocumentFilter::And(parts),
    })
}

fn parse_entries(map: &Map<String, Json>, path: &FilterPath, depth: usize) -> Result<Vec<DocumentFilter>> {
    map.iter()
        .map(|(operator, operand)| {
            let at = path.at_key(operator);
            match operator.as_str() {
                "$contains" => parse_needle(operand, &at).map(DocumentFilter::Contains),
                "$not_contains" => parse_needle(operand, &at).map(DocumentFilter::NotContains),
                "$and" => parse_list(operand, &at, |part, at| parse_node(part, at, depth + 1))
                    .map(DocumentFilter::And),
                "$or" => parse_list(operand, &at, |part, at| parse_node(part, at, depth + 1))
                    .map(DocumentFilter::Or),
                other => Err(unknown_operator_error(
                    other,
                    &at,
                    "$contains, $not_contains, $and, $or",
                )),
            }
        })
        .collect()
}

fn parse_needle(operand: &Json, path: &FilterPath) -> Result<String> {
    match operand {
        // Every document contains the empty text: a delete by such a filter would empty the collection.
        Json::String(text) if text.is_empty() => Err(path.invalid_error("the text to look for is empty")),
        Json::String(text) => Ok(text.clone()),
        other => Err(path.invalid_error(format!("expected a string, found {}", json_kind(other)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn documents_are_matched_by_exact_substring() {
        let accepts = |json: &str| {
            DocumentFilter::parse_str(json)
                .unwrap()
                .accepts("It's 100% 抽屉 fun")
        };
        assert!(accepts(r#"{"$contains":"100%"}"#));
        assert!(accepts(r#"{"$contains":"抽"}"#));
        assert!(!accepts(r#"{"$contains":"it's"}"#));
        assert!(accepts(r#"{"$not_contains":"it's"}"#));
        assert!(accepts(r#"{"$or":[{"$contains":"x"},{"$contains":"fun"}]}"#));
        assert!(!accepts(r#"{"$and":[{"$contains":"x"},{"$contains":"fun"}]}"#));
        assert!(accepts("{}"));
    }

    #[test]
    fn malformed_document_filters_are_named() {
        for (json, kind, named) in [
            (
                r#"{"$regex":"x"}"#,
                ErrorKind::UnsupportedFilter,
                "where_document.$regex",
            ),
            (
                r#"{"$contains":3}"#,
                ErrorKind::Invalid,
                "where_document.$contains",
            ),
            (
                r#"{"$contains":""}"#,
                ErrorKind::Invalid,
                "where_document.$contains",
            ),
            (r#"{"$or":[]}"#, ErrorKind::Invalid, "where_document.$or"),
            (
                r#"{"$or":[{"$and":[{"a":1}]}]}"#,
                ErrorKind::UnsupportedFilter,
                "where_document.$or[0].$and[0].a",
            ),
            (r#""x""#, ErrorKind::Invalid, "where_document"),
        ] {
            let error = DocumentFilter::parse_str(json).unwrap_err();
            assert_eq!(error.kind(), kind, "{json}");
            assert!(error.message().contains(named), "{json}: {error}");
        }
    }
}
