//! Lenient JSON: values stay slices of the file until they are read, so unknown or broken parts do no harm.
//!
//! A slice is validated where it is found and parsed one level at a time. A value of the wrong type counts as absent,
//! and a value that is never read is never built.

pub(crate) mod lines;
mod mend;
pub(crate) mod top;
pub(crate) mod when;
pub(crate) mod whole;

use std::borrow::Cow;
use std::fmt;

use loci_core::Timestamp;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// One JSON value, as the bytes of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonSlice<'a>(&'a str);

impl<'a> JsonSlice<'a> {
    /// Parses a text that is one value.
    pub(crate) fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str::<&RawValue>(text).map(Self::from)
    }

    /// Returns the value as it is written in the file.
    pub(crate) fn raw(self) -> &'a str {
        self.0
    }

    /// Returns the text of a string. A lone surrogate, which UTF-8 cannot hold, becomes U+FFFD.
    pub(crate) fn text(self) -> Option<String> {
        // Slices are valid JSON without surrounding space, so the first byte tells the type and spares a
        // parse.
        if !self.0.starts_with('"') {
            return None;
        }
        serde_json::from_str::<LooseString<'_>>(self.0)
            .ok()
            .map(|loose| loose.0.into_owned())
    }

    /// Returns the text of a string, or any other value as it is written; `None` for null.
    pub(crate) fn text_or_raw(self) -> Option<String> {
        match self.0 {
            "null" => None,
            _ => self.text().or_else(|| Some(self.0.to_owned())),
        }
    }

    /// Returns the members of an object.
    pub(crate) fn fields(self) -> Option<JsonFields<'a>> {
        if !self.0.starts_with('{') {
            return None;
        }
        JsonFields::read(self.0).ok()
    }

    /// Returns the elements of an array.
    pub(crate) fn items(self) -> Option<Vec<Self>> {
        if !self.0.starts_with('[') {
            return None;
        }
        let items: Vec<&RawValue> = serde_json::from_str(self.0).ok()?;
        Some(items.into_iter().map(Self::from).collect())
    }

    /// Returns the elements of an array; any other value as the only element.
    pub(crate) fn items_or_self(self) -> Vec<Self> {
        self.items().unwrap_or_else(|| vec![self])
    }

    /// Returns whether this is an object.
    pub(crate) fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Returns whether this is an array.
    pub(crate) fn is_array(self) -> bool {
        self.0.starts_with('[')
    }
}

impl<'a> From<&'a RawValue> for JsonSlice<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self(raw.get())
    }
}

/// The members of an object in order. If a name occurs twice, the last one counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct JsonFields<'a>(Vec<(Cow<'a, str>, JsonSlice<'a>)>);

impl<'a> JsonFields<'a> {
    /// Parses a text that is one object.
    pub(crate) fn read(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// Returns a member; null counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<JsonSlice<'a>> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| *value).filter(|value| value.0 != "null")
    }

    /// Returns the first of these members that is present.
    pub(crate) fn get_any(&self, names: &[&str]) -> Option<JsonSlice<'a>> {
        names.iter().find_map(|name| self.get(name))
    }

    /// Returns whether the object has this member, with any value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// Returns the number of members.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns a member that is text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.text()
    }

    /// Returns the first of these members that is text.
    pub(crate) fn any_text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.text(name))
    }

    /// Returns a member that is text and not empty.
    pub(crate) fn nonempty_text(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// Returns the first of these members that is text and not empty.
    pub(crate) fn any_nonempty_text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.nonempty_text(name))
    }

    /// Returns a member that is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        self.get(name)?.fields()
    }

    /// Returns a member that is an object, or else an empty object.
    pub(crate) fn fields(&self, name: &str) -> Self {
        self.object(name).unwrap_or_default()
    }

    /// Returns the elements of a member that is an array, or else none.
    pub(crate) fn items(&self, name: &str) -> Vec<JsonSlice<'a>> {
        self.get(name).and_then(JsonSlice::items).unwrap_or_default()
    }

    /// Returns the objects among the elements of a member that is an array.
    pub(crate) fn objects(&self, name: &str) -> impl Iterator<Item = Self> + use<'a> {
        self.items(name).into_iter().filter_map(JsonSlice::fields)
    }

    /// Returns a member that is a point in time, in any known notation.
    pub(crate) fn timestamp(&self, name: &str) -> Option<Timestamp> {
        when::parse_timestamp(self.get(name)?)
    }

    /// Returns a member that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        serde_json::from_str(self.get(name)?.0).ok()
    }

    /// Returns whether a member is `true`.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.0 == "true")
    }

    /// Returns all members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, JsonSlice<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    /// Returns a copy with only this member, or with none.
    pub(crate) fn with_only(&self, name: &str) -> Self {
        Self(self.0.iter().filter(|(key, _)| key == name).cloned().collect())
    }

    /// Adds the members of another object, replacing those of the same name.
    pub(crate) fn update(&mut self, newer: Self) {
        self.0
            .retain(|(key, _)| !newer.0.iter().any(|(name, _)| name == key));
        self.0.extend(newer.0);
    }
}

impl<'de> Deserialize<'de> for JsonFields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = JsonFields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((LooseString(key), value)) = map.next_entry::<LooseString<'de>, &RawValue>()? {
                    members.push((key, JsonSlice::from(value)));
                }
                Ok(JsonFields(members))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// A string that may contain a lone surrogate, which UTF-8 cannot hold.
struct LooseString<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for LooseString<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LooseStringVisitor;
        impl<'de> Visitor<'de> for LooseStringVisitor {
            type Value = LooseString<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<LooseString<'de>, E> {
                Ok(LooseString(Cow::Owned(text.to_owned())))
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<LooseString<'de>, E> {
                Ok(LooseString(Cow::Owned(replace_lone_surrogates(bytes))))
            }
            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<LooseString<'de>, E> {
                Ok(LooseString(match std::str::from_utf8(bytes) {
                    Ok(text) => Cow::Borrowed(text),
                    Err(_) => Cow::Owned(replace_lone_surrogates(bytes)),
                }))
            }
        }
        // Asking for bytes instead of a string makes serde_json pass lone surrogates on; programs that cut
        // texts by UTF-16 units write them.
        deserializer.deserialize_bytes(LooseStringVisitor)
    }
}

/// Decodes these bytes, with U+FFFD for each lone surrogate.
fn replace_lone_surrogates(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() {
        // A lone surrogate is three bytes from ED A0 80 on, the same length as U+FFFD.
        if let Some(half @ [0xED, 0xA0..=0xBF, _]) = bytes.get_mut(at..at + 3) {
            half.copy_from_slice("\u{fffd}".as_bytes());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the reason of an error without its position.
fn error_reason(error: &serde_json::Error) -> String {
    let words = error.to_string();
    words.split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_the_wrong_type_is_not_there() {
        let fields = JsonFields::read(r#"{"a":1,"b":null,"c":"x","c":"y"}"#).unwrap();
        assert_eq!(fields.text("a"), None);
        assert!(fields.get("b").is_none() && fields.has("b"));
        assert_eq!(fields.text("c").as_deref(), Some("y"));
        assert!(fields.items("c").is_empty() && fields.fields("c").get("x").is_none());
    }

    #[test]
    fn values_are_taken_as_they_are_written() {
        let fields = JsonFields::read(r#"{"a": {"z": 1.50, "b" : [ ]}, "t\u0041": "x\ny"}"#).unwrap();
        assert_eq!(fields.get("a").unwrap().raw(), r#"{"z": 1.50, "b" : [ ]}"#);
        assert_eq!(fields.text("tA").as_deref(), Some("x\ny"));
    }

    #[test]
    fn half_a_surrogate_pair_does_not_lose_the_text_around_it() {
        let fields = JsonFields::read(r#"{"t\ude00": "cut \ud83d here \u20ac \ud83d\ude00"}"#).unwrap();
        assert_eq!(
            fields.text("t\u{fffd}").as_deref(),
            Some("cut \u{fffd} here € 😀")
        );
    }

    #[test]
    fn what_is_newer_stands_over_what_was_there() {
        let mut fields = JsonFields::read(r#"{"a":1,"b":2}"#).unwrap();
        fields.update(JsonFields::read(r#"{"b":3,"c":4}"#).unwrap());
        let told: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}{}", value.raw()))
            .collect();
        assert_eq!(told, ["a1", "b3", "c4"]);
    }

    #[test]
    fn depth_without_end_is_not_followed() {
        let deep = format!(r#"{{"a": {}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(JsonFields::read(&deep).unwrap().items("a").len(), 1);
    }
}
