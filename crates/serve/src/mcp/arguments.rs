//! Arguments as agents send them: unknown ones are named in the error, loosely typed ones are converted.

use loci_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

/// Arguments that some clients add on their own and that mean nothing to a tool.
const IGNORED: [&str; 1] = ["wait_for_previous"];

/// Parses arguments that must match `schema`.
///
/// A null counts as absent, and so does an empty string unless the argument is required. Numbers, booleans
/// and objects written as strings are parsed, and a single string becomes a list of one.
pub(crate) fn parse_arguments<T: DeserializeOwned>(
    mut given: Map<String, Value>,
    schema: &Map<String, Value>,
) -> Result<T> {
    let properties = object_or_empty(schema.get("properties"));
    given.retain(|name, _| !IGNORED.contains(&name.as_str()));
    // All unknown names are reported at once: an agent should need one more call, not one for each mistake.
    refuse_unknown(&given, &properties)?;
    let required = list_names(schema.get("required"));
    let mut understood = Map::new();
    for (name, value) in given {
        let is_required = required.contains(&name.as_str());
        let expected = properties.get(&name).and_then(|property| property.get("type"));
        let expected = expected.and_then(Value::as_str).unwrap_or_default();
        // A required text may be empty: the operation itself says why it cannot take it, which is a better
        // message than "missing".
        let empty = value.is_null() || (value.as_str() == Some("") && !is_required);
        if !empty {
            let value = coerce_value(&name, value, expected)?;
            refuse_non_text_items(&name, &value, properties.get(&name))?;
            understood.insert(name, value);
        }
    }
    let missing: Vec<&str> = required
        .into_iter()
        .filter(|name| !understood.contains_key(*name))
        .collect();
    if !missing.is_empty() {
        return Err(Error::invalid(format!("missing: {}", missing.join(", ")))
            .with_hint("nothing was done; call again with all required arguments"));
    }
    serde_json::from_value(Value::Object(understood)).map_err(|cause| {
        Error::invalid(format!("the arguments cannot be read: {cause}"))
            .with_hint("nothing was done; see the tool's input schema")
    })
}

fn refuse_unknown(given: &Map<String, Value>, properties: &Map<String, Value>) -> Result<()> {
    let unknown: Vec<&str> = given
        .keys()
        .map(String::as_str)
        .filter(|name| !properties.contains_key(*name))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let known: Vec<&str> = properties.keys().map(String::as_str).collect();
    let known = if known.is_empty() {
        "this tool takes none".to_owned()
    } else {
        format!("this tool takes: {}", known.join(", "))
    };
    Err(
        Error::invalid(format!("unknown arguments: {}", unknown.join(", ")))
            .with_hint(format!("nothing was done; {known}")),
    )
}

fn coerce_value(name: &str, value: Value, expected: &str) -> Result<Value> {
    let text = value.as_str().map(str::trim);
    // Models often quote scalars ("5", "true") or send one string where the schema asks for a list. The
    // meaning is unambiguous in each case, so these are converted; anything else is refused.
    let fits = match (expected, &value) {
        ("integer", Value::Number(number)) => to_whole_number(number).map(Value::from),
        ("integer", _) => text.and_then(|text| text.parse::<u64>().ok()).map(Value::from),
        ("number", Value::Number(_)) => Some(value.clone()),
        ("number", _) => text.and_then(|text| text.parse::<f64>().ok()).map(Value::from),
        ("boolean", Value::Bool(_)) => Some(value.clone()),
        ("boolean", _) => match text {
            Some("true") => Some(true.into()),
            Some("false") => Some(false.into()),
            _ => None,
        },
        ("string", Value::String(_)) => Some(value.clone()),
        ("array", Value::Array(_)) => Some(value.clone()),
        ("array", Value::String(text)) => Some(Value::Array(vec![text.clone().into()])),
        ("object", Value::Object(_)) | ("", _) => Some(value.clone()),
        ("object", Value::String(text)) => serde_json::from_str(text).ok().filter(Value::is_object),
        _ => None,
    };
    fits.ok_or_else(|| {
        // The value may be of any length, and the agent pays for every token of the message.
        let given = value.to_string();
        let given: String = given.chars().take(60).collect();
        Error::invalid(format!(
            "`{name}` must be {}, not {given}",
            describe_type(expected)
        ))
        .with_hint("nothing was done; call again with another value")
    })
}

/// Returns a count, also if it is written as 5.0.
fn to_whole_number(number: &Number) -> Option<u64> {
    let written = number
        .as_f64()
        .filter(|float| number.is_f64() && float.fract() == 0.0);
    // Below 2^53 every whole number is exact as a float.
    let fits = |float: &f64| (0.0..1e15).contains(float);
    number
        .as_u64()
        .or_else(|| written.filter(fits).map(|float| float as u64))
}

/// Refuses a list of texts with an item that is not a text.
fn refuse_non_text_items(name: &str, value: &Value, property: Option<&Value>) -> Result<()> {
    let of_texts = property.and_then(|property| property.pointer("/items/type")) == Some(&"string".into());
    let odd = value
        .as_array()
        .and_then(|items| items.iter().find(|item| !item.is_string()));
    match odd.filter(|_| of_texts) {
        None => Ok(()),
        Some(odd) => Err(
            Error::invalid(format!("`{name}` must be a list of texts; {odd} is not a text"))
                .with_hint("nothing was done; call again with another value"),
        ),
    }
}

fn describe_type(expected: &str) -> &'static str {
    match expected {
        "integer" => "a whole number, 0 or more",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "an object",
        _ => "a text",
    }
}

fn object_or_empty(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

fn list_names(value: Option<&Value>) -> Vec<&str> {
    let list = value.and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::schema;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Sample {
        query: String,
        limit: Option<usize>,
        dry_run: Option<bool>,
        share: Option<f64>,
        #[serde(default)]
        ids: Vec<String>,
    }

    fn read_sample(given: Value) -> Result<Sample> {
        let Value::Object(given) = given else {
            unreachable!()
        };
        parse_arguments(given, &schema::input_schema::<Sample>())
    }

    #[track_caller]
    fn refused(given: Value, expect: &str) {
        let error = read_sample(given).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
    }

    #[test]
    fn what_is_meant_is_understood() {
        let plain = json!({"query": "q", "limit": 5, "dry_run": true, "share": 0.5, "ids": ["a"]});
        let loose = json!({"query": "q", "limit": "5", "dry_run": "true", "share": "0.5", "ids": "a",
            "wait_for_previous": false});
        assert_eq!(read_sample(plain).unwrap(), read_sample(loose).unwrap());
        let whole = read_sample(json!({"query": "q", "limit": 5.0})).unwrap();
        assert_eq!(whole.limit, Some(5));
        let empty = read_sample(json!({"query": "q", "limit": null, "dry_run": ""})).unwrap();
        assert_eq!((empty.limit, empty.dry_run), (None, None));
    }

    #[test]
    fn what_is_unknown_missing_or_of_another_sort_is_named() {
        refused(
            json!({"query": "q", "wings": "x", "zeal": 1}),
            "unknown arguments: wings, zeal",
        );
        refused(json!({"limit": 5}), "missing: query");
        refused(json!({"query": null}), "missing: query");
        refused(json!({"query": 7}), "`query` must be a text, not 7");
        refused(
            json!({"query": "q", "limit": "many"}),
            "`limit` must be a whole number",
        );
        refused(
            json!({"query": "q", "limit": 1.5}),
            "`limit` must be a whole number",
        );
        refused(
            json!({"query": "q", "limit": -1}),
            "`limit` must be a whole number",
        );
        refused(
            json!({"query": "q", "dry_run": "perhaps"}),
            "`dry_run` must be true or false",
        );
        refused(json!({"query": "q", "ids": {"a": 1}}), "`ids` must be a list");
        refused(
            json!({"query": "q", "ids": ["a", 7]}),
            "`ids` must be a list of texts; 7 is not a text",
        );
    }
}
