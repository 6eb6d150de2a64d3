//! Metadata: flat keys with typed values, kept exactly as given.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value as Json;

use crate::{Error, Result};

/// The metadata of a drawer, by key.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "BTreeMap<String, Json>")]
pub struct Metadata(BTreeMap<String, MetadataValue>);

/// One metadata value: a scalar or an array of scalars.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MetadataValue {
    /// A single value, which filters compare.
    One(MetadataScalar),
    /// Several values, kept in order; filters match its members.
    Many(Vec<MetadataScalar>),
}

/// A single string, integer, float or boolean.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MetadataScalar {
    /// True or false; never equal to a number.
    Bool(bool),
    /// A 64-bit integer; equal to a float of the same numeric value.
    Int(i64),
    /// A finite 64-bit float.
    Float(f64),
    /// Text, compared by its UTF-8 bytes.
    Text(String),
}

impl MetadataScalar {
    /// Compares two scalars of one family (text, numbers, booleans); `None` across families.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            // Integers beyond 2^53 have no exact float: converting one would make different ids compare
            // equal.
            (Self::Int(a), Self::Float(b)) => compare_int_to_float(*a, *b),
            (Self::Float(a), Self::Int(b)) => compare_int_to_float(*b, *a).map(Ordering::reverse),
            _ => None,
        }
    }

    /// Parses a JSON scalar; `where_` is the path shown in error messages.
    pub fn from_json(json: &Json, where_: &str) -> Result<Self> {
        match json {
            Json::String(text) => Ok(Self::Text(text.clone())),
            Json::Bool(truth) => Ok(Self::Bool(*truth)),
            Json::Number(number) => {
                if let Some(int) = number.as_i64() {
                    return Ok(Self::Int(int));
                }
                match number.as_f64() {
                    // An unsigned integer above i64 would only fit as a rounded float. Metadata is kept
                    // exactly, so it is refused.
                    Some(float) if !number.is_u64() && float.is_finite() => Ok(Self::Float(float)),
                    _ => Err(Error::invalid(format!(
                        "{where_}: {number} does not fit a 64-bit signed integer"
                    ))),
                }
            }
            other => Err(Error::invalid(format!(
                "{where_}: expected a string, number or boolean, found {}",
                json_kind(other)
            ))),
        }
    }
}

/// Compares exactly, without rounding the integer to a float.
fn compare_int_to_float(int: i64, float: f64) -> Option<Ordering> {
    /// 2^63, the first float above every i64.
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        return None;
    }
    if float >= ABOVE {
        return Some(Ordering::Less);
    }
    if float < -ABOVE {
        return Some(Ordering::Greater);
    }
    // In range, so truncation is exact; the fraction breaks the tie.
    let whole = float.trunc() as i64;
    Some(
        int.cmp(&whole)
            .then_with(|| 0.0_f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal)),
    )
}

impl From<&str> for MetadataValue {
    fn from(text: &str) -> Self {
        Self::One(MetadataScalar::Text(text.to_owned()))
    }
}
impl From<String> for MetadataValue {
    fn from(text: String) -> Self {
        Self::One(MetadataScalar::Text(text))
    }
}
impl From<i64> for MetadataValue {
    fn from(int: i64) -> Self {
        Self::One(MetadataScalar::Int(int))
    }
}
impl From<f64> for MetadataValue {
    fn from(float: f64) -> Self {
        Self::One(MetadataScalar::Float(float))
    }
}
impl From<bool> for MetadataValue {
    fn from(truth: bool) -> Self {
        Self::One(MetadataScalar::Bool(truth))
    }
}

impl MetadataValue {
    /// Parses a JSON scalar or array of scalars; `where_` is the path shown in error messages.
    pub fn from_json(json: &Json, where_: &str) -> Result<Self> {
        match json {
            Json::Array(items) => items
                .iter()
                .enumerate()
                .map(|(at, item)| MetadataScalar::from_json(item, &format!("{where_}[{at}]")))
                .collect::<Result<_>>()
                .map(Self::Many),
            other => MetadataScalar::from_json(other, where_).map(Self::One),
        }
    }

    /// Returns the text, if this is a single text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::One(MetadataScalar::Text(text)) => Some(text),
            _ => None,
        }
    }
}

impl Metadata {
    /// Creates metadata without keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces one key and returns the metadata.
    #[must_use]
    pub fn with_entry(mut self, key: impl Into<String>, value: impl Into<MetadataValue>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// Adds or replaces one key.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<MetadataValue>) {
        self.0.insert(key.into(), value.into());
    }

    /// Removes one key.
    pub fn remove(&mut self, key: &str) -> Option<MetadataValue> {
        self.0.remove(key)
    }

    /// Returns the value under `key`.
    pub fn get(&self, key: &str) -> Option<&MetadataValue> {
        self.0.get(key)
    }

    /// Iterates over keys and values in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &MetadataValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Reports whether no key is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Parses a JSON object; an error names the key that cannot be stored.
    pub fn from_json(json: &Json) -> Result<Self> {
        match json {
            // Exports of other tools write `null` for a drawer without metadata.
            Json::Null => Ok(Self::new()),
            Json::Object(map) => Self::from_entries(map.iter()),
            other => Err(Error::invalid(format!(
                "metadata must be an object, found {}",
                json_kind(other)
            ))),
        }
    }

    fn from_entries<'a>(entries: impl Iterator<Item = (&'a String, &'a Json)>) -> Result<Self> {
        let mut metadata = Self::new();
        for (key, json) in entries {
            metadata.insert(
                key.as_str(),
                MetadataValue::from_json(json, &format!("metadata.{key}"))?,
            );
        }
        metadata.check_entries()?;
        Ok(metadata)
    }

    /// Refuses empty keys and floats that are not finite, naming the key.
    pub fn check_entries(&self) -> Result<()> {
        // JSON cannot hold NaN or infinity, so such a value could be stored and never exported.
        let finite =
            |scalar: &MetadataScalar| !matches!(scalar, MetadataScalar::Float(float) if !float.is_finite());
        for (key, value) in self.iter() {
            let sound = match value {
                MetadataValue::One(scalar) => finite(scalar),
                MetadataValue::Many(scalars) => scalars.iter().all(finite),
            };
            if key.is_empty() {
                return Err(Error::invalid("a metadata key is empty"));
            }
            if !sound {
                return Err(Error::invalid(format!("metadata.{key}: a number is not finite")));
            }
        }
        Ok(())
    }
}

impl TryFrom<BTreeMap<String, Json>> for Metadata {
    type Error = Error;
    fn try_from(entries: BTreeMap<String, Json>) -> Result<Self> {
        Self::from_entries(entries.iter())
    }
}

impl Serialize for Metadata {
    // Not derived `into` a map, which would copy every entry first.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl FromIterator<(String, MetadataValue)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (String, MetadataValue)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

/// Returns the JSON type of a value, for messages.
pub(crate) fn json_kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_round_trips_through_json() {
        let json = json!({"a": "x", "b": 3, "c": 3.0, "d": true, "e": ["x", 1, 0.1], "f": [], "抽": "屉",
            "big": i64::MIN, "tiny": 5e-324});
        let metadata = Metadata::from_json(&json).unwrap();
        assert_eq!(serde_json::to_value(&metadata).unwrap(), json);
        assert_eq!(
            metadata.get("b"),
            Some(&MetadataValue::One(MetadataScalar::Int(3)))
        );
        assert_eq!(
            metadata.get("c"),
            Some(&MetadataValue::One(MetadataScalar::Float(3.0)))
        );
    }

    #[test]
    fn what_cannot_be_kept_is_named() {
        for (json, named) in [
            (json!({"a": null}), "metadata.a"),
            (json!({"a": {"b": 1}}), "metadata.a"),
            (json!({"a": [1, null]}), "metadata.a[1]"),
            (json!({"a": 18446744073709551615_u64}), "18446744073709551615"),
            (json!({"": 1}), "key is empty"),
            (json!([1]), "an array"),
        ] {
            let error = Metadata::from_json(&json).unwrap_err();
            assert!(error.message().contains(named), "{error}");
        }
        assert!(Metadata::new().with_entry("x", f64::NAN).check_entries().is_err());
    }

    #[test]
    fn numbers_compare_exactly_across_types() {
        let int = |i| MetadataScalar::Int(i);
        let float = |f| MetadataScalar::Float(f);
        assert_eq!(int(3).compare(&float(3.0)), Some(Ordering::Equal));
        assert_eq!(int(3).compare(&float(3.5)), Some(Ordering::Less));
        assert_eq!(int(-3).compare(&float(-3.5)), Some(Ordering::Greater));
        assert_eq!(float(3.5).compare(&int(3)), Some(Ordering::Greater));
        let past_f64 = 9_007_199_254_740_993_i64;
        assert_eq!(
            int(past_f64).compare(&float(9_007_199_254_740_992.0)),
            Some(Ordering::Greater)
        );
        assert_eq!(int(i64::MAX).compare(&float(9.3e18)), Some(Ordering::Less));
        assert_eq!(
            int(i64::MAX).compare(&float(9_223_372_036_854_775_808.0)),
            Some(Ordering::Less)
        );
        assert_eq!(
            int(i64::MIN).compare(&float(-9_223_372_036_854_775_808.0)),
            Some(Ordering::Equal)
        );
        assert_eq!(int(1).compare(&MetadataScalar::Bool(true)), None);
        assert_eq!(int(1).compare(&MetadataScalar::Text("1".into())), None);
    }
}
