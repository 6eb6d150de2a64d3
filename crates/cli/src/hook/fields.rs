//! Reading an event as far as it goes: one that was cut short still tells what stood before the cut.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::Value as Json;

/// What is kept of an event.
const KEPT: [&str; 7] = [
    "session_id",
    "conversation_id",
    "thread-id",
    "transcript_path",
    "cwd",
    "workspace_roots",
    "prompt",
];

/// How long a name may be, in bytes: the longest path there is. A prompt may be as long as it is.
const LONGEST: usize = 4096;

/// The texts of an event by their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fields {
    kept: BTreeMap<String, Json>,
    /// What is wrong with it, where something is.
    pub(crate) trouble: Option<String>,
}

impl Fields {
    /// Reads an event.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        let mut fields = Self::default();
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = Filling(&mut fields.kept).deserialize(&mut reader);
        let read = read.and_then(|()| reader.end());
        fields.trouble = read.err().map(|cause| match text.is_empty() {
            true => "there is no event on standard input".to_owned(),
            false => format!("the event is not whole, or not JSON: {cause}"),
        });
        fields
    }

    /// A text that is not empty.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        text(name, self.kept.get(name)?)
    }

    /// The first text of a list.
    pub(crate) fn first(&self, name: &str) -> Option<String> {
        text(name, self.kept.get(name)?.as_array()?.first()?)
    }
}

fn text(name: &str, value: &Json) -> Option<String> {
    let text = value.as_str()?;
    let fits = name == "prompt" || text.len() <= LONGEST;
    (fits && !text.trim().is_empty()).then(|| text.to_owned())
}

/// Fills a map with what is kept; what was read before an error stays in it.
struct Filling<'a>(&'a mut BTreeMap<String, Json>);

impl<'de> DeserializeSeed<'de> for Filling<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Filling<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            match KEPT.contains(&name.as_str()) {
                true => drop(self.0.insert(name, map.next_value()?)),
                false => drop(map.next_value::<IgnoredAny>()?),
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
            let fields = Fields::read(&whole.as_bytes()[..end]);
            assert!(fields.trouble.is_some(), "{end}");
            assert_eq!(fields.text("session_id").is_some(), end > 16, "{end}");
            assert_eq!(fields.text("transcript_path").is_some(), end > 39, "{end}");
            assert_eq!(fields.text("cwd"), None);
        }
        let fields = Fields::read(whole.as_bytes());
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
            let fields = Fields::read(bytes);
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
        let fields = Fields::read(event.as_bytes());
        for name in ["session_id", "transcript_path", "cwd", "conversation_id"] {
            assert_eq!(fields.text(name), None, "{name}");
        }
        assert_eq!(fields.first("workspace_roots"), None);
        assert!(fields.text("prompt").is_some());
    }
}
