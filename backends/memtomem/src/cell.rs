//! One value of a row, whatever its type turned out to be: SQLite lets any column hold anything.

use loci_core::{Error, Result, Scalar, Value};
use rusqlite::types::ValueRef;
use serde_json::Value as Json;

/// The value as text: text, bytes that are text, a number as it is written. `None` for NULL.
pub(crate) fn text(value: ValueRef<'_>) -> Result<Option<String>> {
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

/// The value as text that tells it from others; NULL is empty, and bytes that are no text are written in hex.
pub(crate) fn label(value: ValueRef<'_>) -> String {
    match text(value) {
        Ok(text) => text.unwrap_or_default(),
        Err(_) => hex(value.as_bytes().unwrap_or_default()),
    }
}

/// The value as a whole number, if it is one or spells one.
pub(crate) fn whole(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Integer(whole) => Some(whole),
        // Whole numbers beyond 2^53 have no neighbours as floats, so that they would be guesses.
        ValueRef::Real(real) if real.fract() == 0.0 && real.abs() < 9e15 => Some(real as i64),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// The value as metadata, in its own type; `None` for NULL.
pub(crate) fn metadata(value: ValueRef<'_>) -> Option<Value> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(whole) => Some(whole.into()),
        ValueRef::Real(real) if real.is_finite() => Some(real.into()),
        other => Some(label(other).into()),
    }
}

/// A list written as JSON, as metadata; what is no list of plain values stays the text it is.
pub(crate) fn list(value: ValueRef<'_>) -> Option<Value> {
    let written = metadata(value)?;
    let parsed = written
        .as_text()
        .and_then(|text| serde_json::from_str::<Json>(text).ok());
    let list = parsed.filter(Json::is_array);
    Some(
        list.and_then(|list| Value::from_json(&list, "list").ok())
            .unwrap_or(written),
    )
}

/// The texts of a list.
pub(crate) fn texts(value: &Value) -> Vec<&str> {
    let Value::Many(scalars) = value else {
        return Vec::new();
    };
    let texts = scalars.iter().map(|scalar| match scalar {
        Scalar::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.flatten().collect()
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x'{digits}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_keeps_its_type_whatever_it_is() {
        let check = |value, expect: Option<Value>| assert_eq!(metadata(value), expect);
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
        let check =
            |text: &str, expect: Value| assert_eq!(list(ValueRef::Text(text.as_bytes())), Some(expect));
        check("[]", Value::Many(Vec::new()));
        check(
            r#"["a", 1]"#,
            Value::Many(vec![Scalar::Text("a".into()), Scalar::Int(1)]),
        );
        for text in ["", "a", "[", r#"{"a":1}"#, "[[1]]", "[null]", "7"] {
            check(text, text.into());
        }
        assert_eq!(list(ValueRef::Integer(7)), Some(7_i64.into()));
    }

    #[test]
    fn whole_numbers_are_read_from_what_spells_them() {
        for value in [
            ValueRef::Integer(12),
            ValueRef::Real(12.0),
            ValueRef::Text(b" 12 "),
        ] {
            assert_eq!(whole(value), Some(12));
        }
        for value in [
            ValueRef::Null,
            ValueRef::Real(1.5),
            ValueRef::Real(f64::NAN),
            ValueRef::Real(1e300),
            ValueRef::Text(b"twelve"),
            ValueRef::Blob(b"12"),
        ] {
            assert_eq!(whole(value), None, "{value:?}");
        }
    }
}
