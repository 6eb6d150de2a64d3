//! JSON line by line: each line a record, a broken one a note.

use super::json::Object;
use crate::mine::conversation::Note;

/// How many lines of a file are looked at to recognise it.
const OPENING: usize = 24;

/// A line that is not empty.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// Its number, counted from 1.
    pub(super) number: u64,
    /// What it says.
    pub(super) text: &'a str,
}

/// The lines that are not empty.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..)
        .zip(text.split('\n'))
        .map(|(number, text)| Line {
            number,
            text: text.trim_matches([' ', '\t', '\r', '\0']),
        })
        .filter(|line| !line.text.is_empty())
}

/// The records of the first lines; what is broken is passed over.
pub(super) fn opening(text: &str) -> impl Iterator<Item = Object<'_>> {
    lines(text)
        .take(OPENING)
        .filter(|line| line.text.starts_with('{'))
        .filter_map(|line| Object::read(line.text).ok())
}

/// The record on a line, or a note on why there is none.
pub(super) fn record<'a>(line: Line<'a>, notes: &mut Vec<Note>) -> Option<Object<'a>> {
    match Object::read(line.text) {
        Ok(record) => Some(record),
        Err(error) => {
            let why = match serde_json::from_str::<serde::de::IgnoredAny>(line.text) {
                Ok(_) => "no record".to_owned(),
                Err(_) => format!("not JSON: {}", reason(&error)),
            };
            notes.push(Note::at_line(line.number, format!("{why}, left out")));
            None
        }
    }
}

/// What is wrong, and at which character of its line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(what, _)| what);
    format!("{what} at column {}", error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_lines_are_notes_with_their_number() {
        let text = "\u{feff}{\"a\":1}\r\n\n{\"a\":\n42\n{\"a\":2}";
        let mut notes = Vec::new();
        let numbers: Vec<u64> = lines(text)
            .filter(|line| record(*line, &mut notes).is_some())
            .map(|line| line.number)
            .collect();
        assert_eq!(numbers, [1, 5]);
        let told: Vec<String> = notes
            .iter()
            .map(|note| format!("{:?} {}", note.line, note.text))
            .collect();
        assert_eq!(
            told,
            [
                "Some(3) not JSON: EOF while parsing a value at column 5, left out",
                "Some(4) no record, left out"
            ]
        );
    }
}
