//! Filters on a drawer's text.

use serde_json::{Map, Value as Json};

use super::Filter;
use super::parse::{Path, list, refuse_unknown};
use crate::metadata::json_kind;
use crate::{Error, Result};

/// Which drawers a request means, by their verbatim text; matching is by exact, case-sensitive substring.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum DocumentFilter {
    /// Every drawer.
    #[default]
    All,
    /// The document holds this text.
    Contains(String),
    /// The document does not hold this text.
    NotContains(String),
    /// All of these.
    And(Vec<DocumentFilter>),
    /// At least one of these.
    Or(Vec<DocumentFilter>),
}

impl DocumentFilter {
    /// Whether a drawer with this `document` is meant.
    pub fn accepts(&self, document: &str) -> bool {
        match self {
            Self::All => true,
            Self::Contains(text) => document.contains(text.as_str()),
            Self::NotContains(text) => !document.contains(text.as_str()),
            Self::And(parts) => parts.iter().all(|part| part.accepts(document)),
            Self::Or(parts) => parts.iter().any(|part| part.accepts(document)),
        }
    }

    /// Whether nothing is asked, however it is written.
    pub fn asks_nothing(&self) -> bool {
        match self {
            Self::All => true,
            Self::Contains(_) | Self::NotContains(_) => false,
            Self::And(parts) => parts.iter().all(Self::asks_nothing),
            Self::Or(parts) => parts.iter().any(Self::asks_nothing),
        }
    }

    /// Whether every drawer is accepted because nothing is asked.
    pub fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Reads the JSON dialect; an error names the path to the part that is wrong.
    pub fn parse(json: &Json) -> Result<Self> {
        parse_node(json, &Path::root("where_document"), 0)
    }

    /// Reads the JSON dialect from text.
    pub fn parse_str(text: &str) -> Result<Self> {
        let json = serde_json::from_str(text)
            .map_err(|cause| Error::invalid("the document filter is not JSON").caused_by(cause))?;
        Self::parse(&json)
    }
}

fn parse_node(json: &Json, path: &Path, depth: usize) -> Result<DocumentFilter> {
    let Json::Object(map) = json else {
        return Err(path.invalid(format!("expected an object, found {}", json_kind(json))));
    };
    if depth > Filter::MAX_DEPTH {
        return Err(path.invalid(format!("nested deeper than {}", Filter::MAX_DEPTH)));
    }
    let mut parts = parse_entries(map, path, depth)?;
    Ok(match parts.len() {
        0 => DocumentFilter::All,
        1 => parts.swap_remove(0),
        _ => DocumentFilter::And(parts),
    })
}

fn parse_entries(map: &Map<String, Json>, path: &Path, depth: usize) -> Result<Vec<DocumentFilter>> {
    map.iter()
        .map(|(operator, operand)| {
            let at = path.key(operator);
            match operator.as_str() {
                "$contains" => needle(operand, &at).map(DocumentFilter::Contains),
                "$not_contains" => needle(operand, &at).map(DocumentFilter::NotContains),
                "$and" => {
                    list(operand, &at, |part, at| parse_node(part, at, depth + 1)).map(DocumentFilter::And)
                }
                "$or" => {
                    list(operand, &at, |part, at| parse_node(part, at, depth + 1)).map(DocumentFilter::Or)
                }
                other => Err(refuse_unknown(other, &at, "$contains, $not_contains, $and, $or")),
            }
        })
        .collect()
}

fn needle(operand: &Json, path: &Path) -> Result<String> {
    match operand {
        Json::String(text) if text.is_empty() => Err(path.invalid("the text to look for is empty")),
        Json::String(text) => Ok(text.clone()),
        other => Err(path.invalid(format!("expected a string, found {}", json_kind(other)))),
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
