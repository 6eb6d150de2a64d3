//! The top-level values of a JSON file, one at a time: the elements of its array, or its one object.

use std::fmt;

use loci_core::Result;
use serde::Deserializer as _;
use serde::de::{SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::mend::mend_json;
use super::{JsonFields, JsonSlice};
use crate::conversation::ReadingNote;

/// A callback that takes one value of the file; an error from it ends the reading.
pub(crate) type JsonTaker<'a> = dyn FnMut(JsonSlice<'_>) -> Result<()> + 'a;

/// Removes the byte order mark that some editors write.
pub(crate) fn strip_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Returns whether the text begins with an object or an array.
pub(crate) fn opens_container(text: &str) -> bool {
    strip_byte_order_mark(text).trim_start().starts_with(['[', '{'])
}

/// Passes every element of a top-level array, or the one value, to `take`, and never holds more than one of them.
/// If the text breaks off, all values before the break are passed, then the readable part of the broken one, and a note
/// with the position is returned.
pub(crate) fn each_value(text: &str, take: &mut JsonTaker<'_>) -> Result<Option<ReadingNote>> {
    let text = strip_byte_order_mark(text);
    if text.trim_start().starts_with('[') {
        return each_element(text, take);
    }
    match JsonSlice::parse(text) {
        Ok(value) => take(value).map(|()| None),
        Err(error) => take_broken_value(text, text, &error, take).map(Some),
    }
}

fn each_element(text: &str, take: &mut JsonTaker<'_>) -> Result<Option<ReadingNote>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut outcome = Ok(());
    let mut taken_to = text.find('[').map_or(0, |at| at + 1);
    let visitor = ElementsVisitor {
        text,
        take,
        taken_to: &mut taken_to,
        outcome: &mut outcome,
    };
    let ended = reader.deserialize_seq(visitor).and_then(|()| reader.end());
    // The callback's error comes first; serde only saw the stand-in that stopped it.
    outcome?;
    match ended {
        Ok(()) => Ok(None),
        Err(error) => {
            let rest = text.get(taken_to..).unwrap_or_default();
            let rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
            take_broken_value(text, rest, &error, take).map(Some)
        }
    }
}

/// Takes the readable part of the value in which the file breaks off. `rest` begins with that value and ends with
/// `text`.
fn take_broken_value(
    text: &str,
    rest: &str,
    error: &serde_json::Error,
    take: &mut JsonTaker<'_>,
) -> Result<ReadingNote> {
    let end = error_offset(text, error).saturating_sub(text.len() - rest.len());
    let readable = rest.get(..end.min(rest.len())).unwrap_or(rest);
    let mended = if readable.starts_with(['{', '[']) {
        mend_json(readable)
    } else {
        None
    };
    if let Some(value) = mended
        .as_deref()
        .and_then(|text| JsonSlice::parse(text).ok())
        // `{}` and `[]` are what is left of a value that broke off at once; they hold nothing.
        .filter(|value| value.raw().len() > 2)
    {
        take(value)?;
    }
    Ok(ReadingNote::at_line(
        error.line() as u64,
        format!(
            "the JSON breaks off at column {}: {}; everything before it was read",
            error.column(),
            super::error_reason(error)
        ),
    ))
}

/// Returns the byte offset of an error, on a character boundary.
fn error_offset(text: &str, error: &serde_json::Error) -> usize {
    if error.is_eof() {
        return text.len();
    }
    let before: usize = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let mut at = (before + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A visitor that hands elements over as they are read.
struct ElementsVisitor<'t, 'o, 's> {
    text: &'t str,
    take: &'o mut JsonTaker<'s>,
    taken_to: &'o mut usize,
    outcome: &'o mut Result<()>,
}

impl<'de> Visitor<'de> for ElementsVisitor<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> std::result::Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&'de RawValue>()? {
            // Both are slices of one text, so the difference of their addresses is the offset of the element.
            let begins = (element.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
            *self.taken_to = begins + element.get().len();
            *self.outcome = (self.take)(JsonSlice::from(element));
            if self.outcome.is_err() {
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

/// Returns whether one of the first `count` values of the file is an object that passes.
pub(crate) fn any_object(text: &str, count: usize, passes: fn(&JsonFields<'_>) -> bool) -> bool {
    let mut found = false;
    look_at_values(text, count, &mut |value| {
        found |= value.fields().is_some_and(|fields| passes(&fields));
    });
    found
}

/// Passes the first `count` values of the file to `look`: enough to recognise its format.
pub(crate) fn look_at_values(text: &str, count: usize, look: &mut dyn FnMut(JsonSlice<'_>)) {
    let mut left = count;
    let _ = each_value(text, &mut |value| {
        look(value);
        left = left.saturating_sub(1);
        if left == 0 {
            // An error is the only way to stop a visitor early, so that recognising a huge export stays
            // cheap.
            Err(loci_core::Error::invalid("enough was seen"))
        } else {
            Ok(())
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, values: &[&str], note: Option<(u64, &str)>) {
        let mut found = Vec::new();
        let broke = each_value(text, &mut |value| {
            found.push(value.raw().to_owned());
            Ok(())
        });
        assert_eq!(found, values, "{text}");
        let broke = broke.unwrap();
        assert_eq!(
            broke.as_ref().and_then(|note| note.line),
            note.map(|(line, _)| line),
            "{text}"
        );
        let said = broke.map(|note| note.text).unwrap_or_default();
        assert!(said.contains(note.map_or("", |(_, words)| words)), "{said}");
    }

    #[test]
    fn every_value_before_a_break_is_given_and_the_broken_one_as_far_as_it_goes() {
        check("[1, {\"a\":2}]", &["1", "{\"a\":2}"], None);
        check("\u{feff}{\"a\":[]}", &["{\"a\":[]}"], None);
        check(
            "[{\"a\":1},\n {\"b\":[1,2",
            &["{\"a\":1}", "{\"b\":[1]}"],
            Some((2, "column 10")),
        );
        check("[{\"é\":\"ü\" x}]", &[], Some((1, "column 13")));
        check("[1] x", &["1"], Some((1, "column 5")));
        check("[1", &["1"], Some((1, "EOF")));
        check("", &[], Some((1, "EOF")));
    }

    #[test]
    fn deep_nesting_is_a_value_like_any_other() {
        let deep = format!("[{}{}]", "[".repeat(200_000), "]".repeat(200_000));
        check(&deep, &[&deep[1..deep.len() - 1]], None);
    }
}
