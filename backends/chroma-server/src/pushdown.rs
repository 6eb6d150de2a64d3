//! The part of a filter that Chroma answers: everything that the filter accepts, and perhaps more.
//!
//! The rest is decided by [`Filter::accepts`] on what the server returns, so an answer is never wrong, only slower.

use loci_core::{DrawerPlace, Filter, FilterComparison, MetadataScalar};
use serde_json::{Value as Json, json};

use crate::record::is_native_key;

/// Returns a filter of Chroma's that holds for every drawer that `filter` accepts; `None` if there is none.
pub(crate) fn push_down(filter: &Filter) -> Option<Json> {
    match filter {
        Filter::All => None,
        Filter::Compare(key, FilterComparison::Eq(MetadataScalar::Text(text))) => push_equality(key, text),
        // Everything else depends on values that may stand in the note: lists, times, whole floats.
        Filter::Compare(..) => None,
        // A part that cannot be pushed down only makes the answer larger.
        Filter::And(parts) => join("$and", parts.iter().filter_map(push_down).collect()),
        Filter::Or(parts) => join("$or", parts.iter().map(push_down).collect::<Option<_>>()?),
    }
}

fn push_equality(key: &str, text: &str) -> Option<Json> {
    // Times are compared as times, and keys that Chroma refuses stand in the note.
    if !is_native_key(key) || matches!(key, "said_at" | "filed_at") {
        return None;
    }
    let equals = |key: &str| json!({key: {"$eq": text}});
    // The place of a drawer of another program may come from other keys.
    let other = match key {
        "source" => Some("source_file"),
        "speaker" => Some("role"),
        _ => None,
    };
    debug_assert!(other.is_none() || DrawerPlace::TEXT_KEYS.contains(&key));
    Some(match other {
        Some(other) => json!({"$or": [equals(key), equals(other)]}),
        None => equals(key),
    })
}

fn join(operator: &str, mut parts: Vec<Json>) -> Option<Json> {
    // Chroma refuses a conjunction of fewer than two.
    match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(json!({operator: parts})),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(filter: &str, pushed: &str) {
        let filter = Filter::parse_str(filter).unwrap();
        let pushed: Json = serde_json::from_str(pushed).unwrap();
        assert_eq!(push_down(&filter).unwrap_or_default(), pushed, "{filter}");
    }

    #[test]
    fn only_what_chroma_answers_alike_is_pushed_down() {
        check(r#"{"wing":"w"}"#, r#"{"wing":{"$eq":"w"}}"#);
        check(
            r#"{"source":"s"}"#,
            r#"{"$or":[{"source":{"$eq":"s"}},{"source_file":{"$eq":"s"}}]}"#,
        );
        check(
            r#"{"$and":[{"wing":"w"},{"n":{"$gt":1}}]}"#,
            r#"{"wing":{"$eq":"w"}}"#,
        );
        check(
            r#"{"$or":[{"wing":"w"},{"room":"r"}]}"#,
            r#"{"$or":[{"wing":{"$eq":"w"}},{"room":{"$eq":"r"}}]}"#,
        );
        for kept in [
            r#"{"n":1}"#,
            r#"{"wing":{"$ne":"w"}}"#,
            r#"{"tags":{"$in":["a"]}}"#,
            r#"{"said_at":"2026-01-01"}"#,
            r#"{"$or":[{"wing":"w"},{"n":1}]}"#,
            r#"{"a:b":"x"}"#,
        ] {
            check(kept, "null");
        }
    }
}
