//! Reads an event as far as it goes: one that was cut short still yields the fields before the cut.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;

/// The fields kept of an event.
const KEPT: [&str; 7] = [
    "session_id",
    "conversation_id",
    "thread-id",
    "transcript_path",
    "cwd",
    "workspace_roots",
    "prompt",
];

/// The most bytes of a field, the length of the longest path. A prompt has no limit of its own.
const LONGEST: usize = 4096;

/// The texts of an event by their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HookFields {
    kept: BTreeMap<String, Json>,
    /// The reason it could not be read to its end.
    pub(crate) trouble: Option<String>,
}

impl HookFields {
    /// Reads an event.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        let mut fields = Self::default();
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = HookFieldsVisitor(&mut fields.kept).deserialize(&mut reader);
        let read = read.and_then(|()| reader.end());
        fields.trouble = read.err().map(|cause| {
            if text.is_empty() {
                "standard input holds no event".to_owned()
            } else {
                format!("the event is incomplete or not JSON: {cause}")
            }
        });
        fields
    }

    /// Returns a field that is a non-empty text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        text(name, self.kept.get(name)?)
    }

    /// Returns the first text of a field that is a list.
    pub(crate) fn first(&self, name: &str) -> Option<String> {
        text(name, self.kept.get(name)?.as_array()?.first()?)
    }
}

fn text(name: &str, value: &Json) -> Option<String> {
    let text = value.as_str()?;
    let fits = name == "prompt" || text.len() <= LONGEST;
    (fits && !text.trim().is_empty()).then(|| text.to_owned())
}

/// Fills a map with the fields kept. Fields read before an error stay in it.
struct HookFieldsVisitor<'a>(&'a mut BTreeMap<String, Json>);

impl<'de> DeserializeSeed<'de> for HookFieldsVisitor<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for HookFieldsVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if KEPT.contains(&name.as_str()) {
                self.0.insert(name, map.next_value()?);
            } else {
                // Tool output can be megabytes; skipping it allocates nothing.
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_cut_short_tells_what_stood_before_the_cut() {
        let whole =
            r#"{"session_id":"s","transcript_path":"/t","deep":{"cwd":"/no"},"prompt":"a long prompt"}"#;
        for end in 0..whole.len() {
            let fields = HookFields::read(&whole.as_bytes()[..end]);
            assert!(fields.trouble.is_some(), "{end}");
            assert_eq!(fields.text("session_id").is_some(), end > 16, "{end}");
            assert_eq!(fields.text("transcript_path").is_some(), end > 39, "{end}");
            assert_eq!(fields.text("cwd"), None);
        }
        let fields = HookFields::read(whole.as_bytes());
        assert_eq!(fields.trouble, None);
        assert_eq!(fields.text("prompt").as_deref(), Some("a long prompt"));
    }

    #[test]
    fn garbage_tells_nothing_and_says_so() {
        let deep = "[".repeat(1 << 16);
        let texts: [&[u8]; 9] = [
            b"",
            b" \n",
            b"null",
            b"[]",
            b"\"session_id\"",
            b"\xff\xfe\x00{",
            b"{]",
            b"hello",
            deep.as_bytes(),
        ];
        for bytes in texts {
            let fields = HookFields::read(bytes);
            assert!(fields.trouble.is_some(), "{:?}", String::from_utf8_lossy(bytes));
            assert!(fields.kept.is_empty());
        }
    }

    #[test]
    fn what_is_no_text_or_no_path_is_as_if_it_were_not_there() {
        let long = "x".repeat(LONGEST + 1);
        let event = format!(
            r#"{{"session_id":7,"transcript_path":null,"cwd":" ","workspace_roots":[],"conversation_id":"{long}","prompt":"{long}"}}"#
        );
        let fields = HookFields::read(event.as_bytes());
        for name in ["session_id", "transcript_path", "cwd", "conversation_id"] {
            assert_eq!(fields.text(name), None, "{name}");
        }
        assert_eq!(fields.first("workspace_roots"), None);
        assert!(fields.text("prompt").is_some());
    }
}
