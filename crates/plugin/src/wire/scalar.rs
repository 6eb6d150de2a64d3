//! Metadata on the wire: text, integers and booleans as JSON, floats as `{"f": "0.1"}`.

use std::fmt;

use loci_core::{Metadata, MetadataScalar, MetadataValue};
use serde::de::{self, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};

use super::WireResult;

/// A scalar to be written.
pub(crate) struct ScalarForm<'a>(pub(crate) &'a MetadataScalar);

impl Serialize for ScalarForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            MetadataScalar::Bool(truth) => serializer.serialize_bool(*truth),
            MetadataScalar::Int(int) => serializer.serialize_i64(*int),
            MetadataScalar::Text(text) => serializer.serialize_str(text),
            // As text that reads back to the same bits: JSON readers of many languages round numbers or forget
            // that 3.0 is not an integer.
            MetadataScalar::Float(float) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("f", &format!("{float:?}"))?;
                map.end()
            }
        }
    }
}

/// A value to be written.
pub(crate) struct ValueForm<'a>(pub(crate) &'a MetadataValue);

impl Serialize for ValueForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            MetadataValue::One(scalar) => ScalarForm(scalar).serialize(serializer),
            MetadataValue::Many(scalars) => serializer.collect_seq(scalars.iter().map(ScalarForm)),
        }
    }
}

/// Returns the JSON of a scalar.
pub(crate) fn scalar_json(scalar: &MetadataScalar) -> Json {
    serde_json::to_value(ScalarForm(scalar)).expect("a scalar is JSON")
}

/// Reads a scalar.
pub(crate) fn parse_scalar(json: Json) -> WireResult<MetadataScalar> {
    match json {
        Json::Bool(truth) => Ok(MetadataScalar::Bool(truth)),
        Json::String(text) => Ok(MetadataScalar::Text(text)),
        Json::Number(number) => number
            .as_i64()
            .map(MetadataScalar::Int)
            .ok_or_else(|| format!("{number} is not a 64-bit integer; write floats as {{\"f\": \"…\"}}")),
        Json::Object(map) => parse_float(&map).map(MetadataScalar::Float),
        other => Err(format!("{other} is not a scalar")),
    }
}

fn parse_float(map: &Map<String, Json>) -> WireResult<f64> {
    let text = map.get("f").and_then(Json::as_str);
    let float = text.and_then(|text| text.parse().ok());
    float.ok_or_else(|| "an object in the place of a scalar is not {\"f\": \"…\"}".to_owned())
}

/// Reads a value.
pub(crate) fn parse_value(json: Json) -> WireResult<MetadataValue> {
    match json {
        Json::Array(items) => {
            let scalars = items.into_iter().map(parse_scalar).collect::<WireResult<_>>()?;
            Ok(MetadataValue::Many(scalars))
        }
        one => parse_scalar(one).map(MetadataValue::One),
    }
}

/// Writes metadata as an object; for `serialize_with`.
pub(crate) struct MetadataForm<'a>(pub(crate) &'a Metadata);

impl Serialize for MetadataForm<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, ValueForm(value))))
    }
}

/// Metadata that was read.
pub(crate) struct ReceivedMetadata(pub(crate) Metadata);

impl<'de> Deserialize<'de> for ReceivedMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MetadataVisitor)
    }
}

/// Reads metadata without a tree of JSON in between: every drawer of a bulk load has some.
struct MetadataVisitor;

impl<'de> Visitor<'de> for MetadataVisitor {
    type Value = ReceivedMetadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of metadata")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<ReceivedMetadata, M::Error> {
        let mut metadata = Metadata::new();
        while let Some((key, ReceivedValue(value))) = map.next_entry::<String, _>()? {
            metadata.insert(key, value);
        }
        Ok(ReceivedMetadata(metadata))
    }
}

/// A value that was read.
struct ReceivedValue(MetadataValue);

impl<'de> Deserialize<'de> for ReceivedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = MetadataValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a 64-bit integer, true, false, a float as {\"f\": \"…\"}, or a list of them")
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<MetadataValue, E> {
        Ok(MetadataValue::One(MetadataScalar::Bool(truth)))
    }

    fn visit_i64<E: de::Error>(self, int: i64) -> Result<MetadataValue, E> {
        Ok(MetadataValue::One(MetadataScalar::Int(int)))
    }

    fn visit_u64<E: de::Error>(self, int: u64) -> Result<MetadataValue, E> {
        let int = i64::try_from(int).map_err(|_| E::invalid_value(Unexpected::Unsigned(int), &self))?;
        Ok(MetadataValue::One(MetadataScalar::Int(int)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<MetadataValue, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<MetadataValue, E> {
        Ok(MetadataValue::One(MetadataScalar::Text(text)))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<MetadataValue, M::Error> {
        let mut fields = Map::new();
        while let Some((key, field)) = map.next_entry::<String, Json>()? {
            fields.insert(key, field);
        }
        let float = parse_float(&fields).map_err(de::Error::custom)?;
        Ok(MetadataValue::One(MetadataScalar::Float(float)))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut items: S) -> Result<MetadataValue, S::Error> {
        let mut scalars = Vec::new();
        while let Some(ReceivedValue(value)) = items.next_element()? {
            match value {
                MetadataValue::One(scalar) => scalars.push(scalar),
                MetadataValue::Many(_) => return Err(de::Error::custom("a list holds no lists")),
            }
        }
        Ok(MetadataValue::Many(scalars))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_float_is_a_json_number() {
        let metadata = Metadata::new()
            .with_entry("float", 3.0)
            .with_entry("int", i64::MIN)
            .with_entry("tiny", 5e-324)
            .with_entry("text", "3.0");
        let json = serde_json::to_string(&MetadataForm(&metadata)).unwrap();
        assert_eq!(
            json,
            r#"{"float":{"f":"3.0"},"int":-9223372036854775808,"text":"3.0","tiny":{"f":"5e-324"}}"#
        );
        let ReceivedMetadata(back) = serde_json::from_str(&json).unwrap();
        assert_eq!(back, metadata);
        assert!(serde_json::from_str::<ReceivedMetadata>(r#"{"a":0.5}"#).is_err());
        assert!(serde_json::from_str::<ReceivedMetadata>(r#"{"a":{"f":0.5}}"#).is_err());
    }

    proptest! {
        #[test]
        fn every_float_keeps_its_bits(bits in any::<u64>()) {
            let float = f64::from_bits(bits);
            prop_assume!(!float.is_nan());
            let back = parse_scalar(scalar_json(&MetadataScalar::Float(float))).unwrap();
            let MetadataScalar::Float(back) = back else { panic!("{back:?}") };
            prop_assert_eq!(back.to_bits(), bits);
        }
    }
}
