//! The values a JSON file holds, one at a time: the elements of its array, or the one object it is.

use std::fmt;

use loci_core::Result;
use serde::Deserializer as _;
use serde::de::{SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::mend::mend;
use super::{Fields, Json};
use crate::conversation::Note;

/// Takes one value of the file; an error from it ends the reading.
pub(crate) type Taker<'a> = dyn FnMut(Json<'_>) -> Result<()> + 'a;

/// Without the mark some editors put before everything.
pub(crate) fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Whether the first character that counts opens an object or an array.
pub(crate) fn opens(text: &str) -> bool {
    unmarked(text).trim_start().starts_with(['[', '{'])
}

/// Gives every element of the array that `text` is, or the one value it is, and never holds more than that one.
/// Where the text breaks off, what came before is given, the broken value as far as it goes, and a note says where.
pub(crate) fn each(text: &str, take: &mut Taker<'_>) -> Result<Option<Note>> {
    let text = unmarked(text);
    if text.trim_start().starts_with('[') {
        return each_element(text, take);
    }
    match Json::parse(text) {
        Ok(value) => take(value).map(|()| None),
        Err(error) => broken(text, text, &error, take).map(Some),
    }
}

fn each_element(text: &str, take: &mut Taker<'_>) -> Result<Option<Note>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut outcome = Ok(());
    let mut taken_to = text.find('[').map_or(0, |at| at + 1);
    let visitor = Elements {
        text,
        take,
        taken_to: &mut taken_to,
        outcome: &mut outcome,
    };
    let ended = reader.deserialize_seq(visitor).and_then(|()| reader.end());
    outcome?;
    match ended {
        Ok(()) => Ok(None),
        Err(error) => {
            let rest = text.get(taken_to..).unwrap_or_default();
            let rest = rest.trim_start_matches(|c: char| c == ',' || c.is_whitespace());
            broken(text, rest, &error, take).map(Some)
        }
    }
}

/// Takes what is left of the value in which the file breaks off. `rest` begins with that value and ends with `text`.
fn broken(text: &str, rest: &str, error: &serde_json::Error, take: &mut Taker<'_>) -> Result<Note> {
    let end = offset(text, error).saturating_sub(text.len() - rest.len());
    let readable = rest.get(..end.min(rest.len())).unwrap_or(rest);
    let mended = if readable.starts_with(['{', '[']) {
        mend(readable)
    } else {
        None
    };
    if let Some(value) = mended
        .as_deref()
        .and_then(|text| Json::parse(text).ok())
        .filter(|value| value.raw().len() > 2)
    {
        take(value)?;
    }
    Ok(Note::at_line(
        error.line() as u64,
        format!(
            "the JSON breaks off at column {}: {}; what stands before it was read",
            error.column(),
            super::reason(error)
        ),
    ))
}

/// Where in the text the error is, on a boundary of characters.
fn offset(text: &str, error: &serde_json::Error) -> usize {
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

/// Hands elements over as they are read.
struct Elements<'t, 'o, 's> {
    text: &'t str,
    take: &'o mut Taker<'s>,
    taken_to: &'o mut usize,
    outcome: &'o mut Result<()>,
}

impl<'de> Visitor<'de> for Elements<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> std::result::Result<(), A::Error> {
        while let Some(element) = elements.next_element::<&'de RawValue>()? {
            // Both are slices of one text, so the difference of their places is where the element ends.
            let begins = (element.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
            *self.taken_to = begins + element.get().len();
            *self.outcome = (self.take)(Json::from(element));
            if self.outcome.is_err() {
                return Err(serde::de::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

/// Whether one of the first values of the file, at most `count`, is an object that passes.
pub(crate) fn any_object(text: &str, count: usize, passes: fn(&Fields<'_>) -> bool) -> bool {
    let mut found = false;
    look_at(text, count, &mut |value| {
        found |= value.fields().is_some_and(|fields| passes(&fields));
    });
    found
}

/// The first values of the file, at most `count`: enough to see what it is.
pub(crate) fn look_at(text: &str, count: usize, look: &mut dyn FnMut(Json<'_>)) {
    let mut left = count;
    let _ = each(text, &mut |value| {
        look(value);
        left = left.saturating_sub(1);
        if left == 0 {
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
        let broke = each(text, &mut |value| {
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
