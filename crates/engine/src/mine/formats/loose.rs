//! JSON read loosely: values stay slices of the file until somebody asks, so nothing unknown or broken is in the way.
//!
//! A slice is checked where it is found and read only as far as its own level. What has the wrong type is as if it
//! were not there; what nobody asks for is never built.

pub(crate) mod lines;
mod mend;
pub(crate) mod top;
pub(crate) mod when;

use std::fmt;
use std::path::Path;

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
        serde_json::from_str::<Loose>(self.0).ok().map(|loose| loose.0)
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
        serde_json::from_str(self.0).ok()
    }

    /// The elements, if this is an array.
    pub(crate) fn items(self) -> Option<Vec<Self>> {
        if !self.0.starts_with('[') {
            return None;
        }
        let items: Vec<&RawValue> = serde_json::from_str(self.0).ok()?;
        Some(items.into_iter().map(Self::from).collect())
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

/// The members of an object in their order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields<'a>(Vec<(String, Json<'a>)>);

impl<'a> Fields<'a> {
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

    /// A member that is text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.get(name)?.text()
    }

    /// A member that is text with something in it.
    pub(crate) fn word(&self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// The first of these members that is text with something in it.
    pub(crate) fn any_word(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| self.word(name))
    }

    /// A member that is an object; otherwise one without members.
    pub(crate) fn fields(&self, name: &str) -> Self {
        self.get(name).and_then(Json::fields).unwrap_or_default()
    }

    /// A member that is an array; otherwise an empty one.
    pub(crate) fn items(&self, name: &str) -> Vec<Json<'a>> {
        self.get(name).and_then(Json::items).unwrap_or_default()
    }

    /// A member that is a moment, in whatever notation.
    pub(crate) fn moment(&self, name: &str) -> Option<Timestamp> {
        when::moment(self.get(name)?)
    }

    /// Whether a member is true.
    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.0 == "true")
    }

    /// All members.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Json<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_str(), *value))
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
                while let Some((Loose(key), value)) = map.next_entry::<Loose, &RawValue>()? {
                    members.push((key, Json::from(value)));
                }
                Ok(Fields(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// A string that may hold half a surrogate pair.
struct Loose(String);

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Loose;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<Loose, E> {
                Ok(Loose(text.to_owned()))
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Loose, E> {
                Ok(Loose(String::from_utf8_lossy(bytes).into_owned()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// The path a `file:` address names; any other text as it is.
pub(crate) fn path_of_address(address: &str) -> String {
    let Some(path) = address.strip_prefix("file://") else {
        return address.to_owned();
    };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let decoded = hex
            .filter(|_| first == b'%')
            .and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(decoded.unwrap_or(first));
        rest = after
            .get(if decoded.is_some() { 2 } else { 0 }..)
            .unwrap_or_default();
    }
    String::from_utf8(bytes).unwrap_or_else(|_| path.to_owned())
}

/// The folder a `workspace.json` in `beside` names, as editors keep one beside a workspace's chats.
pub(crate) fn workspace_folder(beside: &Path) -> Option<String> {
    let text = std::fs::read_to_string(beside.join("workspace.json")).ok()?;
    let address = Json::parse(&text)
        .ok()?
        .fields()?
        .any_word(&["folder", "workspace"])?;
    Some(path_of_address(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_the_wrong_type_is_not_there() {
        let fields = Json::parse(r#"{"a":1,"b":null,"c":"x","c":"y"}"#)
            .unwrap()
            .fields()
            .unwrap();
        assert_eq!(fields.text("a"), None);
        assert!(fields.get("b").is_none() && fields.has("b"));
        assert_eq!(fields.text("c").as_deref(), Some("y"));
        assert!(fields.items("c").is_empty() && fields.fields("c").get("x").is_none());
    }

    #[test]
    fn half_a_surrogate_pair_does_not_lose_the_text_around_it() {
        let text = Json::parse(r#""a\ud83db\ud83d\ude00""#).unwrap().text().unwrap();
        assert!(text.starts_with('a') && text.ends_with("b😀"), "{text:?}");
    }

    #[test]
    fn a_file_address_is_a_path() {
        assert_eq!(path_of_address("file:///home/a%20b/%zz"), "/home/a b/%zz");
        assert_eq!(path_of_address("/plain%20path"), "/plain%20path");
    }
}
