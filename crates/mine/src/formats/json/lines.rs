//! The lines of a JSONL file, each with its number: a record, or the reason why it is broken.

use std::fmt;

use serde::de::IgnoredAny;

use super::JsonFields;
use super::top::strip_byte_order_mark;

/// The number of lines examined to recognise a file.
const OPENING_LINES: usize = 24;

/// One line: its number, counted from 1, and its object.
pub(crate) struct JsonLine<'a> {
    pub(crate) number: u64,
    pub(crate) content: Result<JsonFields<'a>, BrokenLine>,
}

/// The reason why a line holds no object.
#[derive(Debug)]
pub(crate) enum BrokenLine {
    /// It is JSON, but not an object.
    NoObject,
    /// It is not JSON from this column on.
    NotJson { reason: String, column: usize },
}

impl fmt::Display for BrokenLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoObject => f.write_str("not a record"),
            Self::NotJson { reason, column } => write!(f, "not JSON: {reason} at column {column}"),
        }
    }
}

/// Characters that may surround a record; a full disk leaves zeros.
const RECORD_PADDING: [char; 4] = [' ', '\t', '\r', '\0'];

/// Returns every line that is not empty.
pub(crate) fn read_lines(text: &str) -> impl Iterator<Item = JsonLine<'_>> {
    let numbered = strip_byte_order_mark(text).split('\n').zip(1..);
    numbered
        .filter(|(line, _)| line.contains(|c| !RECORD_PADDING.contains(&c)))
        .map(|(line, number)| JsonLine {
            number,
            content: parse_object(line),
        })
}

/// Returns the objects among the first lines; broken lines are ignored.
pub(crate) fn opening_objects(text: &str) -> impl Iterator<Item = JsonFields<'_>> {
    read_lines(text)
        .take(OPENING_LINES)
        .filter_map(|line| line.content.ok())
}

/// Returns the objects among the first `count` lines; `None` if there is none, or more lines are broken than whole.
pub(crate) fn leading_objects(text: &str, count: usize) -> Option<Vec<JsonFields<'_>>> {
    if !strip_byte_order_mark(text).trim_start().starts_with('{') {
        return None;
    }
    let (found, broken): (Vec<_>, Vec<_>) = read_lines(text)
        .take(count)
        .partition(|line| line.content.is_ok());
    let enough = !found.is_empty() && found.len() >= broken.len();
    enough.then(|| found.into_iter().filter_map(|line| line.content.ok()).collect())
}

fn parse_object(line: &str) -> Result<JsonFields<'_>, BrokenLine> {
    let begun = line.trim_start_matches(RECORD_PADDING);
    let record = begun.trim_end_matches(RECORD_PADDING);
    // Parsed a second time only for broken lines: the error for "not an object" has no useful position.
    let why = |_| match serde_json::from_str::<IgnoredAny>(record) {
        Ok(_) => BrokenLine::NoObject,
        Err(error) => BrokenLine::NotJson {
            reason: super::error_reason(&error),
            column: line.len() - begun.len() + error.column(),
        },
    };
    JsonFields::read(record).map_err(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_lines_say_what_is_wrong_and_where() {
        let text = "\u{feff}{\"a\":1}\r\n \n\t{\"a\":\n42\n{\"a\":2}\0\n";
        let told = |line: JsonLine<'_>| match line.content {
            Ok(_) => format!("{} whole", line.number),
            Err(broken) => format!("{} {broken}", line.number),
        };
        assert_eq!(
            read_lines(text).map(told).collect::<Vec<String>>(),
            [
                "1 whole",
                "3 not JSON: EOF while parsing a value at column 6",
                "4 not a record",
                "5 whole"
            ]
        );
    }
}
