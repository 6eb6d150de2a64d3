//! JSON read loosely: values stay slices of the file until somebody asks, so nothing unknown or broken is in the way.
//!
//! A slice is checked where it is found and read only as far as its own level. What has the wrong type is as if it
//! were not there; what nobody asks for is never built.

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
pub(crate) struct Json<'a>(&'a str);

impl<'a> Json<'a> {
    /// The one value this text is.
    pub(crate) fn parse(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str::<&RawValue>(text).map(Self::from)
    }

    /// The value as it stands in the file.
    pub(crate) fn raw(self) -> &'a str {
        self.0
    }

    /// The text, if this is one. Half of a surrogate pair, which no text can hold, becomes U+FFFD.
    pub(crate) fn text(self) -> Option<String> {
        if !self.0.starts_with('"') {
            return None;
        }
        serde_json::from_str::<Loose<'_>>(self.0)
            .ok()
            .map(|loose| loose.0.into_owned())
    }

    /// The text of a string, or else the value as it stands; nothing for null.
    pub(crate) fn text_or_raw(self) -> Option<String> {
        match self.0 {
            "null" => None,
            _ => self.text().or_else(|| Some(self.0.to_owned())),
        }
    }

    /// The members, if this is an object.
    pub(crate) fn fields(self) -> Option<Fields<'a>> {
        if !self.0.starts_with('{') {
            return None;
        }
        Fields::read(self.0).ok()
    }

    /// The elements, if this is an array.
    pub(crate) fn items(self) -> Option<Vec<Self>> {
        if !self.0.starts_with('[') {
            return None;
        }
        let items: Vec<&RawValue> = serde_json::from_str(self.0).ok()?;
        Some(items.into_iter().map(Self::from).collect())
    }

    /// The elements of an array; anything else is its own only element.
    pub(crate) fn all(self) -> Vec<Self> {
        self.items().unwrap_or_else(|| vec![self])
    }

    /// Whether this is an object.
    pub(crate) fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Whether this is an array.
    pub(crate) fn is_array(self) -> bool {
        self.0.starts_with('[')
    }
}

impl<'a> From<&'a RawValue> for Json<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self(raw.get())
    }
}

/// The members of an object in their order. Of a name that is there twice, the last counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, Json<'a>)>);

impl<'a> Fields<'a> {
    /// The members of the one object this text is.
    pub(crate) fn read(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// A member; one that is null is not there.
    pub(crate) fn get(&self, name: &str) -> Option<Json<'a>> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| *value).filter(|value| value.0 != "null")
    }

    /// The first of these members that is there.
    pub(crate) fn any(&self, names: &[&str]) -> Option<Json<'a>> {
        names.iter().find_map(|name| self.get(name))
    }

    /// Whether the object has this member, whatever its value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// How many members there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// A member that is text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.text()
    }

    /// The first of these members that is text.
    pub(crate) fn any_text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.text(name))
    }

    /// A member that is text with something in it.
    pub(crate) fn word(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// The first of these members that is text with something in it.
    pub(crate) fn any_word(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.word(name))
    }

    /// A member that is an object.
    pub(crate) fn object(&self, name: &str) -> Option<Self> {
        self.get(name)?.fields()
    }

    /// A member that is an object; otherwise one without members.
    pub(crate) fn fields(&self, name: &str) -> Self {
        self.object(name).unwrap_or_default()
    }

    /// A member that is an array; otherwise an empty one.
    pub(crate) fn items(&self, name: &str) -> Vec<Json<'a>> {
        self.get(name).and_then(Json::items).unwrap_or_default()
    }

    /// The objects among the elements of a member that is an array.
    pub(crate) fn objects(&self, name: &str) -> impl Iterator<Item = Self> + use<'a> {
        self.items(name).into_iter().filter_map(Json::fields)
    }

    /// A member that is a moment, in whatever notation.
    pub(crate) fn moment(&self, name: &str) -> Option<Timestamp> {
        when::moment(self.get(name)?)
    }

    /// A member that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        serde_json::from_str(self.get(name)?.0).ok()
    }

    /// Whether a member is true.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.0 == "true")
    }

    /// All members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Json<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), *value))
    }

    /// An object with one of these members only, or with none.
    pub(crate) fn only(&self, name: &str) -> Self {
        Self(self.0.iter().filter(|(key, _)| key == name).cloned().collect())
    }

    /// Takes over the members of another object, over those of the same name.
    pub(crate) fn update(&mut self, newer: Self) {
        self.0
            .retain(|(key, _)| !newer.0.iter().any(|(name, _)| name == key));
        self.0.extend(newer.0);
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Loose(key), value)) = map.next_entry::<Loose<'de>, &RawValue>()? {
                    members.push((key, Json::from(value)));
                }
                Ok(Fields(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A string that may hold half a surrogate pair, which no text can.
struct Loose<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Loose<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Loose<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<Loose<'de>, E> {
                Ok(Loose(Cow::Owned(text.to_owned())))
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Loose<'de>, E> {
                Ok(Loose(Cow::Owned(without_halves(bytes))))
            }
            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Loose<'de>, E> {
                Ok(Loose(match std::str::from_utf8(bytes) {
                    Ok(text) => Cow::Borrowed(text),
                    Err(_) => Cow::Owned(without_halves(bytes)),
                }))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// The text these bytes are, with U+FFFD for each half of a surrogate pair.
fn without_halves(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len() {
        // A lone half is three bytes from ED A0 80 on, as long as U+FFFD is.
        if let Some(half @ [0xED, 0xA0..=0xBF, _]) = bytes.get_mut(at..at + 3) {
            half.copy_from_slice("\u{fffd}".as_bytes());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is wrong, without the place.
fn reason(error: &serde_json::Error) -> String {
    let words = error.to_string();
    words.split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_the_wrong_type_is_not_there() {
        let fields = Fields::read(r#"{"a":1,"b":null,"c":"x","c":"y"}"#).unwrap();
        assert_eq!(fields.text("a"), None);
        assert!(fields.get("b").is_none() && fields.has("b"));
        assert_eq!(fields.text("c").as_deref(), Some("y"));
        assert!(fields.items("c").is_empty() && fields.fields("c").get("x").is_none());
    }

    #[test]
    fn values_are_taken_as_they_are_written() {
        let fields = Fields::read(r#"{"a": {"z": 1.50, "b" : [ ]}, "t\u0041": "x\ny"}"#).unwrap();
        assert_eq!(fields.get("a").unwrap().raw(), r#"{"z": 1.50, "b" : [ ]}"#);
        assert_eq!(fields.text("tA").as_deref(), Some("x\ny"));
    }

    #[test]
    fn half_a_surrogate_pair_does_not_lose_the_text_around_it() {
        let fields = Fields::read(r#"{"t\ude00": "cut \ud83d here \u20ac \ud83d\ude00"}"#).unwrap();
        assert_eq!(
            fields.text("t\u{fffd}").as_deref(),
            Some("cut \u{fffd} here € 😀")
        );
    }

    #[test]
    fn what_is_newer_stands_over_what_was_there() {
        let mut fields = Fields::read(r#"{"a":1,"b":2}"#).unwrap();
        fields.update(Fields::read(r#"{"b":3,"c":4}"#).unwrap());
        let told: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}{}", value.raw()))
            .collect();
        assert_eq!(told, ["a1", "b3", "c4"]);
    }

    #[test]
    fn depth_without_end_is_not_followed() {
        let deep = format!(r#"{{"a": {}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(Fields::read(&deep).unwrap().items("a").len(), 1);
    }
}
