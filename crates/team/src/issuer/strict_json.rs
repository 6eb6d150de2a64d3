//! JSON in which no object has a key twice. Two readers of such an object may see different values.

use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Reads an object; `None` if it is not one, or if an object in it has a key twice.
pub(super) fn read_object(bytes: &[u8]) -> Option<Map<String, Value>> {
    match serde_json::from_slice::<StrictValue>(bytes).ok()?.0 {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// A value in which no object has a key twice.
struct StrictValue(Value);

impl<'de> Deserialize<'de> for StrictValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        StrictReader.deserialize(deserializer).map(Self)
    }
}

/// Reads any value.
#[derive(Clone, Copy)]
struct StrictReader;

impl<'de> DeserializeSeed<'de> for StrictReader {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictReader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        let number = serde_json::Number::from_f64(value);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number is infinite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let value = fields.next_value_seed(self)?;
            if object.insert(key, value).is_some() {
                return Err(de::Error::custom("a key stands twice in one object"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_read_as_it_is_unless_a_key_stands_twice() {
        let whole = r#"{"a":[1,-2,0.5,null,true,"x"],"b":{"a":{}}}"#;
        let read = read_object(whole.as_bytes()).unwrap();
        assert_eq!(Value::Object(read), serde_json::from_str::<Value>(whole).unwrap());
        for wrong in [
            "",
            "[]",
            "1",
            r#"{"a":1"#,
            r#"{"a":1} {}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"x":{"a":1,"b":2,"a":3}}"#,
            r#"{"x":[{"a":1,"a":1}]}"#,
            r#"{"a":1e999}"#,
        ] {
            assert!(read_object(wrong.as_bytes()).is_none(), "{wrong}");
        }
        let deep = "[".repeat(10_000);
        assert!(read_object(format!("{{\"a\":{deep}").as_bytes()).is_none());
    }
}
