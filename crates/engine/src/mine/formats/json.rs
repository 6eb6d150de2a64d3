//! JSON looked at one level at a time: what is not asked for is never unpacked, what is asked for is verbatim.

use std::collections::BTreeMap;

use loci_core::Timestamp;
use serde::de::Deserialize;
use serde_json::value::RawValue;

/// A value exactly as it is written.
pub(super) type Raw<'a> = &'a RawValue;

/// An object whose values are not unpacked yet. Of a key that is there twice, the last counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Object<'a>(BTreeMap<String, Raw<'a>>);

impl<'a> Object<'a> {
    /// Reads a text that is one object and nothing else.
    pub(super) fn read(text: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(text).map(Self)
    }

    /// The object a value is, if it is one.
    pub(super) fn of(raw: Raw<'a>) -> Option<Self> {
        Self::read(raw.get()).ok()
    }

    /// The value under a key; `null` is as good as none.
    pub(super) fn raw(&self, key: &str) -> Option<Raw<'a>> {
        self.0.get(key).copied().filter(|raw| raw.get() != "null")
    }

    /// The text under a key.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.raw(key).and_then(text)
    }

    /// The text under the first key that has one.
    pub(super) fn first_text(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.text(key))
    }

    /// The object under a key.
    pub(super) fn object(&self, key: &str) -> Option<Object<'a>> {
        self.raw(key).and_then(Object::of)
    }

    /// The values of the array under a key; none where there is no array.
    pub(super) fn list(&self, key: &str) -> Vec<Raw<'a>> {
        self.raw(key).and_then(list).unwrap_or_default()
    }

    /// Whether `true` stands under a key.
    pub(super) fn flag(&self, key: &str) -> bool {
        self.raw(key).is_some_and(|raw| raw.get() == "true")
    }

    /// The number under a key.
    pub(super) fn number(&self, key: &str) -> Option<f64> {
        self.raw(key).and_then(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// The time under a key.
    pub(super) fn time(&self, key: &str) -> Option<Timestamp> {
        self.raw(key).and_then(time)
    }

    /// Whether a key is there, with any value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes over one key of another object.
    pub(super) fn take_over(&mut self, key: &str, from: &Object<'a>) {
        if let Some(raw) = from.raw(key) {
            self.0.insert(key.to_owned(), raw);
        }
    }

    /// Takes over what another object has, over what is here.
    pub(super) fn update(&mut self, newer: Object<'a>) {
        self.0.extend(newer.0);
    }
}

/// The text a value is, if it is one. Half of a surrogate pair, which no text can hold, becomes U+FFFD.
pub(super) fn text(raw: Raw<'_>) -> Option<String> {
    let written = raw.get();
    if !written.starts_with('"') {
        return None;
    }
    serde_json::from_str(written)
        .ok()
        .or_else(|| serde_json::from_str(written).ok().map(|Halves(text)| text))
}

/// A text with halves of surrogate pairs in it.
struct Halves(String);

impl<'de> Deserialize<'de> for Halves {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl serde::de::Visitor<'_> for Bytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(bytes.to_vec())
            }
        }
        let mut bytes = deserializer.deserialize_bytes(Bytes)?;
        for at in 0..bytes.len() {
            // A lone half is three bytes from ED A0 80 on, as long as U+FFFD is.
            if let Some(half @ [0xED, 0xA0..=0xBF, _]) = bytes.get_mut(at..at + 3) {
                half.copy_from_slice("\u{fffd}".as_bytes());
            }
        }
        Ok(Self(String::from_utf8_lossy(&bytes).into_owned()))
    }
}

/// The values of an array, if it is one.
pub(super) fn list(raw: Raw<'_>) -> Option<Vec<Raw<'_>>> {
    serde_json::from_str(raw.get()).ok()
}

/// The time a text in RFC 3339 or a number since 1970 stands for: seconds, or milliseconds, or microseconds, whichever
/// is the only one that lies between 1973 and 5138.
pub(super) fn time(raw: Raw<'_>) -> Option<Timestamp> {
    if let Some(text) = text(raw) {
        return text.parse().ok();
    }
    since_1970(serde_json::from_str(raw.get()).ok()?)
}

/// The time a number since 1970 stands for.
pub(super) fn since_1970(number: f64) -> Option<Timestamp> {
    let micros = match number.abs() {
        n if n < 1e11 => number * 1e6,
        n if n < 1e14 => number * 1e3,
        n if n < 1e17 => number,
        _ => return None,
    };
    Timestamp::from_micros(micros.round() as i64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object<'_> {
        Object::read(text).unwrap()
    }

    #[test]
    fn values_are_taken_as_they_are_written() {
        let fields = object(r#"{"a": {"z": 1.50, "b" : [ ]}, "t": "x\ny", "n": null}"#);
        assert_eq!(fields.raw("a").unwrap().get(), r#"{"z": 1.50, "b" : [ ]}"#);
        assert_eq!(fields.text("t").as_deref(), Some("x\ny"));
        assert!(fields.raw("n").is_none());
        assert!(fields.has("n"));
    }

    #[test]
    fn half_a_surrogate_pair_does_not_cost_the_text() {
        let fields = object(r#"{"t": "cut \ud83d here \u20ac \ud83d\ude00"}"#);
        assert_eq!(fields.text("t").as_deref(), Some("cut \u{fffd} here € 😀"));
    }

    #[test]
    fn times_are_texts_or_numbers_of_any_unit() {
        let fields = object(
            r#"{"a": "2026-05-01T09:30:00+02:00", "b": 1777620600, "c": 1777620600000, "d": 1777620600.5, "e": 1e300, "f": "soon"}"#,
        );
        let time = |key| fields.time(key).map(|time| time.to_string());
        assert_eq!(time("a").as_deref(), Some("2026-05-01T07:30:00Z"));
        assert_eq!(time("b").as_deref(), Some("2026-05-01T07:30:00Z"));
        assert_eq!(time("c").as_deref(), Some("2026-05-01T07:30:00Z"));
        assert_eq!(time("d").as_deref(), Some("2026-05-01T07:30:00.5Z"));
        assert_eq!(time("e"), None);
        assert_eq!(time("f"), None);
    }

    #[test]
    fn depth_without_end_is_not_followed() {
        let deep = format!(r#"{{"a": {}{}}}"#, "[".repeat(200_000), "]".repeat(200_000));
        assert!(object(&deep).list("a").len() == 1);
    }
}
