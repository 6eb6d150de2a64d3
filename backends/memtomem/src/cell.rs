//! Converts a single value of a row, of any type: SQLite lets every column hold every type.

use loci_core::{Error, MetadataScalar, MetadataValue, Result};
use rusqlite::types::ValueRef;
use serde_json::Value as Json;

/// Converts text, UTF-8 bytes and numbers to text. Returns `None` for NULL.
pub(crate) fn as_text(value: ValueRef<'_>) -> Result<Option<String>> {
    let bytes = match value {
        ValueRef::Null => return Ok(None),
        ValueRef::Integer(whole) => return Ok(Some(whole.to_string())),
        ValueRef::Real(real) => return Ok(Some(real.to_string())),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(cause) => Err(Error::invalid(format!(
            "is not UTF-8 from byte {}",
            cause.valid_up_to() + 1
        ))),
    }
}

/// Converts a value to text that distinguishes it from others; NULL is empty, and bytes that are not UTF-8 become
/// hex.
pub(crate) fn as_label(value: ValueRef<'_>) -> String {
    match as_text(value) {
        Ok(text) => text.unwrap_or_default(),
        Err(_) => encode_hex(value.as_bytes().unwrap_or_default()),
    }
}

/// Returns the value as an integer, if it is one or spells one.
pub(crate) fn as_whole(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Integer(whole) => Some(whole),
        // Above 2^53 (about 9e15) not every integer is a float,
        // so the one that was written could only be guessed.
        ValueRef::Real(real) if real.fract() == 0.0 && real.abs() < 9e15 => Some(real as i64),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// Converts a value to metadata of the same type. Returns `None` for NULL.
pub(crate) fn as_metadata(value: ValueRef<'_>) -> Option<MetadataValue> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(whole) => Some(whole.into()),
        ValueRef::Real(real) if real.is_finite() => Some(real.into()),
        // Metadata holds neither bytes nor infinite floats, but dropping the column would lose what it says.
        other => Some(as_label(other).into()),
    }
}

/// Converts a list written as JSON to metadata; anything but a list of plain values stays text.
pub(crate) fn as_list(value: ValueRef<'_>) -> Option<MetadataValue> {
    let written = as_metadata(value)?;
    let parsed = written
        .as_text()
        .and_then(|text| serde_json::from_str::<Json>(text).ok());
    let list = parsed.filter(Json::is_array);
    Some(
        list.and_then(|list| MetadataValue::from_json(&list, "list").ok())
            .unwrap_or(written),
    )
}

/// Returns the texts in a list.
pub(crate) fn list_texts(value: &MetadataValue) -> Vec<&str> {
    let MetadataValue::Many(scalars) = value else {
        return Vec::new();
    };
    let texts = scalars.iter().map(|scalar| match scalar {
        MetadataScalar::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.flatten().collect()
}

fn encode_hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x'{digits}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_keeps_its_type_whatever_it_is() {
        let check = |value, expect: Option<MetadataValue>| assert_eq!(as_metadata(value), expect);
        check(ValueRef::Null, None);
        check(ValueRef::Integer(-3), Some((-3_i64).into()));
        check(ValueRef::Real(3.0), Some(3.0_f64.into()));
        check(ValueRef::Real(f64::INFINITY), Some("inf".into()));
        check(ValueRef::Text("抽屉".as_bytes()), Some("抽屉".into()));
        check(ValueRef::Text(b"a\xff"), Some("x'61ff'".into()));
        check(ValueRef::Blob(b"text"), Some("text".into()));
    }

    #[test]
    fn a_list_that_is_none_stays_text() {
        let check = |text: &str, expect: MetadataValue| {
            assert_eq!(as_list(ValueRef::Text(text.as_bytes())), Some(expect))
        };
        check("[]", MetadataValue::Many(Vec::new()));
        check(
            r#"["a", 1]"#,
            MetadataValue::Many(vec![MetadataScalar::Text("a".into()), MetadataScalar::Int(1)]),
        );
        for text in ["", "a", "[", r#"{"a":1}"#, "[[1]]", "[null]", "7"] {
            check(text, text.into());
        }
        assert_eq!(as_list(ValueRef::Integer(7)), Some(7_i64.into()));
    }

    #[test]
    fn whole_numbers_are_read_from_what_spells_them() {
        for value in [
            ValueRef::Integer(12),
            ValueRef::Real(12.0),
            ValueRef::Text(b" 12 "),
        ] {
            assert_eq!(as_whole(value), Some(12));
        }
        for value in [
            ValueRef::Null,
            ValueRef::Real(1.5),
            ValueRef::Real(f64::NAN),
            ValueRef::Real(1e300),
            ValueRef::Text(b"twelve"),
            ValueRef::Blob(b"12"),
        ] {
            assert_eq!(as_whole(value), None, "{value:?}");
        }
    }
}
