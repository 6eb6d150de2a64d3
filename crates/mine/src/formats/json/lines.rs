//! The lines of a JSONL file, each with its number: a record, or what is wrong with it.

use std::fmt;

use serde::de::IgnoredAny;

use super::Fields;
use super::top::unmarked;

/// How many lines of a file are looked at to recognise it.
const OPENING: usize = 24;

/// One line: its number, counted from 1, and the object it is.
pub(crate) struct Line<'a> {
    pub(crate) number: u64,
    pub(crate) content: Result<Fields<'a>, Broken>,
}

/// Why a line holds no object.
#[derive(Debug)]
pub(crate) enum Broken {
    /// It is JSON, and something else.
    NoObject,
    /// It is no JSON from this column on.
    NotJson { reason: String, column: usize },
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoObject => f.write_str("no record"),
            Self::NotJson { reason, column } => write!(f, "not JSON: {reason} at column {column}"),
        }
    }
}

/// What may stand around a record; a disk that filled up leaves zeros.
const AROUND: [char; 4] = [' ', '\t', '\r', '\0'];

/// Every line that is not empty.
pub(crate) fn each(text: &str) -> impl Iterator<Item = Line<'_>> {
    let numbered = unmarked(text).split('\n').zip(1..);
    numbered
        .filter(|(line, _)| line.contains(|c| !AROUND.contains(&c)))
        .map(|(line, number)| Line {
            number,
            content: object(line),
        })
}

/// The objects among the first lines; what is broken is passed over.
pub(crate) fn opening(text: &str) -> impl Iterator<Item = Fields<'_>> {
    each(text).take(OPENING).filter_map(|line| line.content.ok())
}

/// The objects among the first `count` lines; `None` if there is none, or more lines are broken than whole.
pub(crate) fn beginning(text: &str, count: usize) -> Option<Vec<Fields<'_>>> {
    if !unmarked(text).trim_start().starts_with('{') {
        return None;
    }
    let (found, broken): (Vec<_>, Vec<_>) = each(text).take(count).partition(|line| line.content.is_ok());
    let enough = !found.is_empty() && found.len() >= broken.len();
    enough.then(|| found.into_iter().filter_map(|line| line.content.ok()).collect())
}

fn object(line: &str) -> Result<Fields<'_>, Broken> {
    let begun = line.trim_start_matches(AROUND);
    let record = begun.trim_end_matches(AROUND);
    let why = |_| match serde_json::from_str::<IgnoredAny>(record) {
        Ok(_) => Broken::NoObject,
        Err(error) => Broken::NotJson {
            reason: super::reason(&error),
            column: line.len() - begun.len() + error.column(),
        },
    };
    Fields::read(record).map_err(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_lines_say_what_is_wrong_and_where() {
        let text = "\u{feff}{\"a\":1}\r\n \n\t{\"a\":\n42\n{\"a\":2}\0\n";
        let told = |line: Line<'_>| match line.content {
            Ok(_) => format!("{} whole", line.number),
            Err(broken) => format!("{} {broken}", line.number),
        };
        assert_eq!(
            each(text).map(told).collect::<Vec<String>>(),
            [
                "1 whole",
                "3 not JSON: EOF while parsing a value at column 6",
                "4 no record",
                "5 whole"
            ]
        );
    }
}
